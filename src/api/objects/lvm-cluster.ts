import type { LvmVolumeGroupStatus } from './lvm-volume-group.ts';
import type { KubeObject } from './metadata.ts';
import type { NodeSelector, Toleration } from './node-selector.ts';

/** What an administrator writes: the disks of which nodes make which classes of storage. */
export type LvmCluster = KubeObject & {
  readonly spec?: LvmClusterSpec;
  readonly status?: LvmClusterStatus;
};

export type LvmClusterSpec = {
  readonly tolerations?: readonly Toleration[];
  readonly configurationPolicy?: ConfigurationPolicy;
  readonly storage?: { readonly deviceClasses?: readonly LvmDeviceClass[] };
};

/** `ExternalConfiguration`: lvmd.yaml on each node belongs to its administrator. */
export type ConfigurationPolicy = 'Managed' | 'ExternalConfiguration';

export type LvmDeviceClass = {
  readonly name: string;
  readonly default?: boolean;
  readonly deviceAccessPolicy?: DeviceAccessPolicy;
  /** Left out or empty: xfs. It stands here and not in the schema: a shared class may have none. */
  readonly fstype?: '' | 'xfs' | 'ext4' | 'none';
  readonly nodeSelector?: NodeSelector;
  readonly deviceSelector?: LvmDeviceSelector;
  /** Left out, on a class without paths: `Dynamic`, as it was before the field was there. */
  readonly deviceDiscoveryPolicy?: DeviceDiscoveryPolicy;
  readonly thinPoolConfig?: LvmThinPool;
  readonly raidConfig?: LvmRaid;
  readonly storageClassOptions?: LvmStorageClassOptions;
};

/** `local` is another spelling of `nodeLocal`. */
export type DeviceAccessPolicy = 'shared' | 'nodeLocal' | 'local';

export type LvmDeviceSelector = {
  readonly paths?: readonly string[];
  readonly optionalPaths?: readonly string[];
  readonly forceWipeDevicesAndDestroyAllData?: boolean;
};

/** Are disks that appear later taken too? */
export type DeviceDiscoveryPolicy = 'Static' | 'Dynamic';

/** `Host`: chosen by the size of the pool. `Static`: the size that stands beside it. */
export type SizePolicy = 'Static' | 'Host';

export type LvmThinPool = {
  readonly name: string;
  readonly sizePercent?: number;
  readonly overprovisionRatio: number;
  readonly chunkSizeCalculationPolicy?: SizePolicy;
  /** A quantity. */
  readonly chunkSize?: string;
  readonly metadataSizeCalculationPolicy?: SizePolicy;
  /** A quantity. */
  readonly metadataSize?: string;
};

export type LvmRaid = {
  readonly type: 'raid1' | 'raid4' | 'raid5' | 'raid6' | 'raid10';
  readonly mirrors?: number;
  readonly stripes?: number;
  /** A quantity. */
  readonly stripeSize?: string;
};

export type LvmStorageClassOptions = {
  readonly reclaimPolicy?: 'Delete' | 'Retain';
  readonly volumeBindingMode?: 'WaitForFirstConsumer' | 'Immediate';
  readonly additionalParameters?: Readonly<Record<string, string>>;
  readonly additionalLabels?: Readonly<Record<string, string>>;
};

export type LvmClusterStatus = {
  readonly ready?: boolean;
  /** Progressing, Ready, Failed, Degraded or Unknown. */
  readonly state?: string;
  readonly conditions?: readonly LvmCondition[];
  readonly deviceClassStatuses?: readonly LvmDeviceClassStatus[];
  readonly drivers?: readonly LvmDriverStatus[];
};

export type LvmCondition = {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
};

export type LvmDeviceClassStatus = {
  readonly name?: string;
  readonly nodeStatus?: readonly LvmNodeStatus[];
};

export type LvmNodeStatus = LvmVolumeGroupStatus & { readonly node?: string };

/** A CSI driver as the nodes have it. */
export type LvmDriverStatus = {
  readonly name: string;
  /** Nodes that should have it, and those whose kubelet knows it. */
  readonly nodes: number;
  readonly registered: number;
  readonly message?: string;
};
