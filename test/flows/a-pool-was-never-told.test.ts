import assert from 'node:assert/strict';
import test from 'node:test';
import { volumeTask } from '../../src/engine/tasks.ts';
import { Stage } from './stage.ts';

const unknown = {
  kind: 'fail',
  exitCode: 5,
  stderr: '  device-mapper: reload ioctl on  (254:5) failed: No data available\n',
} as const;

async function afterPowerCut() {
  const stage = new Stage();
  await stage.setUp();
  const task = volumeTask(stage.volume('db', 'thin', 100));
  await stage.run(stage.engine.submit(task));
  stage.world.cutPower({ autoActivate: false });
  stage.restart();
  stage.world.admin.run('lvm', 'lvchange', '--activate', 'y', 'data/pool');
  stage.ran.length = 0;
  return { stage, task };
}

const changes = (stage: Stage) => stage.ran.map(({ argv }) => argv.slice(0, 2).join(' '));

test('what lvm still has to tell a thin pool is sent by making and removing a volume', async () => {
  const { stage, task } = await afterPowerCut();
  stage.world.faults.next(/--activate y.*data\/db/, unknown);
  const outcome = await stage.run(stage.engine.submit(task));
  assert.equal(outcome.kind, 'settled');
  assert.deepEqual(changes(stage), [
    ...['lvm lvchange', 'lvm lvcreate', 'lvm lvremove', 'lvm lvchange'],
  ]);
  assert.equal(stage.world.lv('data', 'db')?.isActive, true);
  assert.equal(stage.world.lv('data', 'pool.messenger'), undefined);
});

test('a volume that its pool lost for good is told so, and nothing is made in its place', async () => {
  const { stage, task } = await afterPowerCut();
  const uuid = stage.world.lv('data', 'db')?.uuid;
  stage.world.faults.always(/--activate y.*data\/db/, unknown);
  const outcome = await stage.run(stage.engine.submit(task));
  assert.ok(outcome.kind === 'blocked');
  assert.equal(outcome.code, 'ThinVolumeUnknown');
  assert.equal(stage.world.lv('data', 'db')?.uuid, uuid);
  assert.equal(stage.world.lv('data', 'pool.messenger'), undefined);
});
