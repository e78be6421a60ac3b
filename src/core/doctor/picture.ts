import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import type { LvmCluster } from '../../api/objects/lvm-cluster.ts';
import type {
  LvmVolumeGroup,
  LvmVolumeGroupNodeStatus,
} from '../../api/objects/lvm-volume-group.ts';
import type { PersistentVolume } from '../../api/objects/persistent-volume.ts';
import type {
  VolumeGroupSnapshotContent,
  VolumeSnapshotContent,
} from '../../api/objects/snapshot.ts';
import type {
  CsiDriver,
  CsiNode,
  CsiStorageCapacity,
  Node,
  StorageClass,
} from '../../api/objects/storage.ts';
import type { WebhookConfiguration } from '../../api/objects/webhook.ts';
import type { ClusterEvent, EndpointSlice, Pod, Workload } from '../../api/objects/workload.ts';
import type { ClusterNames } from '../cluster/names.ts';

/** One look at a cluster: all that its status is told and judged by. */
export type ClusterPicture = ClusterParts & {
  readonly names: ClusterNames;
  /** Where Quarry is; undefined where nothing of it was found. */
  readonly namespace: string | undefined;
  /** As Kubernetes writes times. What began after it may still be under way. */
  readonly settledBefore: string;
  /** Is the kind LogicalVolume there at all? */
  readonly servesLogicalVolumes: boolean;
  /** Those of contents: nobody asks where no LogicalVolume is a snapshot. */
  readonly servesSnapshots: boolean;
  readonly servesGroupSnapshots: boolean;
  /** The holder of the operator's lease. */
  readonly leader: string | undefined;
  readonly unseen: readonly Unseen[];
};

export type ClusterParts = {
  readonly clusters: readonly LvmCluster[];
  readonly groups: readonly LvmVolumeGroup[];
  readonly reports: readonly LvmVolumeGroupNodeStatus[];
  readonly nodes: readonly Node[];
  readonly csiNodes: readonly CsiNode[];
  readonly csiDrivers: readonly CsiDriver[];
  /** All of the cluster, as are claims and volumes: what is nobody's shows only then. */
  readonly classes: readonly StorageClass[];
  readonly claims: readonly PersistentVolumeClaim[];
  readonly volumes: readonly PersistentVolume[];
  readonly logicalVolumes: readonly LogicalVolume[];
  readonly snapshotContents: readonly VolumeSnapshotContent[];
  readonly groupContents: readonly VolumeGroupSnapshotContent[];
  readonly capacities: readonly CsiStorageCapacity[];
  readonly deployments: readonly Workload[];
  readonly daemonSets: readonly Workload[];
  readonly pods: readonly Pod[];
  /** Our registrations, of both kinds. */
  readonly webhooks: readonly Registration[];
  /** Of the Service of the webhooks. */
  readonly endpoints: readonly EndpointSlice[];
  /** Of claims that wait. */
  readonly events: readonly ClusterEvent[];
};

export type Registration = WebhookConfiguration & { readonly kind: string };

export type Part = keyof ClusterParts;

/** What could not be read, and why: of that nothing is known, and nothing is said. */
export type Unseen = { readonly part: Part; readonly message: string };

/** Did it begin so long ago that it is not just under way? */
export function isSettled(
  { settledBefore }: Pick<ClusterPicture, 'settledBefore'>,
  sinceText: string | undefined,
): boolean {
  return sinceText !== undefined && sinceText < settledBefore;
}
