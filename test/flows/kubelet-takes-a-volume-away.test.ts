import assert from 'node:assert/strict';
import test from 'node:test';
import { NodeScene } from './node-scene.ts';

async function shown(): Promise<NodeScene> {
  const scene = await NodeScene.begin();
  await scene.stage.make('db');
  await scene.run(scene.publish('db'));
  return scene;
}

test('a volume is taken away though its group is', async () => {
  const scene = await shown();
  for (const device of scene.stage.world.machine.devices) device.isPresent = false;
  await scene.run(scene.stage.engine.observe());
  await scene.run(scene.unpublish('db'));
  assert.equal(scene.stage.mountsAt(), 0);
});

test('a volume is taken away by a new life that lvm gives no report', async () => {
  const scene = await shown();
  scene.stage.restart();
  scene.stage.world.faults.always('fullreport', { kind: 'fail' });
  await scene.run(scene.unpublish('db'));
  assert.equal(scene.stage.mountsAt(), 0);
});

test('a volume that nobody can look up is not mistaken for another one', async () => {
  const scene = await shown();
  scene.stage.world.faults.always('fullreport', { kind: 'fail' });
  scene.stage.restart();
  await assert.rejects(scene.run(scene.unpublish('other')), { code: 'TargetTaken' });
  assert.equal(scene.stage.mountsAt(), 1);
});
