import assert from 'node:assert/strict';
import test from 'node:test';
import { collections } from '../kube/fake-api-rules.ts';
import type { Json } from '../kube/fake-patch.ts';
import {
  ClaimScene,
  fromClaim,
  fromSnapshot,
  refusal,
  selectedNode,
} from './provisioning-scene.ts';

const attributesClasses = '/apis/storage.k8s.io/v1/volumeattributesclasses';

/** Why a claim is pending, and what to do: the text of the event that `kubectl describe` shows. */
type Row = {
  readonly cause: string;
  readonly spec?: Json;
  readonly annotations?: Json;
  readonly prepare?: (at: ClaimScene) => void;
  /** What the node says, if it comes to that. */
  readonly node?: string;
  readonly text: string;
};

const rows: readonly Row[] = [
  {
    cause: 'class missing',
    spec: { storageClassName: 'gone' },
    text: 'StorageClassMissing: there is no StorageClass gone. Remedy: Create it, or make a new claim that names an existing one.',
  },
  {
    cause: 'wrong class parameters',
    spec: { storageClassName: 'wrong' },
    prepare: (at) =>
      at.storageClass('wrong', { parameters: { 'csi.storage.k8s.io/fstyp': 'xfs' } }),
    text: 'InvalidConfiguration: StorageClass wrong has the unknown parameters csi.storage.k8s.io/fstyp. Remedy: Correct what is named and try again.',
  },
  {
    cause: 'no capacity on the selected node',
    node: refusal('InsufficientCapacity', 'vg1 has 512 MiB free and 1 GiB is asked for'),
    text: 'InsufficientCapacity: vg1 has 512 MiB free and 1 GiB is asked for. Remedy: Add a device to the volume group, delete volumes, or ask for less.',
  },
  {
    cause: 'no node has the device class',
    spec: { storageClassName: 'hdd' },
    annotations: {},
    prepare: (at) => at.storageClass('hdd', { parameters: { 'topolvm.io/device-class': 'hdd' } }),
    text: 'UnknownDeviceClass: no node offers the class hdd, and 1 GiB were asked for. Remedy: Use a device class that the node has.',
  },
  {
    cause: 'unknown device class',
    node: refusal('UnknownDeviceClass', 'there is no device class hdd; there are ssd and nvme'),
    text: 'UnknownDeviceClass: there is no device class hdd; there are ssd and nvme. Remedy: Use a device class that the node has.',
  },
  {
    cause: 'source snapshot not ready',
    spec: fromSnapshot('snap'),
    prepare: (at) => {
      at.snapshot('snap', { readyToUse: false, error: { message: 'the pool is full' } });
    },
    text: 'SourceNotReady: VolumeSnapshot ns/snap is not ready to use: the pool is full. Remedy: Wait if the source is being made: the claim is tried again by itself.',
  },
  {
    cause: 'source claim not bound',
    spec: fromClaim('origin'),
    prepare: (at) => {
      at.claim('origin', {}, {});
    },
    text: 'SourceNotReady: PersistentVolumeClaim ns/origin is Pending, not Bound. Remedy: Wait if the source is being made: the claim is tried again by itself.',
  },
  {
    cause: 'size below the source',
    spec: fromSnapshot('snap'),
    prepare: (at) => at.content(at.snapshot('snap', { restoreSize: '3Gi' }), 'handle'),
    text: 'SourceLarger: the claim asks for 1 GiB, and VolumeSnapshot ns/snap needs 3 GiB. Remedy: Ask for at least the size of the source.',
  },
  {
    cause: 'selector set',
    spec: { selector: { matchLabels: { a: 'b' } } },
    text: 'ClaimUnsupported: the claim has a selector, and a volume that is made for it has no labels. Remedy: Make a new claim without the named field.',
  },
  {
    cause: 'access mode unsupported',
    spec: { accessModes: ['ReadWriteOnce', 'ReadWriteMany', 'ReadOnlyMany'] },
    text: 'AccessUnsupported: the claim asks for ReadWriteMany and ReadOnlyMany. Remedy: A volume is on one node: use ReadWriteOnce or ReadWriteOncePod.',
  },
  {
    cause: 'snapshot CRDs not installed',
    spec: fromSnapshot('snap'),
    prepare: ({ api }) => {
      api.missing.add(collections.snapshots).add(collections.contents);
    },
    text: 'SnapshotsNotInstalled: VolumeSnapshot ns/snap is the source, and there is no such kind. Remedy: Install the snapshot CRDs and a snapshot-controller.',
  },
  {
    cause: 'no size that can be read',
    spec: { resources: { requests: { storage: 'many' } } },
    text: 'InvalidSize: "many" is not a size: it has no digits; write for example 10Gi. Remedy: Write a size such as 10Gi or 500M.',
  },
  {
    cause: 'unknown file system',
    spec: { storageClassName: 'zfs' },
    prepare: (at) => at.storageClass('zfs', { parameters: { fsType: 'zfs' } }),
    text: 'UnknownFileSystem: StorageClass zfs asks for "zfs", which is none of ext4, xfs and btrfs. Remedy: Use ext4, xfs or btrfs.',
  },
  {
    cause: 'attributes that cannot be set',
    spec: { volumeAttributesClassName: 'gold' },
    prepare: ({ api }) => {
      const metadata = { name: 'gold' };
      api.put(attributesClasses, { metadata, driverName: 'topolvm.io', parameters: { iops: '1' } });
    },
    text: 'AttributesUnsupported: the VolumeAttributesClass gold has the parameter iops, and topolvm.io can change none. Remedy: Name a VolumeAttributesClass of this driver without parameters, or none.',
  },
  {
    cause: 'attributes of a class that is not there',
    spec: { volumeAttributesClassName: 'gold' },
    text: 'StorageClassMissing: there is no VolumeAttributesClass gold. Remedy: Create it, or make a new claim that names an existing one.',
  },
  {
    cause: 'the driver is not on the node',
    prepare: (at) => at.csiNode('n1', []),
    text: 'DriverNotOnNode: the driver topolvm.io is not registered on node n1. Remedy: Look whether the agent runs there and kubelet has registered the driver.',
  },
];

for (const { cause, spec, annotations, prepare, node, text } of rows) {
  test(`kubectl describe of a pending claim tells why: ${cause}`, async (t) => {
    const at = await ClaimScene.begin(t, prepare);
    const claim = at.claim('data', spec, annotations ?? { [selectedNode]: 'n1' });
    await at.settle();
    if (node !== undefined) {
      at.say(`pvc-${claim.metadata.uid}`, { code: 8, message: node });
      await at.settle();
      at.release(`pvc-${claim.metadata.uid}`);
      await at.settle();
    }
    const told = at.events.filter(
      ({ uid, type }) => uid === claim.metadata.uid && type === 'Warning',
    );
    assert.deepEqual(
      told.map(({ reason, message }) => [reason, message]),
      [['ProvisioningFailed', text]],
    );
    assert.deepEqual(at.persistentVolumes(), []);
    assert.deepEqual(at.volumes(), []);
  });
}
