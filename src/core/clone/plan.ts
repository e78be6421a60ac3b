import { type Bytes, countUp, least, minus, noBytes } from '../../base/bytes.ts';
import { blocked } from '../../base/failures.ts';
import { limits } from '../../base/limits.ts';
import { showBytes } from '../../base/show.ts';
import { costExtents, freeExtents } from '../capacity.ts';
import { findSource, identityLost } from '../identity.ts';
import { layouts } from '../layouts.ts';
import { copySourceName } from '../names.ts';
import { findLv, type ObservedHost, type ObservedLv, type ObservedVg } from '../observed.ts';
import { permitFor } from '../permit.ts';
import type { DesiredSnapshot } from '../snapshot/desired.ts';
import { cowReserve, planSnapshot } from '../snapshot/plan.ts';
import { type Decision, next, rest } from '../step.ts';
import {
  copyingTag,
  copySourceRole,
  isOurs,
  ownerTag,
  pendingTag,
  rawTag,
  readBytes,
  readTag,
  tagOf,
  tagsOf,
} from '../tags.ts';
import { isUnused, madeForTags } from '../unused.ts';
import { isBlocked, usableVg } from '../usable-vg.ts';
import type { PresentVolume } from '../volume/desired.ts';
import { unfinishedGrowth } from '../volume/growth.ts';
import { isVolume, planRemovalOf, planVolume, roomToCreate, sizeInGroup } from '../volume/plan.ts';
import type { DesiredClone } from './desired.ts';

export function planClone(desired: DesiredClone, host: ObservedHost): Decision {
  const vg = usableVg(host, desired.deviceClass.vg);
  if (isBlocked(vg)) return vg;
  const clone = findLv(vg, desired.name);
  const lost = identityLost(desired, vg, clone);
  if (lost !== undefined) return lost;
  if (clone !== undefined) {
    const madeFrom = readTag(clone.tags, 'source');
    const isSnapshot = readTag(clone.tags, 'role') !== undefined;
    if (madeFrom !== desired.source || isSnapshot) {
      const message = `${vg.name}/${clone.name} exists and is no clone of ${desired.source}`;
      return blocked('VolumeDiffers', message);
    }
    if (!clone.tags.includes(copyingTag)) return planComplete(desired, vg, host);
  }
  const source = findSource(desired, vg);
  if (isBlocked(source)) return source;
  const refusal = sourceRefusal(desired, vg, source);
  if (refusal !== undefined) return refusal;
  if (layouts[desired.deviceClass.layout.kind].clone === 'instant') {
    return planInstant(desired, vg, source, host);
  }
  return clone === undefined
    ? (roomForBoth(desired, vg, source) ?? planTarget(desired, source, host))
    : planCopy(desired, vg, { source, clone }, host);
}

function sourceRefusal(desired: DesiredClone, vg: ObservedVg, source: ObservedLv) {
  // The source was rounded up when it was made: a clone asked for with its size must not be less.
  const sizeBytes = sizeInGroup(asVolume(desired, []), vg);
  if (sizeBytes < source.sizeBytes) {
    const message =
      `${desired.name} of ${showBytes(sizeBytes)} is smaller than its source ` +
      `${source.name} of ${showBytes(source.sizeBytes)}`;
    return blocked('SourceLarger', message);
  }
  if (source.tags.includes(copyingTag)) {
    return blocked('CopyUnfinished', `${source.name} is itself still being copied`);
  }
  const unfinished = unfinishedGrowth(source);
  if (unfinished !== undefined) return unfinished;
  if (source.isInvalid) {
    return blocked('SnapshotOverflowed', `${source.name} overflowed and can no longer be read`);
  }
  if (!isVolume(source) && source.kind !== 'cow-snapshot') {
    return blocked('SnapshotsUnsupported', `${source.name} is a ${source.kind}, no volume`);
  }
  const { layout } = desired.deviceClass;
  const sourcePool = source.pool;
  const wantedPool = layout.kind === 'thin' ? layout.pool : undefined;
  if (sourcePool === wantedPool) return undefined;
  const message =
    `${source.name} is in ${sourcePool ?? 'no thin pool'}, ` +
    `its class keeps volumes in ${wantedPool ?? 'none'}`;
  return blocked('SourceElsewhere', message);
}

/** A thin clone is a writable snapshot. The rules for room are a volume's: it may be larger. */
function planInstant(
  desired: DesiredClone,
  vg: ObservedVg,
  source: ObservedLv,
  host: ObservedHost,
): Decision {
  const { name, deviceClass } = desired;
  const tags = tagsFor(desired, source);
  const refusal = roomToCreate(deviceClass, sizeInGroup(asVolume(desired, []), vg), vg);
  if (refusal !== undefined) return refusal;
  const decision = planSnapshot(snapshotOf(source, { name, deviceClass, tags }), host);
  if (decision.kind !== 'step' || decision.step.kind !== 'create-thin-snapshot') {
    return decision.kind === 'blocked'
      ? decision
      : blocked('SnapshotsUnsupported', `${vg.name}/${source.name} cannot be cloned at once`);
  }
  return next({ ...decision.step, isReadOnly: false, tags });
}

/** Nothing is copied any more: the helper goes, then the clone is a volume like any other. */
function planComplete(desired: DesiredClone, vg: ObservedVg, host: ObservedHost): Decision {
  const helper = copySourceOf(desired, vg);
  if (helper !== undefined) return planRemovalOf(vg, helper, {});
  return planVolume(asVolume(desired, desired.tags), host);
}

/** The copy and the snapshot it is read from must both fit, or the copy would be left half made. */
function roomForBoth(desired: DesiredClone, vg: ObservedVg, source: ObservedLv) {
  if (source.kind === 'cow-snapshot') return undefined;
  const { layout, spareBytes } = desired.deviceClass;
  const copy = costExtents(layout, desired.sizeBytes, vg);
  const snapshot = countUp(cowReserve(source.sizeBytes, undefined), vg.extentSizeBytes);
  const free = freeExtents(vg, spareBytes);
  if (copy + snapshot <= free) return undefined;
  const message =
    `a copy of ${source.name} needs ${copy} extents, and ${snapshot} more for the snapshot it is ` +
    `read from; ${vg.name} has ${free} (${showBytes(spareBytes)} kept spare)`;
  return blocked('InsufficientCapacity', message);
}

/** The target is made first, marked as unfinished by the very command that makes it. */
function planTarget(desired: DesiredClone, source: ObservedLv, host: ObservedHost): Decision {
  return planVolume(asVolume(desired, [...tagsFor(desired, source), copyingTag]), host);
}

/** What nobody has used yet is as good as new in a copy too: it may be formatted and zeroed. */
function tagsFor({ tags }: DesiredClone, source: ObservedLv): readonly string[] {
  return isUnused(source) ? [...tags, pendingTag, ...madeForTags(source)] : tags;
}

function planCopy(
  desired: DesiredClone,
  vg: ObservedVg,
  pair: { readonly source: ObservedLv; readonly clone: ObservedLv },
  host: ObservedHost,
): Decision {
  const { clone } = pair;
  const target = { vg: vg.name, vgUuid: vg.uuid, lv: clone.name, lvUuid: clone.uuid };
  const copied = copiedBytes(clone);
  const marks = tagsOf(clone.tags, 'copied');
  // A CoW snapshot never changes; anything else is read through a snapshot of it.
  const frozen = pair.source.kind === 'cow-snapshot' ? pair.source : copySourceOf(desired, vg);
  const isForeign = frozen !== pair.source && frozen?.origin !== pair.source.name;
  if (frozen !== undefined && (frozen.isInvalid || isForeign)) return planRemovalOf(vg, frozen, {});
  if (frozen === undefined && copied > 0n) {
    return next({ kind: 'change-tags', ...target, add: [], remove: marks });
  }
  if (frozen === undefined) return planCopySource(desired, pair.source, host);
  // A busy source would fill the helper before a long copy is done, and the copy begin again.
  const care = frozen === pair.source ? rest : planHelper(desired, pair.source, host);
  if (care.kind === 'step') return care;
  if (!clone.isActive) return next({ kind: 'activate-lv', ...target });
  if (!frozen.isActive) {
    const lv = { lv: frozen.name, lvUuid: frozen.uuid };
    return next({ kind: 'activate-lv', ...target, ...lv });
  }
  const left = frozen.sizeBytes - copied;
  if (left <= 0n) {
    const over = [copyingTag, ...marks, ...usedMeanwhile(clone, frozen)];
    const add = rawNote(vg, clone, pair.source);
    if (copied < clone.sizeBytes) return planEnd(vg, clone, { offsetBytes: copied, add, over });
    return next({ kind: 'change-tags', ...target, add, remove: over });
  }
  const lengthBytes = least(left, limits.copySliceBytes);
  return next({
    kind: 'copy-range',
    ...target,
    from: frozen.name,
    fromUuid: frozen.uuid,
    offsetBytes: copied,
    lengthBytes,
    ...progressTags(copied, lengthBytes, marks),
  });
}

/** The source was new when the copy was begun, and in use when it was frozen to be read. */
function usedMeanwhile(clone: ObservedLv, frozen: ObservedLv): readonly string[] {
  const isUsed = clone.tags.includes(pendingTag) && !isUnused(frozen);
  return isUsed ? [pendingTag, ...tagsOf(clone.tags, 'madeFor')] : [];
}

/**
 * A copy of what was shown raw will be shown raw, too. It may grow before that, and what it grows
 * by must not show what the disks held before.
 */
function rawNote(vg: ObservedVg, clone: ObservedLv, source: ObservedLv): readonly string[] {
  const origin = vg.lvs.find(({ uuid }) => uuid === source.originUuid);
  const isRaw = [source, origin].some((lv) => lv?.tags.includes(rawTag) && isOurs(lv.tags));
  return isRaw && !clone.tags.includes(rawTag) ? [rawTag] : [];
}

/** Tags that come and go when a copy is complete. */
type Ending = { readonly add: readonly string[]; readonly over: readonly string[] };

/** What a copy is larger than its source shows what the disks held before: it is overwritten. */
function planEnd(
  vg: ObservedVg,
  clone: ObservedLv,
  { offsetBytes, ...ending }: { readonly offsetBytes: Bytes } & Ending,
): Decision {
  const permit = permitFor({ deed: 'zero-range', lv: clone, part: 'end-of-copy' });
  if (isBlocked(permit)) return permit;
  const leftBytes = minus(clone.sizeBytes, offsetBytes);
  const lengthBytes = least(leftBytes, limits.zeroSliceBytes);
  const marks = tagsOf(clone.tags, 'copied');
  const isLast = lengthBytes === leftBytes;
  return next({
    kind: 'zero-range',
    ...{ vg: vg.name, vgUuid: vg.uuid, lv: clone.name, lvUuid: clone.uuid },
    ...{ offsetBytes, lengthBytes, permit },
    ...(isLast
      ? { add: ending.add, remove: ending.over }
      : progressTags(offsetBytes, lengthBytes, marks)),
  });
}

function progressTags(copied: Bytes, lengthBytes: Bytes, marks: readonly string[]) {
  return { add: [tagOf('copied', String(copied + lengthBytes))], remove: marks };
}

function planCopySource(desired: DesiredClone, source: ObservedLv, host: ObservedHost): Decision {
  const decision = planHelper(desired, source, host);
  if (decision.kind !== 'rest') return decision;
  // Somebody's own snapshot bears the name. To rest now would call an empty clone complete.
  const name = copySourceName(desired.name);
  return blocked('VolumeDiffers', `${name}, which copying ${source.name} needs, is taken`);
}

function planHelper(desired: DesiredClone, source: ObservedLv, host: ObservedHost): Decision {
  const { deviceClass } = desired;
  const tags = [ownerTag, tagOf('role', copySourceRole), tagOf('source', source.name)];
  const name = copySourceName(desired.name);
  return planSnapshot(snapshotOf(source, { name, deviceClass, tags }), host);
}

/** How far the copy came; a note that cannot be read means that it starts again. */
export function copiedBytes(clone: ObservedLv): Bytes {
  return readBytes(clone.tags, 'copied') ?? noBytes;
}

function snapshotOf(
  source: ObservedLv,
  rest: Pick<DesiredSnapshot, 'name' | 'deviceClass' | 'tags'>,
): DesiredSnapshot {
  const identity = { source: source.name, sourceUuid: source.uuid, uuid: undefined };
  return { ...rest, ...identity, reserveBytes: undefined };
}

function copySourceOf(desired: DesiredClone, vg: ObservedVg): ObservedLv | undefined {
  const helper = findLv(vg, copySourceName(desired.name));
  const isHelper = helper !== undefined && readTag(helper.tags, 'role') === copySourceRole;
  return isHelper ? helper : undefined;
}

function asVolume(desired: DesiredClone, tags: readonly string[]): PresentVolume {
  const { name, deviceClass, sizeBytes, uuid, seen } = desired;
  return { presence: 'present', name, deviceClass, sizeBytes, tags, uuid, seen, isAdopted: false };
}
