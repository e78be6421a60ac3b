import assert from 'node:assert/strict';
import test from 'node:test';
import {
  snapshotMarks as marks,
  memberAnnotation,
} from '../../src/core/cluster/snapshot-content-marks.ts';
import { snapshotter } from '../../src/operator/snapshotter.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { annotationsOf, type Parts, SnapshotWorld } from './snapshots-world.ts';

const { contents } = collections;
const driver = ({ cluster, kinds }: Parts) => [snapshotter(cluster, kinds)];

function content(name: string, change: { spec?: object; metadata?: object; status?: object } = {}) {
  return {
    metadata: { name, finalizers: [marks.finalizer], ...change.metadata },
    spec: {
      ...{ deletionPolicy: 'Delete', driver: 'topolvm.io', volumeSnapshotClassName: 'fast' },
      source: { volumeHandle: 'vol-1' },
      volumeSnapshotRef: { namespace: 'app', name: 'snap', uid: 'u1' },
      ...change.spec,
    },
    ...(change.status === undefined ? {} : { status: change.status }),
  };
}

const given = { source: { snapshotHandle: 'lv-9' } };

/** Whoever wanted it gave it up: what the common controller does. */
async function giveUp(world: SnapshotWorld, name: string): Promise<void> {
  const metadata = { annotations: { [marks.beingDeleted]: 'yes' } };
  await world.edit(contents, name, { metadata });
  await world.remove(contents, name);
}

test('a content becomes a snapshot, is told with its handle and size, and leaves no mark', async () => {
  const world = new SnapshotWorld();
  world.put(contents, content('c1'));
  world.start(driver);
  await world.pass(1_000);
  const made = world.book.named('snapshot-u1');
  assert.ok(made !== undefined);
  const { status, metadata } = world.content('c1') ?? assert.fail();
  assert.equal(status?.snapshotHandle, made.id);
  assert.equal(status?.readyToUse, true);
  assert.equal(status?.restoreSize, 2 ** 30);
  assert.equal(status?.creationTime, (made.createdMs ?? 0) * 1_000_000);
  assert.deepEqual(metadata['annotations'] ?? {}, {});
  assert.equal(world.book.asked, 1);
});

test('a ready snapshot is not asked for again, whatever happens to its content', async () => {
  const world = new SnapshotWorld();
  world.put(contents, content('c1'));
  world.start(driver);
  await world.pass(1_000);
  await world.edit(contents, 'c1', { metadata: { labels: { a: 'b' } } });
  await world.pass(600_000);
  assert.equal(world.book.asked, 1);
  const writes = world.api.writesTo(contents);
  await world.pass(600_000);
  assert.equal(world.api.writesTo(contents), writes);
});

test('nothing is made before it is written down that it will be', async () => {
  const world = new SnapshotWorld();
  world.put(contents, content('c1'));
  let wasMarked: boolean | undefined;
  const { snapshot } = world.book;
  world.book.snapshot = (request) => {
    wasMarked = annotationsOf(world.content('c1'))[marks.beingCreated] === 'yes';
    return snapshot.call(world.book, request);
  };
  world.start(driver);
  await world.pass(1_000);
  assert.equal(wasMarked, true);
});

test('contents of other drivers, and of classes of other drivers, are left alone', async () => {
  const world = new SnapshotWorld();
  world.put(collections.snapshotClasses, {
    metadata: { name: 'other' },
    ...{ driver: 'other.io', deletionPolicy: 'Delete' },
  });
  world.put(contents, content('c1', { spec: { driver: 'other.io' } }));
  world.put(contents, content('c2', { spec: { volumeSnapshotClassName: 'other' } }));
  world.start(driver);
  await world.pass(5_000);
  assert.equal(world.book.asked, 0);
  assert.equal(world.api.writesTo(contents), 0);
});

test('trap 4: the name is made of the UID of the snapshot and of nothing else', async () => {
  const world = new SnapshotWorld();
  world.put(
    contents,
    content('whatever', { spec: { volumeSnapshotRef: { name: 'x', uid: 'u7' } } }),
  );
  world.put(contents, content('no-uid', { spec: { volumeSnapshotRef: { name: 'x' } } }));
  world.start(driver);
  await world.pass(2_000);
  assert.deepEqual(
    [...world.book.views.values()].map(({ name }) => name),
    ['snapshot-u7'],
  );
  assert.match(world.content('no-uid')?.status?.error?.message ?? '', /no UID/);
});

test('trap 6: no room is final, is told with numbers and remedy, and blocks no deletion', async () => {
  for (const code of ['InsufficientCapacityForSnapshot', 'ThinPoolFull'] as const) {
    const world = new SnapshotWorld();
    world.book.fault = { code };
    world.put(contents, content('c1'));
    world.start(driver);
    await world.pass(3_000);
    const failed = world.content('c1');
    assert.equal(annotationsOf(failed)[marks.beingCreated], undefined, code);
    assert.match(failed?.status?.error?.message ?? '', new RegExp(`^${code}: .* Remedy: `));
    assert.equal(failed?.status?.readyToUse, false);
    world.book.fault = undefined;
    world.book.isReady = false;
    await giveUp(world, 'c1');
    await world.pass(3_000);
    assert.equal(world.content('c1'), undefined, code);
    assert.equal(world.book.views.size, 0, code);
  }
});

test('trap 6: while something may exist the mark stays, and so does the content', async () => {
  const world = new SnapshotWorld();
  world.book.fault = { code: 'NodeSilent', isMade: true };
  world.put(contents, content('c1'));
  world.start(driver);
  await world.pass(3_000);
  assert.equal(annotationsOf(world.content('c1'))[marks.beingCreated], 'yes');
  await giveUp(world, 'c1');
  await world.pass(60_000);
  assert.ok(world.content('c1') !== undefined);
  assert.equal(world.book.views.size, 1);
  world.book.fault = undefined;
  await world.pass(300_000);
  assert.equal(world.content('c1'), undefined);
  assert.equal(world.book.views.size, 0);
});

test('trap 6: no room while something with the name is there is not final', async () => {
  const world = new SnapshotWorld();
  world.book.fault = { code: 'ThinPoolFull', isMade: true };
  world.put(contents, content('c1'));
  world.start(driver);
  await world.pass(3_000);
  assert.equal(annotationsOf(world.content('c1'))[marks.beingCreated], 'yes');
});

test('trap 19: a content without the word of who bound it is neither removed nor released', async () => {
  const world = new SnapshotWorld();
  world.put(contents, content('c1'));
  world.start(driver);
  await world.pass(1_000);
  await world.remove(contents, 'c1');
  await world.pass(60_000);
  assert.equal(world.book.views.size, 1);
  assert.deepEqual(world.content('c1')?.metadata.finalizers, [marks.finalizer]);
});

test('trap 19: a handle that another content lives by is not removed, and both are named', async () => {
  const world = new SnapshotWorld();
  world.put(contents, content('c1'));
  world.start(driver);
  await world.pass(1_000);
  const handle = world.content('c1')?.status?.snapshotHandle;
  world.put(contents, content('copy', { spec: { source: { snapshotHandle: handle } } }));
  await world.pass(1_000);
  await giveUp(world, 'c1');
  await world.pass(10_000);
  assert.equal(world.book.views.size, 1);
  assert.equal(world.content('c1')?.status?.readyToUse, true);
  assert.ok(
    world.events.some(({ message }) => message.includes(`copy names the snapshot ${handle}`)),
  );
  await giveUp(world, 'copy');
  await world.pass(600_000);
  assert.equal(world.book.views.size, 0);
  assert.equal(world.content('c1'), undefined);
});

test('trap 20: what refuses to be removed keeps its content and its handle', async () => {
  const world = new SnapshotWorld();
  world.put(contents, content('c1'));
  world.start(driver);
  await world.pass(1_000);
  const before = world.content('c1')?.status;
  world.book.fault = { code: 'VolumeInUse', isMade: false };
  await giveUp(world, 'c1');
  await world.pass(30_000);
  assert.deepEqual(world.content('c1')?.status, before);
  assert.ok(world.events.some(({ reason }) => reason === 'SnapshotDeleteError'));
  world.book.fault = undefined;
  await world.pass(300_000);
  assert.equal(world.content('c1'), undefined);
  assert.equal(world.book.views.size, 0);
});

test('trap 21: what is not ready is told as such and looked at again, later and later', async () => {
  const world = new SnapshotWorld();
  world.book.isReady = false;
  world.put(contents, content('c1'));
  world.start(driver);
  await world.pass(60_000);
  const early = world.book.looked;
  assert.ok(early > 3 && early < 20, `${early}`);
  assert.equal(world.content('c1')?.status?.readyToUse, false);
  await world.pass(600_000);
  assert.ok(world.book.looked - early < 8);
  world.book.isReady = true;
  await world.pass(300_000);
  assert.equal(world.content('c1')?.status?.readyToUse, true);
  assert.equal(world.book.asked, 1);
});

test('trap 12: a snapshot that vanished before it was ready is not made again', async () => {
  const world = new SnapshotWorld();
  world.book.isReady = false;
  world.put(contents, content('c1'));
  world.start(driver);
  await world.pass(2_000);
  const handle = world.content('c1')?.status?.snapshotHandle;
  world.book.views.clear();
  world.book.isReady = true;
  await world.pass(60_000);
  assert.equal(world.book.views.size, 0);
  assert.equal(world.content('c1')?.status?.snapshotHandle, handle);
  assert.match(world.content('c1')?.status?.error?.message ?? '', /there is no snapshot/);
  await giveUp(world, 'c1');
  await world.pass(5_000);
  assert.equal(world.content('c1'), undefined);
});

test('trap 21: without a size nothing is ready', async () => {
  const world = new SnapshotWorld();
  world.book.sizeBytes = 0n as typeof world.book.sizeBytes;
  world.put(contents, content('c1'));
  world.start(driver);
  await world.pass(5_000);
  assert.equal(world.content('c1')?.status?.readyToUse, false);
});

test('the moment that was told first stays', async () => {
  const world = new SnapshotWorld();
  world.book.isReady = false;
  world.put(contents, content('c1'));
  world.start(driver);
  await world.pass(1_000);
  const first = world.content('c1')?.status?.creationTime;
  const [view] = world.book.views.values();
  if (view !== undefined) world.book.views.set(view.id, { ...view, createdMs: 5 });
  world.book.isReady = true;
  await world.pass(60_000);
  assert.equal(world.content('c1')?.status?.creationTime, first);
});

test('the same failure is told once', async () => {
  const world = new SnapshotWorld();
  world.book.fault = { code: 'NodeSilent' };
  world.put(contents, content('c1'));
  world.start(driver);
  await world.pass(120_000);
  const told = world.events.filter(({ reason }) => reason === 'SnapshotCreationFailed');
  assert.equal(told.length, 1);
  assert.ok(world.book.asked > 3);
  assert.equal(world.api.writesTo(contents), 2);
});

test('a class that is missing is named, and the content goes on when it comes', async () => {
  const world = new SnapshotWorld();
  world.put(contents, content('c1', { spec: { volumeSnapshotClassName: 'late' } }));
  world.start(driver);
  await world.pass(120_000);
  assert.match(world.content('c1')?.status?.error?.message ?? '', /no class late/);
  assert.equal(annotationsOf(world.content('c1'))[marks.beingCreated], undefined);
  world.put(collections.snapshotClasses, {
    metadata: { name: 'late' },
    ...{ driver: 'topolvm.io', deletionPolicy: 'Delete' },
  });
  await world.pass(1_000);
  assert.equal(world.content('c1')?.status?.readyToUse, true);
  assert.equal(world.content('c1')?.status?.error, undefined);
});

test('a parameter under the reserved prefix that nobody knows is refused, secrets are not', async () => {
  const world = new SnapshotWorld();
  const cls = (name: string, key: string) =>
    world.put(collections.snapshotClasses, {
      metadata: { name },
      ...{ driver: 'topolvm.io', deletionPolicy: 'Delete' },
      parameters: { [`csi.storage.k8s.io/${key}`]: 'x', mine: 'y' },
    });
  cls('secret', 'snapshotter-secret-name');
  cls('strange', 'snapshoter-secret-name');
  world.put(contents, content('c1', { spec: { volumeSnapshotClassName: 'secret' } }));
  world.put(contents, content('c2', { spec: { volumeSnapshotClassName: 'strange' } }));
  world.start(driver);
  await world.pass(2_000);
  assert.equal(world.content('c1')?.status?.readyToUse, true);
  assert.match(world.content('c2')?.status?.error?.message ?? '', /snapshoter-secret-name/);
});

test('a retained content is let go and its snapshot stays', async () => {
  const world = new SnapshotWorld();
  world.put(contents, content('c1', { spec: { deletionPolicy: 'Retain' } }));
  world.start(driver);
  await world.pass(1_000);
  await giveUp(world, 'c1');
  await world.pass(1_000);
  assert.equal(world.content('c1'), undefined);
  assert.equal(world.book.views.size, 1);
});

test('finalizers of others stay where they are', async () => {
  const world = new SnapshotWorld();
  const finalizers = ['a.example/x', marks.finalizer, 'b.example/y'];
  world.put(contents, content('c1', { metadata: { finalizers } }));
  world.start(driver);
  await world.pass(1_000);
  await giveUp(world, 'c1');
  await world.pass(1_000);
  assert.deepEqual(world.content('c1')?.metadata.finalizers, ['a.example/x', 'b.example/y']);
  assert.equal(world.book.views.size, 0);
  assert.equal(world.content('c1')?.status?.snapshotHandle, undefined);
});

test('what somebody wrote down is looked for, and told when it is there', async () => {
  const world = new SnapshotWorld();
  world.put(contents, content('c1', { spec: given }));
  world.start(driver);
  await world.pass(5_000);
  assert.match(world.content('c1')?.status?.error?.message ?? '', /no snapshot lv-9/);
  assert.equal(world.book.asked, 0);
  await world.book.snapshot({ name: 'old', sourceId: 'vol-1' });
  const [view] = world.book.views.values();
  if (view !== undefined) world.book.views.set('lv-9', { ...view, id: 'lv-9' });
  await world.pass(60_000);
  assert.equal(world.content('c1')?.status?.snapshotHandle, 'lv-9');
  assert.equal(world.content('c1')?.status?.readyToUse, true);
});

test('what somebody wrote down and nobody bound goes without a word of others', async () => {
  const world = new SnapshotWorld();
  const ref = { volumeSnapshotRef: { namespace: 'app', name: 'snap' } };
  world.put(contents, content('c1', { spec: { ...given, ...ref } }));
  world.start(driver);
  await world.pass(2_000);
  await world.remove(contents, 'c1');
  await world.pass(2_000);
  assert.equal(world.content('c1'), undefined);
});

test('what somebody wrote down, bound and given up is removed though it was never seen', async () => {
  const world = new SnapshotWorld();
  world.put(contents, content('c1', { spec: given }));
  world.start(driver);
  await world.pass(100);
  await world.book.snapshot({ name: 'old', sourceId: 'vol-1' });
  const [view] = world.book.views.values();
  world.book.views.clear();
  if (view !== undefined) world.book.views.set('lv-9', { ...view, id: 'lv-9' });
  await giveUp(world, 'c1');
  await world.pass(10_000);
  assert.equal(world.content('c1'), undefined);
  assert.equal(world.book.views.size, 0);
});

test('a member of a group is never made or removed by itself', async () => {
  const world = new SnapshotWorld();
  const annotations = { [memberAnnotation]: 'group-1' };
  world.put(contents, content('c1', { metadata: { annotations, finalizers: [marks.finalizer] } }));
  world.start(driver);
  await world.pass(2_000);
  assert.equal(world.book.asked, 0);
  await world.book.snapshot({ name: 'member', sourceId: 'vol-1' });
  const [id = ''] = world.book.views.keys();
  const metadata = { annotations, finalizers: [marks.finalizer] };
  world.put(contents, content('c2', { metadata, spec: { source: { snapshotHandle: id } } }));
  await world.pass(2_000);
  assert.equal(world.content('c2')?.status?.readyToUse, true);
  await giveUp(world, 'c2');
  await world.pass(2_000);
  assert.equal(world.content('c2'), undefined);
  assert.equal(world.book.views.size, 1);
});

test('nothing is begun for a content that is going already', async () => {
  const world = new SnapshotWorld();
  world.put(contents, content('c1', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }));
  world.start(driver);
  await world.pass(5_000);
  assert.equal(world.book.asked, 0);
  assert.match(world.content('c1')?.status?.error?.message ?? '', /being deleted/);
});

test('a snapshot that nobody wrote down the handle of is found by its name and removed', async () => {
  const world = new SnapshotWorld();
  await world.book.snapshot({ name: 'snapshot-u1', sourceId: 'vol-1' });
  const annotations = { [marks.beingDeleted]: 'yes' };
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  world.put(contents, content('c1', { metadata: { annotations, deletionTimestamp } }));
  world.start(driver);
  await world.pass(1_000);
  assert.equal(world.book.views.size, 0);
  assert.equal(world.content('c1'), undefined);
});

test('an object that is gone for good makes nothing, though the watch still shows it', async () => {
  const world = new SnapshotWorld();
  world.book.fault = { code: 'NodeSilent' };
  world.put(contents, content('c1'));
  world.start(driver);
  await world.pass(1_000);
  world.transport.isHeld = true;
  world.api.delete(contents, 'c1');
  const { asked } = world.book;
  world.book.fault = undefined;
  await world.pass(60_000);
  assert.equal(world.book.asked, asked);
  assert.equal(world.book.views.size, 0);
});

test('a conflict is decided anew', async () => {
  const world = new SnapshotWorld();
  world.put(contents, content('c1'));
  const { snapshot } = world.book;
  let isFirst = true;
  world.book.snapshot = async (request) => {
    const view = await snapshot.call(world.book, request);
    if (isFirst) await world.edit(contents, 'c1', { metadata: { labels: { a: 'b' } } });
    isFirst = false;
    return view;
  };
  world.start(driver);
  await world.pass(10_000);
  assert.equal(world.content('c1')?.status?.readyToUse, true);
  assert.equal(annotationsOf(world.content('c1'))[marks.beingCreated], undefined);
  assert.equal(world.book.views.size, 1);
});

test('nothing is begun for a content that was given up and is not deleted yet', async () => {
  const world = new SnapshotWorld();
  const annotations = { [marks.beingDeleted]: 'yes' };
  world.put(contents, content('c1', { metadata: { annotations, finalizers: [marks.finalizer] } }));
  world.start(driver);
  await world.pass(60_000);
  assert.equal(world.book.asked, 0);
  assert.equal(world.api.writesTo(contents), 0);
});

test('trap 28: a finalizer that somebody adds in the same moment is not lost', async () => {
  const world = new SnapshotWorld();
  world.put(contents, content('c1'));
  world.start(driver);
  await world.pass(1_000);
  let isDone = false;
  world.api.listeners.add(({ collection, after }) => {
    const status = after?.['status'] as object | undefined;
    if (isDone || collection !== contents || status === undefined) return;
    if ('snapshotHandle' in status || after === undefined) return;
    isDone = true;
    const finalizers = [...(after.metadata.finalizers ?? []), 'a.example/x'];
    world.put(contents, { ...after, metadata: { ...after.metadata, finalizers } });
  });
  await giveUp(world, 'c1');
  await world.pass(10_000);
  assert.equal(isDone, true);
  assert.deepEqual(world.content('c1')?.metadata.finalizers, ['a.example/x']);
  assert.equal(world.content('c1')?.status?.snapshotHandle, undefined);
});

test('what nobody has told of yet is removed too: only the server knows that nothing is there', async () => {
  const world = new SnapshotWorld();
  world.book.fault = { code: 'SourceNotFound' };
  world.put(contents, content('c1'));
  world.start(driver);
  await world.pass(2_000);
  assert.equal(annotationsOf(world.content('c1'))[marks.beingCreated], undefined);
  world.transport.isHeld = true;
  // A request to make it that was long under way.
  const { metadata } = world.put(collections.logicalVolumes, {
    metadata: { name: 'snapshot-u1' },
    spec: { name: 'snapshot-u1', nodeName: 'n1', size: '1Gi', source: 'v', accessType: 'ro' },
  });
  await giveUp(world, 'c1');
  const removed: string[] = [];
  world.book.remove = async (_kind, id) => void removed.push(id);
  world.book.fault = undefined;
  await world.pass(10_000);
  assert.equal(world.content('c1'), undefined);
  assert.deepEqual(removed, [metadata.uid]);
});
