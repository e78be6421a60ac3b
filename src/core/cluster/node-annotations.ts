import type { Node } from '../../api/objects/storage.ts';
import type { Bytes } from '../../base/bytes.ts';
import { noBytes } from '../../base/bytes.ts';
import { inventoryAnnotation } from '../lvm-cluster/inventory.ts';
import type { LvmdCapacity } from '../lvmd-capacity.ts';
import { type ClusterNames, clusterNames } from './names.ts';
import { agentBuildAnnotation, type Build, buildText } from './skew.ts';
import { strayAnnotation } from './strays.ts';

export type NodeView = {
  readonly names: ClusterNames;
  readonly node: Node;
  readonly capacities: readonly LvmdCapacity[];
  /** What the disks are, for who plans; null where it cannot be told, nothing where nobody asks. */
  readonly inventory?: string | null | undefined;
  /** LVs that no LogicalVolume names; null where there are none, nothing while nobody knows. */
  readonly strays?: string | null | undefined;
  /** What the agent is, for operators that it may not go with. */
  readonly build: Build;
  readonly nowMs: number;
  /** When we last wrote, if we did. */
  readonly writtenAtMs: number | undefined;
  /** How long a write keeps: nothing where somebody decides by these figures. */
  readonly intervalMs: number;
};

export type NodeDecision =
  | { readonly kind: 'rest' }
  | { readonly kind: 'later'; readonly afterMs: number }
  | {
      readonly kind: 'write';
      /** Null takes a key off. */
      readonly annotations: Readonly<Record<string, string | null>>;
      /** All of them, where ours is missing. */
      readonly finalizers: readonly string[] | undefined;
    };

/** Free bytes of each class on the Node and TopoLVM's finalizer, as it writes them; what we are. */
export function decideNode(view: NodeView): NodeDecision {
  const { names, node, nowMs, writtenAtMs, intervalMs } = view;
  // What is going takes no finalizer any more, and nobody schedules to it.
  if (node.metadata.deletionTimestamp !== undefined) return { kind: 'rest' };
  const { nodeFinalizer } = clusterNames(names);
  const { finalizers = [] } = node.metadata;
  const isMarked = finalizers.includes(nodeFinalizer);
  const annotations = changedAnnotations(view);
  if (isMarked && Object.keys(annotations).length === 0) return { kind: 'rest' };
  const dueInMs = writtenAtMs === undefined ? 0 : writtenAtMs + intervalMs - nowMs;
  // Who has just installed us plans with the disks: what is told of them first is told at once.
  const isFirst = isTold(annotations) && !isTold(node.metadata.annotations ?? {});
  // Whoever believes that a volume is gone has to hear soon that its LV is there.
  const isUrgent = isFirst || (annotations[strayAnnotation] ?? null) !== null;
  if (isMarked && dueInMs > 0 && !isUrgent) return { kind: 'later', afterMs: dueInMs };
  const marked = isMarked ? undefined : [...finalizers, nodeFinalizer];
  return { kind: 'write', annotations, finalizers: marked };
}

function changedAnnotations({ names, node, capacities, inventory, strays, build }: NodeView) {
  const { capacityAnnotation, defaultCapacityAnnotation } = clusterNames(names);
  const { annotations = {} } = node.metadata;
  const chosen = capacities.find(({ isDefault }) => isDefault);
  const wanted = new Map<string, string>([
    ...capacities.map((each): [string, string] => {
      return [capacityAnnotation(each.deviceClass), String(freeBytes(each))];
    }),
    [agentBuildAnnotation, buildText(build)],
    [defaultCapacityAnnotation, String(chosen === undefined ? noBytes : freeBytes(chosen))],
  ]);
  const changed: Record<string, string | null> = {};
  for (const [key, value] of wanted) if (annotations[key] !== value) changed[key] = value;
  const told = annotations[inventoryAnnotation] ?? null;
  if (inventory !== undefined && inventory !== told) changed[inventoryAnnotation] = inventory;
  const known = annotations[strayAnnotation] ?? null;
  if (strays !== undefined && strays !== known) changed[strayAnnotation] = strays;
  // A class that is gone must draw nobody here.
  const prefix = capacityAnnotation('');
  for (const key of Object.keys(annotations)) {
    if (key.startsWith(prefix) && !wanted.has(key)) changed[key] = null;
  }
  return changed;
}

function isTold(annotations: Readonly<Record<string, string | null>>): boolean {
  return (annotations[inventoryAnnotation] ?? null) !== null;
}

function freeBytes({ thinPool, vgFreeBytes }: LvmdCapacity): Bytes {
  return thinPool === undefined ? vgFreeBytes : thinPool.overprovisionBytes;
}
