import type { ObservedLv } from '../observed.ts';

/**
 * lvcreate makes the parts of a thin pool as plain volumes first, with names of its own and without
 * tags, and leaves them when it is cut off. But it writes beside every volume on which host it was
 * made. A pool is made under a host name of its own, so that its parts are known for what they are.
 */
export function hostNameForMaking(pool: string): string | undefined {
  const name = `${prefix}${pool}`;
  return name.length <= hostNameLengthMax ? name : undefined;
}

/** The pool that was being made on a host of this name. */
export function poolMadeOn(hostName: string): string | undefined {
  return hostName.startsWith(prefix) ? hostName.slice(prefix.length) : undefined;
}

/**
 * While there is no pool of that name: a part that never became one. Beside the pool: what an
 * administrator took out of it, with `lvconvert --poolmetadata`.
 */
export function isLeftOf(pool: string, lv: ObservedLv): boolean {
  const isPlain = lv.kind === 'linear' && !lv.isInternal && lv.tags.length === 0;
  return isPlain && lv.madeFor === pool && namesOfParts.test(lv.name);
}

const prefix = 'quarry.pool.';

/** Linux takes no longer one. */
const hostNameLengthMax = 64;

/** As lvm calls what nobody gave a name. */
const namesOfParts = /^(lvol|pool_metadata)\d+$/;
