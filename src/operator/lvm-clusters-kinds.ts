import type { LvmCluster } from '../api/objects/lvm-cluster.ts';
import type { LvmVolumeGroup, LvmVolumeGroupNodeStatus } from '../api/objects/lvm-volume-group.ts';
import type { VolumeSnapshotClass } from '../api/objects/snapshot.ts';
import type { Kind, KubeObject } from '../kube/kind.ts';
import { lvmClusterKind, lvmNodeStatusKind, lvmVolumeGroupKind } from '../kube/lvms-kinds.ts';
import { KindWatch, type KindWatchParts } from './kind-watch.ts';

/** Kinds that somebody may install after us. */
export type LvmsKinds = {
  readonly clusters: KindWatch<LvmCluster>;
  readonly groups: KindWatch<LvmVolumeGroup>;
  readonly reports: KindWatch<LvmVolumeGroupNodeStatus>;
};

type Means = Pick<KindWatchParts<KubeObject>, 'client' | 'clock' | 'chance' | 'trouble'>;

export function lvmsKinds(means: Means, namespace: string): LvmsKinds {
  const watch = <T extends KubeObject>(kind: Kind<T>) =>
    new KindWatch<T>({
      ...{ ...means, namespace, name: `${kind.plural}.${kind.group}` },
      ...{ versions: [kind.version], kindOf: () => kind },
    });
  return {
    clusters: watch(lvmClusterKind),
    groups: watch(lvmVolumeGroupKind),
    reports: watch(lvmNodeStatusKind),
  };
}

export type SnapshotClasses = KindWatch<VolumeSnapshotClass>;
