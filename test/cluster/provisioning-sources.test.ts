import assert from 'node:assert/strict';
import test from 'node:test';
import type { Stored } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import type { Json } from '../kube/fake-patch.ts';
import {
  ClaimScene,
  fromClaim,
  fromSnapshot,
  refusal,
  selectedNode,
} from './provisioning-scene.ts';

const cloneGuard = 'provisioner.storage.kubernetes.io/cloning-protection';
const snapshotGuard = 'provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection';

test('a clone is made on the node of its source, which is guarded until the clone is bound', async (t) => {
  const at = await ClaimScene.begin(t);
  const origin = await at.bound('origin');
  const clone = at.claim('clone', fromClaim('origin'));
  await at.settle();
  const record = at.recordOf(clone) ?? assert.fail();
  assert.equal(record.spec.source, `pvc-${origin.metadata.uid}`);
  assert.equal(record.spec.nodeName, 'n1');
  assert.deepEqual(finalizersOf(at.claimNow('origin')), [cloneGuard]);
  going(at, collections.claims, 'origin');
  await at.pass(65_000);
  assert.deepEqual(finalizersOf(at.claimNow('origin')), [cloneGuard]);
  assert.match(at.told('ProvisioningFailed').join(), /: the copy is not complete on n1 after 60 s/);
  at.made(`pvc-${clone.metadata.uid}`);
  await at.pass(5_000);
  at.bind(clone);
  await at.settle();
  assert.equal(at.claimNow('origin'), undefined);
});

test('a copy is made where its source is, whatever node the pod has: the pod follows', async (t) => {
  const at = await ClaimScene.begin(t);
  at.obedient();
  await at.bound('origin');
  const clone = at.claim('clone', fromClaim('origin'), { [selectedNode]: 'n2' });
  await at.settle();
  assert.equal(at.recordOf(clone)?.spec.nodeName, 'n1');
  const spec = at.persistentVolume(clone)?.['spec'] as Json;
  assert.match(JSON.stringify(spec['nodeAffinity']), /"n1"/);
});

test('a copy that finds no room is not sent from node to node', async (t) => {
  const at = await ClaimScene.begin(t);
  await at.bound('origin');
  const clone = at.claim('clone', fromClaim('origin'));
  const name = `pvc-${clone.metadata.uid}`;
  await at.settle();
  at.say(name, { code: 8, message: refusal('ThinPoolFull', 'the pool has 1 MiB') });
  await at.settle();
  at.release(name);
  await at.settle();
  const annotations = at.claimNow('clone')?.metadata['annotations'] as Json;
  assert.equal(annotations[selectedNode], 'n1');
  assert.match(at.told('ProvisioningFailed').join(), /^ThinPoolFull: the pool has 1 MiB/);
  await at.pass(5_000);
  assert.notEqual(at.recordOf(clone), undefined);
});

test('a source that goes before the copy began is not copied; one that was begun is finished', async (t) => {
  const at = await ClaimScene.begin(t);
  await at.bound('origin');
  at.change(collections.claims, 'origin', (found) => ({
    ...found,
    metadata: { ...found.metadata, finalizers: ['kubernetes.io/pvc-protection'] },
  }));
  going(at, collections.claims, 'origin');
  const clone = at.claim('clone', fromClaim('origin'));
  await at.settle();
  assert.match(at.told('ProvisioningFailed').join(), /ns\/origin is being deleted/);
  assert.equal(at.recordOf(clone), undefined);
});

test('a claim waits for its source, and its becoming bound is noticed', async (t) => {
  const at = await ClaimScene.begin(t);
  const origin = at.claim('origin');
  const clone = at.claim('clone', fromClaim('origin'));
  await at.settle();
  at.made(`pvc-${origin.metadata.uid}`);
  await at.pass(100_000);
  assert.equal(at.recordOf(clone), undefined);
  at.bind(origin);
  await at.settle();
  assert.notEqual(at.recordOf(clone), undefined);
});

test('a restore guards its snapshot before it begins, and lets it go when the claim is bound', async (t) => {
  const at = await ClaimScene.begin(t);
  const snapshot = await restorable(at);
  const claim = at.claim('restored', fromSnapshot('snap'));
  let guarded: boolean | undefined;
  at.api.listeners.add(({ collection, before }) => {
    if (collection !== collections.logicalVolumes || before !== undefined) return;
    guarded ??= finalizersOf(snapshotNow(at)).includes(snapshotGuard);
  });
  await at.settle();
  assert.equal(guarded, true);
  const record = at.recordOf(claim) ?? assert.fail();
  assert.equal(record.spec.source, 'snapshot-1');
  at.made(`pvc-${claim.metadata.uid}`);
  await at.settle();
  assert.notEqual(at.persistentVolume(claim), undefined);
  at.bind(claim);
  await at.settle();
  assert.deepEqual(finalizersOf(snapshotNow(at)), []);
  assert.equal(snapshot.metadata.name, 'snap');
});

test('a guard that an earlier leader left is swept, but not while a claim is pending', async (t) => {
  const at = await ClaimScene.begin(t, (scene) => {
    scene.snapshot('snap', { readyToUse: false }, { finalizers: ['other', snapshotGuard] });
    scene.claim('waiting', fromSnapshot('snap'), {});
  });
  await at.pass(600_000);
  assert.deepEqual(finalizersOf(snapshotNow(at)), ['other', snapshotGuard]);
  at.api.delete(collections.claims, 'waiting', 'ns');
  await at.pass(1_000);
  assert.deepEqual(finalizersOf(snapshotNow(at)), ['other']);
  at.snapshot('snap', { readyToUse: false }, { finalizers: [snapshotGuard] });
  await at.pass(300_000);
  assert.deepEqual(finalizersOf(snapshotNow(at)), []);
});

test('where snapshots may not be written to, the volume is made all the same', async (t) => {
  const at = await ClaimScene.begin(t);
  await restorable(at);
  const handle = at.api.handle.bind(at.api);
  at.api.handle = (request, sink) => {
    if (request.method === 'PATCH' && request.url.includes('volumesnapshots')) {
      sink.head(403);
      sink.write(JSON.stringify({ kind: 'Status', code: 403, reason: 'Forbidden' }));
      sink.end();
    } else handle(request, sink);
  };
  const claim = at.claim('restored', fromSnapshot('snap'));
  await at.settle();
  assert.notEqual(at.recordOf(claim), undefined);
});

test('CRDs that come later are found by the next try', async (t) => {
  const at = await ClaimScene.begin(t, ({ api }) => {
    api.missing.add(collections.snapshots).add(collections.contents);
  });
  const claim = at.claim('restored', fromSnapshot('snap'));
  await at.settle();
  assert.match(at.told('ProvisioningFailed').join(), /^SnapshotsNotInstalled/);
  at.api.missing.clear();
  await restorable(at);
  await at.pass(5_000);
  assert.notEqual(at.recordOf(claim), undefined);
});

/** A snapshot that a volume can be made of, on n1. */
async function restorable(at: ClaimScene): Promise<Stored> {
  const record = at.api.put(collections.logicalVolumes, {
    metadata: { name: 'snapshot-1' },
    spec: { name: 'snapshot-1', nodeName: 'n1', size: '1Gi', accessType: 'ro', source: 'gone' },
  });
  at.made('snapshot-1');
  const snapshot = at.snapshot('snap');
  at.content(snapshot, record.metadata.uid);
  await at.settle();
  return snapshot;
}

function snapshotNow(at: ClaimScene): Stored | undefined {
  return at.api.one(collections.snapshots, 'snap', 'ns');
}

function finalizersOf(object: Stored | undefined): readonly string[] {
  return object?.metadata.finalizers ?? [];
}

/** Somebody deletes it: with finalizers it stays for now. */
function going(at: ClaimScene, collection: string, name: string): void {
  at.change(collection, name, (found) => ({
    ...found,
    metadata: { ...found.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
  }));
}
