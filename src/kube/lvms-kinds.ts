import { lvmsGroup } from '../api/crds/lvms.ts';
import type { LvmCluster } from '../api/objects/lvm-cluster.ts';
import type { LvmVolumeGroup, LvmVolumeGroupNodeStatus } from '../api/objects/lvm-volume-group.ts';
import { type Kind, type KubeObject, metadataShape } from './kind.ts';

/** LVMS' kinds. There are few of them, and they are kept whole. */

const lvms = { group: lvmsGroup, version: 'v1alpha1', isNamespaced: true } as const;

export const lvmClusterKind: Kind<LvmCluster> = {
  ...{ ...lvms, kind: 'LVMCluster', plural: 'lvmclusters' },
  shape: { metadata: metadataShape, spec: true, status: true },
};

export const lvmVolumeGroupKind: Kind<LvmVolumeGroup> = {
  ...{ ...lvms, kind: 'LVMVolumeGroup', plural: 'lvmvolumegroups' },
  shape: { metadata: metadataShape, spec: true },
};

export const lvmNodeStatusKind: Kind<LvmVolumeGroupNodeStatus> = {
  ...{ ...lvms, kind: 'LVMVolumeGroupNodeStatus', plural: 'lvmvolumegroupnodestatuses' },
  shape: { metadata: metadataShape, spec: true },
};

/** That it is there is enough. */
export const configMapKind: Kind<KubeObject> = {
  ...{ group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', isNamespaced: true },
  shape: { metadata: metadataShape },
};
