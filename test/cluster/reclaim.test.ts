import assert from 'node:assert/strict';
import test from 'node:test';
import { persistentVolumeKind as persistentVolume } from '../../src/kube/kinds.ts';
import type { Stored } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import type { Json } from '../kube/fake-patch.ts';
import { ClaimScene, volumeFinalizer } from './provisioning-scene.ts';

test('a volume that is given back goes first, then its PersistentVolume', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = await at.bound('data');
  const name = volumeNameOf(claim);
  at.giveBack(claim);
  await at.settle();
  // The node has not removed the LV yet.
  assert.notEqual(at.volume(name)?.metadata.deletionTimestamp, undefined);
  assert.equal(at.persistentVolume(claim)?.metadata.deletionTimestamp, undefined);
  at.release(name);
  await at.settle();
  assert.notEqual(at.persistentVolume(claim)?.metadata.deletionTimestamp, undefined);
  assert.deepEqual(at.persistentVolume(claim)?.metadata.finalizers, [
    'kubernetes.io/pv-protection',
  ]);
});

test('trap 9: nothing is removed unless it was released, with the policy to delete', async (t) => {
  for (const phase of ['Pending', 'Available', 'Bound', 'Failed']) {
    const at = await ClaimScene.begin(t);
    const claim = await at.bound('data');
    at.phase(volumeNameOf(claim), phase);
    at.api.delete(collections.claims, 'data', 'ns');
    await at.pass(60_000);
    assert.equal(at.volumes().length, 1, phase);
    assert.equal(at.recordOf(claim)?.metadata.deletionTimestamp, undefined, phase);
  }
});

test('trap 9: who decides to keep it after it was released is heard, though the store is not', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = await at.bound('data');
  const volume = at.persistentVolume(claim) ?? assert.fail();
  at.transport.isHeld = true;
  at.giveBack(claim);
  at.policy(volumeNameOf(claim), 'Retain');
  at.cluster.stores.volumes.putOwn({
    ...(volume as never as object),
    status: { phase: 'Released' },
    metadata: { ...volume.metadata, resourceVersion: String(Number(at.api.version) - 1) },
  } as never);
  await at.settle();
  assert.equal(at.recordOf(claim)?.metadata.deletionTimestamp, undefined);
  at.transport.isHeld = false;
  await at.pass(60_000);
  assert.equal(at.recordOf(claim)?.metadata.deletionTimestamp, undefined);
  assert.deepEqual(at.persistentVolume(claim)?.metadata.finalizers, [
    'kubernetes.io/pv-protection',
  ]);
});

test('trap 10: who deletes the PersistentVolume first does not lose the volume behind it', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = await at.bound('data');
  await at.cluster.client.delete(persistentVolume, { name: volumeNameOf(claim) });
  await at.settle();
  const left = at.persistentVolume(claim) ?? assert.fail();
  assert.ok(left.metadata.finalizers?.includes(volumeFinalizer));
  assert.equal(at.recordOf(claim)?.metadata.deletionTimestamp, undefined);
  at.giveBack(claim);
  await at.settle();
  assert.ok(at.persistentVolume(claim)?.metadata.finalizers?.includes(volumeFinalizer));
  at.release(volumeNameOf(claim));
  await at.settle();
  assert.deepEqual(at.persistentVolume(claim)?.metadata.finalizers, [
    'kubernetes.io/pv-protection',
  ]);
});

test('trap 10: a guard that somebody took away is put back while it is in use', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = await at.bound('data');
  at.change(collections.volumes, volumeNameOf(claim), (found) => ({
    ...found,
    metadata: { ...found.metadata, finalizers: ['kubernetes.io/pv-protection', 'other'] },
  }));
  await at.settle();
  assert.deepEqual(at.persistentVolume(claim)?.metadata.finalizers, [
    ...['kubernetes.io/pv-protection', 'other', volumeFinalizer],
  ]);
  at.policy(volumeNameOf(claim), 'Retain');
  await at.settle();
  assert.deepEqual(at.persistentVolume(claim)?.metadata.finalizers, [
    ...['kubernetes.io/pv-protection', 'other'],
  ]);
});

test('trap 16, trap 28: an old view takes away no finalizer of somebody else', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = await at.bound('data');
  const name = volumeNameOf(claim);
  const known = at.persistentVolume(claim) ?? assert.fail();
  const finalizers = ['other', 'kubernetes.io/pv-protection', volumeFinalizer];
  at.transport.isHeld = true;
  at.change(collections.volumes, name, (found) => ({
    ...found,
    metadata: { ...found.metadata, finalizers },
  }));
  const version = String(Number(known.metadata.resourceVersion) + 1);
  const spec = { ...(known['spec'] as Json), persistentVolumeReclaimPolicy: 'Retain' };
  at.cluster.stores.volumes.putOwn({
    ...{ spec, status: known['status'] },
    metadata: { ...known.metadata, resourceVersion: version },
  } as never);
  await at.pass(10_000);
  assert.deepEqual(at.persistentVolume(claim)?.metadata.finalizers, finalizers);
});

test('trap 11: a volume that is not there any more is removed', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = await at.bound('data');
  at.release(volumeNameOf(claim));
  await at.settle();
  at.giveBack(claim);
  await at.settle();
  assert.notEqual(at.persistentVolume(claim)?.metadata.deletionTimestamp, undefined);
});

test('trap 11, trap 30: a node that does not answer keeps its volume, and the event says which', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = await at.bound('data');
  const handle = at.recordOf(claim)?.metadata.uid;
  at.giveBack(claim);
  at.api.delete(collections.nodes, 'n1');
  at.api.delete(collections.csiNodes, 'n1');
  await at.pass(600_000);
  const left = at.persistentVolume(claim) ?? assert.fail();
  assert.ok(left.metadata.finalizers?.includes(volumeFinalizer));
  assert.equal(left.metadata.deletionTimestamp, undefined);
  assert.equal(
    at.told('VolumeFailedDelete')[0],
    `NodeSilent: node n1 has not removed the volume ${handle} after 60 s. Remedy: Look at the node and its agent: the work goes on by itself when they answer.`,
  );
  at.release(volumeNameOf(claim));
  await at.pass(300_000);
  assert.notEqual(at.persistentVolume(claim)?.metadata.deletionTimestamp, undefined);
});

test('trap 29: a PersistentVolume that an administrator wrote is guarded and reclaimed too', async (t) => {
  const at = await ClaimScene.begin(t);
  const record = at.api.put(collections.logicalVolumes, {
    metadata: { name: 'old', finalizers: ['topolvm.io/logicalvolume'] },
    spec: { name: 'old', nodeName: 'n1', size: '1Gi' },
  });
  at.made('old');
  written(at, 'static', record.metadata.uid);
  await at.settle();
  const now = () => at.api.one(collections.volumes, 'static');
  assert.deepEqual(now()?.metadata.finalizers, [volumeFinalizer]);
  at.phase('static', 'Released');
  await at.settle();
  assert.notEqual(at.volume('old')?.metadata.deletionTimestamp, undefined);
  at.release('old');
  await at.settle();
  assert.equal(now(), undefined);
});

test('a PersistentVolume of another driver, or that another provisioner made, is left alone', async (t) => {
  const at = await ClaimScene.begin(t);
  written(at, 'theirs', 'x', { csi: { driver: 'other.io', volumeHandle: 'x' } });
  const annotations = { 'pv.kubernetes.io/provisioned-by': 'other.io' };
  written(at, 'foreign', 'y', {}, { annotations });
  await at.settle();
  at.phase('theirs', 'Released');
  at.phase('foreign', 'Released');
  await at.pass(60_000);
  assert.deepEqual(at.writes, []);
});

test('a volume that a second PersistentVolume names is kept for it', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = await at.bound('data');
  written(at, 'second', at.recordOf(claim)?.metadata.uid ?? '');
  await at.settle();
  at.giveBack(claim);
  await at.pass(10_000);
  assert.equal(at.recordOf(claim)?.metadata.deletionTimestamp, undefined);
  assert.equal(
    at.told('VolumeFailedDelete')[0],
    'VolumeInUse: PersistentVolume second has the same volume handle. Remedy: Stop what uses the volume first.',
  );
  at.api.delete(collections.volumes, 'second');
  await at.pass(60_000);
  assert.notEqual(at.recordOf(claim)?.metadata.deletionTimestamp, undefined);
});

test('whose claim a PersistentVolume is, is what it says, not what its name says', async (t) => {
  const at = await ClaimScene.begin(t);
  const prime = await at.bound('prime');
  // A populator gives the volume to another claim, and the first one goes.
  at.change(collections.volumes, volumeNameOf(prime), (found) => ({
    ...found,
    spec: { ...(found['spec'] as Json), claimRef: { namespace: 'ns', name: 'user', uid: 'u' } },
  }));
  at.api.delete(collections.claims, 'prime', 'ns');
  await at.pass(60_000);
  assert.equal(at.recordOf(prime)?.metadata.deletionTimestamp, undefined);
  assert.equal(at.isMarked(prime), false);
});

function volumeNameOf(claim: Stored): string {
  return `pvc-${claim.metadata.uid}`;
}

function written(
  at: ClaimScene,
  name: string,
  volumeHandle: string,
  spec: Json = {},
  more: Json = {},
) {
  at.api.put(collections.volumes, {
    metadata: { name, ...more },
    spec: {
      persistentVolumeReclaimPolicy: 'Delete',
      csi: { driver: 'topolvm.io', volumeHandle },
      ...spec,
    },
    status: { phase: 'Bound' },
  });
}

test('a PersistentVolume stays while a node tells that its LV is there, without its object', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = await at.bound('data');
  const name = volumeNameOf(claim);
  const { uid } = at.volume(name)?.metadata ?? assert.fail();
  const [node] = at.api.all(collections.nodes);
  const told = { 'quarry.io/stray-volumes': JSON.stringify({ ours: [`data/${uid}`], others: [] }) };
  const tell = (annotations: Record<string, string>) =>
    at.api.put(collections.nodes, {
      ...node,
      metadata: { ...node?.metadata, annotations },
    });
  at.release(name);
  tell(told);
  await at.settle();
  at.giveBack(claim);
  await at.pass(60_000);
  assert.equal(at.persistentVolume(claim)?.metadata.deletionTimestamp, undefined);
  const events = at.events.filter(({ reason }) => reason === 'VolumeFailedDelete');
  assert.match(
    events[0]?.message ?? '',
    /^LogicalVolumeMissing: .* still has the LV data\/.* Remedy: .*lvremove/,
  );
  tell({});
  await at.pass(600_000);
  assert.notEqual(at.persistentVolume(claim)?.metadata.deletionTimestamp, undefined);
});
