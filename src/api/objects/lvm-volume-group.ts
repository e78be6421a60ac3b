import type {
  DeviceAccessPolicy,
  DeviceDiscoveryPolicy,
  LvmDeviceSelector,
  LvmRaid,
  LvmThinPool,
} from './lvm-cluster.ts';
import type { KubeObject } from './metadata.ts';
import type { NodeSelector } from './node-selector.ts';

/** One device class of an LVMCluster, as the agents read it. Its name is the class and the group. */
export type LvmVolumeGroup = KubeObject & { readonly spec?: LvmVolumeGroupSpec };

export type LvmVolumeGroupSpec = {
  readonly default?: boolean;
  readonly deviceAccessPolicy?: DeviceAccessPolicy;
  readonly nodeSelector?: NodeSelector;
  readonly deviceSelector?: LvmDeviceSelector;
  readonly deviceDiscoveryPolicy?: DeviceDiscoveryPolicy;
  readonly thinPoolConfig?: LvmThinPool;
  readonly raidConfig?: LvmRaid;
};

/** What is on one node, whose name it has. LVMS keeps it in the spec. */
export type LvmVolumeGroupNodeStatus = KubeObject & {
  readonly spec?: LvmVolumeGroupNodeStatusSpec;
};

export type LvmVolumeGroupNodeStatusSpec = {
  readonly nodeStatus?: readonly LvmVolumeGroupStatus[];
};

export type LvmVolumeGroupStatus = {
  readonly name?: string;
  /** Progressing, Ready, Failed or Degraded. */
  readonly status?: string;
  readonly reason?: string;
  /** Quantities. */
  readonly size?: string;
  readonly free?: string;
  readonly warnings?: readonly string[];
  readonly devices?: readonly string[];
  readonly excluded?: readonly LvmExcludedDevice[];
  readonly deviceDiscoveryPolicy: 'Preconfigured' | 'RuntimeDynamic' | 'RuntimeStatic';
  readonly raidStatus?: LvmRaidStatus;
};

export type LvmExcludedDevice = { readonly name: string; readonly reasons: readonly string[] };

export type LvmRaidStatus = {
  readonly status: 'Healthy' | 'Degraded' | 'Failed';
  readonly memberCount?: number;
  readonly degradedMemberCount?: number;
  /** Of the volume that has most left to do. */
  readonly minSyncPercent?: number;
  readonly lvHealth?: readonly LvmLvHealth[];
};

export type LvmLvHealth = {
  readonly name: string;
  /** As LVM says it: LVMS told it so, too. */
  readonly raidType: string;
  readonly syncPercent: number;
  /** As LVM says it; empty when all is well. */
  readonly healthStatus?: string;
};
