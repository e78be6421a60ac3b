import { isGreedy } from '../../api/lvm-cluster/paths.ts';
import type {
  LvmRaidStatus,
  LvmVolumeGroup,
  LvmVolumeGroupStatus,
} from '../../api/objects/lvm-volume-group.ts';
import { showQuantity } from '../../api/quantity.ts';
import type { Blocked } from '../../base/failures.ts';
import { showFew } from '../../base/show.ts';
import { planDevices } from '../device/plan.ts';
import { deviceStatus } from '../device/status.ts';
import { devicesMin } from '../layouts.ts';
import type { DesiredNode } from '../node.ts';
import {
  findVg,
  type ObservedHost,
  type ObservedLv,
  type ObservedNode,
  type ObservedVg,
  usablePvs,
} from '../observed.ts';
import { raidHealth } from '../raid-health.ts';
import type { DesiredThinPool } from '../thin-pool/desired.ts';
import { poolWarnings, thinPoolStatus } from '../thin-pool/status.ts';
import { tooFewDevices } from '../volume/plan.ts';
import type { DesiredVg } from '../volume-group/desired.ts';
import { isWanted, pathsOfPv } from '../volume-group/plan.ts';
import { volumeGroupStatus } from '../volume-group/status.ts';

/** What a node tells of its volume groups, by what is seen on it and was told before. */
export function reportFor(
  groups: readonly LvmVolumeGroup[],
  desired: DesiredNode,
  node: ObservedNode,
  before: readonly LvmVolumeGroupStatus[],
): readonly LvmVolumeGroupStatus[] {
  return groups.map((group) => groupReport(group, desired, { node, before }));
}

type Seen = {
  readonly node: ObservedNode;
  readonly before: readonly LvmVolumeGroupStatus[];
};

function groupReport(
  group: LvmVolumeGroup,
  desired: DesiredNode,
  { node, before }: Seen,
): LvmVolumeGroupStatus {
  const { name } = group.metadata;
  const policy = { name, deviceDiscoveryPolicy: policyOf(group) } as const;
  const own = desired.volumeGroups.find((vg) => vg.name === name);
  if (own === undefined) return { ...policy, status: 'Progressing' };
  const others = desired.volumeGroups.filter((vg) => vg !== own);
  const status = volumeGroupStatus(own, node, others);
  const pool = desired.thinPools.find(({ vg }) => vg === name);
  const vg = findVg(node, name);
  // A pool without a group waits for it.
  const ofPool = vg === undefined || pool === undefined ? well : poolStanding(pool, node);
  const ofRaid = vg === undefined ? [] : [raidStanding(vg)];
  // More devices may be coming just now.
  const isSettled = vg !== undefined && status.state !== 'Progressing';
  const ofDevices = isSettled ? devicesStandings(desired, vg) : [];
  const { state, reason } = worst([status, ofPool, ...ofRaid, ...ofDevices]);
  const devices = deviceStatus(planDevices(own, node, others));
  const excluded = devices
    .filter((device) => device.state === 'left-alone')
    .map(({ path, reasons }) => ({ name: path, reasons: reasons.toSorted() }));
  const raid = vg === undefined ? undefined : raidReport(vg);
  const warnings = [
    ...[...warningsOfPool(pool, vg), ...warningsOf(vg, node)],
    ...unnamedOf(own, vg, node),
  ];
  const members = vg?.pvs.map(({ device }) => device).toSorted() ?? lastTold(own, { node, before });
  return {
    ...policy,
    status: state,
    ...(reason === '' ? {} : { reason }),
    ...(status.sizeBytes === undefined ? {} : { size: showQuantity(status.sizeBytes) }),
    ...(status.freeBytes === undefined ? {} : { free: showQuantity(status.freeBytes) }),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(members === undefined ? {} : { devices: members }),
    ...(excluded.length === 0 ? {} : { excluded }),
    ...(raid === undefined ? {} : { raidStatus: raid }),
  };
}

/** Of a group that is away: by them it is known that there was one, and that no other is made. */
function lastTold(
  { name, uuid }: DesiredVg,
  { node, before }: Seen,
): readonly string[] | undefined {
  if (uuid === undefined) return undefined;
  const told = before.find((one) => one.name === name)?.devices;
  // What had just left when the others went away is not told as one of them.
  const isBare = (at: string) =>
    node.devices.some(({ path, label }) => path === at && label.kind === 'none');
  const away = told?.filter((path) => !isBare(path)) ?? [];
  return away.length === 0 ? told : away;
}

function policyOf({ spec = {} }: LvmVolumeGroup): LvmVolumeGroupStatus['deviceDiscoveryPolicy'] {
  if (!isGreedy(spec)) return 'Preconfigured';
  return spec.deviceDiscoveryPolicy === 'Static' ? 'RuntimeStatic' : 'RuntimeDynamic';
}

/** What stands between a group and its next step, when that has failed. */
export function withTrouble(
  one: LvmVolumeGroupStatus,
  why: string | undefined,
): LvmVolumeGroupStatus {
  if (one.status !== 'Progressing' || why === undefined) return one;
  // Whoever holds the lock lets it go again.
  if (/\bLvmLocked: /.test(why)) return { ...one, reason: why };
  return { ...one, status: one.devices === undefined ? 'Failed' : 'Degraded', reason: why };
}

/** Nothing can be made in a group whose agent does nothing new, however well it is. */
export function withSkew(
  one: LvmVolumeGroupStatus,
  skew: Blocked | undefined,
): LvmVolumeGroupStatus {
  if (skew === undefined || (one.status !== 'Ready' && one.status !== 'Progressing')) return one;
  const status = one.devices === undefined ? 'Failed' : 'Degraded';
  return { ...one, status, reason: `${skew.code}: ${skew.message}` };
}

/** A device that is being emptied, and how far that is. */
export function withMove(
  one: LvmVolumeGroupStatus,
  move: { readonly device: string; readonly percent: number | undefined } | undefined,
): LvmVolumeGroupStatus {
  if (one.status !== 'Progressing' || move === undefined) return one;
  const far = move.percent === undefined ? '' : `, ${Math.floor(move.percent)} % are moved`;
  return { ...one, reason: `${move.device} is being emptied, and leaves then${far}` };
}

export function withWarnings(
  one: LvmVolumeGroupStatus,
  texts: readonly string[],
): LvmVolumeGroupStatus {
  return texts.length === 0 ? one : { ...one, warnings: [...texts, ...(one.warnings ?? [])] };
}

/** Of a group that shall go and cannot yet. */
export function stayReport(
  group: LvmVolumeGroup,
  node: ObservedNode,
  reason: string,
): LvmVolumeGroupStatus {
  const { name } = group.metadata;
  const devices = findVg(node, name)?.pvs.map(({ device }) => device);
  return {
    ...{ name, deviceDiscoveryPolicy: policyOf(group), status: 'Degraded', reason },
    ...(devices === undefined ? {} : { devices: devices.toSorted() }),
  };
}

const ofPool = 'thin pool ';

export function poolReason(pool: string, why: string): string {
  return `${ofPool}${pool}: ${why}`;
}

export function isPoolReason(reason: string): boolean {
  return reason.startsWith(ofPool);
}

/** A warning of a pool that will be full. */
export function isFillWarning(text: string): boolean {
  return isPoolReason(text) && text.includes(' is filling: ');
}

/** A warning of a pool that is well, and not as it was asked for. */
export function isChunkWarning(text: string): boolean {
  return isPoolReason(text) && / (has|gets) chunks of /.test(text);
}

/** The code comes first in it. */
export function withoutPool(reason: string): string {
  return isPoolReason(reason) ? reason.slice(reason.indexOf(': ') + 2) : reason;
}

function poolStanding(pool: DesiredThinPool, node: ObservedNode): Standing {
  const { name, state, reason } = thinPoolStatus(pool, node);
  return { state, reason: reason === '' ? '' : poolReason(name, reason) };
}

type Standing = { readonly state: string; readonly reason: string };

const well: Standing = { state: 'Ready', reason: '' };
const badness = ['Ready', 'Progressing', 'Absent', 'Degraded', 'Failed'];

/** A class is as well as the worst of its parts; of two alike the first tells. */
function worst(parts: readonly Standing[]): Standing {
  const { state, reason } = parts.reduce((one, other) =>
    badness.indexOf(other.state) > badness.indexOf(one.state) ? other : one,
  );
  return { state: state === 'Absent' ? 'Progressing' : state, reason };
}

function raidStanding(vg: ObservedVg): Standing {
  const { status = 'healthy' } = raidHealth(vg) ?? {};
  if (status === 'healthy') return well;
  const unwell = vg.lvs.filter((lv) => isRaid(lv) && lv.health !== '');
  const names = unwell.map(({ name, health }) => `${vg.name}/${name} (${health})`).toSorted();
  const reason = `VolumeUnhealthy: ${showFew(names)}`;
  return { state: status === 'failed' ? 'Failed' : 'Degraded', reason };
}

/** The group is there, and yet a class of it can give nothing. */
function devicesStandings({ deviceClasses }: DesiredNode, vg: ObservedVg): readonly Standing[] {
  const layouts = deviceClasses.filter((one) => one.vg === vg.name).map(({ layout }) => layout);
  return layouts.flatMap((layout): readonly Standing[] => {
    const needs = devicesMin(layout);
    const few = needs === 1 ? undefined : tooFewDevices(layout, vg);
    if (few === undefined) return [];
    const remedy = `nothing is made in it before it has ${needs - usablePvs(vg).length} more`;
    return [{ state: 'Degraded', reason: `${few.code}: ${few.message}: ${remedy}` }];
  });
}

/** What will need somebody soon, and stops nothing yet. */
export function warningsOf(vg: ObservedVg | undefined, node: ObservedHost): readonly string[] {
  if (vg === undefined) return [];
  const missing = vg.pvs.filter(({ isMissing }) => isMissing).map(({ uuid }) => uuid);
  const duplicates = node.vgs.filter(({ name }) => name === vg.name).length;
  return [
    ...missing.map((uuid) => `a device of ${vg.name} is missing: ${uuid}`),
    ...(duplicates > 1 ? [`${duplicates} volume groups are called ${vg.name}`] : []),
  ];
}

function warningsOfPool(
  pool: DesiredThinPool | undefined,
  vg: ObservedVg | undefined,
): readonly string[] {
  if (pool === undefined || vg === undefined) return [];
  return poolWarnings(pool, vg).map((text) => `${ofPool}${vg.name}/${pool.name} ${text}`);
}

function unnamedOf(
  { selector, release }: DesiredVg,
  vg: ObservedVg | undefined,
  node: ObservedNode,
): readonly string[] {
  if (vg === undefined || selector.kind !== 'paths') return [];
  return vg.pvs
    .filter((pv) => !pv.isMissing && !release.includes(pv.uuid))
    .filter((pv) => !isWanted(selector, pathsOfPv(pv, node)))
    .map(
      ({ device }) =>
        `${device} is in ${vg.name}, and no path names it: name it, and to let it leave take its ` +
        'path out again',
    );
}

export function raidReport(vg: ObservedVg): LvmRaidStatus | undefined {
  const health = raidHealth(vg);
  if (health === undefined) return undefined;
  const words = { healthy: 'Healthy', degraded: 'Degraded', failed: 'Failed' } as const;
  const { syncPercent, members, missingMembers } = health;
  return {
    ...{ status: words[health.status], memberCount: members, degradedMemberCount: missingMembers },
    ...(syncPercent === undefined ? {} : { minSyncPercent: Math.floor(syncPercent) }),
    lvHealth: vg.lvs
      .filter(isRaid)
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
      .map((lv) => ({
        ...{ name: lv.name, raidType: lv.kind, syncPercent: Math.floor(lv.syncPercent ?? 0) },
        ...(lv.health === '' ? {} : { healthStatus: lv.health }),
      })),
  };
}

type RaidLv = ObservedLv & { readonly kind: 'raid1' | 'raid4' | 'raid5' | 'raid6' | 'raid10' };

function isRaid(lv: ObservedLv): lv is RaidLv {
  return lv.kind.startsWith('raid') && !lv.isInternal;
}
