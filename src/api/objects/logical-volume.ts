import type { KubeObject } from './metadata.ts';

/**
 * TopoLVM's own object: a volume or a snapshot on one node, wanted and made. Its UID is the name of
 * the LV and the id of the volume.
 */
export type LogicalVolume = KubeObject & {
  readonly spec: LogicalVolumeSpec;
  readonly status?: LogicalVolumeStatus;
};

export type LogicalVolumeSpec = {
  readonly name: string;
  readonly nodeName: string;
  /** A quantity. */
  readonly size: string;
  /** '' is the default class of the node. */
  readonly deviceClass?: string;
  readonly lvcreateOptionClass?: string;
  /** The name, not the id, of the LogicalVolume that this one begins as a copy of. */
  readonly source?: string;
  /** `ro` is a snapshot, `rw` a volume. Only with a source. */
  readonly accessType?: string;
};

export type LogicalVolumeStatus = {
  /** Set when the LV is there. */
  readonly volumeID?: string;
  /** A quantity: what LVM really gave. */
  readonly currentSize?: string;
  /** A gRPC code; 0 is success. */
  readonly code?: number;
  readonly message?: string;
};
