import assert from 'node:assert/strict';
import test from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { fail } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import type { Json } from '../kube/fake-patch.ts';
import { ClaimScene, selectedNode, volumeFinalizer } from './provisioning-scene.ts';

test('a claim gets a PersistentVolume, field for field as the stock provisioner writes it', async (t) => {
  const at = await ClaimScene.begin(t, (scene) => {
    scene.storageClass('xfs', {
      volumeBindingMode: 'WaitForFirstConsumer',
      mountOptions: ['noatime'],
      parameters: { 'topolvm.io/device-class': 'ssd', 'csi.storage.k8s.io/fstype': 'xfs' },
    });
  });
  const claim = at.claim('data', { storageClassName: 'xfs' });
  const { uid, resourceVersion } = claim.metadata;
  await at.settle();
  assert.equal(at.persistentVolume(claim), undefined);
  at.made(`pvc-${uid}`, '1028Mi');
  await at.settle();
  const volume = at.persistentVolume(claim) ?? assert.fail();
  const record = at.recordOf(claim) ?? assert.fail();
  assert.deepEqual(volume.metadata.annotations, {
    'pv.kubernetes.io/provisioned-by': 'topolvm.io',
    'volume.kubernetes.io/provisioner-deletion-secret-name': '',
    'volume.kubernetes.io/provisioner-deletion-secret-namespace': '',
  });
  const protection = 'kubernetes.io/pv-protection';
  assert.deepEqual(volume.metadata.finalizers, [volumeFinalizer, protection]);
  const expression = { key: 'topology.topolvm.io/node', operator: 'In', values: ['n1'] };
  assert.deepEqual(volume['spec'], {
    accessModes: ['ReadWriteOnce'],
    mountOptions: ['noatime'],
    capacity: { storage: '1028Mi' },
    persistentVolumeReclaimPolicy: 'Delete',
    storageClassName: 'xfs',
    volumeMode: 'Filesystem',
    claimRef: {
      ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim' },
      ...{ namespace: 'ns', name: 'data', uid, resourceVersion },
    },
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } },
    csi: {
      driver: 'topolvm.io',
      volumeHandle: record.metadata.uid,
      fsType: 'xfs',
      volumeAttributes: {
        'storage.kubernetes.io/csiProvisionerIdentity': '1700000000000-5000-topolvm.io',
        'topolvm.io/name': `pvc-${uid}`,
        'topolvm.io/device-class': 'ssd',
      },
    },
  });
  assert.deepEqual(at.told('Provisioning'), [`making the volume pvc-${uid}`]);
  const done = `made the volume pvc-${uid} of 1.00 GiB on n1`;
  assert.deepEqual(at.told('ProvisioningSucceeded'), [done]);
});

test('a volume of a class of an LVMCluster says in a label where it is, as LVMS’ do', async (t) => {
  const at = await ClaimScene.begin(t, (scene) => scene.storageClass('lvms-vg1', {}));
  at.obedient();
  const labelled = at.claim('data', { storageClassName: 'lvms-vg1' });
  const other = at.claim('other', { storageClassName: 'fast' });
  await at.settle();
  const labelsOf = (claim: typeof other) => at.persistentVolume(claim)?.metadata.labels;
  assert.deepEqual(labelsOf(labelled), { 'kubernetes.io/hostname': 'n1' });
  assert.equal(labelsOf(other), undefined);
});

test('a raw volume has no file system, and a claim costs three writes', async (t) => {
  const at = await ClaimScene.begin(t);
  at.obedient();
  const claim = at.claim('raw', { volumeMode: 'Block', storageClassName: 'fast' });
  await at.settle();
  const spec = at.persistentVolume(claim)?.['spec'] as { csi: Json; volumeMode: string };
  assert.equal(spec.volumeMode, 'Block');
  assert.equal(spec.csi['fsType'], undefined);
  assert.deepEqual(
    at.writes.map(({ verb, collection }) => [verb, collection]),
    [
      ['create', collections.logicalVolumes],
      ['patch', collections.logicalVolumes],
      ['create', collections.volumes],
    ],
  );
});

test('a claim that waits for a pod is left alone until a node is selected', async (t) => {
  const at = await ClaimScene.begin(t);
  at.obedient();
  const claim = at.claim('data', {}, {});
  await at.pass(60_000);
  assert.equal(at.recordOf(claim), undefined);
  at.claim('data', {}, { [selectedNode]: 'n2' });
  await at.settle();
  assert.equal(at.recordOf(claim)?.spec.nodeName, 'n2');
  assert.notEqual(at.persistentVolume(claim), undefined);
});

test('claims of others, bound ones and those with a class of others get nothing', async (t) => {
  const at = await ClaimScene.begin(t, (scene) => {
    scene.storageClass('other', { provisioner: 'other.io' });
  });
  at.obedient();
  const other = { 'volume.kubernetes.io/storage-provisioner': 'other.io', [selectedNode]: 'n1' };
  at.claim('theirs', {}, other);
  at.claim('bound', { volumeName: 'pv-1' });
  at.claim('moved', { storageClassName: 'other' });
  await at.pass(60_000);
  assert.deepEqual(at.writes, []);
  assert.deepEqual(at.events, []);
});

test('a claim with the old annotations, or that was migrated, is ours too', async (t) => {
  const at = await ClaimScene.begin(t);
  at.obedient();
  const none = { 'volume.kubernetes.io/storage-provisioner': undefined, [selectedNode]: 'n1' };
  const old = at.claim(
    'a',
    {},
    { ...none, 'volume.beta.kubernetes.io/storage-provisioner': 'topolvm.io' },
  );
  const migrated = at.claim('b', {}, { ...none, 'pv.kubernetes.io/migrated-to': 'topolvm.io' });
  const classed = at.claim(
    'c',
    { storageClassName: undefined },
    { 'volume.beta.kubernetes.io/storage-class': 'now' },
  );
  await at.settle();
  assert.notEqual(at.persistentVolume(classed), undefined);
  assert.notEqual(at.persistentVolume(old), undefined);
  assert.notEqual(at.persistentVolume(migrated), undefined);
});

test('trap 1: a node that answers late gets no second volume, and its late answer is taken', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = at.claim('data');
  await at.pass(limits.nodeAnswerMs + 1_000);
  assert.deepEqual(at.told('ProvisioningFailed'), [
    'NodeSilent: the volume is not made on n1 after 60 s. Remedy: Look at the node and its agent: the work goes on by itself when they answer.',
  ]);
  assert.equal(at.volumes().length, 1);
  await at.pass(60_000);
  at.made(`pvc-${claim.metadata.uid}`);
  await at.settle();
  assert.notEqual(at.persistentVolume(claim), undefined);
  assert.deepEqual(at.writesOf(collections.logicalVolumes), ['create', 'patch']);
});

test('trap 2: a claim that was bound while the store lagged gets no second volume', async (t) => {
  const at = await ClaimScene.begin(t);
  at.obedient();
  const claim = at.claim('data', {}, {});
  await at.settle();
  at.transport.isHeld = true;
  // Seen by nobody yet: it was bound to a volume that somebody else made for it.
  at.claim('data', { volumeName: 'other' });
  const { spec, status } = claim as never;
  at.cluster.stores.claims.putOwn({
    ...{ spec, status },
    metadata: {
      ...claim.metadata,
      resourceVersion: String(Number(claim.metadata.resourceVersion) + 1),
      annotations: { ...(claim.metadata['annotations'] as Json), [selectedNode]: 'n1' },
    },
  });
  await at.settle();
  assert.deepEqual(at.writes, []);
});

test('trap 2: a PersistentVolume of that name in its way is compared, never taken for ours', async (t) => {
  const going = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x'] };
  const rows: readonly (readonly [Json, Json, string, Json?])[] = [
    [
      {},
      { csi: { driver: 'topolvm.io', volumeHandle: 'other' } },
      'is of the volume other, not of',
    ],
    [{ uid: 'other' }, {}, 'is for the claim ns/data \\(other\\)'],
    [{}, {}, '^$', going],
  ];
  for (const [claimRef, spec, text, metadata] of rows) {
    const at = await ClaimScene.begin(t);
    const claim = at.claim('data');
    const { uid } = claim.metadata;
    await at.settle();
    at.transport.isHeld = true;
    const record = at.recordOf(claim) ?? assert.fail();
    at.api.put(collections.volumes, {
      metadata: { name: `pvc-${uid}`, ...metadata },
      spec: {
        claimRef: { namespace: 'ns', name: 'data', uid, ...claimRef },
        csi: { driver: 'topolvm.io', volumeHandle: record.metadata.uid },
        ...spec,
      },
    });
    at.transport.isHeld = false;
    at.made(`pvc-${uid}`);
    await at.settle();
    assert.equal(at.told('ProvisioningSucceeded').length, 0);
    assert.match(at.told('ProvisioningFailed').join(), new RegExp(text));
  }
});

test('trap 3: what was made for a claim that is gone keeps its mark, and goes at once', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = at.claim('data');
  await at.settle();
  assert.equal(at.isMarked(claim), true);
  at.giveBack(claim);
  await at.settle();
  at.made(`pvc-${claim.metadata.uid}`);
  await at.settle();
  assert.equal(at.isMarked(claim), true);
  assert.deepEqual(at.persistentVolumes(), []);
  const { metadata } = at.volume(`pvc-${claim.metadata.uid}`) ?? assert.fail();
  assert.notEqual(metadata.deletionTimestamp, undefined);
});

test('trap 3: a record that is being collected is not published', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = at.claim('data');
  const name = `pvc-${claim.metadata.uid}`;
  await at.settle();
  // The collector is faster, and our stores hear nothing of it.
  at.made(name);
  const record = at.volume(name) ?? assert.fail();
  at.transport.isHeld = true;
  const metadata = { ...record.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
  at.api.put(collections.logicalVolumes, { ...record, metadata });
  at.cluster.stores.logicalVolumes.putOwn(record);
  await at.settle();
  assert.deepEqual(at.persistentVolumes(), []);
});

test('trap 12: another record under the name is not taken for the one that was made', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = at.claim('data');
  const name = `pvc-${claim.metadata.uid}`;
  await at.settle();
  at.transport.isHeld = true;
  at.made(name);
  const record = at.volume(name) ?? assert.fail();
  at.api.delete(collections.logicalVolumes, name);
  const { annotations } = record.metadata;
  at.api.put(collections.logicalVolumes, { ...record, metadata: { name, annotations } });
  at.cluster.stores.logicalVolumes.putOwn(record);
  await at.settle();
  assert.notEqual(at.recordOf(claim)?.metadata.uid, record.metadata.uid);
  assert.equal(at.isMarked(claim), true);
  assert.deepEqual(at.persistentVolumes(), []);
});

test('trap 4: the same claim asks for the same volume after every restart', async (t) => {
  const first = await ClaimScene.begin(t);
  const claim = first.claim('data');
  await first.settle();
  assert.deepEqual(
    first.volumes().map(({ metadata }) => metadata.name),
    [`pvc-${claim.metadata.uid}`],
  );
  // Deleted and made again under its name it is another claim.
  first.api.delete(collections.claims, 'data', 'ns');
  const second = first.claim('data');
  await first.settle();
  assert.notEqual(second.metadata.uid, claim.metadata.uid);
  assert.notEqual(first.recordOf(second), undefined);
});

test('a claim that is going gets nothing', async (t) => {
  const at = await ClaimScene.begin(t);
  at.claim('data', {}, {});
  at.change(collections.claims, 'data', (found) => ({
    ...found,
    metadata: {
      ...found.metadata,
      deletionTimestamp: '2026-01-01T00:00:00Z',
      annotations: { ...(found.metadata['annotations'] as Json), [selectedNode]: 'n1' },
    },
  }));
  await at.settle();
  assert.deepEqual(at.writes, []);
});

test('a volume that is smaller than ordered is given to nobody, and goes if nobody knows it', async (t) => {
  for (const isMarked of [true, false]) {
    const removed: string[] = [];
    const at = await ClaimScene.begin(t, (scene) => ({
      create: async ({ name }) => {
        const annotations = isMarked ? { 'quarry.io/unpublished': 'x' } : {};
        const metadata = { name, annotations };
        const spec = { name, nodeName: 'n1', size: '1Mi' };
        const { uid } = scene.api.put(collections.logicalVolumes, { metadata, spec }).metadata;
        return { id: uid, sizeBytes: 2n ** 20n, node: 'n1' } as never;
      },
      remove: async (_kind, id) => {
        removed.push(id);
      },
    }));
    const claim = at.claim('data');
    await at.settle();
    assert.deepEqual(at.persistentVolumes(), []);
    assert.deepEqual(removed, isMarked ? [at.recordOf(claim)?.metadata.uid] : []);
    assert.match(at.told('ProvisioningFailed').join(), /has 1 MiB, and 1 GiB were asked for/);
  }
});

test('a claim that cannot be granted waits five minutes, or for another class', async (t) => {
  const at = await ClaimScene.begin(t, (scene) => {
    scene.storageClass('wrong', { parameters: { 'csi.storage.k8s.io/what': 'x' } });
  });
  at.obedient();
  const claim = at.claim('data', { storageClassName: 'wrong' }, {});
  await at.pass(limits.claimHoldMs - 10_000);
  // That somebody touches it changes nothing.
  at.claim('data', { storageClassName: 'wrong' }, { touched: 'yes' });
  await at.pass(9_000);
  assert.equal(at.told('ProvisioningFailed').length, 1);
  await at.pass(2_000);
  assert.equal(at.told('ProvisioningFailed').length, 2);
  at.api.delete(collections.classes, 'wrong');
  at.storageClass('wrong', {});
  await at.settle();
  assert.notEqual(at.persistentVolume(claim), undefined);
});

test('what fails otherwise is tried again after one second, and later and later', async (t) => {
  const at = await ClaimScene.begin(t);
  at.claim('data', { storageClassName: 'gone' }, {});
  await at.pass(500);
  const counts: number[] = [];
  for (const ms of [1_000, 2_000, 4_000, 8_000]) {
    await at.pass(ms);
    counts.push(at.told('ProvisioningFailed').length);
  }
  assert.deepEqual(counts, [2, 3, 4, 5]);
  // A class that comes is not waited for any longer.
  at.obedient();
  at.storageClass('gone', {});
  await at.settle();
  assert.equal(at.persistentVolumes().length, 1);
});

test('a process that died at any write is followed by one that ends the same', async (t) => {
  for (let dies = 1; dies <= 3; dies += 1) {
    const at = await ClaimScene.begin(t);
    const claim = at.claim('data');
    const name = `pvc-${claim.metadata.uid}`;
    let writes = 0;
    at.api.listeners.add(({ collection }) => {
      const isOurs =
        collection === collections.logicalVolumes || collection === collections.volumes;
      if (!isOurs) return;
      writes += 1;
      // The answer is lost, and the watches with it: nobody here knows that it happened.
      if (writes === dies) at.transport.faults.push('unreachable', 'unreachable');
    });
    await at.pass(1_000);
    if (at.volume(name)?.status?.volumeID === undefined) at.made(name);
    await at.pass(120_000);
    assert.equal(at.persistentVolumes().length, 1, `after write ${dies}`);
    assert.equal(at.volumes().length, 1);
    assert.equal(at.isMarked(claim), false);
  }
});

test('a lost answer to the PersistentVolume is found out, and it is one', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = at.claim('data');
  await at.settle();
  at.api.listeners.add(({ collection, after }) => {
    const annotations = after?.metadata['annotations'] as Json | undefined;
    const isUnmarked = annotations?.['quarry.io/unpublished'] === undefined;
    if (collection === collections.logicalVolumes && isUnmarked) {
      at.transport.faults.push('lost-answer');
    }
  });
  at.made(`pvc-${claim.metadata.uid}`);
  await at.pass(10_000);
  assert.equal(at.persistentVolumes().length, 1);
  assert.deepEqual(at.told('ProvisioningFailed'), []);
});

test('trap 3: a volume without mark leads to a PersistentVolume, though its claim goes meanwhile', async (t) => {
  const at = await ClaimScene.begin(t);
  at.obedient();
  let isBroken = true;
  const handle = at.api.handle.bind(at.api);
  at.api.handle = (request, sink) => {
    const isBad = isBroken && request.method === 'POST' && /persistentvolumes$/.test(request.url);
    if (isBad) fail(sink, 500, 'InternalError', 'etcd is away');
    else handle(request, sink);
  };
  const claim = at.claim('data');
  await at.pass(20_000);
  assert.equal(at.isMarked(claim), false);
  at.giveBack(claim);
  await at.pass(20_000);
  isBroken = false;
  await at.pass(60_000);
  at.phase(`pvc-${claim.metadata.uid}`, 'Released');
  await at.pass(60_000);
  assert.deepEqual(at.volumes(), []);
});

test('what the cluster does not let us write is told, what passes by itself is not', async (t) => {
  const rows = [
    [403, 'Forbidden', /^ClusterRefused: .*not allowed.* Remedy: Look at the permissions/],
    [409, 'Conflict', /^$/],
  ] as const;
  for (const [code, reason, text] of rows) {
    const at = await ClaimScene.begin(t);
    at.obedient();
    const handle = at.api.handle.bind(at.api);
    at.api.handle = (request, sink) => {
      const isVolume = request.method === 'POST' && /persistentvolumes$/.test(request.url);
      if (isVolume) fail(sink, code, reason, 'not allowed', { name: 'x' });
      else handle(request, sink);
    };
    at.claim('data');
    await at.settle();
    assert.match(at.told('ProvisioningFailed').join(), text);
  }
});

test('the mark is off before the PersistentVolume is there', async (t) => {
  const at = await ClaimScene.begin(t);
  const claim = at.claim('data');
  let wasMarked: boolean | undefined;
  at.api.listeners.add(({ collection }) => {
    if (collection === collections.volumes) wasMarked ??= at.isMarked(claim);
  });
  await at.settle();
  at.made(`pvc-${claim.metadata.uid}`);
  await at.settle();
  assert.equal(wasMarked, false);
});

test('the data source of another kind is left to its populator, which is told once', async (t) => {
  const at = await ClaimScene.begin(t);
  const dataSource = { apiGroup: 'cdi.kubevirt.io', kind: 'VolumeImportSource', name: 'image' };
  at.claim('data', { dataSourceRef: dataSource });
  await at.pass(600_000);
  at.claim('data', { dataSourceRef: dataSource }, { [selectedNode]: 'n2' });
  await at.settle();
  assert.deepEqual(at.told('Provisioning'), [
    'the data source is a VolumeImportSource of cdi.kubevirt.io: its populator makes the volume',
  ]);
  assert.deepEqual(at.writes, []);
});

test('secrets of a class are not read, which the log says once', async (t) => {
  const at = await ClaimScene.begin(t, (scene) => {
    const parameters = {
      'csi.storage.k8s.io/provisioner-secret-name': 's',
      'csi.storage.k8s.io/provisioner-secret-namespace': 'ns',
    };
    scene.storageClass('secret', { parameters });
  });
  at.obedient();
  at.claim('a', { storageClassName: 'secret' }, {});
  at.claim('b', { storageClassName: 'secret' }, {});
  await at.pass(10_000);
  assert.equal(at.persistentVolumes().length, 2);
  assert.equal(at.lines.filter(({ message }) => /secret/.test(message)).length, 1);
});
