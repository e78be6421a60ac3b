import { type Bytes, bytes, countUp, least, minus, roundUp, sum, times } from '../../base/bytes.ts';
import { blocked } from '../../base/failures.ts';
import { limits } from '../../base/limits.ts';
import { showBytes } from '../../base/show.ts';
import { freeExtents, thinCapacity } from '../capacity.ts';
import { findSource, identityLost } from '../identity.ts';
import { layouts } from '../layouts.ts';
import { findLv, type ObservedHost, type ObservedLv, type ObservedVg } from '../observed.ts';
import { type Decision, next, rest } from '../step.ts';
import { copyingTag, copySourceRole, isOurs, readTag, snapshotRole, unusedTag } from '../tags.ts';
import { isUnused, madeForTags } from '../unused.ts';
import { poolRefusal } from '../usable-pool.ts';
import { isBlocked, usableVg } from '../usable-vg.ts';
import { unfinishedGrowth } from '../volume/growth.ts';
import { isVolume, planRemovalOf } from '../volume/plan.ts';
import { type DesiredSnapshot, reserveFor } from './desired.ts';

export function planSnapshot(desired: DesiredSnapshot, host: ObservedHost): Decision {
  const vg = usableVg(host, desired.deviceClass.vg);
  if (isBlocked(vg)) return vg;
  const snapshot = findLv(vg, desired.name);
  const lost = identityLost(desired, vg, snapshot);
  if (lost !== undefined) return lost;
  if (snapshot !== undefined) return planExisting(desired, vg, snapshot);
  const source = findSource(desired, vg);
  if (isBlocked(source)) return source;
  if (!isVolume(source)) {
    const message = `${vg.name}/${source.name} is a ${source.kind}: no snapshot of it is possible`;
    return blocked('SnapshotsUnsupported', message);
  }
  if (source.tags.includes(copyingTag)) {
    return blocked('CopyUnfinished', `${vg.name}/${source.name} is still being copied`);
  }
  // Nothing on the snapshot would say that its end shows what others left on the disks.
  const unfinished = unfinishedGrowth(source);
  if (unfinished !== undefined) return unfinished;
  return layouts[source.kind].snapshots === 'thin'
    ? planThin(desired, vg, source)
    : planCow(desired, vg, source);
}

function planThin(desired: DesiredSnapshot, vg: ObservedVg, source: ObservedLv): Decision {
  const pool = source.pool ?? '';
  const refusal = poolRefusal(vg, pool);
  if (refusal?.code === 'ThinPoolFull') {
    return blocked('InsufficientCapacityForSnapshot', refusal.message);
  }
  if (refusal !== undefined) return refusal;
  const ratio = desired.deviceClass.overprovisionRatio;
  const { availableBytes } = thinCapacity(vg, pool, ratio);
  if (source.sizeBytes > availableBytes) {
    const message =
      `a snapshot of ${source.name} promises ${showBytes(source.sizeBytes)} but ` +
      `${vg.name}/${pool} may promise ${showBytes(availableBytes)} more at ratio ${ratio}`;
    return blocked('InsufficientCapacityForSnapshot', message);
  }
  return next({
    kind: 'create-thin-snapshot',
    ...origin(vg, source),
    lv: desired.name,
    isReadOnly: true,
    tags: tagsFor(desired, source),
  });
}

function planCow(desired: DesiredSnapshot, vg: ObservedVg, source: ObservedLv): Decision {
  const isWhole = isOverwritten(desired, source);
  const reserve = isWhole
    ? cowUseful(source.sizeBytes)
    : cowReserve(source.sizeBytes, desired.reserveBytes);
  const reserveBytes = roundUp(reserve, vg.extentSizeBytes);
  const free = times(freeExtents(vg, desired.deviceClass.spareBytes), vg.extentSizeBytes);
  if (reserveBytes > free) {
    const message =
      `a snapshot of ${source.name} needs ${showBytes(reserveBytes)} for changes but ` +
      `${vg.name} has ${showBytes(free)} (${showBytes(desired.deviceClass.spareBytes)} kept spare)`;
    const why = `: nobody has used ${source.name} yet, and once somebody has, less is enough`;
    return blocked('InsufficientCapacityForSnapshot', isWhole ? `${message}${why}` : message);
  }
  return next({
    kind: 'create-cow-snapshot',
    ...origin(vg, source),
    lv: desired.name,
    reserveBytes,
    tags: tagsFor(desired, source),
  });
}

/**
 * We zero all of a new volume before it is first shown raw: a snapshot with less room than that
 * would be lost by our own hand. What a copy is read from is taken anew then.
 */
function isOverwritten({ tags }: DesiredSnapshot, source: ObservedLv): boolean {
  return isUnused(source) && readTag(tags, 'role') !== copySourceRole;
}

function tagsFor({ tags }: DesiredSnapshot, source: ObservedLv): readonly string[] {
  return isUnused(source) ? [...tags, unusedTag, ...madeForTags(source)] : tags;
}

function planExisting(desired: DesiredSnapshot, vg: ObservedVg, snapshot: ObservedLv): Decision {
  const name = `${vg.name}/${snapshot.name}`;
  if (isHalfMade(snapshot)) return planRemovalOf(vg, snapshot, {});
  if (!isOurs(snapshot.tags) && snapshot.uuid !== desired.uuid) {
    return blocked('VolumeDiffers', `${name} exists and is not ours: a ${snapshot.kind} volume`);
  }
  const source = readTag(snapshot.tags, 'source') ?? snapshot.origin;
  if (source !== desired.source) {
    const what = source === undefined ? 'no snapshot' : `a snapshot of ${source}`;
    return blocked('VolumeDiffers', `${name} exists and is ${what}, not of ${desired.source}`);
  }
  // A writable clone of the same source differs in nothing else.
  if (isOurs(snapshot.tags) && readTag(snapshot.tags, 'role') !== readTag(desired.tags, 'role')) {
    return blocked('VolumeDiffers', `${name} exists and is a clone of ${source}, no snapshot`);
  }
  const { originUuid } = snapshot;
  if (desired.sourceUuid !== undefined && originUuid !== undefined) {
    // lvcreate takes its origin by name only: the name may have changed hands at that moment.
    if (originUuid !== desired.sourceUuid) {
      return blocked('VolumeDiffers', `${name} was taken of another volume named ${source}`);
    }
  }
  if (snapshot.isInvalid) {
    return blocked('SnapshotOverflowed', `${name} overflowed and can no longer be read`);
  }
  const target = { vg: vg.name, vgUuid: vg.uuid, lv: snapshot.name, lvUuid: snapshot.uuid };
  const sizeBytes = cowGrowth(desired, vg, snapshot);
  if (sizeBytes !== undefined) return next({ kind: 'extend-lv', ...target, sizeBytes });
  // TopoLVM takes it with one command and makes it read-only with the next.
  if (!isOurs(snapshot.tags) && !snapshot.isReadOnly) {
    return next({ kind: 'change-tags', ...target, add: [], remove: [], isReadOnly: true });
  }
  if (!snapshot.isActive) return next({ kind: 'activate-lv', ...target });
  return rest;
}

/**
 * lvcreate makes the room for changes first, as a plain volume with the snapshot's name and tags.
 * When it is cut off then, that volume is left: it holds nothing and nobody was told of it.
 */
function isHalfMade(lv: ObservedLv): boolean {
  const role = readTag(lv.tags, 'role');
  const isSnapshot = role === snapshotRole || role === copySourceRole;
  return lv.kind === 'linear' && isOurs(lv.tags) && isSnapshot;
}

/** A CoW snapshot that fills up is grown while there is room, up to what it can ever need. */
function cowGrowth(
  desired: DesiredSnapshot,
  vg: ObservedVg,
  snapshot: ObservedLv,
): Bytes | undefined {
  if (snapshot.kind !== 'cow-snapshot') return undefined;
  if ((snapshot.dataPercent ?? 0) < limits.cowGrowAtPercent) return undefined;
  const more = times(snapshot.sizeBytes, limits.cowGrowByPercent) / 100n;
  const free = times(freeExtents(vg, desired.deviceClass.spareBytes), vg.extentSizeBytes);
  const useful = roundUp(cowUseful(snapshot.sizeBytes), vg.extentSizeBytes);
  const room = least(roundUp(more, vg.extentSizeBytes), free, minus(useful, snapshot.ownSizeBytes));
  return room > 0n ? sum(snapshot.ownSizeBytes, room) : undefined;
}

/** Room for changes, never more than a snapshot of that source can use. */
export function cowReserve(sourceBytes: Bytes, wanted: Bytes | undefined): Bytes {
  return least(wanted ?? reserveFor(sourceBytes), cowUseful(sourceBytes));
}

/**
 * A snapshot whose reserve is its whole source, with the map of chunks, can never overflow. It is
 * what LVM gives at most: to ask for more has no effect, however often.
 */
function cowUseful(sourceBytes: Bytes): Bytes {
  const { cowChunkBytes, cowChunkNoteBytes } = limits;
  const chunks = countUp(sourceBytes, cowChunkBytes);
  const notes = (chunks * cowChunkNoteBytes) / cowChunkBytes;
  // One for the header, and one at the end of the notes.
  return bytes((chunks + notes + 2n) * cowChunkBytes);
}

function origin(vg: ObservedVg, source: ObservedLv) {
  return { vg: vg.name, vgUuid: vg.uuid, origin: source.name, originUuid: source.uuid };
}
