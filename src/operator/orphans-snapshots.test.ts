import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { type OperatorScene, twoNodes } from '../../test/operator/scene.ts';
import { runKinds } from './kind-watch.ts';
import { snapshotWatches } from './operator-duties.ts';
import { Orphans, orphanTimes } from './orphans.ts';

const name = 'snapshot-11111111-2222-3333-4444-555555555555';
const groupContents = '/apis/groupsnapshot.storage.k8s.io/v1/volumegroupsnapshotcontents';
const contents = 'volumesnapshotcontents.snapshot.storage.k8s.io';

function install(at: OperatorScene, kind: string): void {
  const spec = { versions: [{ name: 'v1', served: true }] };
  at.api.put(collections.definitions, { metadata: { name: kind }, spec });
}

/** A snapshot as it lies on its node. */
function snapshot(at: OperatorScene, annotations: Record<string, string> = {}): string {
  const finalizers = ['topolvm.io/logicalvolume'];
  const spec = { name, nodeName: 'n1', size: '1Gi', source: 'pvc-data', accessType: 'ro' };
  at.api.put(collections.logicalVolumes, { metadata: { name, finalizers, annotations }, spec });
  at.made(name);
  return at.volume(name)?.metadata.uid ?? '';
}

function content(at: OperatorScene, more: object): void {
  const volumeSnapshotRef = { namespace: 'ns', name: 'nightly', uid: name.slice(9) };
  const spec = { driver: 'topolvm.io', deletionPolicy: 'Delete', source: {}, volumeSnapshotRef };
  at.api.put(collections.contents, { metadata: { name: 'snapcontent-1' }, spec, ...more });
}

async function watched(t: TestContext, ...kinds: readonly string[]) {
  const at = await twoNodes(t);
  for (const kind of kinds) install(at, kind);
  const watches = snapshotWatches(at.cluster);
  const { kinds: single, groups } = watches;
  const all = [...Object.values(single), ...Object.values(groups)];
  at.run({ run: (signal) => runKinds(all, signal) });
  const orphans = new Orphans(at.cluster, watches);
  const count = () =>
    orphans.figures().find(({ reason }) => reason === 'no-snapshot-content')?.count;
  at.run(orphans);
  const pass = async (rounds: number) => {
    for (let round = 0; round < rounds; round += 1) await at.pass(orphanTimes.everyMs);
  };
  return { at, count, pass };
}

test('a snapshot whose content was forced away is told once, and stays', async (t) => {
  const { at, count, pass } = await watched(t, contents);
  const id = snapshot(at);
  await pass(orphanTimes.graceMs / orphanTimes.everyMs);
  assert.equal(at.events.length, 0);
  await pass(20);
  assert.equal(at.events.length, 1);
  const [told] = at.events;
  assert.deepEqual([told?.reason, told?.type], ['OrphanedVolume', 'Warning']);
  assert.match(told?.message ?? '', /no VolumeSnapshotContent/);
  assert.match(told?.message ?? '', new RegExp(`Remedy: .*snapshotHandle ${id}.*LogicalVolume`));
  assert.equal(count(), 1);
  assert.equal(at.volume(name)?.metadata.deletionTimestamp, undefined);
});

const owned: readonly (readonly [string, (id: string) => object])[] = [
  ['by its status', (id) => ({ status: { snapshotHandle: id } })],
  [
    'as what somebody wrote down',
    (id) => ({
      spec: {
        ...{ driver: 'topolvm.io', deletionPolicy: 'Retain', source: { snapshotHandle: id } },
        volumeSnapshotRef: { namespace: 'ns', name: 'given' },
      },
    }),
  ],
  ['by its name, while it is being made', () => ({})],
];

for (const [how, more] of owned) {
  test(`a snapshot that a content has ${how} is nobody’s business`, async (t) => {
    const { at, count, pass } = await watched(t, contents);
    content(at, more(snapshot(at)));
    await pass(20);
    assert.deepEqual([at.events, count()], [[], 0]);
  });
}

test('nothing is said of snapshots while their kinds are not served', async (t) => {
  const { at, count, pass } = await watched(t);
  snapshot(at);
  await pass(20);
  assert.deepEqual([at.events, count()], [[], 0]);
  install(at, contents);
  await pass(20);
  assert.deepEqual([at.events.length, count()], [1, 1]);
  at.api.delete(collections.definitions, contents);
  await pass(2);
  assert.deepEqual([at.events.length, count()], [1, 0]);
});

test('a member of a group is told when no content has it, and none has its group', async (t) => {
  const kind = 'volumegroupsnapshotcontents.groupsnapshot.storage.k8s.io';
  const { at, count, pass } = await watched(t, contents);
  snapshot(at, { 'quarry.io/snapshot-group': 'g1', 'quarry.io/snapshot-group-name': 'gs-1' });
  await pass(20);
  assert.equal(count(), 0, 'who has groups is not known');
  at.api.put(groupContents, {
    metadata: { name: 'groupcontent-1' },
    spec: {
      ...{ driver: 'topolvm.io', deletionPolicy: 'Delete', source: {} },
      volumeGroupSnapshotRef: { namespace: 'ns', name: 'all' },
    },
    status: { volumeGroupSnapshotHandle: 'g1' },
  });
  install(at, kind);
  await pass(20);
  assert.equal(count(), 0, 'its group is there');
  at.api.delete(groupContents, 'groupcontent-1');
  await pass(20);
  assert.equal(count(), 1);
});
