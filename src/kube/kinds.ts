import type { PersistentVolumeClaim } from '../api/objects/claim.ts';
import type { LogicalVolume } from '../api/objects/logical-volume.ts';
import type { KubeObject } from '../api/objects/metadata.ts';
import type { PersistentVolume } from '../api/objects/persistent-volume.ts';
import type {
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from '../api/objects/snapshot.ts';
import type {
  CsiDriver,
  CsiNode,
  CsiStorageCapacity,
  Node,
  StorageClass,
  VolumeAttributesClass,
} from '../api/objects/storage.ts';
import { type Kind, metadataShape } from './kind.ts';

/** Every kind we read, and what we keep of it. */

/** In TopoLVM's group, or in the one it had before: one process serves one of them. */
export function logicalVolumeKind(group: string): Kind<LogicalVolume> {
  return {
    ...{ group, version: 'v1', kind: 'LogicalVolume', plural: 'logicalvolumes' },
    isNamespaced: false,
    shape: {
      metadata: metadataShape,
      spec: {
        ...{ name: true, nodeName: true, size: true, deviceClass: true },
        ...{ lvcreateOptionClass: true, source: true, accessType: true },
      },
      status: { volumeID: true, currentSize: true, code: true, message: true },
    },
  };
}

const core = { group: '', version: 'v1' } as const;
const storage = { group: 'storage.k8s.io', version: 'v1' } as const;
const snapshots = { group: 'snapshot.storage.k8s.io', version: 'v1' } as const;
const quantity = { storage: true } as const;

export const claimKind: Kind<PersistentVolumeClaim> = {
  ...{ ...core, kind: 'PersistentVolumeClaim', plural: 'persistentvolumeclaims' },
  isNamespaced: true,
  shape: {
    metadata: metadataShape,
    spec: {
      ...{ accessModes: true, storageClassName: true, volumeMode: true, volumeName: true },
      ...{ volumeAttributesClassName: true, selector: true },
      resources: { requests: quantity },
      dataSource: { apiGroup: true, kind: true, name: true },
      dataSourceRef: { apiGroup: true, kind: true, name: true, namespace: true },
    },
    status: {
      ...{ phase: true, capacity: quantity, conditions: true },
      ...{ allocatedResources: quantity, allocatedResourceStatuses: quantity },
      currentVolumeAttributesClassName: true,
      modifyVolumeStatus: { targetVolumeAttributesClassName: true, status: true },
    },
  },
};

export const persistentVolumeKind: Kind<PersistentVolume> = {
  ...{ ...core, kind: 'PersistentVolume', plural: 'persistentvolumes' },
  isNamespaced: false,
  shape: {
    metadata: metadataShape,
    spec: {
      ...{ accessModes: true, capacity: quantity, persistentVolumeReclaimPolicy: true },
      ...{ storageClassName: true, volumeMode: true, volumeAttributesClassName: true },
      claimRef: { namespace: true, name: true, uid: true },
      nodeAffinity: true,
      csi: { driver: true, volumeHandle: true, fsType: true, volumeAttributes: true },
    },
    status: { phase: true },
  },
};

/** Of a Node its metadata and taints are enough: the rest is large, and changes all the time. */
export const nodeKind: Kind<Node> = {
  ...{ ...core, kind: 'Node', plural: 'nodes', isNamespaced: false },
  shape: { metadata: metadataShape, spec: { taints: [{ key: true, value: true, effect: true }] } },
};

export const storageClassKind: Kind<StorageClass> = {
  ...{ ...storage, kind: 'StorageClass', plural: 'storageclasses', isNamespaced: false },
  shape: {
    metadata: metadataShape,
    ...{ provisioner: true, parameters: true, reclaimPolicy: true, mountOptions: true },
    ...{ volumeBindingMode: true, allowedTopologies: true },
  },
};

export const volumeAttributesClassKind: Kind<VolumeAttributesClass> = {
  ...{ ...storage, kind: 'VolumeAttributesClass', plural: 'volumeattributesclasses' },
  isNamespaced: false,
  shape: { metadata: metadataShape, driverName: true, parameters: true },
};

export const csiNodeKind: Kind<CsiNode> = {
  ...{ ...storage, kind: 'CSINode', plural: 'csinodes', isNamespaced: false },
  shape: {
    metadata: metadataShape,
    spec: { drivers: [{ name: true, nodeID: true, topologyKeys: true }] },
  },
};

export const csiDriverKind: Kind<CsiDriver> = {
  ...{ ...storage, kind: 'CSIDriver', plural: 'csidrivers', isNamespaced: false },
  shape: { metadata: metadataShape },
};

export const csiStorageCapacityKind: Kind<CsiStorageCapacity> = {
  ...{ ...storage, kind: 'CSIStorageCapacity', plural: 'csistoragecapacities' },
  isNamespaced: true,
  shape: {
    metadata: metadataShape,
    ...{ storageClassName: true, capacity: true, maximumVolumeSize: true },
    nodeTopology: { matchLabels: true },
  },
};

export const volumeSnapshotClassKind: Kind<VolumeSnapshotClass> = {
  ...{ ...snapshots, kind: 'VolumeSnapshotClass', plural: 'volumesnapshotclasses' },
  isNamespaced: false,
  shape: { metadata: metadataShape, driver: true, deletionPolicy: true, parameters: true },
};

export const volumeSnapshotKind: Kind<VolumeSnapshot> = {
  ...{ ...snapshots, kind: 'VolumeSnapshot', plural: 'volumesnapshots', isNamespaced: true },
  shape: {
    metadata: metadataShape,
    spec: {
      source: { persistentVolumeClaimName: true, volumeSnapshotContentName: true },
      volumeSnapshotClassName: true,
    },
    status: {
      ...{ boundVolumeSnapshotContentName: true, readyToUse: true, restoreSize: true },
      ...{ creationTime: true, error: true, volumeGroupSnapshotName: true },
    },
  },
};

export const volumeSnapshotContentKind: Kind<VolumeSnapshotContent> = {
  ...{ ...snapshots, kind: 'VolumeSnapshotContent', plural: 'volumesnapshotcontents' },
  isNamespaced: false,
  shape: {
    metadata: metadataShape,
    spec: {
      ...{ deletionPolicy: true, driver: true, volumeSnapshotClassName: true },
      source: { volumeHandle: true, snapshotHandle: true },
      volumeSnapshotRef: { namespace: true, name: true, uid: true },
      sourceVolumeMode: true,
    },
    status: {
      ...{ snapshotHandle: true, creationTime: true, restoreSize: true, readyToUse: true },
      ...{ error: true, volumeGroupSnapshotHandle: true },
    },
  },
};

const groups = { group: 'groupsnapshot.storage.k8s.io', isNamespaced: false } as const;

/** Which version is served depends on how old the CRDs of the cluster are. */
export function volumeGroupSnapshotClassKind(version: string): Kind<VolumeGroupSnapshotClass> {
  return {
    ...{ ...groups, version, kind: 'VolumeGroupSnapshotClass' },
    plural: 'volumegroupsnapshotclasses',
    shape: { metadata: metadataShape, driver: true, deletionPolicy: true, parameters: true },
  };
}

export function volumeGroupSnapshotContentKind(version: string): Kind<VolumeGroupSnapshotContent> {
  return {
    ...{ ...groups, version, kind: 'VolumeGroupSnapshotContent' },
    plural: 'volumegroupsnapshotcontents',
    shape: {
      metadata: metadataShape,
      spec: {
        ...{ deletionPolicy: true, driver: true, volumeGroupSnapshotClassName: true },
        source: { volumeHandles: true, groupSnapshotHandles: true },
        volumeGroupSnapshotRef: { namespace: true, name: true, uid: true },
      },
      status: {
        ...{ volumeGroupSnapshotHandle: true, creationTime: true, readyToUse: true },
        ...{ error: true, volumeSnapshotInfoList: true },
      },
    },
  };
}

/** Only to see which kinds there are. */
export const customResourceDefinitionKind: Kind<KubeObject> = {
  ...{ group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' },
  ...{ plural: 'customresourcedefinitions', isNamespaced: false },
  shape: { metadata: metadataShape },
};
