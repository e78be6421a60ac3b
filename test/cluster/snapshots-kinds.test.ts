import assert from 'node:assert/strict';
import test from 'node:test';
import { groupMarks, snapshotMarks } from '../../src/core/cluster/snapshot-content-marks.ts';
import { groupSnapshotter } from '../../src/operator/group-snapshotter.ts';
import { servedVersion } from '../../src/operator/kind-watch.ts';
import { snapshotter } from '../../src/operator/snapshotter.ts';
import type { Stored } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { annotationsOf, definitions, type Parts, SnapshotWorld } from './snapshots-world.ts';

const { contents } = collections;
const driver = ({ cluster, kinds }: Parts) => [snapshotter(cluster, kinds)];
const both = (parts: Parts) => [...driver(parts), groupSnapshotter(parts.cluster, parts.groups)];

const content = (name: string, uid: string) => ({
  metadata: { name, finalizers: [snapshotMarks.finalizer] },
  spec: {
    ...{ deletionPolicy: 'Delete', driver: 'topolvm.io', volumeSnapshotClassName: 'fast' },
    source: { volumeHandle: 'vol-1' },
    volumeSnapshotRef: { namespace: 'app', name: 'snap', uid },
  },
});

function groupCollection(version: string): string {
  return `/apis/groupsnapshot.storage.k8s.io/${version}/volumegroupsnapshotcontents`;
}

type GroupContent = Stored & {
  readonly status?: {
    readonly volumeGroupSnapshotHandle?: string;
    readonly readyToUse?: boolean;
    readonly creationTime?: string;
    readonly error?: { readonly message: string };
    readonly volumeSnapshotInfoList?: readonly Readonly<Record<string, unknown>>[];
    readonly volumeSnapshotHandlePairList?: readonly Readonly<Record<string, unknown>>[];
  };
};

function worldWithGroups(versions: readonly [string, ...string[]], policy = 'Delete') {
  const world = new SnapshotWorld();
  for (const name of ['volumegroupsnapshotcontents', 'volumegroupsnapshotclasses']) {
    world.install(`${name}.groupsnapshot.storage.k8s.io`, versions);
  }
  const collection = groupCollection(versions[0]);
  world.put(collection.replace('contents', 'classes'), {
    metadata: { name: 'fast' },
    ...{ driver: 'topolvm.io', deletionPolicy: policy },
  });
  world.put(collection, {
    metadata: { name: 'g1', finalizers: [groupMarks.finalizer] },
    spec: {
      ...{ deletionPolicy: policy, driver: 'topolvm.io', volumeGroupSnapshotClassName: 'fast' },
      source: { volumeHandles: ['vol-1', 'vol-2'] },
      volumeGroupSnapshotRef: { namespace: 'app', name: 'all', uid: 'g-u1' },
    },
  });
  const group = (): GroupContent | undefined => world.api.one(collection, 'g1');
  const giveUp = async () => {
    const metadata = { annotations: { [groupMarks.beingDeleted]: 'yes' } };
    await world.edit(collection, 'g1', { metadata });
    await world.remove(collection, 'g1');
  };
  return { world, group, giveUp };
}

test('the best version that is served and known is chosen', () => {
  const versions = ['v1', 'v1beta2', 'v1beta1'];
  const definition = (...served: readonly string[]) => ({
    metadata: { name: 'x', uid: 'u', resourceVersion: '1' },
    spec: {
      versions: [
        ...served.map((name) => ({ name, served: true })),
        { name: 'v1', served: served.includes('v1') },
      ],
    },
  });
  assert.equal(servedVersion(undefined, versions), undefined);
  assert.equal(servedVersion(definition('v1beta1', 'v1beta2', 'v1'), versions), 'v1');
  assert.equal(servedVersion(definition('v1beta1', 'v1beta2'), versions), 'v1beta2');
  assert.equal(servedVersion(definition('v1beta1'), versions), 'v1beta1');
  assert.equal(servedVersion(definition('v2'), versions), undefined);
});

test('kinds that are installed after us are served, without a restart', async () => {
  const world = new SnapshotWorld();
  const all = world.api.all(definitions);
  for (const { metadata } of all) world.api.delete(definitions, metadata.name);
  for (const name of ['contents', 'snapshots', 'snapshotClasses'] as const) {
    world.api.missing.add(collections[name]);
  }
  world.start(driver);
  await world.pass(60_000);
  assert.equal(world.book.asked, 0);
  world.api.missing.clear();
  for (const definition of all) world.put(definitions, definition);
  world.put(contents, content('c1', 'u1'));
  await world.pass(5_000);
  assert.equal(world.content('c1')?.status?.readyToUse, true);
});

test('kinds that vanish and come back: nothing is removed, and work goes on', async () => {
  const world = new SnapshotWorld();
  world.put(contents, content('c1', 'u1'));
  world.start(driver);
  await world.pass(1_000);
  const [definition] = world.api
    .all(definitions)
    .filter(({ metadata }) => metadata.name.startsWith('volumesnapshotcontents'));
  assert.ok(definition !== undefined);
  world.api.delete(definitions, definition.metadata.name);
  world.api.delete(contents, 'c1');
  world.api.missing.add(contents);
  world.api.endWatches();
  await world.pass(5_000);
  const asked = world.api.requests.length;
  await world.pass(60_000);
  const late = world.api.requests.slice(asked).filter(({ url }) => url.startsWith(contents));
  assert.deepEqual(late, []);
  assert.equal(world.book.views.size, 1);
  world.api.missing.delete(contents);
  world.put(definitions, { ...definition, metadata: { name: definition.metadata.name } });
  world.put(contents, content('c2', 'u2'));
  await world.pass(60_000);
  assert.equal(world.content('c2')?.status?.readyToUse, true);
  assert.equal(world.book.views.size, 2);
});

test('a kind that is not served costs no request but the watch of its definition', async () => {
  const world = new SnapshotWorld();
  world.start(both);
  await world.pass(60_000);
  const asked = world.api.requests.filter(({ url }) => url.includes('groupsnapshot.storage'));
  assert.ok(asked.every(({ url }) => url.includes('customresourcedefinitions')));
});

for (const version of ['v1', 'v1beta2', 'v1beta1'] as const) {
  test(`a group content of ${version} becomes a group snapshot, and goes with its members`, async () => {
    const { world, group, giveUp } = worldWithGroups([version]);
    world.start(both);
    await world.pass(2_000);
    const status = group()?.status;
    assert.equal(status?.volumeGroupSnapshotHandle, 'group-of-groupsnapshot-g-u1');
    assert.equal(status?.readyToUse, true);
    assert.equal(annotationsOf(group())[groupMarks.beingCreated], undefined);
    const listed = status?.volumeSnapshotInfoList ?? status?.volumeSnapshotHandlePairList ?? [];
    assert.deepEqual(
      listed.map(({ volumeHandle, snapshotHandle }) => [volumeHandle, snapshotHandle]),
      [...world.book.views.values()].map(({ sourceId, id }) => [sourceId, id]),
    );
    const field = version === 'v1beta1' ? 'volumeSnapshotHandlePairList' : 'volumeSnapshotInfoList';
    assert.ok(status?.[field] !== undefined);
    await giveUp();
    await world.pass(2_000);
    assert.equal(group(), undefined);
    assert.equal(world.book.views.size, 0);
  });
}

test('trap 6: a group that may exist is not let go before that is known', async () => {
  const { world, group, giveUp } = worldWithGroups(['v1']);
  world.book.fault = { code: 'NodeSilent', isMade: true };
  world.start(both);
  await world.pass(2_000);
  await giveUp();
  await world.pass(30_000);
  assert.ok(group() !== undefined);
  world.book.fault = undefined;
  await world.pass(300_000);
  assert.equal(group(), undefined);
  assert.equal(world.book.views.size, 0);
});

test('a group that cannot be taken says why, and is let go when nothing was made', async () => {
  const { world, group, giveUp } = worldWithGroups(['v1']);
  world.book.fault = { code: 'CannotHoldStill' };
  world.start(both);
  await world.pass(2_000);
  assert.match(group()?.status?.error?.message ?? '', /^CannotHoldStill: .* Remedy: /);
  assert.ok(world.events.some(({ reason }) => reason === 'GroupSnapshotCreationFailed'));
  await giveUp();
  await world.pass(2_000);
  assert.equal(group(), undefined);
});

test('a retained group stays when its content goes', async () => {
  const { world, group, giveUp } = worldWithGroups(['v1'], 'Retain');
  world.start(both);
  await world.pass(2_000);
  await giveUp();
  await world.pass(2_000);
  assert.equal(group(), undefined);
  assert.equal(world.book.views.size, 2);
});

test('a group killed after any effect ends the same', async () => {
  for (let effects = 1; effects < 12; effects += 1) {
    const { world, group, giveUp } = worldWithGroups(['v1']);
    world.start(both, effects);
    await world.pass(2_000);
    if (world.life.isDead) world.start(both);
    await world.pass(60_000);
    assert.equal(group()?.status?.readyToUse, true, `after ${effects}`);
    assert.equal(world.book.views.size, 2);
    world.stop();
    world.start(both, effects);
    await giveUp();
    await world.pass(5_000);
    if (world.life.isDead) world.start(both);
    await world.pass(60_000);
    assert.equal(group(), undefined, `after ${effects}`);
    assert.equal(world.book.views.size, 0);
    world.stop();
  }
});

test('members of a group that no watch has told of yet go with it, whatever group they are in', async () => {
  const { world, group, giveUp } = worldWithGroups(['v1']);
  world.book.fault = { code: 'SourceNotFound' };
  world.start(both);
  await world.pass(2_000);
  assert.equal(annotationsOf(group())[groupMarks.beingCreated], undefined);
  world.transport.isHeld = true;
  for (const id of ['one', 'two']) {
    world.put(collections.logicalVolumes, {
      metadata: {
        name: `snapshot-${id}`,
        annotations: {
          'quarry.io/snapshot-group': id,
          'quarry.io/snapshot-group-size': '2',
          'quarry.io/snapshot-group-name': 'groupsnapshot-g-u1',
        },
      },
      spec: { name: id, nodeName: 'n1', size: '1Gi', source: 'v', accessType: 'ro' },
    });
  }
  await giveUp();
  const removed: string[] = [];
  world.book.groups.remove = async (id) => void removed.push(id);
  world.book.fault = undefined;
  await world.pass(10_000);
  assert.equal(group(), undefined);
  assert.deepEqual(removed.toSorted(), ['one', 'two']);
});
