import type { LvmClusterStatus } from '../../api/objects/lvm-cluster.ts';
import type { LvmVolumeGroupStatus } from '../../api/objects/lvm-volume-group.ts';
import { isSameJson } from '../../api/same.ts';
import { showFew } from '../../base/show.ts';
import { isFileName, keptText, missingText } from './external-report.ts';
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
      const reason = going.has(deviceClass)
        ? 'ManualCleanupRequired'
        : isFileName(deviceClass)
          ? fileReason(told)
          : eventReason(told);
      const message = `${deviceClass} on ${node}: ${told.reason ?? told.status}`;
      return [{ deviceClass, node, reason, message }];
    }),
  );
}

/** Of an lvmd.yaml that is its administrator's. */
function fileReason({ reason = '' }: LvmVolumeGroupStatus): string {
  if (!reason.startsWith(missingText)) return 'ResourceReconciliationIncomplete';
  return reason.includes(keptText) ? 'LVMDConfigDeleted' : 'LVMDConfigMissing';
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

type Place = LvmVolumeGroupStatus & { readonly deviceClass: string; readonly node: string };

/**
 * What became better, or was done as somebody wanted it. `isExternal`: what there is says an
 * lvmd.yaml on each node, and its groups are not ours.
 */
export function groupNews(
  before: LvmClusterStatus,
  after: LvmClusterStatus,
  isExternal: boolean,
): readonly GroupEvent[] {
  const known = new Map(placesOf(before).map((one) => [keyOf(one), one]));
  const news = placesOf(after).flatMap((now) => {
    const { deviceClass, node } = now;
    const old = known.get(keyOf(now));
    const isBack = isExternal && old?.devices === undefined;
    const isReady = now.status === 'Ready' && old?.status !== 'Ready';
    return [
      ...(isBack ? [] : deviceNews(old?.devices ?? [], now)),
      ...(isReady ? [{ reason: 'VolumeGroupReady', what: ' is ready' }] : []),
    ].map(({ reason, what }) => ({
      ...{ deviceClass, node, reason, message: `${deviceClass} on ${node}${what}` },
    }));
  });
  return isExternal ? [...news, ...fileNews(before, after)] : news;
}

/** By their number: a path may be another one after a boot, and a disk that is away still counts. */
function deviceNews(old: readonly string[], { devices: now }: Place) {
  if (now === undefined || now.length === old.length) return [];
  const isMore = now.length > old.length;
  const [larger, smaller] = isMore ? [now, old] : [old, now];
  const paths = larger.filter((path) => !smaller.includes(path));
  if (paths.length === 0) return [];
  const named = showFew(paths.map((path) => (path.startsWith('/') ? path : 'a missing device')));
  const are = paths.length === 1 ? 'is' : 'are';
  const state = isMore ? 'in it now' : 'not in it any more';
  const reason = isMore ? 'DeviceAdded' : 'DeviceRemoved';
  return [{ reason, what: `: ${named} ${are} ${state}` }];
}

/** Of each node whose file was known, and has other classes now or no fault any more. */
function fileNews(before: LvmClusterStatus, after: LvmClusterStatus): readonly GroupEvent[] {
  const nodes = [...new Set(placesOf(after).map(({ node }) => node))].toSorted();
  return nodes.flatMap((node) => {
    const [old, now] = [before, after].map((status) =>
      placesOf(status)
        .filter((one) => one.node === node)
        .map(({ deviceClass }) => deviceClass),
    ) as [string[], string[]];
    const classes = now.filter((name) => !isFileName(name));
    const isMended = old.some(isFileName) && !now.some(isFileName);
    const isSame = isSameJson(
      old.filter((name) => !isFileName(name)),
      classes,
    );
    if (old.length === 0 || classes.length === 0 || (isSame && !isMended)) return [];
    const message = `lvmd.yaml on ${node} has ${showFew(classes)} now`;
    return [{ deviceClass: '', node, reason: 'LVMDConfigUpdated', message }];
  });
}

/** What an LVMCluster needs was not all there, and is. */
export function clusterNews(
  before: LvmClusterStatus,
  after: LvmClusterStatus,
): readonly Pick<GroupEvent, 'reason' | 'message'>[] {
  const [old, now] = [before, after].map(({ conditions = [] }) =>
    conditions.find(({ type }) => type === 'ResourcesAvailable'),
  );
  if (now?.status !== 'True' || old?.status === 'True') return [];
  return [{ reason: 'ResourceReconciliationSuccess', message: now.message }];
}

function placesOf({ deviceClassStatuses = [] }: LvmClusterStatus): readonly Place[] {
  return deviceClassStatuses.flatMap(({ name: deviceClass = '', nodeStatus = [] }) =>
    nodeStatus.map(({ node = '', ...told }) => ({ ...told, deviceClass, node })),
  );
}

function keyOf({ deviceClass, node }: Place): string {
  return `${node} ${deviceClass}`;
}
