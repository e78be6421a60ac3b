import assert from 'node:assert/strict';
import test from 'node:test';
import type { LvmRaid } from '../../src/api/objects/lvm-cluster.ts';
import { capacityOf } from '../../src/core/capacity.ts';
import { plainDisks } from '../world/devices.ts';
import { GroupScene } from './agent-groups-scene.ts';

const gib = 1024n ** 3n;
const note = 'release.devices.quarry.io/n1';

async function told(raid: LvmRaid, names: readonly string[], state: string): Promise<GroupScene> {
  const scene = new GroupScene(plainDisks(4, 4n * gib));
  scene.group('vg1', { ...named(names), raidConfig: raid });
  scene.start();
  await scene.until(state, () => scene.told('vg1')?.status === state);
  return scene;
}

function named(names: readonly string[]) {
  return { deviceSelector: { optionalPaths: names.map((name) => `/dev/${name}`) } };
}

async function available(scene: GroupScene): Promise<bigint> {
  const { engine } = scene.stage;
  const { host } = await scene.stage.run(engine.model.refresh());
  const [vg] = host.vgs;
  assert.ok(vg !== undefined);
  return scene
    .served()
    .map((one) => capacityOf(one, vg))
    .reduce((total, { availableBytes, largestBytes }) => total + availableBytes + largestBytes, 0n);
}

const few: readonly (readonly [raid: LvmRaid, here: readonly string[], needs: number])[] = [
  [{ type: 'raid1' }, ['sdb'], 2],
  [{ type: 'raid1', mirrors: 2 }, ['sdb', 'sdc'], 3],
  [{ type: 'raid5' }, ['sdb', 'sdc'], 3],
  [{ type: 'raid6' }, ['sda', 'sdb', 'sdc', 'sdd'], 5],
  [{ type: 'raid10', stripes: 3 }, ['sda', 'sdb', 'sdc', 'sdd'], 6],
];

for (const [raid, here, needs] of few) {
  test(`a class of ${raid.type} on ${here.length} of ${needs} disks is told, and has no room`, async () => {
    const scene = await told(raid, [...here, 'sdx', 'sdy'], 'Degraded');
    const { reason = '' } = scene.told('vg1') ?? {};
    const counts = `${raid.type} needs ${needs} devices but vg1 has ${here.length}`;
    assert.ok(reason.startsWith(`LayoutNeedsDevices: ${counts}`), reason);
    assert.match(reason, /: nothing is made in it before it has \d more$/);
    assert.deepEqual(
      scene.devicesOf('vg1'),
      here.map((name) => `/dev/${name}`),
    );
    assert.match(scene.lvmd ?? '', /name: vg1/, 'what is in it is served');
    assert.equal(await available(scene), 0n);
    const writes = scene.api.writes.length;
    await scene.settle(60_000);
    assert.equal(scene.api.writes.length, writes, 'it is told once');
  });
}

test('the disk that was lacking makes the class ready', async () => {
  const scene = await told({ type: 'raid1' }, ['sdb', 'sdx'], 'Degraded');
  scene.change('vg1', { spec: named(['sdb', 'sdx', 'sdc']) });
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.notEqual(await available(scene), 0n);
});

test('a disk without which there would be too few does not leave, until another has come', async () => {
  const scene = await told({ type: 'raid1' }, ['sdb', 'sdc'], 'Ready');
  const annotations = { [note]: JSON.stringify({ '/dev/sdc': '' }) };
  scene.change('vg1', { metadata: { annotations }, spec: named(['sdb', 'sdx']) });
  await scene.until('told', () => scene.told('vg1')?.status === 'Degraded');
  assert.match(
    scene.told('vg1')?.reason ?? '',
    /^DeviceStays: \/dev\/sdc stays in vg1: .* need 2 devices, and 1 would be left: name another/,
  );
  await scene.settle(60_000);
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb', '/dev/sdc']);
  scene.change('vg1', { spec: named(['sdb', 'sdd']) });
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb', '/dev/sdd']);
});

test('a disk that is missing is told as that, and not as one too few', async () => {
  const scene = await told({ type: 'raid1' }, ['sdb', 'sdc'], 'Ready');
  scene.stage.world.admin.pull('/dev/sdc');
  await scene.until('told', () => scene.told('vg1')?.status === 'Degraded');
  assert.match(scene.told('vg1')?.reason ?? '', /^VolumeGroupPartial: /);
});
