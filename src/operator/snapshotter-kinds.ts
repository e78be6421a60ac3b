import type {
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from '../api/objects/snapshot.ts';
import { groupSnapshotVersions } from '../core/cluster/snapshot-content-marks.ts';
import {
  volumeGroupSnapshotClassKind,
  volumeGroupSnapshotContentKind,
  volumeSnapshotClassKind,
  volumeSnapshotContentKind,
  volumeSnapshotKind,
} from '../kube/kinds.ts';
import { KindWatch, type KindWatchParts } from './kind-watch.ts';

/** The kinds of snapshots: a cluster may have them, or get them later. Whoever wires runs them. */
export type SnapshotKinds = {
  readonly snapshots: KindWatch<VolumeSnapshot>;
  readonly contents: KindWatch<VolumeSnapshotContent>;
  readonly classes: KindWatch<VolumeSnapshotClass>;
};

export type GroupKinds = {
  readonly contents: KindWatch<VolumeGroupSnapshotContent>;
  readonly classes: KindWatch<VolumeGroupSnapshotClass>;
};

type Means = Pick<KindWatchParts<VolumeSnapshot>, 'client' | 'clock' | 'chance' | 'trouble'>;

export function snapshotKinds(means: Means): SnapshotKinds {
  const group = 'snapshot.storage.k8s.io';
  const versions = ['v1'] as const;
  return {
    snapshots: new KindWatch({
      ...{ ...means, name: `volumesnapshots.${group}`, versions },
      kindOf: () => volumeSnapshotKind,
    }),
    contents: new KindWatch({
      ...{ ...means, name: `volumesnapshotcontents.${group}`, versions },
      kindOf: () => volumeSnapshotContentKind,
    }),
    classes: new KindWatch({
      ...{ ...means, name: `volumesnapshotclasses.${group}`, versions },
      kindOf: () => volumeSnapshotClassKind,
    }),
  };
}

export function groupKinds(means: Means): GroupKinds {
  const group = 'groupsnapshot.storage.k8s.io';
  const versions = groupSnapshotVersions;
  return {
    contents: new KindWatch({
      ...{ ...means, name: `volumegroupsnapshotcontents.${group}`, versions },
      kindOf: volumeGroupSnapshotContentKind,
    }),
    classes: new KindWatch({
      ...{ ...means, name: `volumegroupsnapshotclasses.${group}`, versions },
      kindOf: volumeGroupSnapshotClassKind,
    }),
  };
}
