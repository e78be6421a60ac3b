import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LvmCluster, LvmDeviceClass } from '../../api/objects/lvm-cluster.ts';
import type { StorageClass } from '../../api/objects/storage.ts';
import { snapshotClassesOf, storageClassesOf, volumeGroupsOf } from './objects.ts';

function cluster(...deviceClasses: readonly LvmDeviceClass[]): LvmCluster {
  const metadata = { name: 'mine', namespace: 'quarry-system', uid: 'u1', resourceVersion: '1' };
  return { metadata, spec: { storage: { deviceClasses } } };
}

const owned = {
  'owned-by.topolvm.io/group': 'lvm.topolvm.io',
  'owned-by.topolvm.io/kind': 'LVMCluster',
  'owned-by.topolvm.io/name': 'mine',
  'owned-by.topolvm.io/namespace': 'quarry-system',
  'owned-by.topolvm.io/uid': 'u1',
  'owned-by.topolvm.io/version': 'v1alpha1',
};
const pool = { name: 'pool', overprovisionRatio: 10 };

function existing(name: string, labels: Readonly<Record<string, string>> = {}): StorageClass {
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  const metadata = { name, uid: name, resourceVersion: '1', labels, annotations };
  return { metadata, provisioner: 'any' };
}

test('a StorageClass follows from a device class as LVMS makes it', () => {
  const [one] = storageClassesOf(cluster({ name: 'vg1', default: true }), 'topolvm.io', []);
  assert.deepEqual(one, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: {
      name: 'lvms-vg1',
      labels: owned,
      annotations: {
        description: 'Provides RWO and RWOP Filesystem & Block volumes',
        'storageclass.kubernetes.io/is-default-class': 'true',
      },
    },
    provisioner: 'topolvm.io',
    parameters: { 'topolvm.io/device-class': 'vg1', 'csi.storage.k8s.io/fstype': 'xfs' },
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowVolumeExpansion: true,
  });
});

test('its options are as asked for, and our own keys win', () => {
  const storageClassOptions = {
    reclaimPolicy: 'Retain',
    volumeBindingMode: 'Immediate',
    additionalParameters: { 'topolvm.io/device-class': 'other', extra: 'x' },
    additionalLabels: { team: 'db', 'owned-by.topolvm.io/uid': 'u2' },
  } as const;
  const one = { name: 'vg1', fstype: 'ext4', storageClassOptions } as const;
  const [made] = storageClassesOf(cluster(one), 'topolvm.io', []);
  assert.deepEqual(made?.parameters, {
    'topolvm.io/device-class': 'vg1',
    'csi.storage.k8s.io/fstype': 'ext4',
    extra: 'x',
  });
  assert.deepEqual(made?.metadata.labels, { ...owned, team: 'db' });
  assert.equal(made?.reclaimPolicy, 'Retain');
  assert.equal(made?.volumeBindingMode, 'Immediate');
});

test('a class is the default only while nobody else’s is', () => {
  const wanted = cluster({ name: 'vg1', default: true }, { name: 'vg2' });
  const flags = (others: readonly StorageClass[]) =>
    storageClassesOf(wanted, 'topolvm.io', others).map(
      ({ metadata }) => metadata.annotations['storageclass.kubernetes.io/is-default-class'],
    );
  assert.deepEqual(flags([]), ['true', 'false']);
  assert.deepEqual(flags([existing('other')]), ['false', 'false']);
  assert.deepEqual(flags([existing('lvms-vg1', owned)]), ['true', 'false']);
  assert.deepEqual(flags([existing('lvms-vg2', owned)]), ['true', 'false'], 'the flag moves');
  assert.deepEqual(flags([existing('lvms-vg1')]), ['true', 'false'], 'old versions put no labels');
});

test('thin classes have a VolumeSnapshotClass', () => {
  const made = snapshotClassesOf(
    cluster({ name: 'thick' }, { name: 'thin', thinPoolConfig: pool }),
    'topolvm.io',
  );
  assert.deepEqual(made, [
    {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotClass',
      metadata: { name: 'lvms-thin', labels: owned },
      driver: 'topolvm.io',
      deletionPolicy: 'Delete',
    },
  ]);
});

test('agents are told what concerns them', () => {
  const one = { name: 'vg1', fstype: 'ext4', thinPoolConfig: pool } as const;
  assert.deepEqual(volumeGroupsOf(cluster(one), []), [
    {
      name: 'vg1',
      spec: { thinPoolConfig: pool, default: true, deviceDiscoveryPolicy: 'Static' },
    },
  ]);
  const both = volumeGroupsOf(cluster(one, { name: 'vg2', default: true }), []);
  assert.deepEqual(
    both.map(({ name, spec }) => [name, spec.default]),
    [
      ['vg1', undefined],
      ['vg2', true],
    ],
    'as LVMS writes it: what is not so is left out',
  );
});
