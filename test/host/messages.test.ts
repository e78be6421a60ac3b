import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { GiB, startLab } from '../../lab/index.ts';
import { withQueuedMessage, withQueuedSnapshot } from '../samples/queued-message.ts';
import { Remote } from './remote.ts';
import { nodeFile, unsettled, volumesOf } from './scenarios.ts';

/** A guest with a thin volume `one`, and what lvm writes down of its group. */
async function withVolume(t: TestContext) {
  const lab = await startLab({ guests: [{ name: 'n1', disks: [{ name: 'a', sizeBytes: GiB }] }] });
  t.after(() => lab.stop());
  const guest = lab.guest('n1');
  const node = nodeFile([await guest.devicePath('a')]);
  const remote = new Remote(guest);
  const request = (name: string) => ({ name, className: 'thin', size: '32Mi' });
  await remote.must({ op: 'apply', node });
  await remote.must({ op: 'create', node, request: request('one') });
  const backup = await guest.sh('lvm vgcfgbackup --file /tmp/backup vg >&2; cat /tmp/backup');
  return { guest, node, remote, request, backup };
}

test('a thin volume that the pool was never told of is made in the end', async (t) => {
  const { guest, node, remote, request, backup } = await withVolume(t);
  await guest.sh(`set -e
    lvm vgchange --activate n vg
    cat > /tmp/queued <<'END'\n${withQueuedMessage(backup, 'one', 'two')}\nEND
    lvm vgcfgrestore --force --yes --file /tmp/queued vg
    lvm lvchange --activate y vg/pool`);
  await assert.rejects(guest.sh('lvm lvchange --activate y vg/two'), /No data available/);
  await remote.must({ op: 'look' });
  await remote.must({ op: 'create', node, request: request('one') });
  await remote.must({ op: 'create', node, request: request('two') });
  const host = await remote.look();
  assert.deepEqual(volumesOf(host), { one: 32, two: 32 });
  assert.deepEqual(unsettled(host), []);
  await guest.sh('dd if=/dev/zero of=/dev/vg/two bs=1M count=32 oflag=direct status=none');
  await remote.close();
});

test('a thin snapshot that the pool has made and lvm has not noted is finished', async (t) => {
  const { guest, node, remote, request, backup } = await withVolume(t);
  const write = (text: string) =>
    guest.sh(`echo ${text} | dd of=/dev/vg/one bs=4096 conv=sync oflag=direct status=none`);
  await guest.sh('lvm lvchange --activate y vg/one');
  await write('before');
  await guest.sh(`set -e
    dmsetup suspend vg-one
    dmsetup message vg-pool-tpool 0 "create_snap 2 1"
    dmsetup resume vg-one`);
  await write('after');
  await guest.sh(`set -e
    cat > /tmp/queued <<'END'\n${withQueuedSnapshot(backup, 'one', 'two')}\nEND
    lvm vgchange --activate n vg
    lvm vgcfgrestore --force --yes --file /tmp/queued vg
    lvm vgchange --activate y vg`);
  await assert.rejects(
    guest.sh('lvm lvcreate --virtualsize 8m --thinpool pool --name other vg'),
    /already contain thin device with device_id 2/,
  );
  await remote.must({ op: 'look' });
  await remote.must({ op: 'create', node, request: request('three') });
  const host = await remote.look();
  assert.deepEqual(volumesOf(host), { one: 32, three: 32, two: 32 });
  assert.deepEqual(unsettled(host), []);
  const read = (lv: string) => guest.sh(`head --bytes 6 /dev/vg/${lv}`);
  assert.deepEqual([await read('two'), await read('one')], ['before', 'after\n']);
  await remote.close();
});

test('another device of that number is somebody else’s, and is not taken for it', async (t) => {
  const { guest, node, remote, request, backup } = await withVolume(t);
  const pool = /(type = "thin-pool"[\s\S]*?transaction_id = )1\b/;
  assert.match(backup, pool);
  const older = backup.replace(pool, '$12');
  // It was made before the transaction that is open now; and then another one in it, of another
  // volume.
  await guest.sh(`set -e
    dmsetup message vg-pool-tpool 0 "create_thin 7"
    dmsetup message vg-pool-tpool 0 "create_snap 2 7"
    dmsetup message vg-pool-tpool 0 "set_transaction_id 1 2"
    cat > /tmp/queued <<'END'\n${withQueuedSnapshot(older, 'one', 'two')}\nEND
    lvm vgchange --activate n vg
    lvm vgcfgrestore --force --yes --file /tmp/queued vg
    lvm lvchange --activate y vg/pool`);
  await remote.must({ op: 'look' });
  const answer = await remote.ask({ op: 'create', node, request: request('three') });
  assert.match(JSON.stringify(answer), /ThinSnapshotHalfMade/);
  assert.match(await guest.sh('dmsetup status vg-pool-tpool'), /thin-pool 2 /);
  await guest.sh(`set -e
    dmsetup message vg-pool-tpool 0 "delete 2"
    dmsetup message vg-pool-tpool 0 "create_snap 2 7"`);
  const second = await remote.ask({ op: 'create', node, request: request('three') });
  assert.match(JSON.stringify(second), /ThinSnapshotHalfMade/);
  assert.match(await guest.sh('dmsetup status vg-pool-tpool'), /thin-pool 2 .* - rw/);
  await remote.close();
});
