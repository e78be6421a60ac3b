import type { LvmExcludedDevice, LvmRaidStatus } from '../../api/objects/lvm-volume-group.ts';
import type { StorageClass } from '../../api/objects/storage.ts';
import type { Pod } from '../../api/objects/workload.ts';
import { showQuantity } from '../../api/quantity.ts';
import { bytes } from '../../base/bytes.ts';
import { idOf, kindOf, sizeOf } from '../cluster/logical-volume.ts';
import { clusterNames } from '../cluster/names.ts';
import { defaultClassKey } from '../lvm-cluster/objects.ts';
import type { ClusterPicture, Unseen } from './picture.ts';
import { badConditions } from './rules-clusters.ts';
import { isRefused, waitingClaims, whyWaits } from './rules-volumes.ts';
import { imageOf, isReady, podTrouble, type Role, roleOf, versionOf } from './workloads.ts';

/** A cluster on one screen. Its fields are for scripts too: they are added to, and never changed. */
export type ClusterSummary = {
  /** Where Quarry is; '' where it was not found. */
  readonly namespace: string;
  readonly driver: string;
  /** The pod of the operator that acts; '' while none does. */
  readonly leader: string;
  readonly clusters: readonly ClusterLine[];
  readonly groups: readonly GroupLine[];
  readonly classes: readonly ClassLine[];
  readonly pods: readonly PodLine[];
  readonly volumes: VolumeCounts;
  /** What could not be read, and why. */
  readonly unseen: readonly Unseen[];
};

export type ClusterLine = {
  readonly namespace: string;
  readonly name: string;
  readonly state: string;
  readonly isBeingDeleted: boolean;
  /** Those that do not hold. */
  readonly conditions: readonly ConditionLine[];
};

export type ConditionLine = {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly since: string;
};

/** Sizes are quantities, as everywhere in Kubernetes; '' where they are not known. */
export type GroupLine = {
  readonly node: string;
  readonly name: string;
  readonly state: string;
  readonly reason: string;
  readonly size: string;
  readonly free: string;
  readonly devices: readonly string[];
  readonly excluded: readonly LvmExcludedDevice[];
  readonly warnings: readonly string[];
  readonly raid: LvmRaidStatus | undefined;
};

export type ClassLine = {
  readonly name: string;
  /** '' is the default class of the node. */
  readonly deviceClass: string;
  readonly isDefault: boolean;
  readonly bindingMode: string;
  readonly reclaimPolicy: string;
  /** PersistentVolumes of the class. */
  readonly volumes: number;
  /** What each node can give. */
  readonly nodes: readonly RoomLine[];
};

export type RoomLine = {
  readonly node: string;
  readonly available: string;
  readonly largest: string;
};

export type PodLine = {
  readonly role: Role;
  readonly name: string;
  readonly node: string;
  readonly isReady: boolean;
  readonly restarts: number;
  readonly image: string;
  readonly version: string;
  /** Why it is not ready. */
  readonly reason: string;
};

export type VolumeCounts = {
  readonly total: number;
  readonly size: string;
  readonly snapshots: number;
  /** Claims that have no volume, with what keeps them; '' for one that waits for its pod. */
  readonly waiting: readonly VolumeLine[];
  /** LogicalVolumes that their node refused. */
  readonly refused: readonly VolumeLine[];
};

export type VolumeLine = {
  readonly namespace: string;
  readonly name: string;
  readonly reason: string;
};

export function clusterSummary(picture: ClusterPicture): ClusterSummary {
  const { namespace = '', names, leader = '', unseen } = picture;
  return {
    ...{ namespace, driver: names.driver, leader },
    clusters: clusterLines(picture),
    groups: groupLines(picture),
    classes: classLines(picture),
    pods: podLines(picture),
    volumes: volumeCounts(picture),
    unseen,
  };
}

function clusterLines({ clusters }: ClusterPicture): readonly ClusterLine[] {
  return byKey(clusters, ({ metadata }) => `${metadata.namespace}/${metadata.name}`).map((one) => ({
    ...{ namespace: one.metadata.namespace ?? '', name: one.metadata.name },
    state: one.status?.state ?? 'Unknown',
    isBeingDeleted: one.metadata.deletionTimestamp !== undefined,
    conditions: badConditions(one).map(({ type, reason, message, lastTransitionTime }) => ({
      ...{ type, reason, message, since: lastTransitionTime },
    })),
  }));
}

function groupLines({ reports }: ClusterPicture): readonly GroupLine[] {
  const all = reports.flatMap(({ metadata, spec }) =>
    (spec?.nodeStatus ?? []).map((group): GroupLine => {
      const { name = '', status = 'Progressing', reason = '', size = '', free = '' } = group;
      const { devices = [], excluded = [], warnings = [], raidStatus } = group;
      return {
        ...{ node: metadata.name, name, state: status, reason, size, free },
        ...{ devices, excluded, warnings, raid: raidStatus },
      };
    }),
  );
  return byKey(all, ({ node, name }) => `${node}/${name}`);
}

function classLines(picture: ClusterPicture): readonly ClassLine[] {
  const { classes, names, volumes } = picture;
  const { deviceClassParameter } = clusterNames(names);
  const ours = classes.filter(({ provisioner }) => provisioner === names.driver);
  return byKey(ours, ({ metadata }) => metadata.name).map((one) => ({
    name: one.metadata.name,
    deviceClass: one.parameters?.[deviceClassParameter] ?? '',
    isDefault: one.metadata.annotations?.[defaultClassKey] === 'true',
    bindingMode: one.volumeBindingMode ?? 'Immediate',
    reclaimPolicy: one.reclaimPolicy ?? 'Delete',
    volumes: volumes.filter(
      ({ spec }) =>
        spec.csi?.driver === names.driver && spec.storageClassName === one.metadata.name,
    ).length,
    nodes: roomOf(one, picture),
  }));
}

function roomOf({ metadata }: StorageClass, { capacities, names }: ClusterPicture) {
  const { topologyKey } = clusterNames(names);
  const rooms = capacities
    .filter(({ storageClassName }) => storageClassName === metadata.name)
    .map(({ nodeTopology, capacity = '', maximumVolumeSize = '' }): RoomLine => {
      const node = nodeTopology?.matchLabels?.[topologyKey] ?? '';
      return { node, available: capacity, largest: maximumVolumeSize };
    });
  return byKey(rooms, ({ node }) => node);
}

function podLines({ pods }: ClusterPicture): readonly PodLine[] {
  const lines = pods.flatMap((pod): readonly PodLine[] => {
    const role = roleOf(pod);
    return role === undefined ? [] : [podLine(pod, role)];
  });
  // Operators stand before agents.
  return byKey(lines, ({ role, node, name }) => `${role === 'operator' ? 0 : 1} ${node}/${name}`);
}

function podLine(pod: Pod, role: Role): PodLine {
  const image = imageOf(pod);
  const isWell = isReady(pod);
  return {
    ...{ role, name: pod.metadata.name, node: pod.spec?.nodeName ?? '', isReady: isWell },
    restarts: (pod.status?.containerStatuses ?? []).reduce(
      (sum, { restartCount = 0 }) => sum + restartCount,
      0,
    ),
    ...{ image, version: versionOf(image), reason: isWell ? '' : podTrouble(pod) },
  };
}

function volumeCounts(picture: ClusterPicture): VolumeCounts {
  const { logicalVolumes } = picture;
  const volumes = logicalVolumes.filter((one) => kindOf(one) === 'volume');
  const size = volumes.reduce((sum, one) => sum + sizeOf(one), 0n);
  const line = (place: { readonly namespace?: string; readonly name: string }, reason: string) => ({
    ...{ namespace: place.namespace ?? '', name: place.name, reason },
  });
  const waiting = waitingClaims(picture).map((claim) =>
    line(claim.metadata, whyWaits(claim, picture) ?? ''),
  );
  const refused = logicalVolumes
    .filter(isRefused)
    .map((one) => line(one.metadata, one.status?.message ?? idOf(one)));
  const byName = (lines: readonly VolumeLine[]) =>
    byKey(lines, ({ namespace, name }) => `${namespace}/${name}`);
  return {
    ...{ total: volumes.length, size: showQuantity(bytes(size)) },
    snapshots: logicalVolumes.length - volumes.length,
    ...{ waiting: byName(waiting), refused: byName(refused) },
  };
}

function byKey<T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] {
  return items.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}
