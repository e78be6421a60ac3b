import { noBytes } from '../../base/bytes.ts';
import { limits } from '../../base/limits.ts';
import type { Wipe, Wipes } from '../device/wipes.ts';
import type {
  ObservedDevice,
  ObservedLv,
  ObservedNode,
  ObservedPv,
  ObservedVg,
} from '../observed.ts';
import { isOurs, readTag } from '../tags.ts';

/**
 * What an agent tells of its node's disks, so that a plan can be made elsewhere before anything is
 * asked for.
 */
export type Inventory = {
  readonly node: ObservedNode;
  /** Identities of groups that were made here once, by name. */
  readonly known: ReadonlyMap<string, string>;
  /** Names of groups that were given up. */
  readonly givenUp: ReadonlySet<string>;
  /** Disks that were wiped. */
  readonly wipes: Wipes;
};

/** Of the Node: who plans may read it, and an agent may write its own. */
export const inventoryAnnotation = 'quarry.io/devices';

const version = 1;

/** The same text for the same disks. Undefined where it would be too long for an annotation. */
export function inventoryText({ node, known, givenUp, wipes }: Inventory): string | undefined {
  const { devices, vgs, orphanPvs } = whatPlansNeed(node);
  const stored: Stored = {
    version,
    known: inOrder(known),
    ...(givenUp.size === 0 ? {} : { givenUp: [...givenUp].toSorted() }),
    ...(wipes.size === 0 ? {} : { wipes: inOrder(wipes) }),
    devices: devices.map((device) => unusual(device, blankDevice)),
    vgs: vgs.map((vg) => ({
      ...unusual(vg, blankVg),
      pvs: vg.pvs.map((pv) => unusual(pv, blankPv)),
      lvs: vg.lvs.map((lv) => unusual(lv, blankLv)),
    })),
    orphanPvs: orphanPvs.map((pv) => unusual(pv, blankPv)),
  };
  const text = JSON.stringify(stored, spell);
  return text.length > limits.inventoryCharactersMax ? undefined : text;
}

function inOrder<T>(map: ReadonlyMap<string, T>): Readonly<Record<string, T>> {
  return Object.fromEntries([...map].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Undefined where there is none, or one that we do not know how to read. */
export function readInventory(text: string | undefined): Inventory | undefined {
  if (text === undefined) return undefined;
  try {
    const stored = JSON.parse(text, read) as Stored;
    if (stored.version !== version) return undefined;
    const node = {
      devices: stored.devices.map((device) => ({ ...blankDevice, ...device })),
      vgs: stored.vgs.map((vg) => ({
        ...{ ...blankVg, ...vg },
        pvs: vg.pvs.map((pv) => ({ ...blankPv, ...pv })),
        lvs: vg.lvs.map((lv) => ({ ...blankLv, ...lv })),
      })),
      orphanPvs: stored.orphanPvs.map((pv) => ({ ...blankPv, ...pv })),
    };
    const wipes = new Map(Object.entries(stored.wipes ?? {}));
    const givenUp = new Set(stored.givenUp);
    return { node, known: new Map(Object.entries(stored.known)), givenUp, wipes };
  } catch {
    // Somebody else wrote it.
    return undefined;
  }
}

/**
 * In one order, and without what changes while volumes come and go, but for the room on each
 * device. Plans for groups and pools decide by the rest.
 */
export function whatPlansNeed(node: ObservedNode): ObservedNode {
  const kept = node.devices.filter(isKept);
  const left = new Set(node.devices.filter((one) => !isKept(one)).map(({ path }) => path));
  const members = new Set(node.vgs.flatMap(({ pvs }) => pvs.map(({ device }) => device)));
  return {
    devices: kept.map((device) => lastingDevice(device, left, members)).toSorted(by('path')),
    vgs: node.vgs.map(lastingGroup).toSorted(by('uuid')),
    orphanPvs: node.orphanPvs.toSorted(by('uuid')),
  };
}

/** Volumes and loop devices without a file are no disks, unless something stands on them. */
function isKept({ type, holders, sizeBytes, wwn, path }: ObservedDevice): boolean {
  const isNone = type === 'lvm' || (type === 'loop' && sizeBytes === 0n);
  const isMove = /-pvmove[0-9]+$/.test(path);
  return !isNone || isMove || holders.length > 0 || wwn !== '';
}

function lastingDevice(
  device: ObservedDevice,
  left: ReadonlySet<string>,
  members: ReadonlySet<string>,
): ObservedDevice {
  const lasting = device.holders.filter((path) => !left.has(path));
  const isMember = [device.path, ...device.links].some((name) => members.has(name));
  // Volumes come and go on a device of a group, and the group says enough.
  const holders = lasting.length > 0 || isMember ? lasting : device.holders.toSorted().slice(0, 1);
  // A pod more or less that sees the same file system is nothing new.
  const mountPoints = device.mountPoints.toSorted(shortestFirst).slice(0, 1);
  const users = device.users.slice(0, 1);
  return {
    ...device,
    links: device.links.toSorted(),
    holders: holders.toSorted(),
    mountPoints,
    users,
  };
}

function lastingGroup(vg: ObservedVg): ObservedVg {
  return {
    ...vg,
    sequence: 0n,
    metadataFreeBytes: vg.metadataSizeBytes,
    pvs: vg.pvs.toSorted(by('uuid')),
    lvs: tellingLvs(vg.lvs),
  };
}

/** Pools, what others made, and that there are volumes in a pool or in the group: never which. */
function tellingLvs(lvs: readonly ObservedLv[]): readonly ObservedLv[] {
  const own = lvs.filter((lv) => !lv.isInternal && isPlainlyOurs(lv));
  const places = [...new Set(own.map(({ pool = '' }) => pool))].toSorted();
  const others = lvs.filter((lv) => !lv.isInternal && !isPlainlyOurs(lv)).toSorted(by('uuid'));
  return [...others.map(lastingLv), ...places.map(someVolume)];
}

/** A half-made pool is ours too, and is told of: it is made anew. */
function isPlainlyOurs({ kind, tags }: ObservedLv): boolean {
  return kind !== 'thin-pool' && isOurs(tags) && readTag(tags, 'role') === undefined;
}

function someVolume(pool: string): ObservedLv {
  const name = `a volume of ${pool === '' ? 'the group' : pool}`;
  const kind = pool === '' ? 'linear' : 'thin';
  return { ...blankLv, name, uuid: name, kind, pool: pool === '' ? undefined : pool };
}

function lastingLv(lv: ObservedLv): ObservedLv {
  if (lv.kind === 'thin-pool') {
    return { ...lv, dataPercent: undefined, metadataPercent: undefined, isOpen: false };
  }
  const { name, uuid, kind, pool, tags, madeFor } = lv;
  return { ...blankLv, name, uuid, kind, pool, tags, madeFor };
}

function by<Key extends 'path' | 'uuid'>(key: Key) {
  return (one: Readonly<Record<Key, string>>, other: Readonly<Record<Key, string>>) =>
    one[key] < other[key] ? -1 : 1;
}

function shortestFirst(one: string, other: string): number {
  return one.length - other.length || (one < other ? -1 : 1);
}

type Stored = {
  readonly version: number;
  readonly known: Readonly<Record<string, string>>;
  readonly givenUp?: readonly string[];
  readonly wipes?: Readonly<Record<string, Wipe>>;
  readonly devices: readonly Partial<ObservedDevice>[];
  readonly vgs: readonly (Partial<Omit<ObservedVg, 'pvs' | 'lvs'>> & {
    readonly pvs: readonly Partial<ObservedPv>[];
    readonly lvs: readonly Partial<ObservedLv>[];
  })[];
  readonly orphanPvs: readonly Partial<ObservedPv>[];
};

/** What is as it mostly is goes without saying. */
function unusual<T extends object>(facts: T, blank: Readonly<Record<keyof T, unknown>>) {
  const entries = Object.entries(facts).filter(
    ([key, value]) => JSON.stringify(value, spell) !== JSON.stringify(blank[key as keyof T], spell),
  );
  return Object.fromEntries(entries) as Partial<T>;
}

/** JSON has no whole numbers of this size. */
function spell(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

function read(key: string, value: unknown): unknown {
  const isBig = key.endsWith('Bytes') || key === 'sequence';
  return isBig && typeof value === 'string' ? BigInt(value) : value;
}

const blankDevice: ObservedDevice = {
  ...{ path: '', number: '', links: [], type: 'disk', sizeBytes: noBytes },
  ...{ model: '', serial: '', wwn: '', isReadOnly: false, isSuspended: false },
  ...{ mountPoints: [], isSwap: false, holders: [], emptied: undefined },
  ...{ partitionTable: '', partitionLabel: '', partitionType: '' },
  ...{ fileSystem: '', backingFile: '', signatures: { kind: 'none' }, label: { kind: 'none' } },
  ...{ exclusiveOpen: 'free', users: [] },
};

const blankPv: ObservedPv = {
  ...{ uuid: '', device: '', sizeBytes: noBytes, freeBytes: noBytes, tags: [] },
  ...{ isMissing: false, isAllocatable: true, isDuplicate: false },
};

const blankVg: ObservedVg = {
  ...{ name: '', uuid: '', tags: [], lockType: '', systemId: '', sequence: 0n },
  ...{ sizeBytes: noBytes, freeBytes: noBytes, extentSizeBytes: noBytes },
  ...{ isPartial: false, isExported: false, isWritable: true },
  ...{ metadataSizeBytes: noBytes, metadataFreeBytes: noBytes, pvs: [], lvs: [] },
};

const blankLv: ObservedLv = {
  ...{ name: '', uuid: '', kind: 'linear', sizeBytes: noBytes, ownSizeBytes: noBytes },
  ...{
    tags: [],
    madeFor: undefined,
    attributes: '',
    isInternal: false,
    isActive: true,
    isSuspended: false,
  },
  ...{ isOpen: false, isReadOnly: false, stripes: 1, dataColumns: 1 },
  ...{ origin: undefined, originUuid: undefined, pool: undefined },
  ...{ dataPercent: undefined, metadataPercent: undefined, metadataSizeBytes: undefined },
  ...{ chunkSizeBytes: undefined, syncPercent: undefined, health: '', isInvalid: false },
};
