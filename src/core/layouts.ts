import { stripesMaxOf } from '../api/raid-stripes.ts';
import { countUp } from '../base/bytes.ts';
import { type Blocked, blocked } from '../base/failures.ts';
import { limits } from '../base/limits.ts';

/** How a volume lies on its devices: what a device class or a request asks for. */
export type Layout =
  | { readonly kind: 'linear' }
  | { readonly kind: 'striped'; readonly stripes: number; readonly stripeSizeBytes?: bigint }
  | { readonly kind: 'raid1'; readonly mirrors: number }
  | {
      readonly kind: 'raid4' | 'raid5' | 'raid6';
      readonly stripes: number;
      readonly stripeSizeBytes?: bigint;
    }
  | {
      readonly kind: 'raid10';
      readonly stripes: number;
      readonly mirrors: number;
      readonly stripeSizeBytes?: bigint;
    }
  | { readonly kind: 'thin'; readonly pool: string };

export type LayoutKind = Layout['kind'];

export type Capabilities = {
  /** How a snapshot is made, if at all. */
  readonly snapshots: 'thin' | 'cow';
  /** How a clone is made: at once from a thin snapshot, or by copying from a CoW snapshot. */
  readonly clone: 'instant' | 'copy';
  readonly growOnline: boolean;
  /** LVM refuses to grow an active origin that has copy-on-write snapshots. */
  readonly growWithSnapshots: boolean;
  /** Several nodes may hold the volume active at once (shared volume groups). */
  readonly sharedActivation: boolean;
  readonly survivesDeviceLoss: number;
};

/** What each layout can do. Code asks this table, never the layout's name. */
export const layouts: { readonly [kind in LayoutKind]: Capabilities } = {
  linear: thick({ sharedActivation: true, survivesDeviceLoss: 0 }),
  striped: thick({ sharedActivation: true, survivesDeviceLoss: 0 }),
  raid1: thick({ sharedActivation: false, survivesDeviceLoss: 1 }),
  raid4: thick({ sharedActivation: false, survivesDeviceLoss: 1 }),
  raid5: thick({ sharedActivation: false, survivesDeviceLoss: 1 }),
  raid6: thick({ sharedActivation: false, survivesDeviceLoss: 2 }),
  raid10: thick({ sharedActivation: false, survivesDeviceLoss: 1 }),
  thin: {
    snapshots: 'thin',
    clone: 'instant',
    growOnline: true,
    growWithSnapshots: true,
    sharedActivation: false,
    survivesDeviceLoss: 0,
  },
};

function thick(rest: Pick<Capabilities, 'sharedActivation' | 'survivesDeviceLoss'>): Capabilities {
  return { snapshots: 'cow', clone: 'copy', growOnline: true, growWithSnapshots: false, ...rest };
}

/**
 * The shape of a thick layout in extents. Data is cut into `dataColumns` columns, each written to
 * its own area; `areas` areas lie on different devices, with `metadataExtents` more in each.
 */
export type Geometry = {
  readonly dataColumns: number;
  readonly areas: number;
  readonly metadataExtents: number;
};

/** A thin volume takes no extents of its own: its pool does. */
export function geometryOf(layout: Layout): Geometry | undefined {
  switch (layout.kind) {
    case 'thin':
      return undefined;
    case 'linear':
      return { dataColumns: 1, areas: 1, metadataExtents: 0 };
    case 'striped':
      return { dataColumns: layout.stripes, areas: layout.stripes, metadataExtents: 0 };
    case 'raid1':
      return { dataColumns: 1, areas: layout.mirrors + 1, metadataExtents: 1 };
    case 'raid4':
    case 'raid5':
      return { dataColumns: layout.stripes, areas: layout.stripes + 1, metadataExtents: 1 };
    case 'raid6':
      return { dataColumns: layout.stripes, areas: layout.stripes + 2, metadataExtents: 1 };
    case 'raid10':
      return {
        dataColumns: layout.stripes,
        areas: layout.stripes * (layout.mirrors + 1),
        metadataExtents: 1,
      };
  }
}

/** How many devices a layout needs at least. */
export function devicesMin(layout: Layout): number {
  return geometryOf(layout)?.areas ?? 1;
}

/** LVM gives whole columns: the extents a volume really gets for the extents asked for. */
export function logicalExtents(geometry: Geometry, extents: bigint): bigint {
  const columns = BigInt(geometry.dataColumns);
  return countUp(extents, columns) * columns;
}

/** The extents of one area (the share of one device, without its RAID metadata). */
export function areaExtents(geometry: Geometry, extents: bigint): bigint {
  return countUp(extents, BigInt(geometry.dataColumns));
}

/** All extents taken from the volume group. */
export function physicalExtents(geometry: Geometry, extents: bigint): bigint {
  const area = areaExtents(geometry, extents) + BigInt(geometry.metadataExtents);
  return area * BigInt(geometry.areas);
}

export function checkLayout(layout: Layout): Blocked | undefined {
  const problems: string[] = [];
  if ('stripes' in layout) {
    const min = layout.kind === 'raid6' ? 3 : layout.kind === 'striped' ? 1 : 2;
    problems.push(...countProblem('stripes', layout.stripes, min, stripesMaxOf(layout.kind)));
    problems.push(...stripeSizeProblem(layout.stripeSizeBytes));
  }
  if ('mirrors' in layout) {
    // lvm2 makes raid10 with two copies only.
    const max = layout.kind === 'raid10' ? 1 : limits.mirrorsMax;
    problems.push(...countProblem('mirrors', layout.mirrors, 1, max));
  }
  if (problems.length === 0) return undefined;
  return blocked('InvalidLayout', `${layout.kind}: ${problems.join('; ')}`);
}

function countProblem(name: string, value: number, min: number, max: number): string[] {
  if (Number.isInteger(value) && value >= min && value <= max) return [];
  return [`${name} is ${value} but must be a whole number from ${min} to ${max}`];
}

function stripeSizeProblem(size: bigint | undefined): string[] {
  if (size === undefined) return [];
  const isPowerOfTwo = size > 0n && (size & (size - 1n)) === 0n;
  const min = limits.stripeSizeBytesMin;
  if (isPowerOfTwo && size >= min) return [];
  return [`stripe size is ${size} bytes but must be a power of two of at least ${min}`];
}
