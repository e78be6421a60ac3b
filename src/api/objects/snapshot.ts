import type { KubeObject } from './metadata.ts';

export type VolumeSnapshotClass = KubeObject & {
  readonly driver: string;
  readonly deletionPolicy: string;
  readonly parameters?: Readonly<Record<string, string>>;
};

export type VolumeSnapshot = KubeObject & {
  readonly spec: {
    readonly source: {
      readonly persistentVolumeClaimName?: string;
      readonly volumeSnapshotContentName?: string;
    };
    readonly volumeSnapshotClassName?: string;
  };
  readonly status?: {
    readonly boundVolumeSnapshotContentName?: string;
    readonly readyToUse?: boolean;
    /** A quantity. */
    readonly restoreSize?: string;
    readonly creationTime?: string;
    readonly error?: SnapshotError;
    readonly volumeGroupSnapshotName?: string;
  };
};

export type SnapshotError = { readonly time?: string; readonly message?: string };

export type ObjectReference = {
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
};

export type VolumeSnapshotContent = KubeObject & {
  readonly spec: {
    readonly deletionPolicy: string;
    readonly driver: string;
    readonly source: { readonly volumeHandle?: string; readonly snapshotHandle?: string };
    readonly volumeSnapshotClassName?: string;
    readonly volumeSnapshotRef: ObjectReference;
    readonly sourceVolumeMode?: string;
  };
  readonly status?: {
    readonly snapshotHandle?: string;
    /** Nanoseconds since 1970. A number in JSON: it is exact to 256 ns, and nobody compares it. */
    readonly creationTime?: number;
    readonly restoreSize?: number;
    readonly readyToUse?: boolean;
    readonly error?: SnapshotError;
    readonly volumeGroupSnapshotHandle?: string;
  };
};

export type VolumeGroupSnapshotClass = VolumeSnapshotClass;

export type VolumeGroupSnapshotContent = KubeObject & {
  readonly spec: {
    readonly deletionPolicy: string;
    readonly driver: string;
    readonly source: {
      readonly volumeHandles?: readonly string[];
      readonly groupSnapshotHandles?: {
        readonly volumeGroupSnapshotHandle: string;
        readonly volumeSnapshotHandles: readonly string[];
      };
    };
    readonly volumeGroupSnapshotClassName?: string;
    readonly volumeGroupSnapshotRef: ObjectReference;
  };
  readonly status?: {
    readonly volumeGroupSnapshotHandle?: string;
    readonly creationTime?: string;
    readonly readyToUse?: boolean;
    readonly error?: SnapshotError;
    readonly volumeSnapshotInfoList?: readonly {
      readonly volumeHandle?: string;
      readonly snapshotHandle?: string;
      readonly creationTime?: number;
      readonly readyToUse?: boolean;
      readonly restoreSize?: number;
    }[];
  };
};
