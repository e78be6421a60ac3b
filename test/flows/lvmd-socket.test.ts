import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { show } from '../../src/base/show.ts';
import { HealthDefinition } from '../../src/csi/generated/health.ts';
import { LVServiceDefinition, VGServiceDefinition } from '../../src/csi/generated/lvmd.ts';
import { Health, healthService } from '../../src/csi/health.ts';
import { serve } from '../world/sockets.ts';
import { LvmdScene, mib } from './lvmd-scene.ts';

const patience = { timeoutMs: 10_000 };

/** lvmd's socket as TopoLVM's node service meets it; fake time passes as fast as it can. */
async function served(t: TestContext) {
  const scene = await LvmdScene.begin();
  const health = new Health();
  health.set('', 'SERVING');
  const { client } = await serve(t, [...scene.services, healthService(health)]);
  const time = { isOver: false, isPassing: true };
  t.after(() => {
    time.isOver = true;
  });
  void (async () => {
    while (!time.isOver) await scene.stage.world.clock.advance(time.isPassing ? 20 : 0);
  })();
  return { scene, client, time };
}

test('a volume is made, listed, grown and removed through the socket', async (t) => {
  const { client } = await served(t);
  const named = { name: 'u1', deviceClass: 'thick' };
  const made = await client.call(
    LVServiceDefinition,
    'createLV',
    { ...named, sizeBytes: mib(100) },
    patience,
  );
  assert.ok(made.kind === 'response', show(made));
  assert.equal(made.response.volume?.sizeBytes, mib(100));
  const larger = { ...named, sizeBytes: mib(200) };
  const grown = await client.call(LVServiceDefinition, 'resizeLV', larger, patience);
  assert.deepEqual(grown, { kind: 'response', response: { sizeBytes: mib(200) } });
  const list = await client.call(VGServiceDefinition, 'getLVList', named, patience);
  assert.ok(list.kind === 'response');
  assert.deepEqual(
    list.response.volumes.map(({ name }) => name),
    ['u1'],
  );
  const gone = await client.call(LVServiceDefinition, 'removeLV', named, patience);
  assert.equal(gone.kind, 'response');
  const missing = await client.call(LVServiceDefinition, 'resizeLV', larger, patience);
  assert.ok(missing.kind === 'failed' && missing.code === 'NOT_FOUND');
});

test('a deadline ends the call and not the work', async (t) => {
  const { scene, client, time } = await served(t);
  time.isPassing = false;
  const request = { name: 'u1', deviceClass: 'thick', sizeBytes: mib(100) };
  const late = await client.call(LVServiceDefinition, 'createLV', request, { timeoutMs: 30 });
  time.isPassing = true;
  assert.ok(late.kind === 'failed' && late.code === 'DEADLINE_EXCEEDED');
  const again = await client.call(LVServiceDefinition, 'createLV', request, patience);
  assert.ok(again.kind === 'response' && again.response.volume?.name === 'u1');
  assert.deepEqual(scene.runs(), ['lvcreate']);
});

test('the stream of figures lives through looks that fail', async (t) => {
  const { scene, client } = await served(t);
  const stream = client.stream(VGServiceDefinition, 'watch', {}, patience);
  const next = async () => {
    const { value } = await stream.next();
    return value?.kind === 'response' ? value.response : assert.fail(show(value));
  };
  const first = await next();
  scene.stage.world.faults.next('fullreport', { kind: 'garbage' });
  await scene.stage.engine.observe().catch(() => undefined);
  const request = { name: 'u1', deviceClass: 'thick', sizeBytes: mib(100) };
  await client.call(LVServiceDefinition, 'createLV', request, patience);
  let later = await next();
  while (later.items[1]?.freeBytes === first.items[1]?.freeBytes) later = await next();
  assert.equal(later.items[1]?.freeBytes, (first.items[1]?.freeBytes ?? 0n) - mib(100));
  await stream.return(undefined);
});

test('health is told as TopoLVM asks for it', async (t) => {
  const { client } = await served(t);
  const told = await client.call(HealthDefinition, 'check', { service: '' }, patience);
  assert.deepEqual(told, { kind: 'response', response: { status: 'SERVING' } });
});
