import assert from 'node:assert/strict';
import test from 'node:test';
import { volumeTask } from '../../src/engine/tasks.ts';
import { nodeFile, Stage } from './stage.ts';

/** lvm was killed while it activated a RAID: some parts are in the kernel, the whole is not. */
async function withStrayParts() {
  const stage = new Stage({ file: withMirror() });
  await stage.setUp();
  const task = volumeTask(stage.volume('db', 'mirror', 100));
  await stage.run(stage.engine.submit(task));
  const lv = stage.world.lv('data', 'db');
  assert.ok(lv !== undefined);
  const { uuid } = lv;
  lv.isActive = false;
  stage.world.machine.strayParts.set(lv, new Set(['_rmeta_0', '_rimage_1']));
  stage.restart();
  stage.ran.length = 0;
  return { stage, task, lv, uuid };
}

function withMirror() {
  const file = nodeFile(['/dev/sda', '/dev/sdb', '/dev/sdc']);
  const mirror = { name: 'mirror', volumeGroup: 'data', raid: { type: 'raid1', mirrors: 1 } };
  return { ...file, deviceClasses: [...file.deviceClasses, mirror] };
}

test('parts of a RAID that are active without it are dropped, and it is the same RAID', async () => {
  const { stage, task, lv, uuid } = await withStrayParts();
  const outcome = await stage.run(stage.engine.submit(task));
  assert.equal(outcome.kind, 'settled');
  assert.deepEqual(
    stage.ran.map(({ argv }) => [argv[1], argv.at(-1)]),
    [
      ['lvchange', 'data/db'],
      ['remove', 'data-db_rmeta_0'],
      ['remove', 'data-db_rimage_1'],
      ['lvchange', 'data/db'],
    ],
  );
  assert.equal(stage.world.lv('data', 'db'), lv);
  assert.deepEqual([lv.uuid, lv.isActive], [uuid, true]);
});

test('a part that somebody has open stays, and whoever needs the volume is told', async () => {
  const { stage, task } = await withStrayParts();
  const stderr =
    '  device-mapper: remove ioctl on data-db_rmeta_0  failed: Device or resource busy\n';
  stage.world.faults.always(({ argv }) => argv[1] === 'remove', {
    kind: 'fail',
    exitCode: 1,
    stderr,
  });
  const outcome = await stage.run(stage.engine.submit(task));
  assert.ok(outcome.kind === 'blocked');
  assert.equal(outcome.code, 'VolumePartsActive');
  assert.match(outcome.message, /data\/db_rmeta_0 is active/);
});

async function withStrayMetadata() {
  const stage = new Stage();
  await stage.setUp();
  const task = volumeTask(stage.volume('db', 'thin', 100));
  await stage.run(stage.engine.submit(task));
  const [lv, pool] = [stage.world.lv('data', 'db'), stage.world.lv('data', 'pool')];
  assert.ok(lv !== undefined && pool !== undefined);
  lv.isActive = false;
  pool.isActive = false;
  stage.world.machine.strayParts.set(pool, new Set(['_tmeta']));
  stage.restart();
  stage.ran.length = 0;
  return { stage, task, lv, pool };
}

test('metadata that an administrator activated to look at it stays as it is', async () => {
  const { stage, task, lv, pool } = await withStrayMetadata();
  stage.world.machine.openedByHand.add(pool);
  const outcome = await stage.run(stage.engine.submit(task));
  assert.ok(outcome.kind === 'blocked');
  assert.equal(outcome.code, 'VolumePartsActive');
  assert.match(outcome.message, /data\/pool_tmeta is active/);
  assert.deepEqual([...(stage.world.machine.strayParts.get(pool) ?? [])], ['_tmeta']);
  assert.deepEqual([lv.isActive, pool.isActive], [false, false]);
});

test('parts of a thin pool that are active without it are dropped, for any of its volumes', async () => {
  const { stage, task, lv } = await withStrayMetadata();
  const outcome = await stage.run(stage.engine.submit(task));
  assert.equal(outcome.kind, 'settled');
  assert.deepEqual(
    stage.ran.map(({ argv }) => [argv[1], argv.at(-1)]),
    [
      ['lvchange', 'data/db'],
      ['remove', 'data-pool_tmeta'],
      ['lvchange', 'data/db'],
    ],
  );
  assert.equal(lv.isActive, true);
});
