import assert from 'node:assert/strict';
import test from 'node:test';
import {
  boundFinalizer,
  claimFinalizer,
  defaultClassAnnotation,
  snapshotMarks as marks,
  sourceFinalizer,
} from '../../src/core/cluster/snapshot-content-marks.ts';
import { KubeError } from '../../src/kube/errors.ts';
import { usualTimes } from '../../src/kube/lease.ts';
import { snapshotController } from '../../src/operator/snapshot-controller.ts';
import { snapshotter } from '../../src/operator/snapshotter.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { annotationsOf, type Parts, SnapshotWorld } from './snapshots-world.ts';

const { contents, snapshots, claims, volumes, leases } = collections;
let lives = 0;

function common(parts: Parts, fence: () => void = () => undefined) {
  const { cluster, kinds, client } = parts;
  const { clock, wall, log, chance } = cluster;
  lives += 1;
  const lease = {
    ...{ client, clock, wall, log, chance, self: `us-${lives}` },
    ...{ namespace: 'quarry-system', times: usualTimes },
  };
  return [snapshotController({ cluster, kinds, client, lease, fence })];
}

const both = (parts: Parts) => [...common(parts), snapshotter(parts.cluster, parts.kinds)];

function claim(name: string, change: { spec?: object; phase?: string; metadata?: object } = {}) {
  return {
    metadata: { name, namespace: 'app', ...change.metadata },
    spec: { volumeName: `pv-${name}`, ...change.spec },
    status: { phase: change.phase ?? 'Bound' },
  };
}

function populate(world: SnapshotWorld): void {
  const { metadata } = world.put(claims, claim('data'));
  world.put(volumes, {
    metadata: { name: 'pv-data' },
    spec: {
      claimRef: { namespace: 'app', name: 'data', uid: metadata.uid },
      csi: { driver: 'topolvm.io', volumeHandle: 'vol-1' },
      volumeMode: 'Block',
    },
    status: { phase: 'Bound' },
  });
}

const ofData = { source: { persistentVolumeClaimName: 'data' } };

function ask(world: SnapshotWorld, name = 'snap', spec: object = {}): string {
  const given = { ...ofData, volumeSnapshotClassName: 'fast', ...spec };
  return world.put(snapshots, { metadata: { name, namespace: 'app' }, spec: given }).metadata.uid;
}

function scene(): SnapshotWorld {
  const world = new SnapshotWorld();
  populate(world);
  return world;
}

const claimFinalizers = (world: SnapshotWorld) =>
  world.api.one(claims, 'data', 'app')?.metadata.finalizers ?? [];

test('a VolumeSnapshot gets its content, is bound to it both ways, and becomes ready', async () => {
  const world = scene();
  const uid = ask(world);
  world.start(both);
  await world.pass(10_000);
  const content = world.content(`snapcontent-${uid}`);
  assert.deepEqual(content?.spec, {
    ...{ deletionPolicy: 'Delete', driver: 'topolvm.io', volumeSnapshotClassName: 'fast' },
    source: { volumeHandle: 'vol-1' },
    sourceVolumeMode: 'Block',
    volumeSnapshotRef: {
      ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshot' },
      ...{ namespace: 'app', name: 'snap', uid },
    },
  });
  assert.deepEqual(content?.metadata.finalizers, [marks.finalizer]);
  const snapshot = world.snapshot('snap');
  assert.equal(snapshot?.status?.boundVolumeSnapshotContentName, `snapcontent-${uid}`);
  assert.equal(snapshot?.status?.readyToUse, true);
  assert.equal(snapshot?.status?.restoreSize, '1Gi');
  assert.match(snapshot?.status?.creationTime ?? '', /^2023-11-14T22:/);
  assert.deepEqual(snapshot?.metadata.finalizers, [sourceFinalizer, boundFinalizer]);
  assert.deepEqual(claimFinalizers(world), []);
  const reasons = world.events.map(({ reason }) => reason);
  assert.ok(reasons.includes('CreatingSnapshot') && reasons.includes('SnapshotReady'));
});

test('a claim is held while a snapshot of it is not ready', async () => {
  const world = scene();
  world.book.isReady = false;
  ask(world);
  world.start(both);
  await world.pass(5_000);
  assert.deepEqual(claimFinalizers(world), [claimFinalizer]);
  await world.remove(snapshots, 'snap', 'app');
  await world.pass(400_000);
  assert.equal(world.snapshot('snap'), undefined);
  assert.deepEqual(claimFinalizers(world), []);
});

test('a VolumeSnapshot that is deleted takes its content and its snapshot along', async () => {
  const world = scene();
  const uid = ask(world);
  world.start(both);
  await world.pass(5_000);
  await world.remove(snapshots, 'snap', 'app');
  await world.pass(5_000);
  assert.equal(world.snapshot('snap'), undefined);
  assert.equal(world.content(`snapcontent-${uid}`), undefined);
  assert.equal(world.book.views.size, 0);
});

test('a VolumeSnapshot stays until its content is gone', async () => {
  const world = scene();
  const uid = ask(world);
  world.start(both);
  await world.pass(5_000);
  world.book.fault = { code: 'NodeSilent', isMade: false };
  await world.remove(snapshots, 'snap', 'app');
  await world.pass(30_000);
  assert.ok(world.snapshot('snap') !== undefined);
  assert.equal(annotationsOf(world.content(`snapcontent-${uid}`))[marks.beingDeleted], 'yes');
  world.book.fault = undefined;
  await world.pass(300_000);
  assert.equal(world.snapshot('snap'), undefined);
});

test('a retained content outlives its VolumeSnapshot', async () => {
  const world = scene();
  world.put(collections.snapshotClasses, {
    metadata: { name: 'keep' },
    ...{ driver: 'topolvm.io', deletionPolicy: 'Retain' },
  });
  const uid = ask(world, 'snap', { volumeSnapshotClassName: 'keep' });
  world.start(both);
  await world.pass(5_000);
  assert.deepEqual(world.snapshot('snap')?.metadata.finalizers, [sourceFinalizer]);
  await world.remove(snapshots, 'snap', 'app');
  await world.pass(5_000);
  assert.equal(world.snapshot('snap'), undefined);
  assert.equal(world.content(`snapcontent-${uid}`)?.metadata.deletionTimestamp, undefined);
  await world.remove(contents, `snapcontent-${uid}`);
  await world.pass(5_000);
  assert.equal(world.content(`snapcontent-${uid}`), undefined);
  assert.equal(world.book.views.size, 1);
});

test('trap 19: a content whose VolumeSnapshot is absent is left alone', async () => {
  const world = scene();
  const uid = ask(world);
  world.start(both);
  await world.pass(5_000);
  world.api.delete(snapshots, 'snap', 'app');
  await world.pass(600_000);
  assert.equal(world.content(`snapcontent-${uid}`)?.metadata.deletionTimestamp, undefined);
  assert.equal(world.book.views.size, 1);
});

test('trap 19: a VolumeSnapshot of the same name is another one', async () => {
  const world = scene();
  const uid = ask(world);
  world.start(both);
  await world.pass(5_000);
  world.api.delete(snapshots, 'snap', 'app');
  world.put(snapshots, {
    metadata: { name: 'snap', namespace: 'app' },
    spec: { source: { volumeSnapshotContentName: `snapcontent-${uid}` } },
    status: { boundVolumeSnapshotContentName: `snapcontent-${uid}`, readyToUse: true },
  });
  await world.pass(5_000);
  assert.equal(world.snapshot('snap')?.status?.readyToUse, false);
  assert.ok(world.events.some(({ reason }) => reason === 'SnapshotMisbound'));
  await world.remove(snapshots, 'snap', 'app');
  await world.pass(5_000);
  assert.equal(world.snapshot('snap'), undefined);
  assert.equal(annotationsOf(world.content(`snapcontent-${uid}`))[marks.beingDeleted], undefined);
  assert.equal(world.book.views.size, 1);
});

test('trap 20: a snapshot that a claim is made from stays until that is done', async () => {
  const world = scene();
  ask(world);
  world.start(both);
  await world.pass(5_000);
  const dataSource = {
    ...{ apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snap' },
  };
  world.put(claims, claim('copy', { spec: { dataSource }, phase: 'Pending' }));
  await world.pass(1_000);
  await world.remove(snapshots, 'snap', 'app');
  await world.pass(60_000);
  assert.equal(world.book.views.size, 1);
  assert.ok(world.snapshot('snap') !== undefined);
  const told = world.events.find(({ reason }) => reason === 'SnapshotDeletePending');
  assert.match(told?.message ?? '', /the claim copy is being made from app\/snap/);
  world.put(claims, claim('copy', { spec: { dataSource } }));
  await world.pass(5_000);
  assert.equal(world.snapshot('snap'), undefined);
  assert.equal(world.book.views.size, 0);
});

test('the default class of the driver is chosen; none or several are told', async () => {
  const world = scene();
  ask(world, 'snap', { volumeSnapshotClassName: undefined });
  world.start(both);
  await world.pass(5_000);
  assert.match(world.snapshot('snap')?.status?.error?.message ?? '', /^0 classes of topolvm.io/);
  const defaultClass = (name: string, driver: string) =>
    world.put(collections.snapshotClasses, {
      metadata: { name, annotations: { [defaultClassAnnotation]: 'true' } },
      ...{ driver, deletionPolicy: 'Delete' },
    });
  defaultClass('theirs', 'other.io');
  defaultClass('one', 'topolvm.io');
  defaultClass('two', 'topolvm.io');
  await world.pass(5_000);
  assert.match(world.snapshot('snap')?.status?.error?.message ?? '', /^2 classes of topolvm.io/);
  world.api.delete(collections.snapshotClasses, 'two');
  await world.pass(5_000);
  assert.equal(world.snapshot('snap')?.spec.volumeSnapshotClassName, 'one');
  assert.equal(world.snapshot('snap')?.status?.readyToUse, true);
  assert.equal(world.snapshot('snap')?.status?.error, undefined);
});

test('what is missing is named, and the snapshot goes on when it comes', async () => {
  const world = new SnapshotWorld();
  ask(world);
  world.start(both);
  await world.pass(5_000);
  assert.match(world.snapshot('snap')?.status?.error?.message ?? '', /no claim data/);
  populate(world);
  await world.pass(300_000);
  assert.equal(world.snapshot('snap')?.status?.readyToUse, true);
});

test("a class of another driver, and a volume that is not the claim's, are refused", async () => {
  const world = scene();
  world.put(collections.snapshotClasses, {
    metadata: { name: 'theirs' },
    ...{ driver: 'other.io', deletionPolicy: 'Delete' },
  });
  ask(world, 'snap', { volumeSnapshotClassName: 'theirs' });
  ask(world, 'strange', { source: { persistentVolumeClaimName: 'strange' } });
  world.put(claims, claim('strange', { spec: { volumeName: 'pv-data' } }));
  world.start(both);
  await world.pass(5_000);
  assert.match(world.snapshot('snap')?.status?.error?.message ?? '', /other.io.*topolvm.io/);
  assert.match(world.snapshot('strange')?.status?.error?.message ?? '', /not bound to the claim/);
  assert.equal(world.api.all(contents).length, 0);
});

test('what somebody wrote down is bound by its UID, and told', async () => {
  const world = scene();
  await world.book.snapshot({ name: 'old', sourceId: 'vol-1' });
  const [handle = ''] = world.book.views.keys();
  world.put(contents, {
    metadata: { name: 'given' },
    spec: {
      ...{ deletionPolicy: 'Delete', driver: 'topolvm.io' },
      source: { snapshotHandle: handle },
      volumeSnapshotRef: { namespace: 'app', name: 'snap' },
    },
  });
  const uid = ask(world, 'snap', {
    ...{ source: { volumeSnapshotContentName: 'given' }, volumeSnapshotClassName: undefined },
  });
  const thief = ask(world, 'thief', { source: { volumeSnapshotContentName: 'given' } });
  world.start(both);
  await world.pass(10_000);
  assert.equal(world.content('given')?.spec.volumeSnapshotRef.uid, uid);
  assert.notEqual(uid, thief);
  assert.equal(world.snapshot('snap')?.status?.readyToUse, true);
  assert.match(world.snapshot('thief')?.status?.error?.message ?? '', /is bound to app\/snap/);
  assert.deepEqual(world.content('given')?.metadata.finalizers, [marks.finalizer]);
  await world.remove(snapshots, 'thief', 'app');
  await world.pass(5_000);
  assert.equal(world.snapshot('thief'), undefined);
  assert.equal(world.book.views.size, 1);
});

test('a content that was lost is not made again: it would show another moment', async () => {
  const world = scene();
  const uid = ask(world);
  world.start(both);
  await world.pass(5_000);
  world.api.delete(contents, `snapcontent-${uid}`);
  await world.pass(600_000);
  assert.equal(world.content(`snapcontent-${uid}`), undefined);
  assert.equal(world.snapshot('snap')?.status?.readyToUse, false);
  assert.match(world.snapshot('snap')?.status?.error?.message ?? '', /is missing/);
  assert.equal(world.book.asked, 1);
});

/** In the moment when the claim is held, which is the step before. */
function beforeContent(world: SnapshotWorld, happens: () => void): void {
  world.api.listeners.add(({ collection, after }) => {
    if (collection !== claims || after?.metadata.finalizers?.includes(claimFinalizer) !== true) {
      return;
    }
    world.transport.isHeld = true;
    happens();
  });
}

test('no content is made for a VolumeSnapshot that is gone, though the watch still shows it', async () => {
  const world = scene();
  ask(world);
  beforeContent(world, () => world.api.delete(snapshots, 'snap', 'app'));
  world.start((parts) => common(parts));
  await world.pass(60_000);
  assert.equal(world.snapshot('snap'), undefined);
  assert.equal(world.api.all(contents).length, 0);
});

test('no content is made for a VolumeSnapshot that goes, though the watch does not tell yet', async () => {
  const world = scene();
  ask(world);
  beforeContent(world, () => void world.remove(snapshots, 'snap', 'app'));
  world.start((parts) => common(parts));
  await world.pass(60_000);
  assert.equal(world.snapshot('snap'), undefined);
  assert.equal(world.api.all(contents).length, 0);
});

test('trap 28: a finalizer that somebody puts on the claim in the same moment is not lost', async () => {
  const world = scene();
  ask(world);
  let isDone = false;
  world.api.listeners.add(({ collection, after }) => {
    const isFirst = after?.metadata.finalizers?.includes(sourceFinalizer) === true && !isDone;
    if (collection !== snapshots || !isFirst) return;
    isDone = true;
    world.transport.isHeld = true;
    world.put(claims, claim('data', { metadata: { finalizers: ['a.example/x'] } }));
  });
  world.start(both);
  await world.pass(10_000);
  assert.equal(isDone, true);
  assert.deepEqual(claimFinalizers(world), ['a.example/x']);
  world.transport.isHeld = false;
  await world.pass(300_000);
  assert.equal(world.snapshot('snap')?.status?.readyToUse, true);
  assert.deepEqual(claimFinalizers(world), ['a.example/x']);
});

test('killed after any effect of making and deleting, the end is the same', async () => {
  for (let effects = 1; effects < 30; effects += 1) {
    const world = scene();
    const uid = ask(world);
    world.start(both, effects);
    await world.pass(8_000);
    const isDead = world.life.isDead;
    if (isDead) world.start(both);
    await world.pass(60_000);
    assert.equal(world.snapshot('snap')?.status?.readyToUse, true, `made, ${effects}`);
    assert.equal(world.book.views.size, 1);
    assert.deepEqual(claimFinalizers(world), [], `claim, ${effects}`);
    world.stop();
    await world.pass(1_000);
    world.start(both, effects);
    await world.remove(snapshots, 'snap', 'app');
    await world.pass(40_000);
    if (world.life.isDead) world.start(both);
    await world.pass(60_000);
    assert.equal(world.snapshot('snap'), undefined, `gone, ${effects}`);
    assert.equal(world.content(`snapcontent-${uid}`), undefined, `gone, ${effects}`);
    assert.equal(world.book.views.size, 0);
    assert.deepEqual(claimFinalizers(world), []);
    world.stop();
    if (!isDead) return;
  }
  assert.fail('it does not end');
});

function holder(world: SnapshotWorld, namespace: string): string {
  const lease = world.api.one(leases, 'snapshot-controller-leader', namespace);
  return (lease?.['spec'] as { holderIdentity?: string } | undefined)?.holderIdentity ?? '';
}

function rival(world: SnapshotWorld, round: number, namespace = 'kube-system'): void {
  world.put(leases, {
    metadata: { name: 'snapshot-controller-leader', namespace },
    spec: { holderIdentity: 'stock', leaseDurationSeconds: 15, renewTime: String(round) },
  });
}

test('trap 24: it does nothing beside another one, wherever that has its lease', async () => {
  for (const namespace of ['kube-system', 'quarry-system']) {
    const world = scene();
    const uid = ask(world);
    rival(world, 0, namespace);
    world.start((parts) => common(parts));
    for (let round = 1; round < 30; round += 1) {
      await world.pass(2_000);
      rival(world, round, namespace);
    }
    assert.equal(world.content(`snapcontent-${uid}`), undefined, namespace);
    assert.deepEqual(
      world.logs.map(({ message }) => message),
      [`stock in ${namespace} controls the snapshots already: this one does nothing`],
    );
    await world.pass(60_000);
    assert.ok(world.content(`snapcontent-${uid}`) !== undefined, namespace);
  }
});

test('trap 24: it gives way to another one that comes', async () => {
  const world = scene();
  world.start((parts) => common(parts));
  await world.pass(5_000);
  assert.match(holder(world, 'quarry-system'), /^us-/);
  for (let round = 1; round < 20; round += 1) {
    rival(world, round);
    await world.pass(2_000);
  }
  const uid = ask(world);
  for (let round = 20; round < 30; round += 1) {
    rival(world, round);
    await world.pass(2_000);
  }
  assert.equal(holder(world, 'quarry-system'), '');
  assert.equal(world.content(`snapcontent-${uid}`), undefined);
});

test('trap 22: whether somebody else is there must be known before anything is done', async () => {
  const world = scene();
  const uid = ask(world);
  world.api.missing.add(leases);
  world.start((parts) => common(parts));
  await world.pass(30_000);
  assert.equal(world.content(`snapcontent-${uid}`), undefined);
  world.api.missing.delete(leases);
  await world.pass(30_000);
  assert.ok(world.content(`snapcontent-${uid}`) !== undefined);
});

test('trap 22: without the lead that it runs under nothing is written', async () => {
  const world = scene();
  const uid = ask(world);
  let isLost = true;
  world.start((parts) =>
    common(parts, () => {
      if (isLost) throw new KubeError('Fenced', 'the lease is lost: nothing was done');
    }),
  );
  await world.pass(30_000);
  assert.equal(world.api.writesTo(snapshots) + world.api.writesTo(claims), 0);
  isLost = false;
  await world.pass(60_000);
  assert.ok(world.content(`snapcontent-${uid}`) !== undefined);
});

test('a snapshot does not go before a content that only the server knows of', async () => {
  const world = scene();
  const uid = ask(world);
  let watched: Parts['kinds']['contents'] | undefined;
  world.start((parts) => {
    watched = parts.kinds.contents;
    return both(parts);
  });
  await world.pass(10_000);
  const name = `snapcontent-${uid}`;
  const informer = watched?.current?.informer ?? assert.fail();
  assert.notEqual(informer.get({ name }), undefined);
  // The watch of contents lags behind that of snapshots.
  informer.get = () => undefined;
  await world.remove(snapshots, 'snap', 'app');
  await world.pass(5_000);
  assert.notEqual(world.snapshot('snap'), undefined);
  Reflect.deleteProperty(informer, 'get');
  await world.pass(600_000);
  assert.deepEqual([world.snapshot('snap'), world.content(name)], [undefined, undefined]);
  assert.equal(world.book.views.size, 0);
});
