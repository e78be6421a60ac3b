import assert from 'node:assert/strict';
import test from 'node:test';
import { MiB, times } from '../../src/base/bytes.ts';
import { TenantsScene } from './tenants-scene.ts';

const [ofA, ofB] = ['/pods/a/volume', '/pods/b/volume'];

/** A copy of a raw volume in use: it bears no pending mark. */
async function copyOfRaw() {
  const scene = await TenantsScene.begin();
  const { id: source } = await scene.run(scene.create('a', 100));
  await scene.run(scene.publish(source, 'raw', ofA));
  const copied = { source: { kind: 'volume', id: source } } as const;
  const { id } = await scene.run(scene.create('b', 100, copied));
  return { scene, id };
}

test('a copy of a raw volume that grows before it is first shown shows nothing old', async () => {
  const { scene, id } = await copyOfRaw();
  await scene.run(scene.expand(id, 700));
  await scene.run(scene.publish(id, 'raw', ofB));
  assert.deepEqual(scene.leftIn(id), []);
});

test('a copy that is grown while it waits to be shown raw shows nothing old', async () => {
  const { scene, id } = await copyOfRaw();
  const { faults, clock } = scene.stage.world;
  faults.next('lvcreate', { kind: 'slow', ms: 60_000 });
  const other = scene.create('c', 100);
  await clock.advance(10_000);
  const shown = scene.publish(id, 'raw', ofB);
  await clock.advance(10_000);
  const grown = scene.expand(id, 700);
  await scene.run(Promise.allSettled([other, shown, grown]));
  await scene.run(scene.publish(id, 'raw', ofB));
  assert.equal((await scene.run(grown)).sizeBytes, times(MiB, 700));
  assert.deepEqual(scene.leftIn(id), []);
});
