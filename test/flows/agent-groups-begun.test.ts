import assert from 'node:assert/strict';
import test from 'node:test';
import { GroupScene } from './agent-groups-scene.ts';

const optional = (...names: readonly string[]) => ({
  deviceSelector: { optionalPaths: names.map((name) => `/dev/${name}`) },
});

/** A group was made on a disk that is pulled before anybody could look at it. */
async function begunAndPulled(): Promise<GroupScene> {
  const scene = new GroupScene();
  const { world } = scene.stage;
  scene.group('vg1', optional('sdb'));
  scene.start();
  await scene.until('it is made', () => world.vg('vg1') !== undefined);
  scene.kill();
  assert.equal(scene.known.size, 0, 'nobody has looked');
  world.admin.pull('/dev/sdb');
  return scene;
}

test('a group that nobody has seen yet is not made a second time', async () => {
  const scene = await begunAndPulled();
  const { world } = scene.stage;
  scene.change('vg1', { spec: optional('sdb', 'sdc') });
  scene.start();
  await scene.until('it is told', () => scene.told('vg1')?.status === 'Failed');
  assert.match(scene.told('vg1')?.reason ?? '', /VolumeGroupLost: .*\(begun on .*\) is here/);
  await scene.settle(60_000);
  assert.equal(world.machine.device('/dev/sdc')?.label, undefined);
  world.admin.insert('/dev/sdb');
  await scene.until('ready', () => scene.isReady('vg1'));
  await scene.until('with both', () => scene.devicesOf('vg1').length === 2);
  assert.equal(world.machine.vgs.filter(({ name }) => name === 'vg1').length, 1);
});

test('it goes only when its disk is back, and leaves it bare', async () => {
  const scene = await begunAndPulled();
  const { world } = scene.stage;
  scene.change('vg1', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
  scene.start();
  await scene.settle(60_000);
  assert.notEqual(scene.object('vg1'), undefined);
  assert.match(scene.told('vg1')?.reason ?? '', /VolumeGroupLost/);
  world.admin.insert('/dev/sdb');
  await scene.until('gone', () => scene.object('vg1') === undefined);
  assert.equal(world.machine.device('/dev/sdb')?.label, undefined);
  assert.deepEqual(scene.begun, new Map());
});

test('a group that could not be made is made of other disks', async () => {
  const scene = new GroupScene();
  const { world } = scene.stage;
  world.faults.always('vgcreate', { kind: 'fail' });
  scene.group('vg1', optional('sdb'));
  scene.start();
  await scene.until('it is told', () => scene.told('vg1')?.status === 'Failed');
  await scene.settle();
  assert.deepEqual(scene.begun, new Map());
  world.admin.pull('/dev/sdb');
  world.faults.stop();
  scene.change('vg1', { spec: optional('sdb', 'sdc') });
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdc']);
});

test('nothing is made while it cannot be written down', async () => {
  const scene = new GroupScene();
  const { world } = scene.stage;
  scene.refusesBegun = true;
  scene.group('vg1', optional('sdb'));
  scene.start();
  await scene.until('it is told', () => scene.told('vg1')?.status === 'Failed');
  assert.match(scene.told('vg1')?.reason ?? '', /FileFailed: begun.json: disk full/);
  await scene.settle(60_000);
  assert.equal(world.vg('vg1'), undefined);
  assert.equal(world.machine.device('/dev/sdb')?.label, undefined);
  scene.refusesBegun = false;
  await scene.until('ready', () => scene.isReady('vg1'));
});

test('a disk without a serial number is known again by what was begun on it', async () => {
  const scene = new GroupScene([{ path: '/dev/vdb', sizeBytes: 4n * 1024n ** 3n }]);
  const { world } = scene.stage;
  const disk = world.machine.device('/dev/vdb');
  assert.ok(disk !== undefined);
  world.faults.next('vgcreate', { kind: 'mishap', mishap: 'dies-after-labels' }, 2);
  scene.group('vg1', { deviceSelector: { paths: ['/dev/vdb'] } });
  scene.start();
  await scene.until('it has a label', () => disk.label !== undefined);
  scene.kill();
  world.faults.stop();
  // udev's rules for LVM give it, as soon as they see the label.
  disk.links = ['/dev/disk/by-id/lvm-pv-uuid-Rk3cCc-wxMD-kg9d-oJOb-nIlY-dfgw-H9NMTl'];
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
});
