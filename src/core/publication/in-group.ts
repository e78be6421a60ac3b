import { type Bytes, least, minus, noBytes } from '../../base/bytes.ts';
import { limits } from '../../base/limits.ts';
import type { ObservedHost, ObservedLv, ObservedVg } from '../observed.ts';
import { permitFor } from '../permit.ts';
import { type Decision, next, rest } from '../step.ts';
import { isOurs, pendingTag, rawTag, readBytes, tagOf, tagsOf } from '../tags.ts';
import { isBlocked } from '../usable-vg.ts';
import { showsOldBlocks } from '../volume/growth.ts';
import type { PublishedVolume } from './desired.ts';
import { findPublished } from './publishable.ts';
import type { GroupWant } from './step.ts';

/** The parts of a publication that lvm does, in their turn among all changes of the group. */
export function planInGroup(
  wanted: GroupWant,
  volume: PublishedVolume,
  host: ObservedHost,
): Decision {
  const found = findPublished(volume, host);
  if (isBlocked(found)) return found;
  const { vg, lv } = found;
  const target = targetOf(vg, lv);
  switch (wanted.want) {
    case 'activate':
      return lv.isActive ? rest : next({ kind: 'activate-lv', ...target });
    case 'clear-marks': {
      const remove = marksOf(lv);
      const add = wanted.isRaw === true && isUnnoted(vg, lv) ? [rawTag] : [];
      const isDone = remove.length + add.length === 0;
      return isDone ? rest : next({ kind: 'change-tags', ...target, add, remove });
    }
    case 'zero':
      return planZero(vg, lv, wanted);
  }
}

/**
 * A new thick volume shows what others left on the disks. It is overwritten in slices, each noted
 * once it is done; with the last one the pending mark goes, so that it is never zeroed again. Where
 * a file system is made next, the note that all of it is zeroed stays beside the mark. It may grow
 * meanwhile, and then the last one was not the last.
 */
function planZero(
  vg: ObservedVg,
  lv: ObservedLv,
  { probes, ...wanted }: Extract<GroupWant, { want: 'zero' }>,
): Decision {
  const isForFormat = wanted.isForFormat === true;
  if (!lv.tags.includes(pendingTag)) return rest;
  if (isForFormat && isZeroed(lv)) return rest;
  const permit = permitFor({ deed: 'zero-range', lv, probes });
  if (isBlocked(permit)) return permit;
  const offsetBytes = zeroedBytes(lv);
  const leftBytes = minus(lv.sizeBytes, offsetBytes);
  const lengthBytes = least(leftBytes, limits.zeroSliceBytes);
  const isLast = lengthBytes === leftBytes;
  const isEnd = isLast && !isForFormat;
  const progress = tagsOf(lv.tags, 'zeroed');
  return next({
    kind: 'zero-range',
    ...targetOf(vg, lv),
    offsetBytes,
    lengthBytes,
    add: isEnd ? [rawTag] : [tagOf('zeroed', String(offsetBytes + lengthBytes))],
    remove: isEnd ? marksOf(lv) : progress,
    ...(isEnd ? { whileSizeBytes: lv.sizeBytes } : {}),
    permit,
  });
}

/** How far zeroing came; a note that cannot be read means that it starts again. */
function zeroedBytes(lv: ObservedLv): Bytes {
  const noted = readBytes(lv.tags, 'zeroed') ?? noBytes;
  return noted < lv.sizeBytes ? noted : noBytes;
}

/** All of a volume that nobody used yet was overwritten. */
export function isZeroed(lv: ObservedLv): boolean {
  return readBytes(lv.tags, 'zeroed') === lv.sizeBytes;
}

/** A thick volume of ours that is to be shown raw, and does not say so yet. */
export function isUnnoted(vg: ObservedVg, lv: ObservedLv): boolean {
  // With a device missing nothing can be noted, and a mirror is for that day.
  const canNote = !vg.isPartial && isOurs(lv.tags);
  return canNote && showsOldBlocks(lv) && !lv.tags.includes(rawTag);
}

/** What must not stay on a volume that somebody uses. */
function marksOf(lv: ObservedLv): readonly string[] {
  const notes = [...tagsOf(lv.tags, 'zeroed'), ...tagsOf(lv.tags, 'madeFor')];
  return lv.tags.filter((tag) => tag === pendingTag || notes.includes(tag));
}

function targetOf(vg: ObservedVg, lv: ObservedLv) {
  return { vg: vg.name, vgUuid: vg.uuid, lv: lv.name, lvUuid: lv.uuid };
}
