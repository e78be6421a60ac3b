import assert from 'node:assert/strict';
import test from 'node:test';
import { GroupScene } from './agent-groups-scene.ts';

const anyDisk = { deviceDiscoveryPolicy: 'Static' } as const;
const going = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };
const labelsOnly = { kind: 'mishap', mishap: 'dies-after-labels' } as const;
const failed = { kind: 'fail' } as const;

function labelled({ stage }: GroupScene): readonly string[] {
  const { devices } = stage.world.machine;
  return devices.filter(({ label }) => label !== undefined).map(({ path }) => path);
}

/** An empty PV, as pvcreate makes it. */
function labelByHand({ stage }: GroupScene, path: string): void {
  stage.world.admin.run('lvm', 'vgcreate', 'theirs', path);
  stage.world.admin.run('lvm', 'vgremove', 'theirs');
}

/** lvm labels every disk and makes no group; then one disk cannot be read, and is left out. */
async function madeWithout(path: string, isUnlisted = false): Promise<GroupScene> {
  const scene = new GroupScene();
  const { world } = scene.stage;
  if (isUnlisted) world.machine.unlisted.add(path);
  world.faults.next('vgcreate', labelsOnly);
  const isProbe = ({ argv }: { readonly argv: readonly string[] }) =>
    argv.includes('blkid') && argv.includes(path) && labelled(scene).includes(path);
  const mend = world.faults.always(isProbe, failed);
  scene.group('vg1', anyDisk);
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  mend();
  assert.ok(!scene.devicesOf('vg1').includes(path));
  assert.ok(labelled(scene).includes(path));
  return scene;
}

test('a disk that was labelled for a group, and is not in it, is bare when the group goes', async () => {
  const scene = await madeWithout('/dev/sdc');
  scene.kill();
  scene.start();
  await scene.settle(60_000);
  scene.change('vg1', going);
  await scene.until('gone', () => scene.object('vg1') === undefined);
  assert.deepEqual(labelled(scene), []);
  await scene.settle(60_000);
  assert.deepEqual(scene.labels, new Map());
});

test('it is bare also where lvm was cut off before it listed the disk among its devices', async () => {
  const scene = await madeWithout('/dev/sdc', true);
  scene.change('vg1', going);
  await scene.until('gone', () => scene.object('vg1') === undefined);
  assert.deepEqual(labelled(scene), []);
});

test('a label that somebody put there meanwhile stays', async () => {
  const scene = await madeWithout('/dev/sdc');
  const { admin } = scene.stage.world;
  admin.run('lvm', 'pvremove', '/dev/sdc');
  labelByHand(scene, '/dev/sdc');
  scene.change('vg1', going);
  await scene.until('gone', () => scene.object('vg1') === undefined);
  assert.deepEqual(labelled(scene), ['/dev/sdc']);
});

test('of a group that was never made the labels go, but for those that were there', async () => {
  const scene = new GroupScene();
  const { world } = scene.stage;
  labelByHand(scene, '/dev/sdc');
  world.faults.always('vgcreate', labelsOnly);
  scene.group('vg1', anyDisk);
  scene.start();
  await scene.until('labelled', () => labelled(scene).includes('/dev/sdb'));
  scene.kill();
  scene.change('vg1', going);
  scene.start();
  await scene.until('gone', () => scene.object('vg1') === undefined);
  assert.deepEqual(labelled(scene), ['/dev/sdc']);
});

test('a disk that was labelled to extend a group is bare when the group goes', async () => {
  const scene = new GroupScene();
  const { world } = scene.stage;
  world.admin.pull('/dev/sdc');
  scene.group('vg1', { deviceDiscoveryPolicy: 'Dynamic' });
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  world.faults.always('vgextend', labelsOnly);
  world.admin.insert('/dev/sdc');
  await scene.until('labelled', () => labelled(scene).includes('/dev/sdc'));
  scene.change('vg1', going);
  await scene.until('gone', () => scene.object('vg1') === undefined);
  assert.deepEqual(labelled(scene), []);
});
