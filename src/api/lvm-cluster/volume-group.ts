import type { LvmCluster, LvmDeviceClass } from '../objects/lvm-cluster.ts';
import type { LvmVolumeGroupSpec } from '../objects/lvm-volume-group.ts';
import { classesOf } from './check.ts';

/**
 * What the agents are told of a device class. A class that is alone is the default, and one that is
 * not does not say so: LVMS leaves it out, and its groups need no change.
 */
export function volumeGroupOf(cluster: LvmCluster, one: LvmDeviceClass): LvmVolumeGroupSpec {
  const { name: _name, fstype: _fstype, storageClassOptions: _options, default: is, ...spec } = one;
  const isDefault = is === true || classesOf(cluster).length === 1;
  return isDefault ? { ...spec, default: true } : spec;
}
