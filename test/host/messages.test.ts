import assert from 'node:assert/strict';
import test from 'node:test';
import { GiB, startLab } from '../../lab/index.ts';
import { withQueuedMessage } from '../samples/queued-message.ts';
import { Remote } from './remote.ts';
import { nodeFile, unsettled, volumesOf } from './scenarios.ts';

test('a thin volume that the pool was never told of is made in the end', async (t) => {
  const lab = await startLab({ guests: [{ name: 'n1', disks: [{ name: 'a', sizeBytes: GiB }] }] });
  t.after(() => lab.stop());
  const guest = lab.guest('n1');
  const node = nodeFile([await guest.devicePath('a')]);
  const remote = new Remote(guest);
  const request = (name: string) => ({ name, className: 'thin', size: '32Mi' });
  await remote.must({ op: 'apply', node });
  await remote.must({ op: 'create', node, request: request('one') });
  const backup = await guest.sh('lvm vgcfgbackup --file /tmp/backup vg >&2; cat /tmp/backup');
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
