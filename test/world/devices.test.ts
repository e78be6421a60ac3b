import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ObservedDevice, ObservedNode } from '../../src/core/observed.ts';
import { observeNode } from '../../src/engine/look.ts';
import { plainDisks } from './devices.ts';
import { type FakeWorld, fakeWorld } from './world.ts';

test('every kind of device is seen as what it is', async () => {
  const [sda, sdb, sdc] = plainDisks(3);
  assert.ok(sda !== undefined && sdb !== undefined && sdc !== undefined);
  const world = fakeWorld({
    seed: 2,
    devices: [
      { ...sda, partitions: [{ path: '/dev/sda1', mountPoints: ['/boot'], fileSystem: 'ext4' }] },
      sdb,
      { ...sdc, fileSystem: 'xfs' },
      { path: '/dev/sdd', isReadOnly: true },
      { path: '/dev/sde', isSwap: true, fileSystem: 'swap' },
      { path: '/dev/sdf', isBroken: true },
      { path: '/dev/loop0', type: 'loop', backingFile: '/var/lib/x.img' },
    ],
  });
  const node = await observe(world);
  const device = (path: string) => deviceOf(node, path);
  assert.equal(device('/dev/sda').partitionTable, 'gpt');
  assert.deepEqual(device('/dev/sda').holders, ['/dev/sda1']);
  assert.equal(device('/dev/sda').exclusiveOpen, 'busy');
  assert.deepEqual(device('/dev/sda1').mountPoints, ['/boot']);
  assert.deepEqual(device('/dev/sdb').signatures, { kind: 'none' });
  assert.deepEqual(device('/dev/sdb').label, { kind: 'none' });
  assert.ok(device('/dev/sdb').links.includes('/dev/disk/by-id/ata-QUARRY0002'));
  const { signatures } = device('/dev/sdc');
  assert.deepEqual(signatures.kind === 'found' ? signatures.types : signatures, ['xfs']);
  assert.equal(device('/dev/sdd').isReadOnly, true);
  assert.equal(device('/dev/sde').isSwap, true);
  assert.equal(device('/dev/sdf').exclusiveOpen, 'unknown');
  assert.equal(device('/dev/sdf').label.kind, 'unknown');
  assert.equal(device('/dev/loop0').backingFile, '/var/lib/x.img');
  assert.deepEqual(world.unknown, []);
});

test('members, orphans and copies of a label are told apart', async () => {
  const world = fakeWorld({ seed: 2 });
  const lvm = (line: string) => world.admin.run('lvm', ...line.split(' '));
  lvm('vgcreate vg1 /dev/sda /dev/sdb');
  lvm('vgreduce vg1 /dev/sdb');
  const before = await observe(world);
  assert.equal(deviceOf(before, '/dev/sda').label.kind, 'member');
  assert.equal(deviceOf(before, '/dev/sdb').label.kind, 'orphan');
  world.admin.cloneLabel('/dev/sda', '/dev/sdc');
  const after = await observe(world);
  assert.equal(deviceOf(after, '/dev/sda').label.kind, 'unknown');
  assert.equal(deviceOf(after, '/dev/sdc').label.kind, 'unknown');
  assert.throws(
    () => lvm('lvcreate --yes --type linear --size 4m --name v vg1'),
    /Cannot update volume group vg1 with duplicate PV devices/,
  );
});

test('a device with a file system is not taken without being asked', () => {
  const world = fakeWorld({ seed: 2 });
  world.admin.mkfs('/dev/sda', 'xfs');
  assert.throws(
    () => world.admin.run('lvm', 'vgcreate', 'vg1', '/dev/sda'),
    /xfs signature detected on \/dev\/sda at offset 0. Wipe it\? \[y\/n\]: \[n\]/,
  );
});

test('a group lives on without a pulled disk and wants it back unchanged', async () => {
  const world = fakeWorld({ seed: 2, devices: plainDisks(3) });
  const lvm = (line: string) => world.admin.run('lvm', ...line.split(' '));
  lvm('vgcreate --metadatasize 16777216b vg1 /dev/sda /dev/sdb /dev/sdc');
  lvm('lvcreate --yes --type linear --size 20m --name la vg1 /dev/sda');
  lvm('lvcreate --yes --type linear --size 20m --name lc vg1 /dev/sdc');
  lvm('lvcreate --yes --type raid1 --mirrors 1 --size 20m --name r vg1 /dev/sda /dev/sdc');
  world.admin.pull('/dev/sdc');
  const [vg] = (await observe(world)).vgs;
  assert.equal(vg?.isPartial, true);
  assert.deepEqual(
    vg?.lvs.map((lv) => [lv.name, lv.health]),
    [
      ['la', ''],
      ['lc', 'partial'],
      ['r', 'partial'],
    ],
  );
  assert.deepEqual(vg?.pvs.at(-1)?.device, '[unknown]');
  assert.throws(() => lvm('lvextend --size 40m vg1/la'), /while PVs are missing/);
  world.admin.insert('/dev/sdc');
  assert.equal((await observe(world)).vgs[0]?.isPartial, false);
  world.admin.pull('/dev/sdc');
  lvm('lvchange --addtag x vg1/la');
  world.admin.insert('/dev/sdc');
  assert.equal((await observe(world)).vgs[0]?.isPartial, true);
  lvm('lvremove --yes vg1/lc');
  lvm('lvremove --yes vg1/r');
  assert.equal((await observe(world)).vgs[0]?.isPartial, false);
});

function observe(world: FakeWorld): Promise<ObservedNode> {
  return world.clock.run(observeNode(world.host(), []));
}

function deviceOf(node: ObservedNode, path: string): ObservedDevice {
  const found = node.devices.find((device) => device.path === path);
  assert.ok(found !== undefined, `there is no ${path}`);
  return found;
}
