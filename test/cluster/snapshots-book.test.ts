import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import {
  groupMarks,
  snapshotMarks as marks,
} from '../../src/core/cluster/snapshot-content-marks.ts';
import { groupSnapshotter } from '../../src/operator/group-snapshotter.ts';
import { runKinds } from '../../src/operator/kind-watch.ts';
import { snapshotter } from '../../src/operator/snapshotter.ts';
import { groupKinds, snapshotKinds } from '../../src/operator/snapshotter-kinds.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { type OperatorScene, twoNodes, withVolume } from '../operator/scene.ts';
import { annotationsOf, type Content, definitions } from './snapshots-world.ts';

const { contents } = collections;
const groupRoot = '/apis/groupsnapshot.storage.k8s.io/v1';
const groupContents = `${groupRoot}/volumegroupsnapshotcontents`;
const plain = { driver: 'topolvm.io', deletionPolicy: 'Delete' } as const;

/** The driver's half on the LogicalVolumes of a cluster, with two volumes on one node. */
async function scene(t: TestContext): Promise<{ at: OperatorScene; ids: readonly string[] }> {
  const at = await twoNodes(t);
  const versions = [{ name: 'v1', served: true }];
  for (const name of [
    ...['volumesnapshots', 'volumesnapshotcontents', 'volumesnapshotclasses'].map(
      (plural) => `${plural}.snapshot.storage.k8s.io`,
    ),
    ...['volumegroupsnapshotcontents', 'volumegroupsnapshotclasses'].map(
      (plural) => `${plural}.groupsnapshot.storage.k8s.io`,
    ),
  ]) {
    at.api.put(definitions, { metadata: { name }, spec: { versions } });
  }
  at.api.put(collections.snapshotClasses, { metadata: { name: 'fast' }, ...plain });
  at.api.put(`${groupRoot}/volumegroupsnapshotclasses`, { metadata: { name: 'fast' }, ...plain });
  const ids = [(await withVolume(at, 'pvc-a')).id, (await withVolume(at, 'pvc-b')).id];
  const { client, clock, chance } = at.cluster;
  const kinds = snapshotKinds({ client, clock, chance });
  const groups = groupKinds({ client, clock, chance });
  const watches = [kinds.contents, kinds.classes, groups.contents, groups.classes];
  at.run({ run: (signal) => runKinds(watches, signal) });
  at.run(snapshotter(at.cluster, kinds));
  at.run(groupSnapshotter(at.cluster, groups));
  await at.settle();
  return { at, ids };
}

function ask(at: OperatorScene, volumeHandle: string | undefined): void {
  at.api.put(contents, {
    metadata: { name: 'c1', finalizers: [marks.finalizer] },
    spec: {
      ...{ ...plain, volumeSnapshotClassName: 'fast', source: { volumeHandle } },
      volumeSnapshotRef: { namespace: 'app', name: 'snap', uid: 'u1' },
    },
  });
}

function giveUp(at: OperatorScene, collection: string, name: string, mark: string): void {
  const object = at.api.one(collection, name) ?? assert.fail();
  const { metadata } = object;
  at.api.put(collection, {
    ...object,
    metadata: {
      ...metadata,
      deletionTimestamp: '2026-01-01T00:00:00Z',
      annotations: { ...metadata.annotations, [mark]: 'yes' },
    },
  });
}

/** The agent has removed what it was told to. */
async function letGo(at: OperatorScene): Promise<void> {
  await at.settle();
  for (const { metadata } of at.volumes()) {
    if (metadata.deletionTimestamp !== undefined) at.release(metadata.name);
  }
  await at.settle();
}

const content = (at: OperatorScene) => at.api.one(contents, 'c1') as Content | undefined;

test('trap 21: a snapshot is ready when its node has made the LV, and not before', async (t) => {
  const { at, ids } = await scene(t);
  ask(at, ids[0]);
  await at.settle();
  assert.equal(at.volume('snapshot-u1')?.spec.source, 'pvc-a');
  assert.equal(content(at)?.status, undefined);
  assert.equal(annotationsOf(content(at))[marks.beingCreated], 'yes');
  at.made('snapshot-u1', '1028Mi');
  await at.settle();
  assert.equal(content(at)?.status?.readyToUse, true);
  assert.equal(content(at)?.status?.restoreSize, 1028 * 1024 * 1024);
  assert.equal(content(at)?.status?.snapshotHandle, at.volume('snapshot-u1')?.metadata.uid);
});

test('a node that is silent is told after its time, and heard as soon as it answers', async (t) => {
  const { at, ids } = await scene(t);
  ask(at, ids[0]);
  for (let minute = 0; minute < 20; minute += 1) await at.pass(30_000);
  assert.match(
    content(at)?.status?.error?.message ?? '',
    /^NodeSilent: the node has not made snapshot-u1 after \d+ s/,
  );
  assert.equal(annotationsOf(content(at))[marks.beingCreated], 'yes');
  at.made('snapshot-u1');
  await at.settle();
  assert.equal(content(at)?.status?.readyToUse, true);
  assert.equal(content(at)?.status?.error, undefined);
});

test('trap 6: what a full node refused is final, and its content can go', async (t) => {
  const { at, ids } = await scene(t);
  ask(at, ids[0]);
  await at.settle();
  at.say('snapshot-u1', { code: 8, message: 'no enough space left on VG: free=1, requested=2' });
  await at.settle();
  at.release('snapshot-u1');
  await at.settle();
  assert.match(content(at)?.status?.error?.message ?? '', /free=1, requested=2/);
  assert.equal(annotationsOf(content(at))[marks.beingCreated], undefined);
  giveUp(at, contents, 'c1', marks.beingDeleted);
  await at.settle();
  assert.equal(content(at), undefined);
  assert.equal(at.volume('snapshot-u1'), undefined);
});

test('trap 11: a snapshot is gone only when its node has removed it', async (t) => {
  const { at, ids } = await scene(t);
  ask(at, ids[0]);
  await at.settle();
  at.made('snapshot-u1');
  await at.settle();
  giveUp(at, contents, 'c1', marks.beingDeleted);
  for (let minute = 0; minute < 10; minute += 1) await at.pass(30_000);
  assert.ok(at.volume('snapshot-u1')?.metadata.deletionTimestamp !== undefined);
  assert.ok(content(at)?.status?.snapshotHandle !== undefined);
  at.release('snapshot-u1');
  await at.settle();
  assert.equal(content(at), undefined);
});

test('trap 20: a snapshot that is being copied is not removed', async (t) => {
  const { at, ids } = await scene(t);
  ask(at, ids[0]);
  await at.settle();
  at.made('snapshot-u1');
  await at.settle();
  at.api.put(collections.logicalVolumes, {
    metadata: { name: 'pvc-copy' },
    spec: { name: 'pvc-copy', nodeName: 'n1', size: '1Gi', source: 'snapshot-u1' },
  });
  giveUp(at, contents, 'c1', marks.beingDeleted);
  await at.pass(60_000);
  assert.equal(at.volume('snapshot-u1')?.metadata.deletionTimestamp, undefined);
  assert.ok(at.events.some(({ message }) => message.includes('pvc-copy is still being copied')));
  at.made('pvc-copy');
  await at.pass(300_000);
  await letGo(at);
  assert.equal(content(at), undefined);
});

test('trap 3: an intent that nobody wrote down is removed with its content', async (t) => {
  const { at, ids } = await scene(t);
  const spec = { name: 'snapshot-u1', nodeName: 'n1', size: '1Gi', source: 'pvc-a' };
  at.api.put(collections.logicalVolumes, {
    metadata: { name: 'snapshot-u1', finalizers: ['topolvm.io/logicalvolume'] },
    spec: { ...spec, accessType: 'ro' },
  });
  const annotations = { [marks.beingDeleted]: 'yes' };
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  at.api.put(contents, {
    metadata: { name: 'c1', finalizers: [marks.finalizer], annotations, deletionTimestamp },
    spec: {
      ...{ ...plain, volumeSnapshotClassName: 'fast', source: { volumeHandle: ids[0] } },
      volumeSnapshotRef: { namespace: 'app', name: 'snap', uid: 'u1' },
    },
  });
  await at.settle();
  assert.ok(content(at) !== undefined);
  await letGo(at);
  assert.equal(at.volume('snapshot-u1'), undefined);
  assert.equal(content(at), undefined);
});

test('a group is ready when all of its members are, and goes with all of them', async (t) => {
  const { at, ids } = await scene(t);
  at.api.put(groupContents, {
    metadata: { name: 'g1', finalizers: [groupMarks.finalizer] },
    spec: {
      ...{ ...plain, volumeGroupSnapshotClassName: 'fast', source: { volumeHandles: ids } },
      volumeGroupSnapshotRef: { namespace: 'app', name: 'all', uid: 'g-u1' },
    },
  });
  await at.settle();
  const members = at.volumes().filter(({ spec }) => spec.accessType === 'ro');
  assert.equal(members.length, 2);
  const status = () =>
    at.api.one(groupContents, 'g1')?.['status'] as
      | { readyToUse?: boolean; volumeSnapshotInfoList?: readonly object[] }
      | undefined;
  at.made(members[0]?.metadata.name ?? '');
  await at.settle();
  assert.notEqual(status()?.readyToUse, true);
  at.made(members[1]?.metadata.name ?? '');
  await at.settle();
  assert.equal(status()?.readyToUse, true);
  assert.equal(status()?.volumeSnapshotInfoList?.length, 2);
  giveUp(at, groupContents, 'g1', groupMarks.beingDeleted);
  await letGo(at);
  assert.equal(at.api.one(groupContents, 'g1'), undefined);
  assert.equal(at.volumes().length, 2);
});

test('a group whose node is silent is heard as soon as that answers', async (t) => {
  const { at, ids } = await scene(t);
  at.api.put(groupContents, {
    metadata: { name: 'g1', finalizers: [groupMarks.finalizer] },
    spec: {
      ...{ ...plain, volumeGroupSnapshotClassName: 'fast', source: { volumeHandles: ids } },
      volumeGroupSnapshotRef: { namespace: 'app', name: 'all', uid: 'g-u1' },
    },
  });
  for (let minute = 0; minute < 20; minute += 1) await at.pass(30_000);
  const members = at.volumes().filter(({ spec }) => spec.accessType === 'ro');
  for (const { metadata } of members) at.made(metadata.name);
  await at.settle();
  const status = at.api.one(groupContents, 'g1')?.['status'] as { readyToUse?: boolean };
  assert.equal(members.length, 2);
  assert.equal(status.readyToUse, true);
});
