import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { type OperatorScene, twoNodes } from '../../test/operator/scene.ts';
import { RoomNews, roomTimes } from './room.ts';

const { everyMs, graceMs } = roomTimes;

async function scene(t: TestContext): Promise<OperatorScene> {
  const at = await twoNodes(t);
  at.api.put(collections.classes, {
    metadata: { name: 'fast' },
    ...{ provisioner: 'topolvm.io', volumeBindingMode: 'WaitForFirstConsumer' },
  });
  give(at, '4Gi');
  at.api.put(collections.claims, {
    metadata: { name: 'data', namespace: 'ns' },
    spec: { storageClassName: 'fast', resources: { requests: { storage: '5Gi' } } },
    status: { phase: 'Pending' },
  });
  await at.settle();
  at.run(new RoomNews(at.cluster));
  return at;
}

function give(at: OperatorScene, maximumVolumeSize: string): void {
  for (const node of ['n1', 'n2']) at.capacity(node, 'fast', { maximumVolumeSize });
}

async function rounds(at: OperatorScene, ms: number): Promise<void> {
  for (let passed = 0; passed <= ms; passed += everyMs) await at.pass(everyMs);
}

const told = (at: OperatorScene) =>
  at.events.splice(0).map(({ type, reason, name }) => `${type} ${reason} ${name}`);

test('a claim that no node has room for hears of it once, and when there is room', async (t) => {
  const at = await scene(t);
  await rounds(at, graceMs - 2 * everyMs);
  assert.deepEqual(told(at), [], 'a pod may just have been moved');
  await rounds(at, graceMs);
  const [event] = at.events;
  assert.match(event?.message ?? '', /^InsufficientCapacity: no node .* 5 GiB .* Remedy: Add/);
  assert.deepEqual(told(at), ['Warning NotEnoughCapacity data']);
  await rounds(at, 20 * everyMs);
  give(at, '3Gi');
  await rounds(at, 20 * everyMs);
  assert.deepEqual(told(at), [], 'nothing has changed for the claim');
  give(at, '5Gi');
  await rounds(at, 2 * everyMs);
  assert.deepEqual(told(at), ['Normal EnoughCapacity data']);
  give(at, '4Gi');
  await rounds(at, graceMs + everyMs);
  assert.deepEqual(told(at), ['Warning NotEnoughCapacity data']);
  assert.deepEqual(at.api.writes, [], 'a look writes nothing');
});

test('a claim that goes meanwhile hears nothing more', async (t) => {
  const at = await scene(t);
  await rounds(at, graceMs + everyMs);
  told(at);
  at.api.delete(collections.claims, 'data', 'ns');
  give(at, '5Gi');
  await rounds(at, 2 * everyMs);
  assert.deepEqual(told(at), []);
});
