import { type Bytes, noBytes } from '../base/bytes.ts';
import { type Blocked, blocked, type FailureCode } from '../base/failures.ts';
import { showList } from '../base/show.ts';
import type { DeviceSelector } from './device/desired.ts';
import { holdsPartitionsOnly, inUseReasons } from './device/reasons.ts';
import { mayWipe } from './device/wipeable.ts';
import type { ObservedDevice, ObservedLv, ObservedPv, ObservedVg, Signatures } from './observed.ts';
import { fileSystemUuid } from './publication/file-systems.ts';
import { copyingTag, isOurs, pendingTag, rawTag, readBytes, readTag } from './tags.ts';

declare const proven: unique symbol;

/** Leave to destroy one thing. Only `permitFor` makes one, and only from positive proof. */
export type Permit<D extends Deed = Deed> = {
  readonly deed: D;
  /** The identity it was given for; a step for anything else is a bug. */
  readonly target: string;
  /** Nothing that lies before this may be touched. */
  readonly fromBytes?: Bytes;
  readonly [proven]: true;
};

export type Deed =
  | 'wipe-device'
  | 'remove-lv'
  | 'remove-vg'
  | 'reduce-vg'
  | 'drop-missing'
  | 'remove-pv'
  | 'format-lv'
  | 'zero-range';

/** What somebody wants to destroy, with everything that can prove it harmless. */
export type Question =
  | {
      readonly deed: 'wipe-device';
      readonly device: ObservedDevice;
      /** For a partition: the disk it is on, which must be the named one. */
      readonly disk?: ObservedDevice;
      readonly selector: DeviceSelector;
    }
  | {
      readonly deed: 'remove-lv';
      readonly vg: ObservedVg;
      readonly lv: ObservedLv;
      /** UUID or name that a durable record of ours gives for a volume without our tags. */
      readonly recorded?: string;
    }
  | { readonly deed: 'remove-vg'; readonly vg: ObservedVg; readonly tag: string }
  | { readonly deed: 'reduce-vg'; readonly vg: ObservedVg; readonly pv: ObservedPv }
  | {
      readonly deed: 'drop-missing';
      readonly vg: ObservedVg;
      readonly tag: string;
      /** Named devices that cannot be found: one of them may be the one that is missing. */
      readonly absentPaths: readonly string[];
    }
  | {
      readonly deed: 'remove-pv';
      readonly pv: Pick<ObservedPv, 'uuid'>;
      readonly device: ObservedDevice;
    }
  | {
      readonly deed: 'format-lv';
      readonly lv: ObservedLv;
      readonly probes: readonly [Signatures, Signatures];
      /** What a superblock on the volume says, if there is one. */
      readonly found: FoundSuperblock | undefined;
      readonly wantedType: string;
      /** Where it is mounted or bound right now. */
      readonly mountPoints: readonly string[];
      /** Mounts of other namespaces, and a mkfs of an earlier life, show here only. */
      readonly exclusiveOpen: ObservedDevice['exclusiveOpen'];
    }
  | {
      readonly deed: 'zero-range';
      readonly lv: ObservedLv;
      readonly probes: readonly [Signatures, Signatures];
    }
  /** A part that nobody was told of yet: the end of a copy, or what a raw volume grew by. */
  | {
      readonly deed: 'zero-range';
      readonly lv: ObservedLv;
      readonly part: 'end-of-copy' | 'growth';
    };

type FoundSuperblock = {
  readonly type: string;
  readonly uuid: string;
  readonly isUnfinished: boolean;
};

export function permitFor<Q extends Question>(question: Q): Permit<Q['deed']> | Blocked {
  const answer = answerTo(question);
  if (answer.objection !== undefined) return answer.objection;
  const { target, fromBytes } = answer;
  const bound = fromBytes === undefined ? {} : { fromBytes };
  return { deed: question.deed, target, ...bound } as Permit<Q['deed']>;
}

type Answer = {
  readonly target: string;
  readonly objection: Blocked | undefined;
  readonly fromBytes?: Bytes;
};

function answerTo(question: Question): Answer {
  switch (question.deed) {
    case 'wipe-device':
      return { target: question.device.path, objection: againstWipe(question) };
    case 'remove-lv':
      return { target: question.lv.uuid, objection: againstRemoval(question) };
    case 'remove-vg':
      return { target: question.vg.uuid, objection: againstVgRemoval(question.vg, question.tag) };
    case 'reduce-vg':
      return { target: question.pv.uuid, objection: againstReduction(question.vg, question.pv) };
    case 'drop-missing':
      return { target: question.vg.uuid, objection: againstDropping(question) };
    case 'remove-pv':
      return { target: question.pv.uuid, objection: againstPvRemoval(question) };
    case 'format-lv':
      return { target: question.lv.uuid, objection: againstFormat(question) };
    case 'zero-range':
      return 'probes' in question ? zeroingNew(question) : zeroingPart(question);
  }
}

function againstWipe(question: Extract<Question, { deed: 'wipe-device' }>): Blocked | undefined {
  const { device, disk, selector } = question;
  const named = disk ?? device;
  const names = [named.path, ...named.links];
  const isNamed =
    selector.kind === 'paths' &&
    [...selector.required, ...selector.optional].some((path) => names.includes(path));
  if (disk !== undefined && !disk.holders.includes(device.path)) {
    return no('DeviceHoldsData', device.path, `it is not a partition of ${disk.path}`);
  }
  if (!isNamed) return no('DeviceHoldsData', device.path, 'its path is not named');
  if (!mayWipe(named, selector) && !isOurUnfinishedWork(device)) {
    return no('DeviceHoldsData', device.path, 'wiping was not allowed');
  }
  const uses = inUseReasons(device).filter(
    (use) => use.reason !== 'has-holders' || !isPartitionedDisk(device),
  );
  if (uses.length > 0) {
    return no('DeviceBusy', device.path, showList(uses.map((use) => use.message)));
  }
  if (device.label.kind === 'member' || device.label.kind === 'unknown') {
    return no('DeviceHoldsData', device.path, 'it carries an LVM label that is not an orphan');
  }
  return undefined;
}

/** The label of a vgcreate that was cut off, and nothing beside it. */
function isOurUnfinishedWork({ label, signatures, fileSystem, partitionTable }: ObservedDevice) {
  if (label.kind !== 'half-made' || signatures.kind !== 'found') return false;
  const isLvm = (type: string) => type === 'LVM2_member' || type === '';
  return signatures.types.every(isLvm) && isLvm(fileSystem) && partitionTable === '';
}

function isPartitionedDisk(device: ObservedDevice): boolean {
  return device.type === 'disk' && holdsPartitionsOnly(device);
}

function againstRemoval(question: Extract<Question, { deed: 'remove-lv' }>): Blocked | undefined {
  const { vg, lv, recorded } = question;
  const name = `${vg.name}/${lv.name}`;
  if (lv.isInternal) return no('NotOurs', name, 'it is a part of another volume');
  if (!isOurs(lv.tags) && recorded !== lv.uuid && recorded !== lv.name) {
    return no('NotOurs', name, 'it carries no tag of ours and no record of ours names it');
  }
  if (lv.health === 'partial') return no('VolumeGroupPartial', name, 'a device of it is missing');
  const reader = vg.lvs.find((other) => isCopiedFrom(other, lv));
  if (reader !== undefined) return no('VolumeInUse', name, `${reader.name} is copied from it`);
  const dependents = vg.lvs.filter((other) => dependsOn(other, lv)).map((other) => other.name);
  if (dependents.length > 0) {
    const code = lv.kind === 'thin-pool' ? 'VolumeInUse' : 'VolumeHasSnapshots';
    return no(code, name, `${showList(dependents)} would be lost with it`);
  }
  return undefined;
}

/** A copy that is not complete still needs its source. */
function isCopiedFrom(other: ObservedLv, lv: ObservedLv): boolean {
  return other.tags.includes(copyingTag) && readTag(other.tags, 'source') === lv.name;
}

/** Would `other` be destroyed if `lv` were? Thin snapshots live on without their thin origin. */
export function dependsOn(other: ObservedLv, lv: ObservedLv): boolean {
  if (other.isInternal) return false;
  const outlives = other.kind === 'thin' && lv.kind === 'thin';
  if (other.origin === lv.name) return !outlives;
  return other.pool === lv.name && lv.kind === 'thin-pool';
}

function againstVgRemoval(vg: ObservedVg, tag: string): Blocked | undefined {
  if (!vg.tags.includes(tag)) {
    return no('VolumeGroupForeign', vg.name, `it does not carry the tag ${tag}`);
  }
  if (vg.isPartial) return no('VolumeGroupPartial', vg.name, 'a device of it is missing');
  const left = vg.lvs.filter((lv) => !lv.isInternal).map((lv) => lv.name);
  if (left.length > 0) return no('VolumeInUse', vg.name, `${showList(left)} are still in it`);
  return undefined;
}

function againstReduction(vg: ObservedVg, pv: ObservedPv): Blocked | undefined {
  if (vg.isPartial) return no('VolumeGroupPartial', vg.name, 'a device of it is missing');
  if (vg.pvs.length < 2) return no('DeviceNotUsable', pv.device, 'it is the last device');
  if (pv.freeBytes !== pv.sizeBytes) {
    return no('DeviceHoldsData', pv.device, 'extents of volumes are still on it');
  }
  return undefined;
}

/** All named devices are here and blank or in the group: what is missing never came to be. */
function againstDropping(question: Extract<Question, { deed: 'drop-missing' }>) {
  const { vg, tag, absentPaths } = question;
  if (!vg.tags.includes(tag)) {
    return no('VolumeGroupForeign', vg.name, `it does not carry the tag ${tag}`);
  }
  if (vg.lvs.length > 0) return no('VolumeGroupPartial', vg.name, 'volumes are in it');
  if (absentPaths.length > 0) {
    return no('VolumeGroupPartial', vg.name, `${showList(absentPaths)} may come back`);
  }
  return undefined;
}

function againstPvRemoval(question: Extract<Question, { deed: 'remove-pv' }>): Blocked | undefined {
  const { pv, device } = question;
  const uses = inUseReasons(device);
  if (uses.length > 0) {
    return no('DeviceBusy', device.path, showList(uses.map((use) => use.message)));
  }
  if (device.label.kind !== 'orphan' || device.label.pvUuid !== pv.uuid) {
    return no('DeviceHoldsData', device.path, 'LVM does not show it as an orphan');
  }
  return undefined;
}

function againstFormat(question: Extract<Question, { deed: 'format-lv' }>): Blocked | undefined {
  const { lv, probes, mountPoints } = question;
  const isPending = lv.tags.includes(pendingTag);
  // Nothing was ever written to a thin volume without a block, whoever made it.
  const isUnmapped = lv.kind === 'thin' && lv.dataPercent === 0;
  if (!isPending && !isUnmapped) {
    return no('VolumeHoldsData', lv.name, 'it carries no pending mark');
  }
  if (mountPoints.length > 0) {
    return no('VolumeInUse', lv.name, `it is in use at ${showList(mountPoints)}`);
  }
  if (question.exclusiveOpen !== 'free') {
    return no('VolumeInUse', lv.name, 'it cannot be opened for us alone');
  }
  const unfinished = isPending ? unfinishedType(question) : undefined;
  for (const probe of probes) {
    if (probe.kind === 'unknown') return no('VolumeHoldsData', lv.name, probe.why);
    if (probe.kind === 'found' && !probe.types.every((type) => type === unfinished)) {
      return no('VolumeHoldsData', lv.name, foundText(probe.types, question.found));
    }
  }
  if (question.found === undefined || unfinished !== undefined) return undefined;
  return no('VolumeHoldsData', lv.name, foundText([question.found.type], question.found));
}

/** Our own mkfs, cut off: it alone gives the volume this UUID, and says that it is not done. */
function unfinishedType(question: Extract<Question, { deed: 'format-lv' }>): string | undefined {
  const { found, lv, wantedType } = question;
  const isOurs = found?.uuid === fileSystemUuid(lv.uuid) && found.type === wantedType;
  return isOurs && found.isUnfinished ? wantedType : undefined;
}

function foundText(types: readonly string[], found: FoundSuperblock | undefined): string {
  const identity = found === undefined ? '' : ` (a superblock of ${found.type}, ${found.uuid})`;
  return `a probe found ${showList(types)}${identity}, which is not our unfinished work`;
}

/**
 * What former tenants left in the middle of a new thick volume belongs to nobody, but lvcreate
 * cleared its signatures: one that is there now is somebody's. That nobody has it open is asked of
 * the kernel: udev opens it for a moment whenever it changes.
 */
function zeroingNew({ lv, probes }: Extract<ZeroRange, { probes: unknown }>): Answer {
  return { target: lv.uuid, objection: againstZeroing(lv, probes) };
}

function againstZeroing(
  lv: ObservedLv,
  probes: readonly [Signatures, Signatures],
): Blocked | undefined {
  if (!lv.tags.includes(pendingTag) || !isOurs(lv.tags)) {
    return no('VolumeHoldsData', lv.name, 'it carries no pending mark of ours');
  }
  for (const probe of probes) {
    if (probe.kind === 'unknown') return no('VolumeHoldsData', lv.name, probe.why);
    if (probe.kind === 'found') {
      return no('VolumeHoldsData', lv.name, `a probe found ${showList(probe.types)} on it`);
    }
  }
  return undefined;
}

type ZeroRange = Extract<Question, { deed: 'zero-range' }>;

/**
 * The mark itself says from where on nobody was told of the volume: behind what was copied, or
 * behind the size it had. What is before that is somebody's data.
 */
function zeroingPart({ lv, part }: Extract<ZeroRange, { part: unknown }>): Answer {
  const isCopy = part === 'end-of-copy';
  const { tags } = lv;
  const fromBytes = readBytes(tags, isCopy ? 'copied' : 'grownFrom');
  const isMarked = tags.includes(isCopy ? copyingTag : rawTag) && isOurs(tags);
  const isElse = !isCopy && (tags.includes(pendingTag) || tags.includes(copyingTag));
  const isProven = isMarked && !isElse && fromBytes !== undefined;
  const why = isCopy ? 'it carries no mark of a copy of ours' : 'no growth of it is noted';
  return {
    target: lv.uuid,
    objection: isProven ? undefined : no('VolumeHoldsData', lv.name, why),
    fromBytes: fromBytes ?? noBytes,
  };
}

function no(code: FailureCode, target: string, why: string): Blocked {
  return blocked(code, `${target} is left alone: ${why}`);
}
