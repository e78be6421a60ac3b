import { type Blocked, blocked } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { findLv, type ObservedVg } from './observed.ts';

/** Why nothing new may go into a pool right now. */
export function poolRefusal(vg: ObservedVg, poolName: string): Blocked | undefined {
  const pool = findLv(vg, poolName);
  if (pool === undefined) {
    return blocked('ThinPoolMissing', `there is no thin pool ${vg.name}/${poolName}`);
  }
  if (pool.kind !== 'thin-pool') {
    return blocked('ThinPoolForeign', `${vg.name}/${poolName} is a ${pool.kind} volume`);
  }
  const fill = { data: pool.dataPercent ?? 0, metadata: pool.metadataPercent ?? 0 };
  if (Math.max(fill.data, fill.metadata) >= limits.thinPoolFullPercent) {
    const message =
      `the thin pool ${vg.name}/${poolName} is full: data ${fill.data} %, ` +
      `metadata ${fill.metadata} % of at most ${limits.thinPoolFullPercent} %`;
    return blocked('ThinPoolFull', message);
  }
  if (!pool.isInvalid && pool.health === '') return undefined;
  const complaint = pool.health || 'it must be checked before it is used';
  return blocked('ThinPoolUnhealthy', `${vg.name}/${poolName}: ${complaint}`);
}
