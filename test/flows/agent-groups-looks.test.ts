import assert from 'node:assert/strict';
import test from 'node:test';
import { collections } from '../kube/fake-api-rules.ts';
import { GroupScene } from './agent-groups-scene.ts';

const two = { deviceSelector: { paths: ['/dev/sdb', '/dev/sdc'] } };

async function ready(spec: object): Promise<GroupScene> {
  const scene = new GroupScene();
  scene.group('vg1', { ...two, ...spec });
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  await scene.settle(70_000);
  return scene;
}

function make(scene: GroupScene, name: string, ...options: readonly string[]): void {
  const { admin } = scene.stage.world;
  admin.run('lvm', 'lvcreate', '--yes', ...options, '--name', name, 'vg1');
}

/** How often all devices were looked at, which costs far more than a look at LVM. */
function deviceLooks({ stage }: GroupScene): number {
  return stage.world.spawns.get('lsblk') ?? 0;
}

test('a disk that breaks away is told within two minutes, and when it is back', async () => {
  const scene = await ready({ raidConfig: { type: 'raid1' } });
  make(scene, 'v1', '--type', 'raid1', '--mirrors', '1', '--size', '100m');
  await scene.settle(120_000);
  assert.ok(scene.isReady('vg1'));
  const { admin } = scene.stage.world;
  admin.pull('/dev/sdc');
  await scene.settle(120_000);
  assert.equal(scene.told('vg1')?.status, 'Degraded');
  assert.match(scene.told('vg1')?.reason ?? '', /^VolumeGroupPartial: /);
  assert.equal(scene.told('vg1')?.raidStatus?.status, 'Degraded');
  admin.insert('/dev/sdc');
  await scene.settle(120_000);
  assert.equal(scene.told('vg1')?.raidStatus?.degradedMemberCount, 0);
});

test('room that goes is told now and then, and nothing is looked at for it', async () => {
  const scene = await ready({});
  const [looks, free] = [deviceLooks(scene), scene.told('vg1')?.free];
  const writes = scene.api.writes.length;
  for (let turn = 0; turn < 10; turn += 1) {
    make(scene, `v${turn}`, '--size', '100m');
    await scene.settle(60_000);
  }
  assert.notEqual(scene.told('vg1')?.free, free);
  const done = scene.api.writes.length - writes;
  assert.ok(done >= 1 && done <= 3, `${done} writes`);
  assert.equal(deviceLooks(scene), looks);
});

test('a kubelet that writes its Node again and again has no disk looked at', async () => {
  const scene = await ready({});
  const looks = deviceLooks(scene);
  const tell = async (metadata: object, status: object) => {
    scene.put(collections.nodes, { metadata: { name: 'n1', ...metadata }, status });
    await scene.settle(4_000);
  };
  for (let turn = 0; turn < 5; turn += 1) await tell({}, { conditions: [{ at: turn }] });
  assert.equal(deviceLooks(scene), looks);
  await tell({ labels: { zone: 'a' } }, {});
  assert.ok(deviceLooks(scene) > looks);
});

test('a report that somebody else changed is put right', async () => {
  const scene = await ready({});
  const told = scene.told('vg1');
  const metadata = { name: 'n1', namespace: 'quarry-system' };
  const collection = '/apis/lvm.topolvm.io/v1alpha1/lvmvolumegroupnodestatuses';
  scene.put(collection, { metadata, spec: { nodeStatus: [] } });
  await scene.until('right', () => scene.told('vg1') !== undefined);
  assert.deepEqual(scene.told('vg1'), told);
});

test('a disk that was named and comes later is taken, whether it was away or held something', async () => {
  const deviceSelector = { paths: ['/dev/sdb'], optionalPaths: ['/dev/sda', '/dev/sdc'] };
  const scene = new GroupScene();
  const { admin, machine } = scene.stage.world;
  admin.pull('/dev/sda');
  admin.mkfs('/dev/sdc');
  scene.group('vg1', { deviceSelector });
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  await scene.settle(70_000);
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb']);
  admin.insert('/dev/sda');
  const disk = machine.device('/dev/sdc');
  if (disk !== undefined) disk.content = { writes: [], signatures: [] };
  await scene.settle(70_000);
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sda', '/dev/sdb', '/dev/sdc']);
  const looks = deviceLooks(scene);
  await scene.settle(120_000);
  assert.equal(deviceLooks(scene), looks, 'when nothing is awaited nobody looks');
});

test('a pool that fills is warned of, and degrades its class when it is full', async () => {
  const scene = await ready({ thinPoolConfig: { name: 'pool', overprovisionRatio: 10 } });
  const looks = deviceLooks(scene);
  const { world } = scene.stage;
  make(scene, 'v1', '--type', 'thin', '--virtualsize', '8g', '--thinpool', 'pool');
  const volume = world.lv('vg1', 'v1');
  const pool = world.lv('vg1', 'pool');
  assert.ok(volume !== undefined && pool !== undefined);
  const size = pool.extents * 4 * 1024 ** 2;
  assert.equal(world.write(volume, 0, Math.floor(size * 0.85)), undefined);
  await scene.settle(120_000);
  assert.match(scene.told('vg1')?.warnings?.join() ?? '', /pool is filling: data 8\d %/);
  assert.ok(scene.isReady('vg1'));
  assert.equal(deviceLooks(scene), looks);
  assert.equal(world.write(volume, 0, Math.floor(size * 0.97)), undefined);
  await scene.settle(120_000);
  assert.equal(scene.told('vg1')?.status, 'Degraded');
  assert.match(scene.told('vg1')?.reason ?? '', /ThinPoolFull: data 9\d %/);
});

test('a disk that comes is taken at once, and one that goes is told at once', async () => {
  const scene = new GroupScene();
  const { admin } = scene.stage.world;
  admin.pull('/dev/sdc');
  const deviceSelector = { paths: ['/dev/sdb'], optionalPaths: ['/dev/sdc'] };
  scene.group('vg1', { deviceSelector });
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  await scene.settle(600_000);
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb']);
  admin.insert('/dev/sdc');
  await scene.settle(5_000);
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb', '/dev/sdc']);
  admin.pull('/dev/sdc');
  await scene.settle(5_000);
  assert.equal(scene.told('vg1')?.status, 'Degraded');
  assert.match(scene.told('vg1')?.reason ?? '', /^VolumeGroupPartial: /);
});

test('what is told of lvmd.yaml is not taken back by what was wanted before', async () => {
  const scene = new GroupScene();
  scene.start();
  await scene.settle(5_000);
  scene.report({}, { spec: { configurationPolicy: 'ExternalConfiguration' } });
  await scene.settle(90_000);
  const writes = scene.api.writes.length;
  await scene.settle(300_000);
  assert.equal(scene.api.writes.length, writes);
});
