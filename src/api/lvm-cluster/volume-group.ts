import type { LvmCluster, LvmDeviceClass } from '../objects/lvm-cluster.ts';
import type { LvmVolumeGroupSpec } from '../objects/lvm-volume-group.ts';
import { classesOf } from './check.ts';

/** What the agents are told of a device class. A class that is alone is the default. */
export function volumeGroupOf(cluster: LvmCluster, one: LvmDeviceClass): LvmVolumeGroupSpec {
  const { name: _name, fstype: _fstype, storageClassOptions: _options, ...spec } = one;
  const isAlone = classesOf(cluster).length === 1;
  return { ...spec, default: one.default === true || isAlone };
}
