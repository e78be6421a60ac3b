import type { LvmDeviceClass } from '../objects/lvm-cluster.ts';

/** One volume group that all nodes use, and not one on each of them. */
export function isShared(one: Pick<LvmDeviceClass, 'deviceAccessPolicy'>): boolean {
  return one.deviceAccessPolicy === 'shared';
}

/**
 * The file system of new volumes. What is left out is filled in here and not by the schema, which
 * cannot tell a shared class, that has none, from another.
 */
export function fileSystemOf(
  one: Pick<LvmDeviceClass, 'deviceAccessPolicy' | 'fstype'>,
): 'xfs' | 'ext4' | 'none' {
  return one.fstype || (isShared(one) ? 'none' : 'xfs');
}
