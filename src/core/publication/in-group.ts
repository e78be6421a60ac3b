import { type Bytes, bytes, least, minus, noBytes } from '../../base/bytes.ts';
import { limits } from '../../base/limits.ts';
import type { ObservedHost, ObservedLv, ObservedVg, Signatures } from '../observed.ts';
import { permitFor } from '../permit.ts';
import { type Decision, next, rest } from '../step.ts';
import { pendingTag, readTag, tagOf } from '../tags.ts';
import { isBlocked } from '../usable-vg.ts';
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
      return remove.length === 0 ? rest : next({ kind: 'change-tags', ...target, add: [], remove });
    }
    case 'zero':
      return planZero(vg, lv, wanted.probes);
  }
}

/**
 * A new thick volume shows what others left on the disks. It is overwritten in slices, each noted
 * once it is done; with the last one the pending mark goes, so that it is never zeroed again.
 */
function planZero(
  vg: ObservedVg,
  lv: ObservedLv,
  probes: readonly [Signatures, Signatures],
): Decision {
  if (!lv.tags.includes(pendingTag)) return rest;
  const permit = permitFor({ deed: 'zero-range', lv, probes });
  if (isBlocked(permit)) return permit;
  const offsetBytes = zeroedBytes(lv);
  const leftBytes = minus(lv.sizeBytes, offsetBytes);
  const lengthBytes = least(leftBytes, limits.zeroSliceBytes);
  const isLast = lengthBytes === leftBytes;
  const progress = lv.tags.filter((tag) => tag.startsWith(tagOf('zeroed', '')));
  return next({
    kind: 'zero-range',
    ...targetOf(vg, lv),
    offsetBytes,
    lengthBytes,
    add: isLast ? [] : [tagOf('zeroed', String(offsetBytes + lengthBytes))],
    remove: isLast ? marksOf(lv) : progress,
    permit,
  });
}

/** How far zeroing came; a note that cannot be read means that it starts again. */
function zeroedBytes(lv: ObservedLv): Bytes {
  const note = readTag(lv.tags, 'zeroed') ?? '';
  const noted = /^[0-9]+$/.test(note) ? bytes(BigInt(note)) : noBytes;
  return noted < lv.sizeBytes ? noted : noBytes;
}

/** What must not stay on a volume that somebody uses. */
function marksOf(lv: ObservedLv): readonly string[] {
  return lv.tags.filter((tag) => tag === pendingTag || tag.startsWith(tagOf('zeroed', '')));
}

function targetOf(vg: ObservedVg, lv: ObservedLv) {
  return { vg: vg.name, vgUuid: vg.uuid, lv: lv.name, lvUuid: lv.uuid };
}
