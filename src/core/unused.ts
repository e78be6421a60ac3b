import { limits } from '../base/limits.ts';
import type { ObservedLv } from './observed.ts';
import { isOurs, pendingTag, readTag, tagOf, unusedTag } from './tags.ts';

/** Nobody was ever shown it: it holds nothing but what the disks held before, or what mkfs made. */
export function isUnused(lv: ObservedLv): boolean {
  return isOurs(lv.tags) && (lv.tags.includes(pendingTag) || lv.tags.includes(unusedTag));
}

/**
 * UUIDs of all volumes for which our mkfs may have made what is on this unused one, the nearest
 * first. A copy that is taken between mkfs and the end of the mark has both from its source.
 */
export function formattedFor({ uuid, tags }: ObservedLv): readonly string[] {
  const sources = (readTag(tags, 'madeFor') ?? '').split('/').filter((one) => one !== '');
  return tags.includes(pendingTag) ? [uuid, ...sources] : sources;
}

/** For a copy of what nobody has used: its sources may be gone when it is first shown. */
export function madeForTags(source: ObservedLv): readonly string[] {
  const uuids = formattedFor(source).slice(0, limits.madeForMax);
  return uuids.length === 0 ? [] : [tagOf('madeFor', uuids.join('/'))];
}
