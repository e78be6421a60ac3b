import assert from 'node:assert/strict';
import test from 'node:test';
import { bytes } from '../../src/base/bytes.ts';
import { isBlocked } from '../../src/core/usable-vg.ts';
import { desiredVolume } from '../../src/core/volume/desired.ts';
import { volumeTask } from '../../src/engine/tasks.ts';
import { thickClass } from '../samples/observed.ts';
import { GroupScene } from './agent-groups-scene.ts';

const note = 'release.devices.quarry.io/n1';
const paths = (...names: readonly string[]) => ({
  deviceSelector: { paths: names.map((name) => `/dev/${name}`) },
});

async function ready(...names: readonly string[]): Promise<GroupScene> {
  const scene = new GroupScene();
  scene.group('vg1', paths(...names));
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  return scene;
}

/** As an operator does it: the path is named no more, and this node is told. */
function takeOut(scene: GroupScene, path: string, ...left: readonly string[]): void {
  const annotations = { [note]: JSON.stringify({ [path]: '' }) };
  scene.change('vg1', { metadata: { annotations }, spec: paths(...left) });
}

function noteOf(scene: GroupScene): string | undefined {
  return scene.object('vg1')?.metadata.annotations?.[note];
}

function fill(scene: GroupScene, name: string, size: string, ...on: readonly string[]): void {
  const { admin } = scene.stage.world;
  admin.run('lvm', 'lvcreate', '--yes', '--size', size, '--name', name, 'vg1', ...on);
}

test('a device that shall leave is emptied and taken out, and is bare then', async () => {
  const scene = await ready('sdb', 'sdc');
  fill(scene, 'data', '1g', '/dev/sdc');
  takeOut(scene, '/dev/disk/by-id/ata-QUARRY0003', 'sdb');
  await scene.until('left', () => scene.devicesOf('vg1').length === 1);
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb']);
  const { world } = scene.stage;
  assert.equal(world.machine.device('/dev/sdc')?.label, undefined);
  assert.notEqual(world.lv('vg1', 'data'), undefined);
  await scene.until('the note has ended', () => noteOf(scene) === undefined);
});

test('a disk that comes back after its note has ended stays, and is told of', async () => {
  const scene = await ready('sdb', 'sdc');
  takeOut(scene, '/dev/sdc', 'sdb');
  await scene.until('the note has ended', () => noteOf(scene) === undefined);
  scene.stage.world.admin.run('lvm', 'vgextend', 'vg1', '/dev/sdc');
  scene.change('vg1', { metadata: { labels: { a: 'b' } } });
  await scene.until('told', () => scene.devicesOf('vg1').length === 2);
  assert.match(scene.told('vg1')?.warnings?.join() ?? '', /\/dev\/sdc is in vg1, and no path/);
  await scene.settle(120_000);
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb', '/dev/sdc']);
  assert.ok(scene.isReady('vg1'));
});

test('a disk that gets the path of one that shall leave stays', async () => {
  const scene = await ready('sda', 'sdb', 'sdc');
  for (const name of ['sda', 'sdb', 'sdc']) fill(scene, name, '3g', `/dev/${name}`);
  takeOut(scene, '/dev/sdc', 'sda', 'sdb');
  await scene.until('it has no room', () => scene.told('vg1')?.status === 'Degraded');
  assert.match(
    scene.told('vg1')?.reason ?? '',
    /DeviceStays: \/dev\/sdc holds 3 GiB, and the other .* free/,
  );
  const { admin } = scene.stage.world;
  scene.kill();
  admin.renumber('/dev/sdb', '/dev/sdc');
  admin.run('lvm', 'lvremove', '--yes', 'vg1/sda');
  const before = scene.ran().filter((words) => words !== 'lvm fullreport').length;
  scene.start();
  await scene.until('the note has ended', () => noteOf(scene) === undefined);
  await scene.settle(60_000);
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sda', '/dev/sdb', '/dev/sdc']);
  assert.equal(scene.ran().filter((words) => words !== 'lvm fullreport').length, before);
});

test('a device that is named again before it left stays', async () => {
  const scene = await ready('sdb', 'sdc');
  for (const name of ['sdb', 'sdc']) fill(scene, name, '3g', `/dev/${name}`);
  takeOut(scene, '/dev/sdc', 'sdb');
  await scene.until('it has no room', () => scene.told('vg1')?.status === 'Degraded');
  scene.change('vg1', {
    spec: paths('sdb', 'disk/by-id/ata-QUARRY0003'),
  });
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.equal(noteOf(scene), undefined);
  scene.stage.world.admin.run('lvm', 'lvremove', '--yes', 'vg1/sdb');
  await scene.settle(60_000);
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb', '/dev/sdc']);
});

test('an agent that is killed at any moment of a release comes to its end', async () => {
  for (let turns = 1; turns < 300; turns += 23) {
    const scene = await ready('sdb', 'sdc');
    fill(scene, 'data', '1g', '/dev/sdc');
    takeOut(scene, '/dev/sdc', 'sdb');
    for (let turn = 0; turn < turns; turn += 1) await scene.pass(5);
    scene.kill();
    scene.start();
    await scene.until('it has ended', () => noteOf(scene) === undefined);
    await scene.until('ready', () => scene.isReady('vg1'));
    assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb'], `after ${turns} turns`);
    assert.notEqual(scene.stage.world.lv('vg1', 'data'), undefined);
  }
});

test('while a device is emptied everything else goes on, and its progress is told', async () => {
  const scene = await ready('sdb', 'sdc');
  fill(scene, 'data', '1g', '/dev/sdc');
  const { world } = scene.stage;
  world.faults.always('pvmove', { kind: 'slow', ms: 800_000 });
  takeOut(scene, '/dev/sdc', 'sdb');
  await scene.until('it is begun', () => world.vg('vg1')?.moves.length === 1);
  scene.group('vg2', paths('sda'));
  await scene.until('another group is ready', () => scene.isReady('vg2'));
  assert.equal(world.vg('vg1')?.moves.length, 1, 'long before it is done');
  const sizeBytes = bytes(64n * 1024n ** 2n);
  for (const vg of ['vg1', 'vg2']) {
    const desired = desiredVolume({ name: `in-${vg}`, className: '', sizeBytes }, [
      thickClass({ vg }),
    ]);
    assert.ok(!isBlocked(desired));
    let answer = '';
    void scene.stage.engine.submit(volumeTask(desired)).then(({ kind }) => {
      answer = kind;
    });
    await scene.until('a volume is made', () => answer === 'settled');
  }
  assert.equal(world.vg('vg1')?.moves.length, 1);
  const told = () => scene.told('vg1')?.reason ?? '';
  await scene.until('half of it is told', () => /\/dev\/sdc is .*, 50 % are moved/.test(told()));
  assert.equal(scene.told('vg1')?.status, 'Progressing');
  await scene.until('left', () => scene.devicesOf('vg1').length === 1);
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.equal(scene.stage.ran.filter(({ step }) => step === 'evacuate-pv').length, 1);
});

test('a move that was cut off goes on, though its places are all that was free', async () => {
  const scene = await ready('sdb', 'sdc');
  fill(scene, 'data', '3g', '/dev/sdc');
  fill(scene, 'other', '900m', '/dev/sdb');
  const { world } = scene.stage;
  world.faults.next('pvmove', { kind: 'killed', when: 'after', mishap: 'left-moving' });
  takeOut(scene, '/dev/sdc', 'sdb');
  await scene.until('it is cut off', () =>
    scene.stage.ran.some(({ step, exitCode }) => step === 'evacuate-pv' && exitCode === undefined),
  );
  scene.kill();
  assert.equal(world.vg('vg1')?.moves.length, 1);
  scene.start();
  await scene.until('left', () => scene.devicesOf('vg1').length === 1);
  assert.notEqual(world.lv('vg1', 'data'), undefined);
});

test('what pvmove refuses is told, and tried again', async () => {
  const scene = await ready('sdb', 'sdc');
  fill(scene, 'data', '1g', '/dev/sdc');
  const { faults } = scene.stage.world;
  const stderr = '  Insufficient free space: 30 extents needed, but only 11 available\n';
  faults.always('pvmove', { kind: 'fail', exitCode: 5, stderr });
  takeOut(scene, '/dev/sdc', 'sdb');
  await scene.until('told', () => scene.told('vg1')?.status === 'Degraded');
  assert.match(scene.told('vg1')?.reason ?? '', /^DeviceStays: .*only 11 available/s);
  faults.stop();
  await scene.until('left', () => scene.devicesOf('vg1').length === 1);
});

test('a move that was cut off goes on to its end, also for a device that is named again', async () => {
  const scene = await ready('sdb', 'sdc');
  fill(scene, 'data', '1g', '/dev/sdc');
  const { world } = scene.stage;
  takeOut(scene, '/dev/sdc', 'sdb');
  await scene.until('it is begun', () => world.vg('vg1')?.moves.length === 1);
  scene.kill();
  world.processes.killMoves();
  const found = noteOf(scene);
  scene.change('vg1', { spec: paths('sdb', 'sdc') });
  assert.equal(noteOf(scene), found, 'as an operator leaves it');
  scene.start();
  await scene.until('nothing is moved any more', () => world.vg('vg1')?.moves.length === 0);
  await scene.until('the note has ended', () => noteOf(scene) === undefined);
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb', '/dev/sdc']);
  world.admin.run('lvm', 'lvremove', '--yes', 'vg1/data');
});

test('a group that shall go brings a move to its end that was cut off', async () => {
  const scene = new GroupScene();
  const thinPoolConfig = { name: 'pool', sizePercent: 40, overprovisionRatio: 2 };
  scene.group('vg1', { ...paths('sdb', 'sdc'), thinPoolConfig });
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  const { world } = scene.stage;
  takeOut(scene, '/dev/sdb', 'sdc');
  await scene.until('it is begun', () => world.vg('vg1')?.moves.length === 1);
  scene.kill();
  world.processes.killMoves();
  world.faults.next('pvmove', { kind: 'slow', ms: 300_000 });
  scene.change('vg1', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
  scene.start();
  const told = () => scene.told('vg1')?.reason ?? '';
  await scene.until('it is told', () => /\/dev\/sdb of vg1 is being emptied/.test(told()));
  assert.notEqual(world.lv('vg1', 'pool'), undefined, 'it is not gone before');
  await scene.until('gone', () => scene.object('vg1') === undefined);
  assert.equal(world.vg('vg1'), undefined);
  for (const path of ['/dev/sdb', '/dev/sdc']) {
    assert.equal(world.machine.device(path)?.label, undefined, path);
  }
});

test('what has left is bare, also while another device cannot leave', async () => {
  const scene = await ready('sda', 'sdb', 'sdc');
  fill(scene, 'data', '3g', '/dev/sdb');
  fill(scene, 'more', '2g', '/dev/sda');
  const { world } = scene.stage;
  const annotations = { [note]: JSON.stringify({ '/dev/sdb': '', '/dev/sdc': '' }) };
  scene.change('vg1', { metadata: { annotations }, spec: paths('sda') });
  await scene.until('it is bare', () => world.machine.device('/dev/sdb')?.label === undefined);
  await scene.until('told', () => scene.told('vg1')?.status === 'Degraded');
  assert.match(scene.told('vg1')?.reason ?? '', /DeviceStays: \/dev\/sdc holds/);
});

test('a label that could not be cleared goes with the group', async () => {
  const scene = await ready('sdb', 'sdc');
  const { world } = scene.stage;
  takeOut(scene, '/dev/sdc', 'sdb');
  const heal = world.faults.always('pvremove', { kind: 'fail' });
  await scene.until('it has left', () => world.vg('vg1')?.pvs.length === 1);
  scene.change('vg1', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
  await scene.until('the group is gone', () => world.vg('vg1') === undefined);
  heal();
  const isGone = () => (scene.object('vg1')?.metadata.finalizers ?? []).length === 0;
  await scene.until('the object may go', isGone);
  const labels = world.machine.devices.filter(({ label }) => label !== undefined);
  assert.deepEqual(labels, []);
});
