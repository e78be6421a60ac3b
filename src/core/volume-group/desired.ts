import type { DeviceSelector } from '../device/desired.ts';

export type DesiredVg = {
  readonly name: string;
  /** Its identity, once it was seen: a group is never made a second time by itself. */
  readonly uuid: string | undefined;
  readonly presence: 'present' | 'absent';
  readonly selector: DeviceSelector;
  /** Tag that says the group is ours to change; written when we make it. */
  readonly ownerTag: string;
  /** `false`: an administrator's own group. It must exist, and is never made or changed. */
  readonly isManaged: boolean;
  /** `named`: an existing group without the tag is used as it is, and never changed. */
  readonly adopt: 'tagged' | 'named';
  /** Devices taken into an existing group when they appear (`false`: only when it is made). */
  readonly takesNewDevices: boolean;
  /** UUIDs of PVs that shall leave the group, their extents moved away first. */
  readonly release: readonly string[];
  /** Volumes of its classes lie on so many devices: with fewer none is made. */
  readonly devicesMin: number;
};
