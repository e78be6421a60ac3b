import { least, minus } from '../../base/bytes.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import { limits } from '../../base/limits.ts';
import { layouts } from '../layouts.ts';
import type { ObservedLv, ObservedVg } from '../observed.ts';
import { permitFor } from '../permit.ts';
import { type Decision, next } from '../step.ts';
import { isOurs, rawTag, readBytes, tagOf, tagsOf } from '../tags.ts';
import { isBlocked } from '../usable-vg.ts';

/**
 * What a raw volume grows by shows what the disks held before, until it is overwritten. The size
 * it had is noted before it grows, so that whoever comes next knows from where on.
 */
export function planGrowthMark(vg: ObservedVg, lv: ObservedLv): Decision | undefined {
  if (!showsOldBlocks(lv) || !isOurs(lv.tags) || !lv.tags.includes(rawTag)) return undefined;
  if (readBytes(lv.tags, 'grownFrom') !== undefined) return undefined;
  const add = [tagOf('grownFrom', String(lv.sizeBytes))];
  const remove = tagsOf(lv.tags, 'grownFrom');
  const whileSizeBytes = lv.sizeBytes;
  return next({ kind: 'change-tags', ...targetOf(vg, lv), add, remove, whileSizeBytes });
}

/**
 * The new end is overwritten in small slices, each noted by moving the mark; the last one takes it
 * away. The volume may be in use: a run that outlives us must be over before anybody uses the end.
 */
export function planGrownEnd(
  vg: ObservedVg,
  lv: ObservedLv,
  { isGrowing }: { readonly isGrowing: boolean },
): Decision | undefined {
  const offsetBytes = readBytes(lv.tags, 'grownFrom');
  if (offsetBytes === undefined) return undefined;
  const target = targetOf(vg, lv);
  const marks = tagsOf(lv.tags, 'grownFrom');
  const leftBytes = minus(lv.sizeBytes, offsetBytes);
  if (leftBytes === 0n) {
    // It was noted, and did not grow: whoever wants that now goes on from here.
    if (isGrowing && offsetBytes === lv.sizeBytes) return undefined;
    return next({ kind: 'change-tags', ...target, add: [], remove: marks });
  }
  if (!lv.isActive) return next({ kind: 'activate-lv', ...target });
  const permit = permitFor({ deed: 'zero-range', lv, part: 'growth' });
  if (isBlocked(permit)) return permit;
  const lengthBytes = least(leftBytes, limits.copySliceBytes);
  const isLast = lengthBytes === leftBytes;
  const add = isLast ? [] : [tagOf('grownFrom', String(offsetBytes + lengthBytes))];
  const range = { offsetBytes, lengthBytes, isShown: true } as const;
  return next({ kind: 'zero-range', ...target, ...range, add, remove: marks, permit });
}

/** Does a new block of it show what somebody else left on the disks? A thin pool zeroes its own. */
export function showsOldBlocks(lv: ObservedLv): boolean {
  return lv.kind in layouts && layouts[lv.kind as keyof typeof layouts].clone === 'copy';
}

/**
 * Why it is not to be used as it is. Only an expansion overwrites the end: metadata of an older day
 * can bring the note back, and then there is data behind it.
 */
export function unfinishedGrowth({ name, sizeBytes, tags }: ObservedLv): Blocked | undefined {
  const from = readBytes(tags, 'grownFrom');
  if (from === undefined || from >= sizeBytes) return undefined;
  const message =
    `${name} grew from ${from} bytes, and what came after them is not overwritten yet: expand ` +
    'it again to go on. If data may be there, take the tag away with lvchange --deltag ' +
    tagOf('grownFrom', String(from));
  return blocked('GrowthUnfinished', message);
}

function targetOf(vg: ObservedVg, lv: ObservedLv) {
  return { vg: vg.name, vgUuid: vg.uuid, lv: lv.name, lvUuid: lv.uuid };
}
