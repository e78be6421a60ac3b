import type { Bytes } from '../../base/bytes.ts';

/** What an lvmd.yaml says, with every default filled in. */
export type LvmdSpec = {
  readonly socketName: string;
  /** Words to put before each lvm command; empty: run lvm as we always do. */
  readonly lvmCommandPrefix: readonly string[];
  readonly deviceClasses: readonly LvmdDeviceClass[];
  /** Where a name stands twice, the last one counts. */
  readonly lvcreateOptionClasses: readonly LvmdOptionClass[];
};

export type LvmdDeviceClass = {
  readonly name: string;
  readonly volumeGroup: string;
  readonly isDefault: boolean;
  /** Kept free in thick classes only. */
  readonly spareBytes: Bytes;
  readonly target: LvmdTarget;
  readonly stripe?: number;
  readonly stripeSizeBytes?: Bytes;
  /** As they stand in the file. What they mean for the layout: `lvcreate-options.ts`. */
  readonly lvcreateOptions: readonly string[];
  /** Free room in the group that one byte of a volume costs; 1 where nothing else is known. */
  readonly overheadFactor: number;
  readonly wipePolicy?: WipePolicy;
};

export type LvmdTarget =
  | { readonly kind: 'thick' }
  | {
      readonly kind: 'thin';
      readonly poolName: string;
      readonly overprovisionRatio: number;
      /** Into what is free in its group, before it is full. */
      readonly mayGrow?: boolean;
    };

export type LvmdOptionClass = { readonly name: string; readonly options: readonly string[] };

export const wipePolicies = ['discard', 'zero', 'full'] as const;

/** What happens to the blocks of a volume that is deleted. */
export type WipePolicy = (typeof wipePolicies)[number];
