import assert from 'node:assert/strict';
import test from 'node:test';
import { show } from '../../src/base/show.ts';
import { desiredGrowth } from '../../src/core/publication/growth.ts';
import { isBlocked } from '../../src/core/usable-vg.ts';
import { NodeScene } from './node-scene.ts';
import { stepsOf } from './publishing.ts';

const path = '/publish/pvc/p1';

/** TopoLVM makes a device node at the path itself and mounts nothing. */
async function shown(of = 'old'): Promise<NodeScene> {
  const scene = await NodeScene.begin();
  const { world, engine } = scene.stage;
  for (const name of ['old', 'other']) {
    const size = ['--size', '104857600b'];
    world.admin.run('lvm', 'lvcreate', '--yes', ...size, '--name', name, 'data');
  }
  await scene.run(engine.observe());
  const number = `254:${world.machine.minorOf(scene.stage.lv(of))}`;
  world.machine.table.nodes.set(path, number);
  scene.stage.ran.length = 0;
  return scene;
}

test('its node is as good as ours, and goes with the pod', async () => {
  const scene = await shown();
  const { stage } = scene;
  await scene.run(scene.publish('old', { path, isRaw: true }));
  assert.deepEqual(stepsOf(stage), []);
  const volume = { vg: 'data', name: 'old', uuid: stage.lv('old').uuid };
  const stats = await scene.run(stage.publisher.stats(volume, path));
  assert.ok('usage' in stats && stats.usage.kind === 'block', show(stats));
  const growth = desiredGrowth({ volume, targetPath: path });
  assert.ok(!isBlocked(growth));
  const grown = await scene.run(stage.publisher.grow(growth));
  assert.ok(grown.kind === 'settled' && grown.status.access === 'block');
  await scene.run(scene.unpublish('old', path));
  assert.deepEqual(stepsOf(stage), ['remove-file']);
  assert.equal(stage.world.machine.table.nodes.has(path), false);
  await scene.run(scene.unpublish('old', path));
});

test('its node goes when the volume is gone', async () => {
  const scene = await shown();
  scene.stage.world.admin.run('lvm', 'lvremove', '--yes', 'data/old');
  await scene.run(scene.unpublish('old', path));
  assert.equal(scene.stage.world.machine.table.nodes.has(path), false);
});

test('the node of another volume is left, and nothing is shown over it', async () => {
  const scene = await shown('other');
  const { nodes } = scene.stage.world.machine.table;
  await assert.rejects(scene.run(scene.publish('old', { path, isRaw: true })), {
    code: 'TargetTaken',
  });
  await assert.rejects(scene.run(scene.unpublish('old', path)), { code: 'TargetTaken' });
  assert.ok(nodes.has(path));
});

test("the kernel's own node is never removed, though somebody calls it the target", async () => {
  const scene = await shown();
  const kernels = `/dev/dm-${scene.stage.world.machine.minorOf(scene.stage.lv('old'))}`;
  await assert.rejects(scene.run(scene.unpublish('old', kernels)), { code: 'TargetTaken' });
});

test('its node is no file system', async () => {
  const scene = await shown();
  await assert.rejects(scene.run(scene.publish('old', { path })), { code: 'PublishedDifferently' });
});
