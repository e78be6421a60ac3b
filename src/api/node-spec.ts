import type { Bytes } from '../base/bytes.ts';

/** What every dialect comes down to: the volume groups and device classes of one node. */
export type NodeSpec = {
  readonly volumeGroups: readonly VolumeGroupSpec[];
  readonly deviceClasses: readonly DeviceClassSpec[];
};

export type VolumeGroupSpec = {
  readonly name: string;
  /** `unmanaged`: an administrator's own group, used as it is and never changed. */
  readonly ownership: 'managed' | 'unmanaged';
  readonly devices: DevicesSpec;
};

export type DevicesSpec =
  | {
      readonly kind: 'paths';
      readonly required: readonly string[];
      readonly optional: readonly string[];
      readonly forceWipe: boolean;
    }
  /** `isDynamic`: disks that appear later are taken too. */
  | { readonly kind: 'any'; readonly isDynamic: boolean };

export type DeviceClassSpec = {
  readonly name: string;
  readonly volumeGroup: string;
  readonly isDefault: boolean;
  readonly spareBytes: Bytes;
  readonly layout: LayoutSpec;
  readonly lvcreateOptions: readonly string[];
};

export type LayoutSpec =
  | { readonly kind: 'linear' }
  | { readonly kind: 'striped'; readonly stripes: number; readonly stripeSizeBytes?: Bytes }
  | RaidSpec
  | ThinSpec;

export type RaidSpec = {
  readonly kind: 'raid1' | 'raid4' | 'raid5' | 'raid6' | 'raid10';
  readonly mirrors?: number;
  readonly stripes?: number;
  readonly stripeSizeBytes?: Bytes;
};

export type ThinSpec = {
  readonly kind: 'thin';
  readonly poolName: string;
  readonly sizePercent: number;
  readonly overprovisionRatio: number;
  readonly chunkSizeBytes?: Bytes;
  readonly metadataSizeBytes?: Bytes;
};
