import type { PersistentVolumeClaim } from '../api/objects/claim.ts';
import type { LogicalVolume } from '../api/objects/logical-volume.ts';
import type { PersistentVolume } from '../api/objects/persistent-volume.ts';
import type { CsiNode, CsiStorageCapacity, Node, StorageClass } from '../api/objects/storage.ts';
import type { ClusterNames } from '../core/cluster/names.ts';
import type { Build } from '../core/cluster/skew.ts';
import type { GroupBook, VolumeBook } from '../csi/book.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Informer } from '../kube/informer.ts';
import type { Chance, Clock, WallClock } from '../kube/ports.ts';
import type { Recorder } from '../kube/recorder.ts';
import type { Endings } from './endings.ts';

/** Something that is done once for the whole cluster, by whoever leads, until the signal fires. */
export type Duty = {
  run(signal: AbortSignal): Promise<void>;
};

/** What every duty is given. All stores have synced when a duty begins. */
export type Cluster = {
  /** Fenced: after our lease is lost nothing that changes goes out. */
  readonly client: KubeClient;
  readonly names: ClusterNames;
  /** What we are, for the agents. */
  readonly build: Build;
  readonly stores: Stores;
  readonly book: VolumeBook;
  readonly groups: GroupBook;
  readonly recorder: Recorder;
  /** Counts how what is asked for ends. */
  readonly endings: Endings;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly wall: WallClock;
  /** One line for each step, with the volume's key. */
  readonly log: (line: LogLine) => void;
};

export type LogLine = {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly [field: string]: unknown;
};

export type Stores = {
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly volumes: Informer<PersistentVolume>;
  readonly logicalVolumes: Informer<LogicalVolume>;
  readonly classes: Informer<StorageClass>;
  readonly nodes: Informer<Node>;
  readonly csiNodes: Informer<CsiNode>;
  readonly capacities: Informer<CsiStorageCapacity>;
};
