import type { LvmCluster, LvmDeviceClass } from '../objects/lvm-cluster.ts';
import type { LvmVolumeGroupSpec } from '../objects/lvm-volume-group.ts';
import { classesOf } from './check.ts';
import { discoveryDefault } from './defaults.ts';
import { isGreedy } from './paths.ts';

/**
 * What the agents are told of a device class. A class that is alone is the default, and one that is
 * not does not say so: LVMS leaves it out, and its groups need no change. `known` is what was asked
 * of its group before; undefined for one that is not there yet.
 */
export function volumeGroupOf(
  cluster: LvmCluster,
  one: LvmDeviceClass,
  known: LvmVolumeGroupSpec | undefined,
): LvmVolumeGroupSpec {
  const {
    name: _name,
    fstype: _fstype,
    storageClassOptions: _options,
    default: is,
    ...named
  } = one;
  const isDefault = is === true || classesOf(cluster).length === 1;
  const spec = { ...named, ...discoveryOf(one, known) };
  return isDefault ? { ...spec, default: true } : spec;
}

/**
 * A class that says nothing gets what a new LVMCluster gets, also where nobody filled it in, and a
 * group that is there keeps what it has: one from before the field was there takes new disks.
 */
function discoveryOf(
  one: LvmDeviceClass,
  known: LvmVolumeGroupSpec | undefined,
): Pick<LvmVolumeGroupSpec, 'deviceDiscoveryPolicy'> {
  if (one.deviceDiscoveryPolicy !== undefined || !isGreedy(one)) return {};
  if (known === undefined) return { deviceDiscoveryPolicy: discoveryDefault };
  const { deviceDiscoveryPolicy } = known;
  return deviceDiscoveryPolicy === undefined ? {} : { deviceDiscoveryPolicy };
}
