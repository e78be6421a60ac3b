import type { Bytes } from '../base/bytes.ts';
import type { LayoutKind } from './layouts.ts';

/** What one look at a host's LVM showed. It may be thrown away at any moment: LVM has the truth. */
export type ObservedHost = {
  readonly vgs: readonly ObservedVg[];
  /** Devices with an LVM label that belong to no volume group. */
  readonly orphanPvs: readonly ObservedPv[];
};

/** A host with its block devices: only what chooses devices needs this more expensive look. */
export type ObservedNode = ObservedHost & { readonly devices: readonly ObservedDevice[] };

export type ObservedVg = {
  readonly name: string;
  readonly uuid: string;
  readonly sizeBytes: Bytes;
  readonly freeBytes: Bytes;
  readonly extentSizeBytes: Bytes;
  readonly tags: readonly string[];
  /** At least one PV cannot be found. */
  readonly isPartial: boolean;
  readonly isExported: boolean;
  readonly isWritable: boolean;
  /** '' for local groups, 'sanlock' or 'dlm' for shared ones. */
  readonly lockType: string;
  readonly systemId: string;
  /** LVM raises it with every change of this group's metadata. */
  readonly sequence: bigint;
  readonly metadataSizeBytes: Bytes;
  readonly metadataFreeBytes: Bytes;
  readonly pvs: readonly ObservedPv[];
  readonly lvs: readonly ObservedLv[];
};

export type ObservedPv = {
  readonly uuid: string;
  /** A device path; for a missing PV whatever LVM remembers, often `[unknown]`. */
  readonly device: string;
  readonly sizeBytes: Bytes;
  readonly freeBytes: Bytes;
  readonly isMissing: boolean;
  readonly isAllocatable: boolean;
  /** LVM found the same PV on several devices and refuses to choose. */
  readonly isDuplicate: boolean;
  readonly tags: readonly string[];
};

export type LvKind = LayoutKind | 'thin-pool' | 'cow-snapshot' | 'pvmove' | 'other';

export type ObservedLv = {
  readonly name: string;
  readonly uuid: string;
  readonly kind: LvKind;
  readonly sizeBytes: Bytes;
  /** Space a CoW snapshot has for changes; for everything else the same as its size. */
  readonly ownSizeBytes: Bytes;
  readonly tags: readonly string[];
  /** The thin pool in whose making it was made: see `thin-pool/making.ts`. */
  readonly madeFor: string | undefined;
  /** LVM's own ten letters, for callers who read them. We decide by the fields below. */
  readonly attributes: string;
  /** Sub-volumes of pools and RAIDs; they are shown but never acted on. */
  readonly isInternal: boolean;
  readonly isActive: boolean;
  readonly isSuspended: boolean;
  readonly isOpen: boolean;
  readonly isReadOnly: boolean;
  readonly stripes: number;
  readonly dataColumns: number;
  readonly origin: string | undefined;
  readonly originUuid: string | undefined;
  readonly pool: string | undefined;
  readonly dataPercent: number | undefined;
  readonly metadataPercent: number | undefined;
  readonly metadataSizeBytes: Bytes | undefined;
  readonly chunkSizeBytes: Bytes | undefined;
  readonly syncPercent: number | undefined;
  /** '' when LVM has nothing to complain about. */
  readonly health: string;
  /** A CoW snapshot that overflowed, or whose merge failed. */
  readonly isInvalid: boolean;
};

/** What may or may not be on a device. `unknown` counts as "something". */
export type Signatures =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'found';
      readonly types: readonly string[];
      /** Of those that have one. */
      readonly uuids?: readonly string[];
    }
  | { readonly kind: 'unknown'; readonly why: string };

/** What LVM says of a device when the devices file and all filters are bypassed. */
export type LvmLabel =
  | { readonly kind: 'none' }
  | { readonly kind: 'orphan'; readonly pvUuid: string }
  /** A vgcreate of ours was cut off on it: marked as used, but no group was ever written. */
  | { readonly kind: 'half-made'; readonly pvUuid: string }
  | { readonly kind: 'member'; readonly pvUuid: string; readonly vg: string }
  | { readonly kind: 'unknown'; readonly why: string };

export type ObservedDevice = {
  readonly path: string;
  /** `major:minor`, the kernel's own identity while the machine runs. */
  readonly number: string;
  readonly links: readonly string[];
  readonly type: string;
  readonly sizeBytes: Bytes;
  readonly model: string;
  readonly serial: string;
  readonly wwn: string;
  readonly isReadOnly: boolean;
  readonly isSuspended: boolean;
  readonly mountPoints: readonly string[];
  readonly isSwap: boolean;
  /** Partitions, dm devices and others that stand on this one. */
  readonly holders: readonly string[];
  /** Of what a pvmove copies with, when the kernel tells it: the number of what is emptied. */
  readonly emptied: string | undefined;
  readonly partitionTable: string;
  readonly partitionLabel: string;
  readonly partitionType: string;
  readonly fileSystem: string;
  readonly backingFile: string;
  readonly signatures: Signatures;
  readonly label: LvmLabel;
  readonly exclusiveOpen: 'free' | 'busy' | 'unknown';
  /** Who has it open for writing without a claim, as far as somebody could take it otherwise. */
  readonly users: readonly string[];
};

export function findVg(host: ObservedHost, name: string): ObservedVg | undefined {
  return host.vgs.find((vg) => vg.name === name);
}

export function findLv(vg: ObservedVg, name: string): ObservedLv | undefined {
  const known = byName.get(vg);
  if (known !== undefined) return known.get(name);
  const index = new Map<string, ObservedLv>();
  for (const lv of vg.lvs) if (!lv.isInternal && !index.has(lv.name)) index.set(lv.name, lv);
  byName.set(vg, index);
  return index.get(name);
}

/** Made once for each report: agents look for every volume of a node in it. */
const byName = new WeakMap<ObservedVg, ReadonlyMap<string, ObservedLv>>();

/** Extents that new volumes may use, per device that can give any. */
export function freeExtentsByPv(vg: ObservedVg): readonly bigint[] {
  return usablePvs(vg).map((pv) => pv.freeBytes / vg.extentSizeBytes);
}

/** Devices that new volumes may lie on. */
export function usablePvs({ pvs }: Pick<ObservedVg, 'pvs'>): readonly ObservedPv[] {
  return pvs.filter((pv) => pv.isAllocatable && !pv.isMissing);
}
