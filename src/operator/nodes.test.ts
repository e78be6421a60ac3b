import assert from 'node:assert/strict';
import test from 'node:test';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { type OperatorScene, request, twoNodes, withVolume } from '../../test/operator/scene.ts';
import { NodeRemoval, strandedMs } from './nodes.ts';
import { DeadFinalizers } from './nodes-finalizers.ts';

/** Somebody deletes a Node, on which there is a volume with a claim. */
async function leaving(at: OperatorScene, annotations: Record<string, string> = {}) {
  const { id } = await withVolume(at, 'pvc-a');
  at.api.put(collections.claims, { metadata: { name: 'data', namespace: 'ns' }, spec: {} });
  const claim = at.api.one(collections.claims, 'data', 'ns') ?? assert.fail();
  const claimRef = { namespace: 'ns', name: 'data', uid: claim.metadata.uid };
  const csi = { driver: 'topolvm.io', volumeHandle: id };
  at.api.put(collections.volumes, { metadata: { name: 'pvc-a' }, spec: { csi, claimRef } });
  at.node('n1', annotations, { finalizers: ['other.io/x', 'topolvm.io/node'] });
  await at.settle();
  at.run(new NodeRemoval(at.cluster));
  await at.cluster.client.delete(
    { group: '', version: 'v1', kind: 'Node', plural: 'nodes', isNamespaced: false, shape: true },
    { name: 'n1' },
  );
  await at.pass(5_000);
}

function assertKept(at: OperatorScene): void {
  const { metadata } = at.volume('pvc-a') ?? assert.fail('it is gone');
  assert.equal(metadata.deletionTimestamp, undefined);
}

const node = (at: OperatorScene) => at.api.one(collections.nodes, 'n1');
const claim = (at: OperatorScene) => at.api.one(collections.claims, 'data', 'ns');

test('trap 30: a Node that is deleted takes nothing along; our finalizer goes, others stay', async (t) => {
  const at = await twoNodes(t);
  await leaving(at);
  assert.deepEqual(node(at)?.metadata['finalizers'], ['other.io/x']);
  assertKept(at);
  assert.notEqual(claim(at), undefined);
  assert.match(at.events[0]?.message ?? '', /^1 volumes stay behind and are kept: pvc-a\./);
  at.api.delete(collections.nodes, 'n1');
  for (let round = 0; round < 10; round += 1) await at.pass(strandedMs);
  assertKept(at);
});

test('an administrator’s word on the Node gives its volumes up, and keeps the claims', async (t) => {
  const at = await twoNodes(t);
  await leaving(at, { 'quarry.io/discard': 'volumes' });
  assert.equal(at.volume('pvc-a'), undefined);
  assert.notEqual(claim(at), undefined);
  assert.deepEqual(node(at)?.metadata['finalizers'], ['other.io/x']);
});

test('any other word is none', async (t) => {
  const at = await twoNodes(t);
  await leaving(at, { 'quarry.io/discard': 'yes' });
  assertKept(at);
});

test('trap 30: a volume whose node is gone is given up by a word on it, and not before', async (t) => {
  const at = await twoNodes(t);
  const { id } = await withVolume(at, 'pvc-a');
  at.api.delete(collections.nodes, 'n1');
  at.run(new NodeRemoval(at.cluster));
  void at.book.remove('volume', id).catch(() => undefined);
  await at.pass(strandedMs);
  await at.pass(strandedMs);
  assert.notEqual(at.volume('pvc-a'), undefined);
  assert.equal(at.events.length, 1);
  assert.match(at.events[0]?.message ?? '', /the node n1 that has its data is not in the cluster/);
  const volume = at.volume('pvc-a') ?? assert.fail();
  at.api.put(collections.logicalVolumes, {
    ...volume,
    metadata: { ...volume.metadata, annotations: { 'quarry.io/discard': 'true' } },
  });
  await at.pass(strandedMs);
  await at.pass(strandedMs);
  assert.equal(at.volume('pvc-a'), undefined);
});

test('a word on a volume whose node is there does nothing', async (t) => {
  const at = await twoNodes(t);
  await withVolume(at, 'pvc-a');
  const volume = at.volume('pvc-a') ?? assert.fail();
  at.api.put(collections.logicalVolumes, {
    ...volume,
    metadata: { ...volume.metadata, annotations: { 'quarry.io/discard': 'true' } },
  });
  at.run(new NodeRemoval(at.cluster));
  await at.pass(strandedMs);
  await at.pass(strandedMs);
  assertKept(at);
});

test('what was half given up when its node came back is given up: no agent touches it any more', async (t) => {
  const at = await twoNodes(t);
  await withVolume(at, 'pvc-a');
  const volume = at.volume('pvc-a') ?? assert.fail();
  const annotations = { 'quarry.io/discard': 'true', 'topolvm.io/pendingdeletion': 'true' };
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  at.api.put(collections.logicalVolumes, {
    ...volume,
    metadata: { ...volume.metadata, annotations, deletionTimestamp },
  });
  at.run(new NodeRemoval(at.cluster));
  await at.pass(strandedMs);
  await at.pass(strandedMs);
  assert.equal(at.volume('pvc-a'), undefined);
});

test('no new volume goes to a node that leaves', async (t) => {
  const at = await twoNodes(t);
  at.node('n1', {}, { finalizers: ['topolvm.io/node'], deletionTimestamp: '2026-01-01T00:00:00Z' });
  await at.settle();
  await assert.rejects(at.book.create(request('pvc-a'), ['n1']), { code: 'NodeUnknown' });
});

test('trap 16: dead finalizers of claims are stripped, and those of others are left', async (t) => {
  const at = await twoNodes(t);
  const finalizers = ['topolvm.io/pvc', 'kubernetes.io/pvc-protection', 'topolvm.cybozu.com/pvc'];
  const metadata = { name: 'old', namespace: 'ns', finalizers };
  at.api.put(collections.claims, { metadata, spec: {} });
  at.run(new DeadFinalizers(at.cluster));
  await at.pass(1_000);
  await at.pass(1_000);
  const old = at.api.one(collections.claims, 'old', 'ns');
  assert.deepEqual(old?.metadata['finalizers'], ['kubernetes.io/pvc-protection']);
});

test('trap 30: a word that was meant for an earlier Node of the name is none for the next one', async (t) => {
  const at = await twoNodes(t);
  await withVolume(at, 'pvc-a');
  const going = { finalizers: ['topolvm.io/node'], deletionTimestamp: '2026-01-01T00:00:00Z' };
  at.node('n1', { 'quarry.io/discard': 'volumes' }, going);
  await at.settle();
  at.transport.isHeld = true;
  at.api.delete(collections.nodes, 'n1');
  at.node('n1');
  at.run(new NodeRemoval(at.cluster));
  await at.pass(5_000);
  assertKept(at);
});

test('trap 30: a word that was taken back in the last moment is none', async (t) => {
  const at = await twoNodes(t);
  await withVolume(at, 'pvc-a');
  at.api.delete(collections.nodes, 'n1');
  const volume = at.volume('pvc-a') ?? assert.fail();
  const say = (annotations: Record<string, string>) =>
    at.api.put(collections.logicalVolumes, {
      ...volume,
      metadata: { ...volume.metadata, annotations },
    });
  say({ 'quarry.io/discard': 'true' });
  await at.settle();
  at.transport.isHeld = true;
  say({});
  at.run(new NodeRemoval(at.cluster));
  await at.pass(strandedMs);
  assertKept(at);
});
