import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { GiB, type Lab, startLab } from './index.ts';

let lab: Lab;

before(async () => {
  const disks = [{ name: 'one', sizeBytes: GiB }];
  lab = await startLab({
    guests: [
      { name: 'older', suite: 'bookworm', disks },
      { name: 'bare', udev: false, disks },
      { name: 'listed', devicesFile: true, disks, lvmConfig: 'backup { archive = 0 }' },
    ],
  });
});

after(() => lab?.stop());

test('a guest of the older release runs its own lvm2', async () => {
  const older = lab.guest('older');
  assert.match(await older.sh('cat /etc/debian_version'), /^12\./);
  assert.match(await older.sh('lvm version'), /LVM version:\s+2\.03\.16/);
  assert.match(await lab.guest('bare').sh('lvm version'), /LVM version:\s+2\.03\.31/);
  await older.sh(`vgcreate vg ${await older.devicePath('one')} && lvcreate --size 64m vg`);
});

test('a guest without udev makes volumes and their nodes by itself', async () => {
  const bare = lab.guest('bare');
  assert.equal((await bare.run(['pgrep', 'systemd-udevd'])).exitCode, 1);
  const device = await bare.devicePath('one');
  await bare.sh(`vgcreate vg ${device} && lvcreate --size 64m --name data vg`);
  await bare.sh('test -b /dev/vg/data && mkfs.ext4 -q /dev/vg/data');
});

// Debian's package has no link of the name lvmdevices; the program itself knows the command.
test('a guest with a devices file sees no volume group that is not listed', async () => {
  const listed = lab.guest('listed');
  const device = await listed.devicePath('one');
  await listed.sh(`vgcreate vg ${device}`);
  assert.match(await listed.sh('lvm lvmdevices'), new RegExp(device));
  await listed.sh(`lvm lvmdevices --yes --deldev ${device}`);
  assert.equal((await listed.sh('vgs --noheadings --options vg_name')).trim(), '');
  assert.equal((await listed.sh('lvmconfig backup/archive')).trim(), 'archive=0');
});
