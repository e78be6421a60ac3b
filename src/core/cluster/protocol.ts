/**
 * What operator and agents mean by the objects that they write for each other, as a number. It
 * grows when the other side would do something wrong for not knowing, and not with every version.
 */
export type Protocols = {
  /** The one that a program speaks. */
  readonly newest: number;
  /** The oldest that it still understands, and speaks with who knows no other. */
  readonly oldest: number;
};

/**
 * Of this tree. 1 is what TopoLVM and LVMS write too: LogicalVolumes, LVMVolumeGroups and
 * LVMVolumeGroupNodeStatuses as they have them, and our annotations, which may be missing.
 */
export const ownProtocols: Protocols = { newest: 1, oldest: 1 };
