import assert from 'node:assert/strict';
import test from 'node:test';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { outcome, request, twoNodes, withVolume } from '../../test/operator/scene.ts';

test('a group snapshot is asked for as a whole, and ready when all of it is', async (t) => {
  const at = await twoNodes(t);
  const a = await withVolume(at, 'pvc-a');
  const b = await withVolume(at, 'pvc-b');
  const { groups } = at.cluster;
  const taken = outcome(groups.create('g', [a.id, b.id]));
  await at.settle();
  const members = at.volumes().filter(({ spec }) => spec.accessType === 'ro');
  assert.equal(members.length, 2);
  assert.deepEqual(
    members.map(({ metadata }) => metadata.annotations?.['quarry.io/snapshot-group-size']),
    ['2', '2'],
  );
  at.made(members[0]?.metadata.name ?? '');
  await at.settle();
  assert.equal(taken.isSettled, false);
  at.made(members[1]?.metadata.name ?? '');
  await at.settle();
  const group = taken.value ?? assert.fail();
  assert.deepEqual([group.isReady, group.members.length], [true, 2]);
  assert.deepEqual((await groups.create('g', [b.id, a.id])).id, group.id);
  await assert.rejects(groups.create('g', [a.id]), { code: 'VolumeDiffers' });
  await assert.rejects(at.book.remove('snapshot', group.members[0]?.id ?? ''), {
    code: 'SnapshotInGroup',
  });
  await assert.rejects(groups.get(group.id, [group.members[0]?.id ?? '']), {
    code: 'InvalidRequest',
  });
  const removed = outcome(groups.remove(group.id, []));
  await at.settle();
  assert.equal(removed.isSettled, false);
  for (const { metadata } of members) at.release(metadata.name);
  await at.settle();
  assert.equal(removed.isSettled, true);
  await assert.rejects(groups.get(group.id, []), { code: 'VolumeNotFound' });
});

test('one member that is refused takes the whole group along; nodes do not mix', async (t) => {
  const at = await twoNodes(t);
  const a = await withVolume(at, 'pvc-a');
  const b = await withVolume(at, 'pvc-b');
  const taken = outcome(at.cluster.groups.create('g', [a.id, b.id]));
  await at.settle();
  const members = at.volumes().filter(({ spec }) => spec.accessType === 'ro');
  for (const { metadata } of members) at.say(metadata.name, { code: 8, message: 'full' });
  await at.settle();
  for (const { metadata } of members) at.release(metadata.name);
  await at.settle();
  assert.equal(taken.error?.code, 'InsufficientCapacityForSnapshot');
  assert.equal(at.volumes().length, 2);
  const far = at.book.create(request('pvc-c'), ['n2']);
  await at.settle();
  at.made('pvc-c');
  await assert.rejects(at.cluster.groups.create('h', [a.id, (await far).id]), {
    code: 'CannotHoldStill',
  });
});

test('a member that is refused ends the wait for those of which nothing is heard', async (t) => {
  const at = await twoNodes(t);
  const a = await withVolume(at, 'pvc-a');
  const b = await withVolume(at, 'pvc-b');
  const taken = outcome(at.cluster.groups.create('g', [a.id, b.id]));
  await at.settle();
  const members = at.volumes().filter(({ spec }) => spec.accessType === 'ro');
  at.say(members[0]?.metadata.name ?? '', { code: 8, message: 'full' });
  await at.settle();
  at.release(members[0]?.metadata.name ?? '');
  await at.settle();
  const other = members[1]?.metadata.name ?? '';
  assert.notEqual(at.volume(other)?.metadata.deletionTimestamp, undefined);
  assert.equal(taken.isSettled, false);
  at.release(other);
  await at.settle();
  assert.equal(taken.error?.code, 'InsufficientCapacityForSnapshot');
  assert.equal(at.volumes().length, 2);
});

test('a group that was cut off goes on under its id, and with the members that are there', async (t) => {
  const at = await twoNodes(t);
  const a = await withVolume(at, 'pvc-a');
  const b = await withVolume(at, 'pvc-b');
  const deadline = new AbortController();
  const first = outcome(at.cluster.groups.create('g', [a.id, b.id], deadline.signal));
  await at.settle();
  deadline.abort();
  await at.settle();
  assert.equal(first.error?.code, 'Cancelled');
  const members = at.volumes().filter(({ spec }) => spec.accessType === 'ro');
  at.release(members[1]?.metadata.name ?? '');
  await at.settle();
  const again = outcome(at.cluster.groups.create('g', [a.id, b.id]));
  await at.settle();
  const now = at.volumes().filter(({ spec }) => spec.accessType === 'ro');
  assert.deepEqual(
    now.map(({ metadata }) => metadata.name),
    members.map(({ metadata }) => metadata.name),
  );
  for (const { metadata } of now) at.made(metadata.name);
  await at.settle();
  assert.equal(again.value?.isReady, true);
});

/** As another leader began it, a moment ago: nothing of it has been heard here. */
function unheard(at: Awaited<ReturnType<typeof twoNodes>>, name: string, sourceId: string): string {
  at.transport.isHeld = true;
  const made = at.api.put(collections.logicalVolumes, {
    metadata: {
      ...{ name, finalizers: ['topolvm.io/logicalvolume'] },
      annotations: {
        ...{ 'quarry.io/snapshot-group': 'theirs', 'quarry.io/snapshot-group-size': '1' },
        ...{ 'quarry.io/snapshot-group-name': 'g', 'quarry.io/source': `volume/${sourceId}` },
      },
    },
    spec: { name, nodeName: 'n1', size: '1Gi', source: 'pvc-a', accessType: 'ro' },
  });
  at.made(name);
  return made.metadata.uid;
}

test('trap 22: a group that another leader made and we have not heard of is found', async (t) => {
  const at = await twoNodes(t);
  const a = await withVolume(at, 'pvc-a');
  await at.settle();
  const id = unheard(at, 'snapshot-x', a.id);
  const taken = outcome(at.cluster.groups.create('g', [a.id]));
  await at.settle();
  assert.equal(taken.value?.id, 'theirs');
  assert.deepEqual(
    taken.value?.members.map((member) => member.id),
    [id],
  );
});

test('trap 11: a group that we have not heard of is not called removed', async (t) => {
  const at = await twoNodes(t);
  const a = await withVolume(at, 'pvc-a');
  await at.settle();
  unheard(at, 'snapshot-x', a.id);
  const removed = outcome(at.cluster.groups.remove('theirs', []));
  await at.settle();
  assert.equal(removed.isSettled, false);
  assert.notEqual(at.volume('snapshot-x')?.metadata.deletionTimestamp, undefined);
  assert.equal((await at.cluster.groups.get('theirs', [])).id, 'theirs');
});
