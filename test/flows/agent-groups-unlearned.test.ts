import assert from 'node:assert/strict';
import test from 'node:test';
import { GroupScene } from './agent-groups-scene.ts';

/** A group of two disks on a node that was installed anew, as one that LVMS leaves to us. */
async function inherited(deviceSelector: object): Promise<GroupScene> {
  const scene = new GroupScene();
  const { world } = scene.stage;
  scene.group('vg1', { deviceSelector: { optionalPaths: ['/dev/sda', '/dev/sdb'] } });
  world.admin.pull('/dev/sdc');
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  scene.kill();
  scene.known = new Map();
  scene.lvmd = undefined;
  scene.change('vg1', { spec: { deviceSelector } });
  return scene;
}

const all = { optionalPaths: ['/dev/sda', '/dev/sdb', '/dev/sdc'] };

test('a group that lacks a disk since before we came is served, and not made twice', async () => {
  const scene = await inherited(all);
  const { world } = scene.stage;
  const uuid = world.vg('vg1')?.uuid;
  world.admin.pull('/dev/sda');
  scene.start();
  await scene.until('told', () => /VolumeGroupPartial/.test(scene.told('vg1')?.reason ?? ''));
  await scene.until('served', () => /volume-group: vg1/.test(scene.lvmd ?? ''));
  assert.equal(scene.known.get('vg1'), uuid);
  world.admin.pull('/dev/sdb');
  world.admin.insert('/dev/sdc');
  await scene.until('told', () => /VolumeGroupLost/.test(scene.told('vg1')?.reason ?? ''));
  await scene.settle(60_000);
  assert.equal(world.machine.device('/dev/sdc')?.label, undefined);
});

test('a group that waits for a disk it is to have is served meanwhile', async () => {
  const scene = await inherited({ paths: all.optionalPaths });
  scene.start();
  await scene.until('told', () => /DeviceNotFound/.test(scene.told('vg1')?.reason ?? ''));
  await scene.until('served', () => /volume-group: vg1/.test(scene.lvmd ?? ''));
});
