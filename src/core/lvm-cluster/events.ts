import type { LvmClusterStatus } from '../../api/objects/lvm-cluster.ts';
import type { LvmVolumeGroupStatus } from '../../api/objects/lvm-volume-group.ts';
import { isPoolReason } from './node-report.ts';

/** Something is wrong with the group of a class on a node, in LVMS' words. */
export type GroupEvent = {
  readonly deviceClass: string;
  readonly node: string;
  readonly reason: string;
  readonly message: string;
};

/** Of every class and node, what a person should hear of. `going` are the groups that shall go. */
export function groupEvents(
  status: LvmClusterStatus,
  going: ReadonlySet<string>,
): readonly GroupEvent[] {
  return (status.deviceClassStatuses ?? []).flatMap(({ name: deviceClass = '', nodeStatus = [] }) =>
    nodeStatus.flatMap(({ node = '', ...told }) => {
      if (told.status !== 'Failed' && told.status !== 'Degraded') return [];
      const reason = going.has(deviceClass) ? 'ManualCleanupRequired' : eventReason(told);
      const message = `${deviceClass} on ${node}: ${told.reason ?? told.status}`;
      return [{ deviceClass, node, reason, message }];
    }),
  );
}

/** A report gives the code first, and then what it is about. */
function eventReason({ reason = '', raidStatus }: LvmVolumeGroupStatus): string {
  const code = /^[A-Za-z]+(?=: )/.exec(reason)?.[0] ?? '';
  if (isPoolReason(reason)) {
    return poolIsUnwell.test(reason) ? 'InconsistentLVs' : 'ThinPoolCreateOrExtendFailed';
  }
  if (code === 'VolumeGroupPartial' && raidStatus !== undefined) return 'RAIDHealthCheckFailed';
  return byCode[code] ?? 'VGCreateOrExtendFailed';
}

/** It is there, and cannot be used as it should. */
const poolIsUnwell = /: (ThinPoolUnhealthy|ThinPoolFull): /;

const byCode: Readonly<Record<string, string>> = {
  NoUsableDevices: 'NoAvailableDevicesForVG',
  DeviceNotFound: 'DevicePathCheckFailed',
  DeviceNotUsable: 'DevicePathCheckFailed',
  DeviceBusy: 'DevicePathCheckFailed',
  DeviceHoldsData: 'DevicePathCheckFailed',
  DeviceStays: 'DeviceRemovalFailed',
  VolumeGroupPartial: 'InconsistentLVs',
  VolumeUnhealthy: 'RAIDHealthCheckFailed',
};
