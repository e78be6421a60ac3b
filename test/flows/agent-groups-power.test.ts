import assert from 'node:assert/strict';
import test from 'node:test';
import type { Command } from '../../src/lvm/command.ts';
import { DiskCaches } from '../world/caches.ts';
import { GroupScene } from './agent-groups-scene.ts';

const paths = (...names: readonly string[]) => ({
  deviceSelector: { paths: names.map((name) => `/dev/${name}`) },
});

const note = 'release.devices.quarry.io/n1';

/** Disks that forget in a power cut whatever was not flushed. */
function forgetful(...names: readonly string[]): GroupScene {
  const scene = new GroupScene();
  const { world } = scene.stage;
  world.machine.caches = new DiskCaches(world.machine);
  world.chance.happens = () => true;
  scene.group('vg1', paths(...names));
  return scene;
}

async function ready(...names: readonly string[]): Promise<GroupScene> {
  const scene = forgetful(...names);
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  return scene;
}

/** The agent dies right after the effect of a command, before it can do anything about it. */
async function diesAfter(scene: GroupScene, program: string): Promise<void> {
  const { world } = scene.stage;
  world.faults.next(program, { kind: 'crash', when: 'after' });
  const before = world.spawns.get(`lvm ${program}`) ?? 0;
  await scene.until(program, () => (world.spawns.get(`lvm ${program}`) ?? 0) > before);
  await scene.settle();
  scene.kill();
  scene.start();
}

function losePower(scene: GroupScene): void {
  scene.stage.world.cutPower();
  scene.kill();
}

function labels(scene: GroupScene): readonly string[] {
  const { devices } = scene.stage.world.machine;
  return devices.filter(({ label }) => label !== undefined).map(({ path }) => path);
}

test('a group that an earlier life made is kept by its disks before it is told of', async () => {
  const scene = forgetful('sdb', 'sdc');
  scene.start();
  await diesAfter(scene, 'vgcreate');
  await scene.until('ready', () => scene.isReady('vg1'));
  losePower(scene);
  assert.deepEqual(labels(scene), ['/dev/sdb', '/dev/sdc']);
  assert.notEqual(scene.stage.world.vg('vg1'), undefined);
});

test('a look that fails after a change keeps nobody from flushing', async () => {
  const scene = forgetful('sdb', 'sdc');
  const { world } = scene.stage;
  world.faults.next('vgcreate', { kind: 'slow', ms: 500 });
  scene.start();
  const isRunning = () => world.processes.running.some((argv) => argv.includes('vgcreate'));
  await scene.until('it is begun', isRunning);
  world.faults.next('fullreport', { kind: 'fail' }, 3);
  await scene.until('ready', () => scene.isReady('vg1'));
  losePower(scene);
  assert.deepEqual(labels(scene), ['/dev/sdb', '/dev/sdc']);
});

test('a label that an earlier life cleared does not come back to a group that is gone', async () => {
  const scene = await ready('sdb');
  scene.change('vg1', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
  await diesAfter(scene, 'pvremove');
  await scene.until(
    'gone',
    () => (scene.object('vg1')?.metadata.finalizers ?? []).length === 0 && scene.leaving.size === 0,
  );
  losePower(scene);
  assert.deepEqual(labels(scene), []);
});

test('a label that was cleared does not come back where a probe says nothing', async () => {
  const scene = await ready('sdb');
  const { world } = scene.stage;
  scene.change('vg1', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
  await diesAfter(scene, 'pvremove');
  const isProbe = ({ argv }: Command) => argv[0] === 'blkid' && argv.includes('/dev/sdb');
  world.faults.always(isProbe, { kind: 'fail' });
  await scene.until(
    'gone',
    () => (scene.object('vg1')?.metadata.finalizers ?? []).length === 0 && scene.leaving.size === 0,
  );
  losePower(scene);
  assert.deepEqual(labels(scene), []);
});

test('a label that an earlier life cleared does not come back to a device that left', async () => {
  const scene = await ready('sdb', 'sdc');
  const annotations = { [note]: JSON.stringify({ '/dev/sdc': '' }) };
  scene.change('vg1', { metadata: { annotations }, spec: paths('sdb') });
  await diesAfter(scene, 'pvremove');
  await scene.until(
    'the note has ended',
    () => scene.object('vg1')?.metadata.annotations?.[note] === undefined,
  );
  losePower(scene);
  assert.deepEqual(labels(scene), ['/dev/sdb']);
});

test('no device is bare before the others keep that it has left', async () => {
  const scene = await ready('sdb', 'sdc');
  const { world } = scene.stage;
  const annotations = { [note]: JSON.stringify({ '/dev/sdc': '' }) };
  scene.change('vg1', { metadata: { annotations }, spec: paths('sdb') });
  await diesAfter(scene, 'pvremove');
  // The device keeps that it is bare, and the group forgets whatever it can.
  let draws = 0;
  world.chance.happens = () => {
    draws += 1;
    return draws > 1;
  };
  losePower(scene);
  assert.deepEqual(labels(scene), ['/dev/sdb']);
  assert.equal(world.vg('vg1')?.pvs.length, 1);
});
