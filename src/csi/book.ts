import type { Bytes } from '../base/bytes.ts';
import { OperationError } from '../base/failures.ts';
import type { Capacity } from '../core/capacity.ts';
import type { VolumeRecord } from '../core/catalog.ts';
import { volumeCondition } from '../core/publication/condition.ts';
import type { VolumeCondition } from '../core/publication/status.ts';
import type { SnapshotGroup } from '../core/snapshot-group/catalog.ts';
import type { SizeRange } from '../core/volume-size.ts';
import type { Signal } from '../engine/ports.ts';
import type { Groups } from './groups.ts';
import type { CreateSnapshot, CreateVolume, Volumes } from './volumes.ts';

/** A volume or a snapshot, as whoever asks the controller is told of it. */
export type VolumeView = {
  readonly id: string;
  readonly kind: 'volume' | 'snapshot';
  readonly name: string | undefined;
  readonly className: string | undefined;
  readonly sourceId: string | undefined;
  readonly sourceKind: 'volume' | 'snapshot';
  readonly groupId: string | undefined;
  readonly createdMs: number | undefined;
  readonly sizeBytes: Bytes;
  /** Where it is. */
  readonly node: string;
  readonly isReady: boolean;
  readonly condition: VolumeCondition;
};

/** Where a volume may be, the best first; undefined when the caller does not care. */
export type Whereabouts = readonly string[] | undefined;

/**
 * What the controller keeps its volumes in: LVM itself on a host without a cluster, LogicalVolumes
 * where there is one.
 */
export type VolumeBook = {
  create(request: CreateVolume, nodes: Whereabouts, signal?: Signal): Promise<VolumeView>;
  expand(id: string, range: SizeRange, signal?: Signal): Promise<VolumeView>;
  snapshot(request: CreateSnapshot, signal?: Signal): Promise<VolumeView>;
  /** What is not there is removed already, unless it is known that its LV is there. */
  remove(kind: VolumeView['kind'], id: string, signal?: Signal): Promise<void>;
  get(kind: VolumeView['kind'], id: string): Promise<VolumeView>;
  list(): Promise<readonly VolumeView[]>;
  /** Throws when what is not in the list may be there all the same. */
  checkSeen(what: string): Promise<void>;
  /** On one node, or on all of them together; undefined where nothing is known of the class. */
  capacity(
    wanted: Pick<CreateVolume, 'className' | 'optionClass'>,
    node: string | undefined,
  ): Promise<Pick<Capacity, 'availableBytes' | 'largestBytes'> | undefined>;
};

/** Snapshots that show one moment of several volumes. */
export type GroupView = {
  readonly id: string;
  readonly createdMs: number;
  readonly members: readonly VolumeView[];
  readonly isReady: boolean;
};

export type GroupBook = {
  create(name: string, sourceIds: readonly string[], signal?: Signal): Promise<GroupView>;
  get(id: string, snapshotIds: readonly string[]): Promise<GroupView>;
  remove(id: string, snapshotIds: readonly string[], signal?: Signal): Promise<void>;
};

export function localGroups(groups: Groups, node: string): GroupBook {
  const view = ({ id, createdMs, members, isComplete }: SnapshotGroup): GroupView => {
    const views = members.map((member) => viewOf(member, node));
    return {
      ...{ id, createdMs, members: views },
      isReady: isComplete && views.every(({ isReady }) => isReady),
    };
  };
  return {
    create: async (name, ids, signal) => view(await groups.create(name, ids, signal)),
    get: async (id, snapshotIds) => view(await groups.get(id, snapshotIds)),
    remove: (id, snapshotIds, signal) => groups.remove(id, snapshotIds, signal),
  };
}

/** One host is all there is. */
export function localBook(volumes: Volumes, node: string): VolumeBook {
  const view = (record: VolumeRecord) => viewOf(record, node);
  return {
    create: async (request, nodes, signal) => {
      if (nodes !== undefined && !nodes.includes(node)) throw elsewhere(nodes, node);
      return view(await volumes.create(request, signal));
    },
    expand: async (id, range, signal) => view(await volumes.expand(id, range, signal)),
    snapshot: async (request, signal) => view(await volumes.snapshot(request, signal)),
    remove: (kind, id, signal) => volumes.remove(kind, id, signal),
    get: async (kind, id) => view(await volumes.get(kind, id)),
    list: async () => (await volumes.records()).map(view),
    checkSeen: (what) => volumes.checkSeen(what),
    capacity: async ({ className, optionClass }, wanted) =>
      wanted === undefined || wanted === node
        ? volumes.capacity(className, optionClass)
        : undefined,
  };
}

function viewOf(record: VolumeRecord, node: string): VolumeView {
  const { lv, vg, ...known } = record;
  return { ...known, node, isReady: !lv.isInvalid, condition: volumeCondition(lv, vg) };
}

function elsewhere(nodes: readonly string[], node: string): OperationError {
  const message = `accessibility_requirements name ${nodes.join(', ')}, and this host is ${node}`;
  return new OperationError('TopologyElsewhere', message);
}
