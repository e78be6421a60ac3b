import assert from 'node:assert/strict';
import test from 'node:test';
import type { LvmDeviceSelector } from '../../src/api/objects/lvm-cluster.ts';
import { GroupScene } from './agent-groups-scene.ts';

const both: LvmDeviceSelector = { optionalPaths: ['/dev/sda', '/dev/sdb'] };

/** The only disk of a class that is served dies. */
async function lost(deviceSelector = both, before?: (at: GroupScene) => void): Promise<GroupScene> {
  const scene = new GroupScene();
  const { world } = scene.stage;
  world.admin.pull('/dev/sdb');
  scene.group('vg1', { deviceSelector });
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  before?.(scene);
  world.admin.pull('/dev/sda');
  await scene.until('lost', () => isLost(scene));
  return scene;
}

function isLost(scene: GroupScene): boolean {
  return /VolumeGroupLost/.test(scene.told('vg1')?.reason ?? '');
}

test('a class that is served gets a new disk once its old one is given up', async () => {
  const scene = await lost();
  const { world } = scene.stage;
  world.admin.insert('/dev/sdb');
  await scene.settle(120_000);
  assert.equal(isLost(scene), true, 'nobody has given it up');
  assert.equal(world.machine.device('/dev/sdb')?.label, undefined);
  scene.forget('vg1');
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb']);
  assert.equal(scene.known.get('vg1'), world.vg('vg1')?.uuid);
  await scene.settle();
  assert.deepEqual(scene.forgotten, new Map(), 'the new one is not given up');
});

const withVolume = ({ stage }: GroupScene) => {
  stage.world.admin.run('lvm', 'lvcreate', '--yes', '--size', '40m', '--name', 'v1', 'vg1');
};

test('what the kernel still has of a group that is given up keeps no other from being made', async () => {
  const scene = await lost(both, withVolume);
  const { world } = scene.stage;
  const old = world.machine.vgs.find(({ name }) => name === 'vg1');
  world.admin.insert('/dev/sdb');
  await scene.settle(120_000);
  assert.equal(old?.lvs[0]?.isActive, true, 'nobody has given it up');
  scene.forget('vg1');
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.equal(old?.lvs[0]?.isActive, false);
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb']);
});

test('what somebody still has open stays, and it is told until he ends', async () => {
  const scene = await lost(both, (at) => {
    withVolume(at);
    at.stage.world.admin.mkfs('/dev/vg1/v1');
    at.stage.world.admin.mount('/dev/vg1/v1', '/mnt');
  });
  const { world } = scene.stage;
  world.admin.insert('/dev/sdb');
  scene.forget('vg1');
  await scene.until('told', () => /already exists/.test(scene.told('vg1')?.reason ?? ''));
  world.admin.unmount('/mnt');
  await scene.until('ready', () => scene.isReady('vg1'));
});

test('it is given up also where only the report tells of it', async () => {
  const scene = await lost();
  scene.kill();
  // As on a node that was installed anew.
  scene.known = new Map();
  scene.stage.world.admin.insert('/dev/sdb');
  scene.start();
  await scene.until('told', () => /the one with \/dev\/sda/.test(scene.told('vg1')?.reason ?? ''));
  await scene.settle(120_000);
  scene.forget('vg1');
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb']);
});

test('an agent that is at work and writes of what it knew does not bring it back', async () => {
  const scene = await lost();
  const before = scene.known;
  scene.forget('vg1');
  scene.known = before;
  scene.stage.world.admin.insert('/dev/sdb');
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.notDeepEqual(scene.known, before);
  await scene.settle();
  assert.deepEqual(scene.forgotten, new Map());
});

test('no disk that holds something is taken or wiped in the place of one given up', async () => {
  const scene = await lost({ ...both, forceWipeDevicesAndDestroyAllData: true });
  const { world } = scene.stage;
  // Of a restored object nobody can tell by its marks that disks were wiped for it.
  scene.change('vg1', { metadata: { annotations: {} } });
  world.admin.insert('/dev/sdb');
  world.admin.mkfs('/dev/sdb');
  const holds = JSON.stringify(world.machine.device('/dev/sdb'));
  scene.forget('vg1');
  await scene.until('told', () => /NoUsableDevices/.test(scene.told('vg1')?.reason ?? ''));
  await scene.settle(120_000);
  assert.equal(scene.told('vg1')?.devices, undefined);
  assert.equal(JSON.stringify(world.machine.device('/dev/sdb')), holds);
});

test('one that comes back is known again, and not made a second time', async () => {
  const scene = await lost();
  const { world } = scene.stage;
  const uuid = scene.known.get('vg1');
  scene.forget('vg1');
  await scene.until('told', () => scene.told('vg1')?.devices === undefined);
  world.admin.insert('/dev/sda');
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.equal(scene.known.get('vg1'), uuid);
  await scene.settle();
  assert.deepEqual(scene.forgotten, new Map());
  world.admin.pull('/dev/sda');
  world.admin.insert('/dev/sdb');
  await scene.until('lost', () => isLost(scene));
  await scene.settle(120_000);
  assert.equal(world.machine.device('/dev/sdb')?.label, undefined);
});

test('a group that is here is not given up, not even one that lacks a disk', async () => {
  const scene = new GroupScene();
  const { world } = scene.stage;
  scene.group('vg1', { deviceSelector: { optionalPaths: ['/dev/sda', '/dev/sdb', '/dev/sdc'] } });
  world.admin.pull('/dev/sdc');
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  world.admin.pull('/dev/sda');
  await scene.until('partial', () => /VolumeGroupPartial/.test(scene.told('vg1')?.reason ?? ''));
  const known = scene.known;
  scene.forget('vg1');
  await scene.until('struck out', () => scene.forgotten.size === 0);
  assert.deepEqual(scene.known, known);
  world.admin.pull('/dev/sdb');
  world.admin.insert('/dev/sdc');
  await scene.until('lost', () => isLost(scene));
  await scene.settle(120_000);
  assert.equal(world.machine.device('/dev/sdc')?.label, undefined);
});

test('a group of somebody else with the name is left alone as before', async () => {
  const scene = await lost();
  const { world } = scene.stage;
  scene.forget('vg1');
  world.admin.insert('/dev/sdb');
  world.admin.run('lvm', 'vgcreate', 'vg1', '/dev/sdb');
  await scene.settle(120_000);
  assert.match(scene.told('vg1')?.reason ?? '', /VolumeGroupForeign/);
  assert.deepEqual(world.vg('vg1')?.tags, []);
  assert.equal(scene.known.has('vg1'), false);
});

test('a class that goes leaves no note behind', async () => {
  const scene = await lost();
  scene.forget('vg1');
  scene.change('vg1', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
  await scene.until('gone', () => scene.object('vg1') === undefined);
  assert.deepEqual(scene.forgotten, new Map());
});
