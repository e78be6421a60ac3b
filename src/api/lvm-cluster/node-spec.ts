import type { Bytes } from '../../base/bytes.ts';
import { bytes, noBytes } from '../../base/bytes.ts';
import { limits } from '../../base/limits.ts';
import type { DeviceClassSpec, DevicesSpec, LayoutSpec, VolumeGroupSpec } from '../node-spec.ts';
import type { LvmRaid, LvmThinPool } from '../objects/lvm-cluster.ts';
import type { LvmVolumeGroupSpec } from '../objects/lvm-volume-group.ts';
import { parseQuantity } from '../quantity.ts';
import { isGreedy } from './paths.ts';

/** A device class of an LVMCluster: a volume group, and the class that is served from it. */
export function groupSpecOf(name: string, spec: LvmVolumeGroupSpec): VolumeGroupSpec {
  return { name, ownership: 'managed', devices: devicesOf(spec) };
}

export function classSpecOf(name: string, spec: LvmVolumeGroupSpec): DeviceClassSpec {
  return {
    ...{ name, volumeGroup: name, isDefault: spec.default === true },
    ...{ spareBytes: noBytes, lvcreateOptions: [], layout: layoutOf(spec) },
  };
}

function devicesOf(spec: LvmVolumeGroupSpec): DevicesSpec {
  // A class from before the field was there takes new disks, as it always did.
  const isDynamic = spec.deviceDiscoveryPolicy !== 'Static';
  if (isGreedy(spec)) return { kind: 'any', isDynamic };
  const {
    paths = [],
    optionalPaths = [],
    forceWipeDevicesAndDestroyAllData: forceWipe,
  } = spec.deviceSelector ?? {};
  return { kind: 'paths', required: paths, optional: optionalPaths, forceWipe: forceWipe === true };
}

function layoutOf({ thinPoolConfig: thin, raidConfig: raid }: LvmVolumeGroupSpec): LayoutSpec {
  if (thin !== undefined) return thinOf(thin);
  return raid === undefined ? { kind: 'linear' } : raidOf(raid);
}

function thinOf(pool: LvmThinPool): LayoutSpec {
  const chunk = pool.chunkSizeCalculationPolicy === 'Host' ? undefined : sizeOf(pool.chunkSize);
  const isStatic = pool.metadataSizeCalculationPolicy === 'Static';
  const metadata = isStatic ? (sizeOf(pool.metadataSize) ?? metadataBytes) : undefined;
  return {
    ...{ kind: 'thin', poolName: pool.name },
    sizePercent: pool.sizePercent ?? limits.thinPoolSizePercentAdvised,
    overprovisionRatio: pool.overprovisionRatio,
    ...(chunk === undefined ? {} : { chunkSizeBytes: chunk }),
    ...(metadata === undefined ? {} : { metadataSizeBytes: metadata }),
  };
}

/** What LVMS takes for Static when no size is named. */
const metadataBytes = bytes(1024n ** 3n);

function raidOf({ type: kind, mirrors, stripes, stripeSize }: LvmRaid): LayoutSpec {
  const stripeSizeBytes = sizeOf(stripeSize);
  return {
    kind,
    ...(mirrors === undefined ? {} : { mirrors }),
    ...(stripes === undefined ? {} : { stripes }),
    ...(stripeSizeBytes === undefined ? {} : { stripeSizeBytes }),
  };
}

/** The schema keeps out what is no quantity. */
function sizeOf(text: string | undefined): Bytes | undefined {
  const size = text === undefined ? undefined : parseQuantity(text);
  return typeof size === 'bigint' ? size : undefined;
}
