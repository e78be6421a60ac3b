import type { Bytes } from '../base/bytes.ts';
import type { Blocked } from '../base/failures.ts';
import type { Layout } from './layouts.ts';
import type { Permit } from './permit.ts';

/**
 * One thing to do, as data. A step can be printed, counted, tested and refused before anything
 * runs; `lvm/argv.ts` alone knows how it is spelled. It names the UUID of what it acts on, so that
 * a reused name is never mistaken for the thing that was meant.
 */
export type Step =
  | WipeDevice
  | CreateVg
  | ExtendVg
  | EvacuatePv
  | ReduceVg
  | DropMissing
  | RemovePv
  | RemoveVg
  | CreateThinPool
  | ExtendThinPool
  | ExtendThinPoolMetadata
  | CreateLv
  | ExtendLv
  | CreateThinSnapshot
  | CreateCowSnapshot
  | ActivateLv
  | ChangeTags
  | CopyRange
  | ZeroRange
  | RemoveLv;

export type StepKind = Step['kind'];

type InVg = { readonly vg: string; readonly vgUuid: string };
export type OnLv = InVg & { readonly lv: string; readonly lvUuid: string };

export type WipeDevice = {
  readonly kind: 'wipe-device';
  readonly device: string;
  readonly permit: Permit<'wipe-device'>;
};

export type CreateVg = {
  readonly kind: 'create-vg';
  readonly vg: string;
  readonly devices: readonly string[];
  readonly tags: readonly string[];
  readonly metadataBytes: Bytes;
};

export type ExtendVg = InVg & {
  readonly kind: 'extend-vg';
  readonly devices: readonly string[];
  readonly metadataBytes: Bytes;
};

/** Moves every extent away from a device. Long; another run goes on where one was cut off. */
export type EvacuatePv = InVg & {
  readonly kind: 'evacuate-pv';
  readonly device: string;
  readonly pvUuid: string;
};

export type ReduceVg = InVg & {
  readonly kind: 'reduce-vg';
  readonly device: string;
  readonly pvUuid: string;
  readonly permit: Permit<'reduce-vg'>;
};

/** Forgets devices that a group without volumes lost, as a power cut in vgcreate leaves it. */
export type DropMissing = InVg & {
  readonly kind: 'drop-missing';
  readonly permit: Permit<'drop-missing'>;
};

export type RemovePv = {
  readonly kind: 'remove-pv';
  readonly device: string;
  readonly pvUuid: string;
  /** lvm was cut off before it listed the device among its own. */
  readonly isUnlisted?: true;
  readonly permit: Permit<'remove-pv'>;
};

export type RemoveVg = InVg & {
  readonly kind: 'remove-vg';
  readonly permit: Permit<'remove-vg'>;
};

export type CreateThinPool = InVg & {
  readonly kind: 'create-thin-pool';
  readonly pool: string;
  readonly sizeBytes: Bytes;
  readonly chunkSizeBytes: Bytes;
  readonly metadataBytes: Bytes;
  readonly tags: readonly string[];
  /** What lvm takes for the name of its host, and writes beside the parts of the pool. */
  readonly hostName?: string;
};

export type ExtendThinPool = OnLv & {
  readonly kind: 'extend-thin-pool';
  readonly sizeBytes: Bytes;
};

export type ExtendThinPoolMetadata = OnLv & {
  readonly kind: 'extend-thin-pool-metadata';
  readonly metadataBytes: Bytes;
};

export type CreateLv = InVg & {
  readonly kind: 'create-lv';
  readonly lv: string;
  readonly layout: Layout;
  readonly sizeBytes: Bytes;
  readonly tags: readonly string[];
  /** Raw lvcreate options an administrator configured; they come last. */
  readonly options: readonly string[];
};

export type ExtendLv = OnLv & { readonly kind: 'extend-lv'; readonly sizeBytes: Bytes };

export type CreateThinSnapshot = InVg & {
  readonly kind: 'create-thin-snapshot';
  readonly lv: string;
  readonly origin: string;
  readonly originUuid: string;
  readonly isReadOnly: boolean;
  readonly tags: readonly string[];
};

export type CreateCowSnapshot = InVg & {
  readonly kind: 'create-cow-snapshot';
  readonly lv: string;
  readonly origin: string;
  readonly originUuid: string;
  readonly reserveBytes: Bytes;
  readonly tags: readonly string[];
};

export type ActivateLv = OnLv & {
  readonly kind: 'activate-lv';
  /** A thin pool whose books have blocks that nobody has: they are struck out. */
  readonly mendsPool?: true;
};

export type ChangeTags = OnLv & {
  readonly kind: 'change-tags';
  readonly add: readonly string[];
  readonly remove: readonly string[];
  /** Only while the volume has this size: a command that comes late must not change it. */
  readonly whileSizeBytes?: Bytes;
  /** A snapshot that another system was about to make read-only becomes so. */
  readonly isReadOnly?: true;
};

export type CopyRange = OnLv & {
  readonly kind: 'copy-range';
  readonly from: string;
  readonly fromUuid: string;
  readonly offsetBytes: Bytes;
  readonly lengthBytes: Bytes;
  /** Progress, written after the data: a copy that was cut off goes on from here. */
  readonly add: readonly string[];
  readonly remove: readonly string[];
};

/** Overwrites a stretch that nobody was told of; the tags are changed after the data. */
export type ZeroRange = OnLv & {
  readonly kind: 'zero-range';
  readonly offsetBytes: Bytes;
  readonly lengthBytes: Bytes;
  readonly add: readonly string[];
  readonly remove: readonly string[];
  /** The volume may be in use, and only its new end is overwritten. */
  readonly isShown?: true;
  /** The tags change only while the volume has this size: what it grew by since is not zeroed. */
  readonly whileSizeBytes?: Bytes;
  readonly permit: Permit<'zero-range'>;
};

export type RemoveLv = OnLv & {
  readonly kind: 'remove-lv';
  /** What lvremove would take along unasked, and must therefore find absent under its lock. */
  readonly dependents: 'cow-snapshots' | 'thin-volumes';
  /**
   * What a volume of ours bears: lvm must find it there. A kernel that bore witness to a name
   * cannot tell whose it was.
   */
  readonly bears?: string;
  /** Its blocks are passed on to the disks as discards. */
  readonly discards?: true;
  readonly permit: Permit<'remove-lv'>;
};

/** What a plan says next: one step, a refusal with its reason, or nothing more to do. */
export type Decision =
  | { readonly kind: 'step'; readonly step: Step }
  | Blocked
  | { readonly kind: 'rest' };

export const rest: Decision = { kind: 'rest' };

export function next(step: Step): Decision {
  return { kind: 'step', step };
}

/** Nothing but tags, whatever else is true of the volume: many such changes can be one command. */
export function isPlainRetag(step: Step): step is ChangeTags {
  if (step.kind !== 'change-tags') return false;
  return step.isReadOnly !== true && step.whileSizeBytes === undefined;
}

export function sameRetag(one: ChangeTags, other: ChangeTags): boolean {
  const isSame = (these: readonly string[], those: readonly string[]) =>
    these.length === those.length && these.every((tag) => those.includes(tag));
  const isThere = one.vgUuid === other.vgUuid && one.vg === other.vg;
  return isThere && isSame(one.add, other.add) && isSame(one.remove, other.remove);
}

/** Steps that take long and hardly touch the volume group's metadata alone: others need not wait. */
export function isLong(step: Step): boolean {
  return longSteps.has(step.kind);
}

const longSteps: ReadonlySet<StepKind> = new Set(['copy-range', 'zero-range', 'evacuate-pv']);
