import type { ObservedHost, ObservedLv, ObservedPv, ObservedVg } from '../../src/core/observed.ts';

/**
 * What two hosts must agree on after the same moves. Identities differ by nature; what changes
 * while one looks (synchronisation, who has a device open for a moment) is left out.
 */
export function comparable(host: ObservedHost) {
  return {
    vgs: host.vgs.map(comparableVg).toSorted(byName),
    orphanPvs: host.orphanPvs.map(comparablePv).toSorted(byName),
  };
}

/** Fill levels may differ by so many percent: metadata of pools is modelled, not measured. */
export const tolerance = { dataPercent: 0.02, metadataPercent: 2 } as const;

/** Free metadata may differ by so many bytes: LVM's text holds dates and host names. */
export const metadataFreeTolerance = 512;

export type Comparable = ReturnType<typeof comparable>;

function comparableVg(vg: ObservedVg) {
  return {
    name: vg.name,
    sizeBytes: Number(vg.sizeBytes),
    freeBytes: Number(vg.freeBytes),
    extentSizeBytes: Number(vg.extentSizeBytes),
    tags: [...vg.tags],
    isPartial: vg.isPartial,
    isExported: vg.isExported,
    isWritable: vg.isWritable,
    sequence: Number(vg.sequence),
    metadataSizeBytes: Number(vg.metadataSizeBytes),
    metadataFreeBytes: Number(vg.metadataFreeBytes),
    pvs: vg.pvs.map(comparablePv).toSorted(byName),
    lvs: vg.lvs.map(comparableLv).toSorted(byName),
  };
}

function comparablePv(pv: ObservedPv) {
  return {
    name: pv.device,
    sizeBytes: Number(pv.sizeBytes),
    freeBytes: Number(pv.freeBytes),
    isMissing: pv.isMissing,
    isAllocatable: pv.isAllocatable,
    isDuplicate: pv.isDuplicate,
    tags: [...pv.tags],
  };
}

function comparableLv(lv: ObservedLv) {
  return {
    name: lv.name,
    kind: lv.kind,
    sizeBytes: Number(lv.sizeBytes),
    ownSizeBytes: Number(lv.ownSizeBytes),
    tags: [...lv.tags],
    isInternal: lv.isInternal,
    isActive: lv.isActive,
    isSuspended: lv.isSuspended,
    isReadOnly: lv.isReadOnly,
    isInvalid: lv.isInvalid,
    stripes: lv.stripes,
    dataColumns: lv.dataColumns,
    origin: lv.origin ?? '',
    pool: lv.pool ?? '',
    dataPercent: lv.dataPercent ?? -1,
    metadataPercent: lv.metadataPercent ?? -1,
    metadataSizeBytes: Number(lv.metadataSizeBytes ?? 0n),
    chunkSizeBytes: Number(lv.chunkSizeBytes ?? 0n),
    health: lv.health,
  };
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

/** Where two views differ, as paths with both values; empty when they agree. */
export function differences(a: Comparable, b: Comparable): readonly string[] {
  return differing('', a, b);
}

function differing(path: string, a: unknown, b: unknown): readonly string[] {
  if (typeof a === 'number' && typeof b === 'number') {
    return Math.abs(a - b) <= allowed(path) ? [] : [`${path}: ${a} and ${b}`];
  }
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    return a === b ? [] : [`${path}: ${String(a)} and ${String(b)}`];
  }
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].flatMap((key) => differing(`${path}/${key}`, (a as Bag)[key], (b as Bag)[key]));
}

type Bag = Readonly<Record<string, unknown>>;

function allowed(path: string): number {
  if (path.endsWith('/dataPercent')) return tolerance.dataPercent;
  if (path.endsWith('/metadataPercent')) return tolerance.metadataPercent;
  return path.endsWith('/metadataFreeBytes') ? metadataFreeTolerance : 0;
}
