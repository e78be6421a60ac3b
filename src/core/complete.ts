import type { ObservedLv } from './observed.ts';
import { copyingTag, isOurs, makingTag, readTag, snapshotRole } from './tags.ts';

/**
 * Whether a volume may be shown to those who take every volume they see for one that is ready, as
 * TopoLVM does. What is still being made or copied, or was cut off before it had its size, is not;
 * nor are the helpers of a copy. Volumes of others are theirs to judge.
 */
export function isComplete(lv: ObservedLv): boolean {
  if (!isOurs(lv.tags)) return true;
  if (lv.tags.includes(copyingTag) || lv.tags.includes(makingTag)) return false;
  const asked = readTag(lv.tags, 'asked') ?? '';
  if (/^\d+$/.test(asked) && lv.sizeBytes < BigInt(asked)) return false;
  const role = readTag(lv.tags, 'role');
  // A CoW snapshot that was cut off shows as a plain volume with the role of a snapshot.
  return role === undefined || (role === snapshotRole && lv.kind !== 'linear');
}
