import assert from 'node:assert/strict';
import test from 'node:test';
import { pendingTag } from '../../src/core/tags.ts';
import { publicationTask, volumeTask } from '../../src/engine/tasks.ts';
import { Stage } from './stage.ts';

test('volumes that swap their names while marks of many go are not called changed', async () => {
  const stage = new Stage();
  await stage.setUp();
  const { world } = stage;
  const made = [];
  for (const name of ['a', 'b']) {
    const task = volumeTask(stage.volume(name, 'thick', 100));
    const outcome = await stage.run(stage.engine.submit(task));
    assert.ok(outcome.kind === 'settled');
    made.push({ vg: 'data', name, uuid: outcome.status.uuid ?? '' });
  }
  world.faults.next('lvchange', { kind: 'slow', ms: 5_000 });
  const marks = made.map((volume) =>
    stage.engine.submit(publicationTask(volume, { want: 'clear-marks' })),
  );
  // It waits for lvm's lock, and an administrator is faster.
  await world.clock.advance(1_000);
  world.admin.lvrename('data', 'a', 'was-a');
  world.admin.lvrename('data', 'b', 'a');
  world.admin.run('lvm', 'lvcreate', '--yes', '--size', '100m', '--name', 'b', 'data');
  const outcomes = await stage.run(Promise.all(marks));
  assert.deepEqual(
    outcomes.map(({ kind }) => kind),
    ['blocked', 'blocked'],
  );
  const [group] = (await stage.run(stage.engine.observe())).host.vgs;
  const marked = group?.lvs.filter(({ tags }) => tags.includes(pendingTag));
  assert.deepEqual(marked?.map(({ name }) => name).toSorted(), ['a', 'was-a']);
});
