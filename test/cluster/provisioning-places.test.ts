import assert from 'node:assert/strict';
import test from 'node:test';
import { OperationError } from '../../src/base/failures.ts';
import { limits } from '../../src/base/limits.ts';
import { collections } from '../kube/fake-api-rules.ts';
import type { Json } from '../kube/fake-patch.ts';
import { ClaimScene, refusal, selectedNode } from './provisioning-scene.ts';

test('trap 7: a full node is left, and only when nothing can appear there any more', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = at.claim('data');
  const name = `pvc-${claim.metadata.uid}`;
  await at.settle();
  const message = refusal('InsufficientCapacity', 'vg1 has 10 MiB free, and 1 GiB is asked for');
  at.say(name, { code: 8, message });
  await at.settle();
  // The node has not let go of the object yet.
  assert.equal(annotationOf(at, 'data'), 'n1');
  at.release(name);
  await at.settle();
  assert.equal(annotationOf(at, 'data'), undefined);
  const known = at.cluster.stores.claims.get({ namespace: 'ns', name: 'data' });
  assert.equal(known?.metadata.annotations?.[selectedNode], undefined);
  assert.deepEqual(at.volumes(), []);
  at.obedient();
  at.claim('data', {}, { [selectedNode]: 'n2' });
  await at.settle();
  assert.equal(at.recordOf(claim)?.spec.nodeName, 'n2');
  assert.notEqual(at.persistentVolume(claim), undefined);
});

test('after a reschedule an old view of the claim is not provisioned on the old node', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = at.claim('data');
  const name = `pvc-${claim.metadata.uid}`;
  await at.settle();
  at.say(name, { code: 8, message: refusal('InsufficientCapacity', 'full') });
  await at.settle();
  at.transport.isHeld = true;
  at.release(name);
  await at.pass(60_000);
  assert.equal(annotationOf(at, 'data'), undefined);
  // The watch has told nothing yet.
  const known = at.cluster.stores.claims.get({ namespace: 'ns', name: 'data' });
  assert.equal(known?.metadata.annotations?.[selectedNode], undefined);
  assert.deepEqual(at.volumes(), []);
});

test('trap 7: a claim does not leave a node while its LogicalVolume is there, whoever says so', async (t) => {
  const at = await ClaimScene.begin(t, (scene) => ({
    create: async ({ name }) => {
      const spec = { name, nodeName: 'n1', size: '1Gi' };
      scene.api.put(collections.logicalVolumes, { metadata: { name }, spec });
      throw new OperationError('InsufficientCapacity', 'full');
    },
  }));
  at.claim('data');
  await at.pass(60_000);
  assert.equal(annotationOf(at, 'data'), 'n1');
});

test('a selected node without CSINode is given back to the scheduler', async (t) => {
  const at = await ClaimScene.begin(t);
  at.claim('data', {}, { [selectedNode]: 'n9' });
  await at.settle();
  assert.equal(annotationOf(at, 'data'), undefined);
  assert.match(at.told('ProvisioningFailed').join(), /the selected node n9 has no CSINode/);
});

test('a node whose driver is not registered is waited for, and its coming is noticed', async (t) => {
  const at = await ClaimScene.begin(t, (scene) => scene.csiNode('n1', []));
  at.obedient();
  const claim = at.claim('data');
  await at.pass(600_000);
  assert.equal(annotationOf(at, 'data'), 'n1');
  assert.equal(at.recordOf(claim), undefined);
  at.csiNode('n1');
  await at.settle();
  assert.notEqual(at.persistentVolume(claim), undefined);
});

test('trap 8: what was begun is finished where it is, though the node lost its label', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = at.claim('data');
  await at.settle();
  at.api.delete(collections.csiNodes, 'n1');
  at.api.put(collections.nodes, { metadata: { name: 'n1' } });
  await at.pass(limits.nodeAnswerMs * 3);
  assert.equal(annotationOf(at, 'data'), 'n1');
  at.claim('data', {}, { [selectedNode]: 'n2' });
  await at.pass(limits.nodeAnswerMs * 3);
  at.made(`pvc-${claim.metadata.uid}`);
  await at.settle();
  const spec = at.persistentVolume(claim)?.['spec'] as { nodeAffinity: unknown };
  assert.match(JSON.stringify(spec.nodeAffinity), /"n1"/);
  assert.equal(at.volumes().length, 1);
});

function annotationOf(at: ClaimScene, name: string): unknown {
  return (at.claimNow(name)?.metadata['annotations'] as Json | undefined)?.[selectedNode];
}

test('a node that falls silent while a volume is taken back holds nobody up', async (t) => {
  let waiting = 0;
  const at = await ClaimScene.begin(t, () => ({
    remove: (_kind, _id, signal) =>
      new Promise((_resolve, reject) => {
        waiting += 1;
        signal?.addEventListener('abort', () => {
          waiting -= 1;
          reject(new OperationError('Cancelled', 'left'));
        });
      }),
  }));
  const claim = at.claim('data');
  await at.settle();
  at.api.delete(collections.claims, 'data', 'ns');
  await at.settle();
  at.made(`pvc-${claim.metadata.uid}`);
  await at.settle();
  assert.equal(waiting, 1);
  await at.pass(limits.nodeAnswerMs + 1_000);
  assert.equal(waiting, 0);
  assert.equal(at.isMarked(claim), true, 'it is collected with the orphans');
});
