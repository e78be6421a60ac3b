import { type Bytes, least, minus, roundDown, roundUp, sum, times } from '../base/bytes.ts';
import { limits } from '../base/limits.ts';
import { freeExtents } from './capacity.ts';
import type { DeviceClass } from './device-class.ts';
import { findLv, type ObservedHost, type ObservedLv, type ObservedVg } from './observed.ts';
import { findOwnGroup } from './own-group.ts';
import { type Decision, next, rest } from './step.ts';
import { isBlocked, usableVg } from './usable-vg.ts';

/** A thin pool that somebody allowed to grow before it is full, and what must stay free. */
export type GuardedPool = {
  readonly vg: string;
  /** Another group that took its name is left alone. */
  readonly vgUuid?: string;
  readonly pool: string;
  readonly spareBytes: Bytes;
};

/** Pools grow by themselves only where the configuration says so: the group is not ours alone. */
export function guardedPools(classes: readonly DeviceClass[]): readonly GuardedPool[] {
  return classes.flatMap(({ vg, vgUuid, layout, spareBytes, growsPool }) => {
    if (layout.kind !== 'thin' || growsPool !== true) return [];
    const known = vgUuid === undefined ? {} : { vgUuid };
    return [{ vg, ...known, pool: layout.pool, spareBytes }];
  });
}

/** Metadata first: a pool without room for it stops, while one without room for data only waits. */
export function planPoolGrowth(guarded: GuardedPool, host: ObservedHost): Decision {
  const vg = usableVg(host, guarded.vg);
  if (isBlocked(vg)) return vg;
  if (findOwnGroup(host, guarded) === undefined) return rest;
  const pool = findLv(vg, guarded.pool);
  if (pool?.kind !== 'thin-pool' || pool.isInvalid) return rest;
  const target = { vg: vg.name, vgUuid: vg.uuid, lv: pool.name, lvUuid: pool.uuid };
  const free = times(freeExtents(vg, guarded.spareBytes), vg.extentSizeBytes);
  const metadataBytes = moreMetadata(pool, vg, free);
  if (metadataBytes !== undefined) {
    return next({ kind: 'extend-thin-pool-metadata', ...target, metadataBytes });
  }
  const sizeBytes = moreData(pool, vg, free);
  return sizeBytes === undefined ? rest : next({ kind: 'extend-thin-pool', ...target, sizeBytes });
}

/** Twice as much; the spare copy grows with it and needs as much room again. */
function moreMetadata(pool: ObservedLv, vg: ObservedVg, free: Bytes): Bytes | undefined {
  const present = pool.metadataSizeBytes;
  if (present === undefined || (pool.metadataPercent ?? 0) < limits.thinPoolGrowAtPercent) {
    return undefined;
  }
  const more = least(present, minus(limits.thinPoolMetadataBytesMax, present), free / 2n);
  const whole = roundDown(more, vg.extentSizeBytes);
  return whole > 0n ? sum(present, whole) : undefined;
}

function moreData(pool: ObservedLv, vg: ObservedVg, free: Bytes): Bytes | undefined {
  if ((pool.dataPercent ?? 0) < limits.thinPoolGrowAtPercent) return undefined;
  const share = times(pool.sizeBytes, limits.thinPoolGrowByPercent) / 100n;
  const more = least(roundUp(share, vg.extentSizeBytes), free);
  return more > 0n ? sum(pool.sizeBytes, more) : undefined;
}

/** CoW snapshots that are filling up: asking for them again makes them grow. */
export function isFilling(lv: ObservedLv): boolean {
  const isCow = lv.kind === 'cow-snapshot' && !lv.isInvalid;
  return isCow && (lv.dataPercent ?? 0) >= limits.cowGrowAtPercent;
}
