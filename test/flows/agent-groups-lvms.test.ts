import assert from 'node:assert/strict';
import test from 'node:test';
import type { LvmVolumeGroupSpec } from '../../src/api/objects/lvm-volume-group.ts';
import { groupFinalizer, wipedAnnotation } from '../../src/core/lvm-cluster/marks.ts';
import { GroupScene } from './agent-groups-scene.ts';

const gib = 1024n ** 3n;

/** As LVMS writes it. */
const lvmd = `device-classes:
- default: true
  lvcreate-options: null
  name: vg1
  spare-gb: null
  stripe: null
  stripe-size: ""
  thin-pool:
    name: pool
    overprovision-ratio: 10
  type: thin
  volume-group: vg1
lvcreate-option-classes: null
socket-name: ""
`;
const spec: LvmVolumeGroupSpec = {
  default: true,
  deviceSelector: { paths: ['/dev/sdb'], forceWipeDevicesAndDestroyAllData: true },
  thinPoolConfig: {
    ...{ name: 'pool', sizePercent: 90, overprovisionRatio: 10 },
    ...{ chunkSizeCalculationPolicy: 'Static', metadataSizeCalculationPolicy: 'Host' },
  },
};

/** A node after LVMS; versions before 4.16 noted nowhere that disks were wiped. */
function afterLvms(tags: readonly string[]): GroupScene {
  const scene = new GroupScene([{ path: '/dev/sdb', sizeBytes: 4n * gib, serial: 'B' }]);
  const { admin } = scene.stage.world;
  admin.run('lvm', 'vgcreate', 'vg1', ...tags.flatMap((tag) => ['--addtag', tag]), '/dev/sdb');
  const size = ['--size', '3684m', '--zero', 'y', '--chunksize', '131072b'];
  admin.run('lvm', 'lvcreate', '--type', 'thin-pool', ...size, '--name', 'pool', 'vg1');
  scene.lvmd = lvmd;
  scene.group('vg1', spec, { finalizers: [groupFinalizer('n1')] });
  const told = { name: 'vg1', status: 'Ready', devices: ['/dev/sdb'] };
  scene.report({ nodeStatus: [{ ...told, deviceDiscoveryPolicy: 'Preconfigured' }] });
  return scene;
}

test('a group of LVMS is served as it is, and its disks are never wiped', async () => {
  const scene = afterLvms(['lvms']);
  scene.start();
  await scene.until('noted', () => {
    return scene.object('vg1')?.metadata.annotations?.[wipedAnnotation('n1')] !== undefined;
  });
  await scene.settle(120_000);
  assert.equal(scene.isReady('vg1'), true);
  assert.equal(scene.lvmd, lvmd);
  assert.deepEqual(scene.ran(), []);
});

test('a group without the mark of LVMS is nobody’s to take', async () => {
  const scene = afterLvms([]);
  scene.start();
  await scene.settle(120_000);
  assert.equal(scene.isReady('vg1'), false);
  assert.deepEqual(scene.ran(), []);
  assert.equal(scene.lvmd, lvmd);
});
