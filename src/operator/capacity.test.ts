import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { type OperatorScene, twoNodes } from '../../test/operator/scene.ts';
import { CapacityJanitor, capacityTimes } from './capacity.ts';

const { everyMs, graceMs } = capacityTimes;

async function scene(t: TestContext): Promise<OperatorScene> {
  const at = await twoNodes(t);
  at.class('fast');
  for (const name of ['n1', 'n2']) registered(at, name, ['topolvm.io']);
  at.capacity('n1', 'fast', { capacity: '1Gi' }, { labels: labels('n1') });
  await at.settle();
  at.run(new CapacityJanitor(at.cluster));
  return at;
}

function labels(node?: string) {
  return {
    'csi.storage.k8s.io/drivername': 'topolvm.io',
    'csi.storage.k8s.io/managed-by': 'external-provisioner',
    ...(node === undefined ? {} : { 'quarry.io/node': node }),
  };
}

function registered(at: OperatorScene, name: string, drivers: readonly string[]): void {
  const list = drivers.map((driver) => ({ name: driver, nodeID: name, topologyKeys: [] }));
  at.api.put(collections.csiNodes, { metadata: { name }, spec: { drivers: list } });
}

const left = (at: OperatorScene) =>
  at.api.all(collections.capacities).map(({ metadata }) => metadata.name);

async function rounds(at: OperatorScene, ms: number): Promise<void> {
  for (let passed = 0; passed <= ms; passed += everyMs) await at.pass(everyMs);
}

test('trap 25: an agent that restarts keeps its capacity; a node that is gone loses it', async (t) => {
  const at = await scene(t);
  registered(at, 'n1', []);
  await rounds(at, graceMs / 2);
  registered(at, 'n1', ['topolvm.io']);
  await rounds(at, everyMs);
  registered(at, 'n1', []);
  await rounds(at, graceMs / 2);
  assert.deepEqual(left(at), ['csisc-n1-fast']);
  registered(at, 'n1', ['topolvm.io']);
  at.api.delete(collections.nodes, 'n1');
  await rounds(at, graceMs + everyMs);
  assert.deepEqual(left(at), []);
});

test('trap 26: what the stock provisioner left goes where an agent tells it itself, and of lost classes', async (t) => {
  const at = await scene(t);
  at.capacity('n1', 'fast', { capacity: '9Gi' }, { name: 'stock-twin' });
  at.capacity('n2', 'fast', { capacity: '9Gi' }, { name: 'stock-alone' });
  at.capacity('n2', 'lost', { capacity: '9Gi' }, { name: 'stock-lost' });
  const foreign = { ...labels(), 'csi.storage.k8s.io/managed-by': 'somebody' };
  at.capacity('n9', 'fast', { capacity: '9Gi' }, { name: 'foreign', labels: foreign });
  await rounds(at, graceMs + everyMs);
  assert.deepEqual(left(at), ['csisc-n1-fast', 'stock-alone', 'foreign']);
});
