import type { CsiNode, CsiStorageCapacity } from '../../api/objects/storage.ts';
import { type ClusterNames, capacityNodeLabel, clusterNames } from './names.ts';

/** What a capacity object is compared with. */
export type CapacitySurroundings = {
  readonly names: ClusterNames;
  readonly hasNode: (name: string) => boolean;
  readonly csiNode: (name: string) => CsiNode | undefined;
  readonly hasClass: (name: string) => boolean;
  /** Of the same class and node, told by an agent of ours. */
  readonly hasTwin: (object: CsiStorageCapacity) => boolean;
};

export type CapacityDecision =
  | { readonly kind: 'keep' }
  /** Nobody tells it any more. It may be so for a moment only, so it is not taken away at once. */
  | { readonly kind: 'stale'; readonly reason: string };

/** Does anybody stand for what this object says? If not the scheduler would believe it for ever. */
export function decideStaleCapacity(
  object: CsiStorageCapacity,
  around: CapacitySurroundings,
): CapacityDecision {
  const { labels = {} } = object.metadata;
  const manager = labels['csi.storage.k8s.io/managed-by'] ?? '';
  const isAgents = labels[capacityNodeLabel] !== undefined;
  const isProvisioners = /^external-provisioner(-.*)?$/.test(manager);
  // Somebody else's object is somebody else's business.
  if (!isAgents && !isProvisioners) return { kind: 'keep' };
  const { topologyKey } = clusterNames(around.names);
  const node = object.nodeTopology?.matchLabels?.[topologyKey];
  if (node === undefined) return stale('it names no node');
  if (!around.hasNode(node)) return stale(`the node ${node} is gone`);
  const drivers = around.csiNode(node)?.spec.drivers ?? [];
  if (!drivers.some(({ name }) => name === around.names.driver)) {
    return stale(`the driver is not on ${node}`);
  }
  const { storageClassName } = object;
  if (!around.hasClass(storageClassName)) return stale(`the class ${storageClassName} is gone`);
  if (!isAgents && around.hasTwin(object)) return stale(`the agent of ${node} tells it itself`);
  return { kind: 'keep' };
}

function stale(reason: string): CapacityDecision {
  return { kind: 'stale', reason };
}

/** Class and node, which no two objects should share. */
export function capacityKey(object: CsiStorageCapacity, names: ClusterNames): string {
  const { topologyKey } = clusterNames(names);
  return `${object.storageClassName}/${object.nodeTopology?.matchLabels?.[topologyKey] ?? ''}`;
}
