import {
  type Bytes,
  bytes,
  countUp,
  divide,
  least,
  minus,
  noBytes,
  roundDown,
  scale,
  times,
} from '../base/bytes.ts';
import type { DeviceClass } from './device-class.ts';
import { type Geometry, geometryOf, type Layout, physicalExtents } from './layouts.ts';
import { findLv, freeExtentsByPv, type ObservedLv, type ObservedVg } from './observed.ts';
import { poolRefusal } from './usable-pool.ts';
import { isBlocked, usableVg } from './usable-vg.ts';

/** What a device class can still give: all volumes together, and the largest single one. */
export type Capacity = {
  readonly sizeBytes: Bytes;
  readonly availableBytes: Bytes;
  readonly largestBytes: Bytes;
};

export function capacityOf(deviceClass: DeviceClass, vg: ObservedVg): Capacity {
  const capacity = roomIn(deviceClass, vg);
  if (acceptsVolumes(deviceClass, vg)) return capacity;
  // Free space that no volume may use must not draw anybody to this node.
  return { ...capacity, availableBytes: noBytes, largestBytes: noBytes };
}

function acceptsVolumes({ layout, refusal }: DeviceClass, vg: ObservedVg): boolean {
  if (refusal !== undefined) return false;
  if (isBlocked(usableVg({ vgs: [vg], orphanPvs: [] }, vg.name))) return false;
  return layout.kind !== 'thin' || poolRefusal(vg, layout.pool) === undefined;
}

function roomIn(deviceClass: DeviceClass, vg: ObservedVg): Capacity {
  const { layout, spareBytes, overprovisionRatio } = deviceClass;
  if (layout.kind === 'thin') return thinCapacity(vg, layout.pool, overprovisionRatio);
  const geometry = geometryOf(layout) ?? linear;
  const size = vg.sizeBytes / vg.extentSizeBytes;
  const free = freeExtents(vg, spareBytes);
  const columns = BigInt(geometry.dataColumns);
  // What the layout shows of the overhead must not be counted a second time: the worse counts.
  const bought = (extents: bigint) => divide(extents, deviceClass.overheadFactor ?? 1);
  const available = least(availableExtents(geometry, vg, spareBytes), bought(free));
  const largest = least(largestExtents(geometry, vg, spareBytes), roundDown(bought(free), columns));
  return {
    sizeBytes: times(least(dataShare(geometry, size), bought(size)), vg.extentSizeBytes),
    availableBytes: times(available, vg.extentSizeBytes),
    largestBytes: times(largest, vg.extentSizeBytes),
  };
}

/** The logical extents that a volume can surely still be given, spare left alone. */
export function largestExtents(geometry: Geometry, vg: ObservedVg, spareBytes: Bytes): bigint {
  const perArea = sureExtents(geometry, freeExtentsByPv(vg));
  return withinBudget(geometry, perArea, freeExtents(vg, spareBytes));
}

/**
 * RAID images must lie on devices of their own over their whole length, or losing one device would
 * lose two images: what is left over on the devices cannot be used for a second stretch.
 */
function sureExtents(geometry: Geometry, free: readonly bigint[]): bigint {
  const isRaid = geometry.metadataExtents > 0;
  if (!isRaid) return parallelExtents(free, geometry.areas);
  const byRoom = free.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0));
  return byRoom[geometry.areas - 1] ?? 0n;
}

/** More than this no allocator can give. Between the two, LVM is asked by trying. */
export function mostExtents(geometry: Geometry, vg: ObservedVg, spareBytes: Bytes): bigint {
  const perArea = parallelBound(freeExtentsByPv(vg), geometry.areas);
  return withinBudget(geometry, perArea, freeExtents(vg, spareBytes));
}

function withinBudget(geometry: Geometry, perArea: bigint, budget: bigint): bigint {
  const metadata = BigInt(geometry.metadataExtents);
  const byBudget = budget / BigInt(geometry.areas) - metadata;
  const area = byBudget < perArea - metadata ? byBudget : perArea - metadata;
  return area > 0n ? area * BigInt(geometry.dataColumns) : 0n;
}

/** Thin volumes and snapshots promise their full size; the pool keeps the sum of promises. */
export function thinCapacity(vg: ObservedVg, poolName: string, ratio: number): Capacity {
  const pool = findLv(vg, poolName);
  if (pool === undefined || pool.kind !== 'thin-pool') {
    return { sizeBytes: noBytes, availableBytes: noBytes, largestBytes: noBytes };
  }
  const promised = vg.lvs
    .filter((lv) => lv.pool === poolName && !lv.isInternal)
    .reduce((total, lv) => total + lv.sizeBytes, 0n);
  const sizeBytes = scale(pool.sizeBytes, ratio);
  const availableBytes = minus(sizeBytes, promised);
  const whole = bytes((availableBytes / vg.extentSizeBytes) * vg.extentSizeBytes);
  return { sizeBytes, availableBytes, largestBytes: whole };
}

/** Extents of the whole group that growing by `growth` logical extents takes. */
export function growthExtents(lv: ObservedLv, growth: bigint): bigint {
  return countUp(growth, BigInt(lv.dataColumns)) * BigInt(lv.stripes);
}

/** Could the extents be found on enough devices at once? LVM may still know why not. */
export function fitsGrowth(lv: ObservedLv, growth: bigint, vg: ObservedVg): boolean {
  const areas = parallelBound(freeExtentsByPv(vg), lv.stripes);
  return countUp(growth, BigInt(lv.dataColumns)) <= areas;
}

export function freeExtents(vg: ObservedVg, spareBytes: Bytes): bigint {
  const free = freeExtentsByPv(vg).reduce((total, extents) => total + extents, 0n);
  const spare = countUp(spareBytes, vg.extentSizeBytes);
  return free > spare ? free - spare : 0n;
}

/**
 * The longest run of extents that `areas` areas can have side by side, each on a device of its
 * own at any point. LVM's allocator is greedy: it takes the devices with most room, uses them up
 * to the smallest of them, and starts again with what is left.
 */
export function parallelExtents(free: readonly bigint[], areas: number): bigint {
  if (areas === 1) return free.reduce((total, extents) => total + extents, 0n);
  let left = free.filter((extents) => extents > 0n);
  let total = 0n;
  while (left.length >= areas) {
    left = left.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0));
    const take = left[areas - 1] ?? 0n;
    total += take;
    left = left
      .map((extents, index) => (index < areas ? extents - take : extents))
      .filter((extents) => extents > 0n);
  }
  return total;
}

/**
 * The longest run that any way of placing `areas` areas could have: at each point of it `areas`
 * different devices are needed, so a device can serve at most one area's worth of it.
 */
export function parallelBound(free: readonly bigint[], areas: number): bigint {
  const byRoom = free.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0));
  let rest = byRoom.reduce((total, extents) => total + extents, 0n);
  let bound = rest / BigInt(areas);
  for (let full = 1; full < areas; full += 1) {
    rest -= byRoom[full - 1] ?? 0n;
    bound = least(bound, rest / BigInt(areas - full));
  }
  return bound;
}

const linear: Geometry = { dataColumns: 1, areas: 1, metadataExtents: 0 };

/** Volumes of several areas compete for the devices that still have room for one more area. */
function availableExtents(geometry: Geometry, vg: ObservedVg, spareBytes: Bytes): bigint {
  const share = dataShare(geometry, freeExtents(vg, spareBytes));
  const parallel = sureExtents(geometry, freeExtentsByPv(vg));
  return least(share, parallel * BigInt(geometry.dataColumns));
}

function dataShare(geometry: Geometry, extents: bigint): bigint {
  return (extents * BigInt(geometry.dataColumns)) / BigInt(geometry.areas);
}

/** All extents a new volume of this size takes from the group. */
export function costExtents(layout: Layout, sizeBytes: Bytes, vg: ObservedVg): bigint {
  const geometry = geometryOf(layout);
  if (geometry === undefined) return 0n;
  return physicalExtents(geometry, countUp(sizeBytes, vg.extentSizeBytes));
}
