import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import type { CsiStorageCapacity, Node, StorageClass } from '../../api/objects/storage.ts';
import { parseQuantity } from '../../api/quantity.ts';
import { type Bytes, bytes, minus, most, noBytes, sum } from '../../base/bytes.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import { showBytes, showList } from '../../base/show.ts';
import { askedSizeOf, failureIn, isGoing, isMade } from './logical-volume.ts';
import { type ClusterNames, clusterNames } from './names.ts';

/** What is known of the room in a cluster. */
export type Inventory = {
  readonly names: ClusterNames;
  readonly classes: Iterable<StorageClass>;
  readonly capacities: Iterable<CsiStorageCapacity>;
  readonly nodes: Iterable<Node>;
  /** Also those that are on their way to the server. */
  readonly logicalVolumes: Iterable<Promised>;
};

type Promised = Pick<LogicalVolume, 'spec' | 'status'> & {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
};

export type Room = { readonly availableBytes: Bytes; readonly largestBytes: Bytes };

export type WantedClass = { readonly className: string; readonly optionClass: string };

export type Placement = { readonly kind: 'place'; readonly node: string } | Blocked;

/**
 * Where a new volume goes. A single node that was asked for is taken at its word: its agent knows
 * best whether there is room. Among several the first with room, and if nobody cares the one with
 * most.
 */
export function placeVolume(
  wanted: WantedClass & { readonly sizeBytes: Bytes },
  asked: readonly string[] | undefined,
  inventory: Inventory,
): Placement {
  const usable = new Set(
    nodesIn(inventory)
      .filter(isStaying)
      .map(({ metadata }) => metadata.name),
  );
  const there = asked?.filter((node) => usable.has(node));
  if (there?.length === 0) {
    const message = `${showList(asked ?? [])} is not in the cluster, or is leaving it`;
    return blocked('NodeUnknown', message);
  }
  const [only, second] = there ?? [];
  if (only !== undefined && second === undefined) return { kind: 'place', node: only };
  const room = roomForNew(wanted, inventory);
  const candidates = there ?? [...room.keys()].filter((node) => usable.has(node));
  const fitting = candidates.filter((node) => (room.get(node) ?? -1n) >= wanted.sizeBytes);
  const byRoom = (a: string, b: string) => ((room.get(a) ?? 0n) < (room.get(b) ?? 0n) ? 1 : -1);
  const node = there === undefined ? fitting.toSorted(byRoom)[0] : fitting[0];
  if (node !== undefined) return { kind: 'place', node };
  const [best] = candidates.toSorted(byRoom);
  const isKnown = best !== undefined && isOffered(wanted, room.get(best), inventory);
  if (isKnown && isForOptions(wanted, room.get(best), inventory)) {
    return blocked('UnknownOptionClass', noOptions(wanted, asked));
  }
  return noRoom(wanted, isKnown ? best : undefined, room, asked);
}

/** Agents tell no room for a class that they do not have; only on its Node is it left out. */
function isOffered(
  { className }: WantedClass,
  mostBytes: Bytes | undefined,
  { names, nodes }: Inventory,
): boolean {
  if (mostBytes === undefined || mostBytes > 0n) return mostBytes !== undefined;
  const annotation = annotationOf(className, names);
  for (const { metadata } of nodes) if (annotation in (metadata.annotations ?? {})) return true;
  return false;
}

/** Agents tell no room for options that they do not know, whatever the class has without them. */
function isForOptions(
  { className, optionClass, sizeBytes }: WantedClass & { readonly sizeBytes: Bytes },
  mostBytes: Bytes | undefined,
  { names, nodes }: Inventory,
): boolean {
  if (optionClass === '' || (mostBytes ?? 0n) > 0n) return false;
  const annotation = annotationOf(className, names);
  return [...nodes].some(
    ({ metadata }) => (sizeIn(metadata.annotations?.[annotation]) ?? -1n) >= sizeBytes,
  );
}

function noOptions(
  { className, optionClass }: WantedClass,
  asked: readonly string[] | undefined,
): string {
  const what = `volumes of ${classText(className)} with the options ${optionClass}`;
  const why = 'lvmd.yaml does not have them, or the devices cannot give what they ask for';
  return `${placesOf(asked)} makes ${what}: ${why}`;
}

function placesOf(asked: readonly string[] | undefined): string {
  return asked === undefined ? 'no node' : `none of ${showSome(asked)}`;
}

function classText(className: string): string {
  return className === '' ? 'the default class' : `the class ${className}`;
}

function annotationOf(className: string, names: ClusterNames): string {
  const { capacityAnnotation, defaultCapacityAnnotation } = clusterNames(names);
  return className === '' ? defaultCapacityAnnotation : capacityAnnotation(className);
}

function noRoom(
  wanted: WantedClass & { readonly sizeBytes: Bytes },
  best: string | undefined,
  room: ReadonlyMap<string, Bytes>,
  asked: readonly string[] | undefined,
): Blocked {
  const what = classText(wanted.className);
  const where = placesOf(asked);
  const size = showBytes(wanted.sizeBytes);
  if (best === undefined) {
    return blocked('UnknownDeviceClass', `${where} offers ${what}, and ${size} were asked for`);
  }
  const most = `the most is ${showBytes(room.get(best) ?? noBytes)}, on ${best}`;
  return blocked('InsufficientCapacity', `${where} has ${size} in ${what}: ${most}`);
}

/** An event has little room, and a cluster may have thousands of nodes. */
function showSome(nodes: readonly string[]): string {
  const shown = nodes.slice(0, 3);
  const more = nodes.length - shown.length;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : showList(nodes);
}

/** The largest volume for each node, without what was promised and is not made yet. */
function roomForNew(wanted: WantedClass, inventory: Inventory): ReadonlyMap<string, Bytes> {
  const promised = new Map<string, bigint>();
  for (const volume of inventory.logicalVolumes) {
    const { nodeName, deviceClass = '' } = volume.spec;
    const isOpen = !isMade(volume) && !isGoing(volume) && failureIn(volume) === undefined;
    if (!isOpen || deviceClass !== wanted.className) continue;
    promised.set(nodeName, (promised.get(nodeName) ?? 0n) + askedSizeOf(volume));
  }
  const room = [...roomByNode(wanted, inventory)];
  return new Map(
    room.map(([node, { largestBytes }]) => [node, minus(largestBytes, promised.get(node) ?? 0n)]),
  );
}

/** What every node says of a class: its capacity objects first, then what it says on its Node. */
export function roomByNode(wanted: WantedClass, inventory: Inventory): ReadonlyMap<string, Room> {
  const { names, capacities } = inventory;
  const { topologyKey } = clusterNames(names);
  const classes = classesOf(wanted, inventory);
  const room = new Map<string, Room>();
  const annotation = annotationOf(wanted.className, names);
  for (const { metadata } of inventory.nodes) {
    const free = sizeIn(metadata.annotations?.[annotation]);
    if (free !== undefined) room.set(metadata.name, { availableBytes: free, largestBytes: free });
  }
  const told = new Map<string, Room>();
  for (const capacity of capacities) {
    const node = capacity.nodeTopology?.matchLabels?.[topologyKey];
    if (node === undefined || !classes.has(capacity.storageClassName)) continue;
    const availableBytes = sizeIn(capacity.capacity) ?? noBytes;
    const largestBytes = sizeIn(capacity.maximumVolumeSize) ?? availableBytes;
    const before = told.get(node);
    told.set(node, {
      availableBytes: most(availableBytes, before?.availableBytes ?? noBytes),
      largestBytes: most(largestBytes, before?.largestBytes ?? noBytes),
    });
  }
  for (const [node, said] of told) room.set(node, said);
  return room;
}

/** On one node, or on all of them together. */
export function roomIn(
  wanted: WantedClass,
  node: string | undefined,
  inventory: Inventory,
): Room | undefined {
  const room = roomByNode(wanted, inventory);
  if (node !== undefined) return room.get(node);
  const all = [...room.values()];
  if (all.length === 0) return undefined;
  return {
    availableBytes: sum(...all.map(({ availableBytes }) => availableBytes)),
    largestBytes: most(0n, ...all.map(({ largestBytes }) => largestBytes)),
  };
}

function classesOf({ className, optionClass }: WantedClass, inventory: Inventory): Set<string> {
  const { names, classes } = inventory;
  const { deviceClassParameter, optionClassParameter } = clusterNames(names);
  const found = new Set<string>();
  for (const { metadata, provisioner, parameters = {} } of classes) {
    if (provisioner !== names.driver) continue;
    const isSame =
      (parameters[deviceClassParameter] ?? '') === className &&
      (parameters[optionClassParameter] ?? '') === optionClass;
    if (isSame) found.add(metadata.name);
  }
  return found;
}

function nodesIn({ nodes }: Inventory): readonly Node[] {
  return [...nodes];
}

function isStaying({ metadata }: Node): boolean {
  return metadata.deletionTimestamp === undefined;
}

function sizeIn(text: string | undefined): Bytes | undefined {
  const size = text === undefined ? undefined : parseQuantity(text);
  return typeof size === 'bigint' ? bytes(size) : undefined;
}
