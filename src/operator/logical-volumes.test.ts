import assert from 'node:assert/strict';
import test from 'node:test';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { gib, outcome, request, twoNodes, withVolume } from '../../test/operator/scene.ts';
import { GiB } from '../base/bytes.ts';
import type { CreateVolume } from '../csi/volumes.ts';

test('a volume is answered when its node has made it, and is whole from the first write', async (t) => {
  const at = await twoNodes(t);
  const claim = { namespace: 'ns', name: 'data', uid: 'claim-1' };
  const created = outcome(at.book.create(request('PVC-a', { claim, className: 'ssd' }), ['n1']));
  await at.settle();
  assert.equal(created.isSettled, false);
  const { metadata, spec } = at.volume('pvc-a') ?? assert.fail();
  assert.deepEqual(spec, { name: 'pvc-a', nodeName: 'n1', size: '1Gi', deviceClass: 'ssd' });
  assert.deepEqual(metadata.finalizers, ['topolvm.io/logicalvolume']);
  assert.deepEqual(metadata.labels, {
    'app.kubernetes.io/created-by': 'topolvm-controller',
    'topolvm.io/node': 'n1',
  });
  assert.deepEqual(metadata.annotations, {
    'quarry.io/claim': 'ns/data',
    'quarry.io/unpublished': 'claim-1',
  });
  at.made('pvc-a', '1028Mi');
  await at.settle();
  assert.equal(created.value?.id, metadata.uid);
  assert.equal(created.value?.sizeBytes, 1028n * 1024n * 1024n);
  assert.equal(created.value?.node, 'n1');
  assert.equal(at.api.writesTo(collections.logicalVolumes), 1);
});

test('trap 1: who stops waiting loses the wait only, and the same request finds its volume', async (t) => {
  const at = await twoNodes(t);
  const deadline = new AbortController();
  const first = outcome(at.book.create(request('pvc-a'), ['n1'], deadline.signal));
  await at.settle();
  deadline.abort();
  await at.settle();
  assert.equal(first.error?.code, 'Cancelled');
  const { uid } = at.volume('pvc-a')?.metadata ?? assert.fail();
  at.made('pvc-a');
  const again = await at.book.create(request('pvc-a'), ['n1']);
  assert.equal(again.id, uid);
  assert.equal(at.volumes().length, 1);
});

test('trap 1: an answer that was lost is no failure: the object is found', async (t) => {
  const at = await twoNodes(t);
  at.transport.faults.push('lost-answer');
  const first = outcome(at.book.create(request('pvc-a'), ['n1']));
  await at.settle();
  assert.equal(first.error?.code, 'ClusterUnavailable');
  at.made('pvc-a');
  assert.equal((await at.book.create(request('pvc-a'), ['n1'])).node, 'n1');
  assert.equal(at.volumes().length, 1);
});

test('trap 8: another node in the next try changes nothing', async (t) => {
  const at = await twoNodes(t);
  const first = await withVolume(at, 'pvc-a');
  const again = await at.book.create(request('pvc-a'), ['n2']);
  assert.deepEqual([again.id, again.node], [first.id, 'n1']);
});

test('trap 4: one name is one object, and a name that can be none gets another', async (t) => {
  const at = await twoNodes(t);
  at.obedient();
  const a = await at.book.create(request('Volume with spaces'), ['n1']);
  const b = await at.book.create(request('volume with SPACES'), ['n1']);
  assert.equal(a.id, b.id);
  assert.equal(a.name, 'volume with spaces');
  assert.match(at.volumes()[0]?.metadata.name ?? '', /^volume-[0-9a-f]{40}$/);
});

test('trap 7: no room is told when nothing of the volume is left on the node', async (t) => {
  const at = await twoNodes(t);
  const created = outcome(at.book.create(request('pvc-a'), ['n1']));
  await at.settle();
  at.say('pvc-a', { code: 8, message: 'no enough space left on VG: free=1, requested=2' });
  await at.settle();
  assert.equal(created.isSettled, false);
  assert.notEqual(at.volume('pvc-a')?.metadata.deletionTimestamp, undefined);
  at.release('pvc-a');
  await at.settle();
  assert.equal(created.error?.code, 'InsufficientCapacity');
  assert.match(created.error?.message ?? '', /free=1, requested=2/);
});

test('trap 7: what was refused and never told is gone before it is asked for again elsewhere', async (t) => {
  const at = await twoNodes(t);
  const deadline = new AbortController();
  const first = outcome(at.book.create(request('pvc-a'), ['n1'], deadline.signal));
  await at.settle();
  at.say('pvc-a', { code: 8, message: 'full' });
  deadline.abort();
  await at.settle();
  assert.equal(first.error?.code, 'Cancelled');
  const second = outcome(at.book.create(request('pvc-a'), ['n2']));
  await at.settle();
  assert.equal(at.volume('pvc-a')?.spec.nodeName, 'n1');
  at.release('pvc-a');
  await at.settle();
  assert.equal(at.volume('pvc-a')?.spec.nodeName, 'n2');
  at.made('pvc-a');
  await at.settle();
  assert.equal(second.value?.node, 'n2');
});

test('our agents name the failure, and it is passed on', async (t) => {
  const at = await twoNodes(t);
  const created = outcome(at.book.create(request('pvc-a'), ['n1']));
  await at.settle();
  const message = 'UnknownDeviceClass: there is no class hdd. Remedy: Use a device class.';
  at.say('pvc-a', { code: 8, message });
  await at.settle();
  at.release('pvc-a');
  await at.settle();
  assert.equal(created.error?.code, 'UnknownDeviceClass');
  assert.equal(created.error?.message, 'there is no class hdd');
});

test('a request that differs from what is there is refused with what differs', async (t) => {
  const at = await twoNodes(t);
  await withVolume(at, 'pvc-a');
  const differs = async (more: Partial<CreateVolume>, message: RegExp) =>
    assert.rejects(at.book.create(request('pvc-a', more), ['n1']), {
      code: 'VolumeDiffers',
      message,
    });
  await differs({ range: gib(2) }, /of 1073741824 bytes/);
  await differs({ className: 'ssd' }, /in class/);
  await differs({ optionClass: 'raid' }, /option class/);
  await differs({ source: { kind: 'volume', id: 'x' } }, /made from/);
});

test('a volume that another leader made, and that we have not heard of, is found', async (t) => {
  const at = await twoNodes(t);
  at.transport.isHeld = true;
  const spec = { name: 'pvc-a', nodeName: 'n2', size: '1Gi' };
  const metadata = { name: 'pvc-a', finalizers: ['topolvm.io/logicalvolume'] };
  at.api.put(collections.logicalVolumes, { metadata, spec });
  at.made('pvc-a');
  const created = outcome(at.book.create(request('pvc-a'), ['n1']));
  await at.settle();
  assert.equal(created.value?.node, 'n2');
  assert.equal(at.volumes().length, 1);
});

test('what was deleted while we did not hear is not answered as a volume', async (t) => {
  const at = await twoNodes(t);
  const first = await withVolume(at, 'pvc-a');
  at.transport.isHeld = true;
  at.release('pvc-a');
  const again = outcome(at.book.create(request('pvc-a'), ['n1']));
  await at.settle();
  assert.notEqual(at.volume('pvc-a')?.metadata.uid, first.id);
  assert.equal(again.isSettled, false);
  at.transport.isHeld = false;
  await at.settle();
  at.made('pvc-a');
  await at.settle();
  assert.equal(again.value?.id, at.volume('pvc-a')?.metadata.uid);
});

test('an object that is deleted by hand while it is made ends the wait', async (t) => {
  const at = await twoNodes(t);
  const created = outcome(at.book.create(request('pvc-a'), ['n1']));
  await at.settle();
  at.release('pvc-a');
  await at.settle();
  assert.equal(created.error?.code, 'StaleView');
});

test('a watch that says nothing is not believed for ever: the server is asked', async (t) => {
  const at = await twoNodes(t);
  const created = outcome(at.book.create(request('pvc-a'), ['n1']));
  await at.settle();
  at.transport.isHeld = true;
  at.made('pvc-a');
  await at.settle();
  assert.equal(created.isSettled, false);
  await at.pass(31_000);
  assert.equal(created.value?.node, 'n1');
});

test('a copy is made where its source is, and is refused anywhere else', async (t) => {
  const at = await twoNodes(t);
  const source = await withVolume(at, 'pvc-a', { className: 'ssd' });
  const from = { kind: 'volume', id: source.id } as const;
  const clone = request('pvc-b', { className: 'ssd', source: from });
  await assert.rejects(at.book.create(clone, ['n2']), { code: 'SourceOnOtherNode' });
  await assert.rejects(at.book.create({ ...clone, className: '' }, ['n1']), {
    code: 'SourceElsewhere',
  });
  await assert.rejects(
    at.book.create({ ...clone, range: { requiredBytes: 1n << 29n, limitBytes: 0n } }, ['n1']),
    { code: 'SourceLarger', message: /512 MiB were asked for, and pvc-a has 1 GiB/ },
  );
  const made = outcome(at.book.create(clone, ['n2', 'n1']));
  await at.settle();
  assert.deepEqual(at.volume('pvc-b')?.spec, {
    ...{ name: 'pvc-b', nodeName: 'n1', size: '1Gi', deviceClass: 'ssd' },
    ...{ source: 'pvc-a', accessType: 'rw' },
  });
  at.made('pvc-b');
  await at.settle();
  assert.deepEqual([made.value?.sourceId, made.value?.sourceKind], [source.id, 'volume']);
  await assert.rejects(
    at.book.create(request('c', { source: { kind: 'volume', id: 'x' } }), ['n1']),
    {
      code: 'SourceNotFound',
    },
  );
});

test('trap 20: what a copy is still read from is not removed', async (t) => {
  const at = await twoNodes(t);
  const source = await withVolume(at, 'pvc-a');
  const copying = outcome(
    at.book.create(request('pvc-b', { source: { kind: 'volume', id: source.id } }), ['n1']),
  );
  await at.settle();
  await assert.rejects(at.book.remove('volume', source.id), {
    code: 'VolumeInUse',
    message: /pvc-b is still being copied/,
  });
  at.made('pvc-b');
  await at.settle();
  assert.equal(copying.isSettled, true);
  const removed = outcome(at.book.remove('volume', source.id));
  await at.settle();
  at.release('pvc-a');
  await at.settle();
  assert.deepEqual([removed.isSettled, removed.error], [true, undefined]);
});

test('trap 11: removed is said when the object is gone, and of what never was', async (t) => {
  const at = await twoNodes(t);
  const { id } = await withVolume(at, 'pvc-a');
  const removed = outcome(at.book.remove('volume', id));
  await at.settle();
  await at.pass(120_000);
  assert.equal(removed.isSettled, false);
  assert.notEqual(at.volume('pvc-a')?.metadata.deletionTimestamp, undefined);
  at.release('pvc-a');
  await at.settle();
  assert.equal(removed.isSettled, true);
  await at.book.remove('volume', id);
});

test('a volume that is gone as soon as it is deleted is not waited for', async (t) => {
  const at = await twoNodes(t);
  const { id } = await withVolume(at, 'pvc-a');
  at.obedient();
  const removed = outcome(at.book.remove('volume', id));
  await at.settle();
  assert.equal(removed.isSettled, true);
});

test('trap 11: a volume that we were not told of is not called removed', async (t) => {
  const at = await twoNodes(t);
  at.transport.isHeld = true;
  at.api.put(collections.logicalVolumes, {
    metadata: { name: 'pvc-x', uid: 'x', finalizers: ['topolvm.io/logicalvolume'] },
    spec: { name: 'pvc-x', nodeName: 'n1', size: '1Gi' },
  });
  at.made('pvc-x');
  const { uid } = at.volume('pvc-x')?.metadata ?? assert.fail();
  const removed = outcome(at.book.remove('volume', uid));
  await at.settle();
  assert.equal(removed.isSettled, false);
  assert.notEqual(at.volume('pvc-x')?.metadata.deletionTimestamp, undefined);
});

test('trap 12: another volume of the same name is not removed in its place', async (t) => {
  const at = await twoNodes(t);
  const { id } = await withVolume(at, 'pvc-a');
  at.transport.isHeld = true;
  at.release('pvc-a');
  const { metadata, spec } = {
    metadata: { name: 'pvc-a', finalizers: ['topolvm.io/logicalvolume'] },
    spec: { name: 'pvc-a', nodeName: 'n2', size: '1Gi' },
  };
  at.api.put(collections.logicalVolumes, { metadata, spec });
  await at.book.remove('volume', id);
  assert.equal(at.volume('pvc-a')?.metadata.deletionTimestamp, undefined);
  assert.equal(at.volume('pvc-a')?.spec.nodeName, 'n2');
});

test('a volume grows, and is answered when it has', async (t) => {
  const at = await twoNodes(t);
  const { id } = await withVolume(at, 'pvc-a');
  const grown = outcome(at.book.expand(id, gib(2)));
  await at.settle();
  const volume = at.volume('pvc-a') ?? assert.fail();
  assert.equal(volume.spec.size, '2Gi');
  assert.match(
    volume.metadata.annotations?.['topolvm.io/resize-requested-at'] ?? '',
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \+0000 UTC$/,
  );
  assert.equal(grown.isSettled, false);
  at.say('pvc-a', { currentSize: '2Gi' });
  await at.settle();
  assert.equal(grown.value?.sizeBytes, 2n * GiB);
  assert.equal((await at.book.expand(id, gib(1))).sizeBytes, 2n * GiB);
});

test('trap 5: a full group is OUT_OF_RANGE for who wants to grow, and the wish is taken back', async (t) => {
  const at = await twoNodes(t);
  const { id } = await withVolume(at, 'pvc-a');
  const grown = outcome(at.book.expand(id, gib(9)));
  await at.settle();
  at.say('pvc-a', { code: 8, message: 'full' });
  await at.settle();
  assert.equal(grown.error?.code, 'InsufficientCapacityToExpand');
  assert.equal(at.volume('pvc-a')?.spec.size, '1Gi');
});

test('an old failure is no answer to a new request, even to the same one', async (t) => {
  const at = await twoNodes(t);
  const { id } = await withVolume(at, 'pvc-a');
  at.say('pvc-a', { code: 8, message: 'full' });
  await at.settle();
  const grown = outcome(at.book.expand(id, gib(2)));
  await at.settle();
  assert.equal(grown.isSettled, false);
  at.say('pvc-a', { code: 0, message: '', currentSize: '2Gi' });
  await at.settle();
  assert.equal(grown.value?.sizeBytes, 2n * GiB);
});

test('trap 18: a smaller request after a failed one grows to the smaller size', async (t) => {
  const at = await twoNodes(t);
  const { id } = await withVolume(at, 'pvc-a');
  const failed = outcome(at.book.expand(id, gib(9)));
  await at.settle();
  at.say('pvc-a', { code: 8, message: 'full' });
  await at.settle();
  assert.equal(failed.isSettled, true);
  const smaller = outcome(at.book.expand(id, gib(2)));
  await at.settle();
  assert.equal(at.volume('pvc-a')?.spec.size, '2Gi');
  at.say('pvc-a', { currentSize: '2Gi' });
  await at.settle();
  assert.equal(smaller.value?.sizeBytes, 2n * GiB);
});

test('a volume without a current size, as old objects are, has the size that was asked for', async (t) => {
  const at = await twoNodes(t);
  const { id } = await withVolume(at, 'pvc-a');
  at.api.put(collections.logicalVolumes, {
    ...(at.volume('pvc-a') as never as { metadata: object }),
    metadata: { ...at.volume('pvc-a')?.metadata },
    status: { volumeID: id },
  });
  await at.settle();
  assert.equal((await at.book.get('volume', id)).sizeBytes, GiB);
});

test('trap 21: a snapshot is ready when it is made, with the size of its source and one time', async (t) => {
  const at = await twoNodes(t);
  const source = await withVolume(at, 'pvc-a', { className: 'thin' });
  const wanted = { name: 'snapshot-s', sourceId: source.id };
  const taken = outcome(at.book.snapshot(wanted));
  await at.settle();
  assert.equal(taken.isSettled, false);
  assert.deepEqual(at.volume('snapshot-s')?.spec, {
    ...{ name: 'snapshot-s', nodeName: 'n1', size: '1Gi', deviceClass: 'thin' },
    ...{ source: 'pvc-a', accessType: 'ro' },
  });
  at.made('snapshot-s');
  await at.settle();
  const first = taken.value ?? assert.fail();
  assert.deepEqual([first.isReady, first.sizeBytes, first.sourceId], [true, GiB, source.id]);
  await at.pass(60_000);
  assert.deepEqual(await at.book.snapshot(wanted), first);
  await assert.rejects(at.book.snapshot({ ...wanted, sourceId: 'other' }), {
    code: 'VolumeDiffers',
  });
});

test('trap 6: a snapshot without room ends with a final code, when nothing of it is left', async (t) => {
  const at = await twoNodes(t);
  const source = await withVolume(at, 'pvc-a');
  for (const [code, told] of [
    [8, 'InsufficientCapacityForSnapshot'],
    [10, 'CommandFailed'],
    [12, 'SnapshotsUnsupported'],
  ] as const) {
    const taken = outcome(at.book.snapshot({ name: 'snapshot-s', sourceId: source.id }));
    await at.settle();
    at.say('snapshot-s', { code, message: 'no' });
    await at.settle();
    assert.equal(taken.isSettled, false);
    at.release('snapshot-s');
    await at.settle();
    assert.equal(taken.error?.code, told);
  }
});

test('a snapshot outlives its source and still says what it is of', async (t) => {
  const at = await twoNodes(t);
  const source = await withVolume(at, 'pvc-a');
  const wanted = { name: 'snapshot-s', sourceId: source.id };
  const taken = at.book.snapshot(wanted);
  await at.settle();
  at.made('snapshot-s');
  await taken;
  at.release('pvc-a');
  await at.settle();
  assert.equal((await at.book.snapshot(wanted)).sourceId, source.id);
  assert.deepEqual(
    (await at.book.list()).map(({ kind, name }) => [kind, name]),
    [['snapshot', 'snapshot-s']],
  );
});

test('a volume is no snapshot: neither is found nor removed as the other', async (t) => {
  const at = await twoNodes(t);
  const { id } = await withVolume(at, 'pvc-a');
  await assert.rejects(at.book.get('snapshot', id), { code: 'VolumeNotFound' });
  await assert.rejects(at.book.remove('snapshot', id), { code: 'InvalidRequest' });
  assert.equal((await at.book.get('volume', id)).name, 'pvc-a');
});

test('a limit that the extents of the node exceed is told, and nothing is left', async (t) => {
  const at = await twoNodes(t);
  const range = { requiredBytes: GiB, limitBytes: GiB };
  const created = outcome(at.book.create(request('pvc-a', { range }), ['n1']));
  await at.settle();
  at.made('pvc-a', '1028Mi');
  await at.settle();
  at.release('pvc-a');
  await at.settle();
  assert.equal(created.error?.code, 'SizeOutOfRange');
});

test('trap 22: who does not lead changes nothing', async (t) => {
  const at = await twoNodes(t);
  at.isLeading = false;
  const requests = at.api.requests.length;
  await assert.rejects(at.book.create(request('pvc-a'), ['n1']));
  await assert.rejects(at.book.remove('volume', 'x'));
  await assert.rejects(at.book.expand('x', gib(1)));
  await assert.rejects(at.book.snapshot({ name: 's', sourceId: 'x' }));
  assert.equal(at.api.requests.length, requests);
});

test('who waits goes on waiting while the API server is away', async (t) => {
  const at = await twoNodes(t);
  const created = outcome(at.book.create(request('pvc-a'), ['n1']));
  await at.settle();
  at.transport.isHeld = true;
  at.transport.faults.push('unreachable', 'unreachable', 503);
  await at.pass(31_000);
  await at.pass(31_000);
  assert.equal(created.isSettled, false);
  at.made('pvc-a');
  at.transport.isHeld = false;
  await at.settle();
  assert.equal(created.value?.node, 'n1');
});

test('a node whose name fits no label gets volumes all the same', async (t) => {
  const at = await twoNodes(t);
  const long = `n.${'x'.repeat(70)}`;
  at.node(long);
  await at.settle();
  at.obedient();
  assert.equal((await at.book.create(request('pvc-a'), [long])).node, long);
  assert.deepEqual(at.volume('pvc-a')?.metadata.labels, {
    'app.kubernetes.io/created-by': 'topolvm-controller',
  });
});

test('who left before it was his turn has asked for nothing', async (t) => {
  const at = await twoNodes(t);
  const first = outcome(at.book.create(request('pvc-a'), ['n1']));
  const leave = new AbortController();
  const second = outcome(at.book.create(request('PVC-A'), ['n1'], leave.signal));
  await at.settle();
  leave.abort();
  at.release('pvc-a');
  await at.settle();
  assert.deepEqual([first.error?.code, second.error?.code], ['StaleView', 'Cancelled']);
  assert.deepEqual(at.volumes(), []);
});
