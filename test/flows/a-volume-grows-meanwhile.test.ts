import assert from 'node:assert/strict';
import test from 'node:test';
import { MiB } from '../../src/base/bytes.ts';
import { pendingTag, tagOf } from '../../src/core/tags.ts';
import { TenantsScene } from './tenants-scene.ts';

async function rawVolume(): Promise<TenantsScene> {
  const scene = await TenantsScene.begin();
  await scene.run(scene.create('a', 100));
  await scene.run(scene.publish('id-1', 'raw'));
  return scene;
}

test('a volume that grows while it is zeroed for its first pod shows nothing old', async () => {
  const scene = await TenantsScene.begin();
  await scene.run(scene.create('a', 100));
  scene.stage.world.faults.next('blkdiscard', { kind: 'slow', ms: 60_000 });
  const shown = scene.publish('id-1', 'raw');
  await scene.stage.world.clock.advance(10_000);
  const grown = await scene.run(scene.expand('id-1', 700));
  assert.equal(grown.sizeBytes, 700n * MiB);
  await scene.run(shown);
  assert.deepEqual(scene.leftIn('id-1'), []);
  assert.equal(scene.lv('id-1').tags.includes(pendingTag), false);
});

test('no snapshot is taken of a raw volume whose new end is not overwritten yet', async () => {
  const scene = await rawVolume();
  scene.stage.world.faults.next('dd', { kind: 'slow', ms: 60_000 });
  const grown = scene.expand('id-1', 700);
  await scene.stage.world.clock.advance(10_000);
  const request = { name: 's', sourceId: 'id-1' };
  await assert.rejects(scene.run(scene.volumes.snapshot(request)), { code: 'GrowthUnfinished' });
  await scene.run(grown);
  const { id } = await scene.run(scene.volumes.snapshot(request));
  const source = { kind: 'snapshot', id } as const;
  const clone = await scene.run(scene.create('b', 700, { source }));
  assert.deepEqual(scene.leftIn(clone.id), []);
});

test('a note of growth that is back with old metadata zeroes nothing when a create is repeated', async () => {
  const scene = await rawVolume();
  scene.stage.world.write(scene.lv('id-1'), 60 * Number(MiB), 4096);
  const before = scene.lv('id-1').content;
  const note = tagOf('grownFrom', String(50n * MiB));
  scene.stage.world.admin.run('lvm', 'lvchange', '--addtag', note, 'data/id-1');
  await scene.run(scene.stage.engine.observe());
  assert.equal((await scene.run(scene.create('a', 100))).id, 'id-1');
  assert.deepEqual(scene.lv('id-1').content, before);
});

test('what an administrator grew after an expansion failed is not zeroed by the next one', async () => {
  const scene = await rawVolume();
  scene.stage.world.faults.next('lvextend', { kind: 'fail' });
  await assert.rejects(scene.run(scene.expand('id-1', 700)));
  scene.stage.world.admin.run('lvm', 'lvextend', '--size', '700m', 'data/id-1');
  scene.stage.world.write(scene.lv('id-1'), 300 * Number(MiB), 4096);
  const before = scene.lv('id-1').content;
  assert.equal((await scene.run(scene.expand('id-1', 700))).sizeBytes, 700n * MiB);
  assert.deepEqual(scene.lv('id-1').content, before);
});

const cutOff = { kind: 'killed', when: 'after', mishap: 'stale-table' } as const;

for (const mode of ['ext4', 'raw'] as const) {
  test(`who is told that a volume grew finds it so in the kernel, ${mode}`, async () => {
    const scene = await TenantsScene.begin();
    await scene.run(scene.create('a', 100));
    await scene.run(scene.publish('id-1', mode));
    scene.stage.world.faults.next('lvextend', cutOff);
    assert.equal((await scene.run(scene.expand('id-1', 700))).sizeBytes, 700n * MiB);
    const { activeExtents, extents } = scene.lv('id-1');
    assert.equal(activeExtents, extents);
    assert.deepEqual(mode === 'raw' ? scene.leftIn('id-1') : [], []);
  });
}

test('a copy that is larger than its source is so in the kernel too', async () => {
  const scene = await TenantsScene.begin();
  await scene.run(scene.create('a', 100, { className: 'thin' }));
  scene.stage.world.faults.next('lvextend', cutOff);
  const source = { kind: 'volume', id: 'id-1' } as const;
  const { id } = await scene.run(scene.create('b', 700, { className: 'thin', source }));
  assert.equal(scene.lv(id).activeExtents, scene.lv(id).extents);
});

test('a volume whose kernel cannot be told keeps whoever asked waiting', async () => {
  const scene = await TenantsScene.begin();
  await scene.run(scene.create('a', 100));
  scene.stage.world.faults.next('lvextend', cutOff);
  const mended = scene.stage.world.faults.next('--refresh', { kind: 'fail' }, 99);
  await assert.rejects(scene.run(scene.expand('id-1', 700)), { code: 'StaleView' });
  mended();
  assert.equal((await scene.run(scene.expand('id-1', 700))).sizeBytes, 700n * MiB);
  assert.equal(scene.lv('id-1').activeExtents, scene.lv('id-1').extents);
});

test('a volume that was left suspended while the kernel was told is resumed', async () => {
  const scene = await rawVolume();
  const { faults } = scene.stage.world;
  faults.next('lvextend', cutOff);
  faults.next('--refresh', { kind: 'killed', when: 'after', mishap: 'left-suspended' });
  assert.equal((await scene.run(scene.expand('id-1', 700))).sizeBytes, 700n * MiB);
  const { isSuspended, activeExtents, extents } = scene.lv('id-1');
  assert.deepEqual([isSuspended, activeExtents], [false, extents]);
});

test('zeroes of an earlier life do not come after what a pod wrote', async () => {
  const scene = await rawVolume();
  scene.stage.world.faults.next('dd', { kind: 'slow', ms: 900_000 });
  void scene.expand('id-1', 700).catch(() => undefined);
  await scene.stage.world.clock.advance(10_000);
  await scene.restart();
  const again = scene.expand('id-1', 700);
  await assert.rejects(scene.run(again), { code: 'CommandTimedOut' });
  const reloads = scene.stage.ran.filter(({ argv }) => argv.includes('--refresh'));
  assert.deepEqual(reloads, [], 'what hangs cannot be suspended');
  await scene.stage.world.clock.advance(900_000);
  assert.equal((await scene.run(scene.expand('id-1', 700))).sizeBytes, 700n * MiB);
  assert.deepEqual(scene.leftIn('id-1'), []);
});
