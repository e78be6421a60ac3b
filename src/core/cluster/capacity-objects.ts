import type { OwnerReference } from '../../api/objects/metadata.ts';
import type { CsiStorageCapacity, StorageClass } from '../../api/objects/storage.ts';
import { parseQuantity, showQuantity } from '../../api/quantity.ts';
import { type Bytes, noBytes } from '../../base/bytes.ts';
import type { Capacity } from '../capacity.ts';
import { type ClusterNames, capacityNodeLabel, clusterNames } from './names.ts';

const driverLabel = 'csi.storage.k8s.io/drivername';
const managerLabel = 'csi.storage.k8s.io/managed-by';
/** The stock provisioner's: whoever reads or cleans up by this label goes on as before. */
const manager = 'external-provisioner';

export type CapacityView = {
  readonly names: ClusterNames;
  readonly node: string;
  readonly namespace: string;
  /** Goes with what installed us, where we were told what that is. */
  readonly owner: OwnerReference | undefined;
  readonly className: string;
  readonly storageClass: StorageClass | undefined;
  /** What its device class can give here; nothing where this node has no such class. */
  readonly room: Pick<Capacity, 'availableBytes' | 'largestBytes'> | undefined;
  /** Objects of this class and node: ours, and those of a provisioner before us. */
  readonly existing: readonly CsiStorageCapacity[];
};

export type CapacityAction =
  | { readonly kind: 'create'; readonly object: NewCapacity }
  | { readonly kind: 'patch'; readonly object: CsiStorageCapacity; readonly body: object }
  | { readonly kind: 'delete'; readonly object: CsiStorageCapacity };

export type NewCapacity = {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly OwnerReference[];
  };
  readonly storageClassName: string;
  readonly nodeTopology: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly capacity: string;
  readonly maximumVolumeSize: string;
};

/** One object says what one class can give on this node; any other one would be believed too. */
export function decideCapacity(view: CapacityView): readonly CapacityAction[] {
  const { names, storageClass, existing } = view;
  const isOurs = storageClass?.provisioner === names.driver;
  const [kept, ...others] = isOurs ? ownFirst(view, existing) : [];
  const surplus = isOurs ? others : existing.filter((object) => isLabelled(view, object));
  const deletions = surplus.map((object) => ({ kind: 'delete', object }) as const);
  if (!isOurs) return deletions;
  if (kept === undefined) return [{ kind: 'create', object: newCapacity(view) }, ...deletions];
  const body = changeOf(view, kept);
  return body === undefined ? deletions : [{ kind: 'patch', object: kept, body }, ...deletions];
}

/** Those that a provisioner made before us, for all nodes; an adopted one has our label. */
export function adoptableSelector({ driver }: ClusterNames, node: string): string {
  // One on each node had a name of its own, where that made a label.
  const ofNode = `${manager}-${node}`;
  const managers = ofNode.length > 63 ? manager : `${manager},${ofNode}`;
  return `${driverLabel}=${driver},${managerLabel} in (${managers}),!${capacityNodeLabel}`;
}

export function ownSelector(node: string): string {
  return `${capacityNodeLabel}=${node}`;
}

/** The scheduler goes by the labels; they never change. */
export function isOfNode(object: CsiStorageCapacity, names: ClusterNames, node: string): boolean {
  return object.nodeTopology?.matchLabels?.[clusterNames(names).topologyKey] === node;
}

function ownFirst(view: CapacityView, existing: readonly CsiStorageCapacity[]) {
  const rank = (object: CsiStorageCapacity) => (isLabelled(view, object) ? 0 : 1);
  return existing.toSorted(
    (a, b) => rank(a) - rank(b) || (a.metadata.name < b.metadata.name ? -1 : 1),
  );
}

function isLabelled({ node }: CapacityView, { metadata }: CsiStorageCapacity): boolean {
  return metadata.labels?.[capacityNodeLabel] === node;
}

function newCapacity(view: CapacityView): NewCapacity {
  const { names, node, namespace, owner, className } = view;
  const name = `quarry-${hashOf(`${names.driver}\n${className}\n${node}`)}`;
  return {
    metadata: {
      ...{ name, namespace, labels: labelsOf(view) },
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    storageClassName: className,
    nodeTopology: { matchLabels: { [clusterNames(names).topologyKey]: node } },
    ...roomOf(view),
  };
}

function roomOf({ room }: CapacityView) {
  return {
    capacity: showQuantity(room?.availableBytes ?? noBytes),
    maximumVolumeSize: showQuantity(room?.largestBytes ?? noBytes),
  };
}

function labelsOf({ names, node }: CapacityView): Readonly<Record<string, string>> {
  return { [driverLabel]: names.driver, [managerLabel]: manager, [capacityNodeLabel]: node };
}

/** What has to be written, or nothing. The uid keeps it from a new object of the same name. */
function changeOf(view: CapacityView, object: CsiStorageCapacity): object | undefined {
  const { owner, room } = view;
  const { uid, labels = {}, ownerReferences = [] } = object.metadata;
  const isLabelledWhole = Object.entries(labelsOf(view)).every(
    ([key, text]) => labels[key] === text,
  );
  const isOwned = owner === undefined || ownerReferences.some((each) => each.uid === owner.uid);
  const isTrue =
    sameSize(object.capacity, room?.availableBytes) &&
    sameSize(object.maximumVolumeSize, room?.largestBytes);
  if (isLabelledWhole && isOwned && isTrue) return undefined;
  const metadata = {
    uid,
    ...(isLabelledWhole ? {} : { labels: labelsOf(view) }),
    ...(isOwned ? {} : { ownerReferences: [owner] }),
  };
  return { metadata, ...roomOf(view) };
}

function sameSize(text: string | undefined, size: Bytes | undefined): boolean {
  return text !== undefined && parseQuantity(text) === (size ?? noBytes);
}

/** FNV-1a with 64 bits: a name that is the same in every life, whatever the names in it are. */
function hashOf(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const character of text) {
    hash ^= BigInt(character.codePointAt(0) ?? 0);
    hash = (hash * 0x100000001b3n) & 0xffffffffffffffffn;
  }
  return hash.toString(16).padStart(16, '0');
}
