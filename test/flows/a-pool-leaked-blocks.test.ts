import assert from 'node:assert/strict';
import test from 'node:test';
import { volumeTask } from '../../src/engine/tasks.ts';
import { Stage } from './stage.ts';

async function afterPowerCut() {
  const stage = new Stage();
  await stage.setUp();
  const task = volumeTask(stage.volume('db', 'thin', 100));
  await stage.run(stage.engine.submit(task));
  const pool = stage.world.lv('data', 'pool');
  assert.ok(pool !== undefined);
  stage.world.cutPower({ autoActivate: false });
  stage.world.machine.leaking.add(pool);
  stage.restart();
  stage.ran.length = 0;
  return { stage, task };
}

test('a pool with blocks that nobody has is mended, and its volumes are there again', async () => {
  const { stage, task } = await afterPowerCut();
  const outcome = await stage.run(stage.engine.submit(task));
  assert.equal(outcome.kind, 'settled');
  assert.deepEqual(
    stage.ran.map(({ argv }) => [argv.at(-1), argv.join(' ').includes('--auto-repair')]),
    [
      ['data/db', false],
      ['data/pool', true],
      ['data/db', false],
    ],
  );
  assert.equal(stage.world.lv('data', 'db')?.isActive, true);
});

test('a pool that somebody else left inactive is not touched when another one is mended', async () => {
  const { stage, task } = await afterPowerCut();
  const size = ['--size', '100m', '--poolmetadatasize', '4m', '--chunksize', '128k'];
  const words = ['--yes', '--type', 'thin-pool', ...size, '--name', 'other', 'data'];
  stage.world.admin.run('lvm', 'lvcreate', ...words);
  stage.world.admin.run('lvm', 'lvchange', '--activate', 'n', 'data/other');
  assert.equal(stage.world.lv('data', 'other')?.isActive, false);
  await stage.run(stage.engine.submit(task));
  assert.equal(stage.world.lv('data', 'db')?.isActive, true);
  assert.equal(stage.world.lv('data', 'other')?.isActive, false);
});

test('a pool that is damaged otherwise is left alone, and whoever needs it is told', async () => {
  const { stage, task } = await afterPowerCut();
  const stderr = '  Check of pool data/pool failed (status:1). Manual repair required!\n';
  stage.world.faults.always('lvchange', { kind: 'fail', exitCode: 5, stderr });
  const outcome = await stage.run(stage.engine.submit(task));
  assert.ok(outcome.kind === 'blocked');
  assert.equal(outcome.code, 'ThinPoolUnhealthy');
  assert.equal(stage.ran.filter(({ argv }) => argv.join(' ').includes('--auto-repair')).length, 1);
});
