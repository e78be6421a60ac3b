import { type Bytes, bytes, countUp, times } from '../../base/bytes.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import { showBytes, showList } from '../../base/show.ts';
import { fitsGrowth, freeExtents, growthExtents, mostExtents, thinCapacity } from '../capacity.ts';
import type { DeviceClass } from '../device-class.ts';
import { identityLost } from '../identity.ts';
import {
  areaExtents,
  devicesMin,
  geometryOf,
  type Layout,
  type LayoutKind,
  layouts,
  logicalExtents,
} from '../layouts.ts';
import { copySourceName } from '../names.ts';
import {
  findLv,
  type ObservedHost,
  type ObservedLv,
  type ObservedVg,
  usablePvs,
} from '../observed.ts';
import { usableOwnVg } from '../own-group.ts';
import { permitFor } from '../permit.ts';
import { type Decision, next, rest } from '../step.ts';
import {
  copyingTag,
  copySourceRole,
  isOurs,
  makingTag,
  ownerTag,
  pendingTag,
  readTag,
} from '../tags.ts';
import { poolRefusal } from '../usable-pool.ts';
import { isBlocked, usableVg } from '../usable-vg.ts';
import type { AbsentVolume, DesiredVolume, PresentVolume } from './desired.ts';
import { planGrownEnd, planGrowthMark } from './growth.ts';

export function planVolume(desired: DesiredVolume, host: ObservedHost): Decision {
  if (desired.presence === 'absent') return planRemoval(desired, host);
  const vg = usableVg(host, desired.deviceClass.vg);
  if (isBlocked(vg)) return givenUp(desired.deviceClass) ?? vg;
  const lv = findLv(vg, desired.name);
  const lost = identityLost(desired, vg, lv);
  if (lost !== undefined) return lost;
  return lv === undefined ? planCreation(desired, vg) : planExisting(desired, vg, lv);
}

function planCreation(desired: PresentVolume, vg: ObservedVg): Decision {
  const { deviceClass } = desired;
  const sizeBytes = sizeInGroup(desired, vg);
  const refusal = roomToCreate(deviceClass, sizeBytes, vg);
  if (refusal !== undefined) return refusal;
  return next({
    kind: 'create-lv',
    vg: vg.name,
    vgUuid: vg.uuid,
    lv: desired.name,
    layout: deviceClass.layout,
    sizeBytes,
    tags: desired.tags,
    options: deviceClass.lvcreateOptions,
  });
}

function planExisting(desired: PresentVolume, vg: ObservedVg, lv: ObservedLv): Decision {
  if (!isVolume(lv) || !(isOurs(lv.tags) || desired.isAdopted)) {
    const message = `${vg.name}/${lv.name} exists and is not ours: a ${lv.kind} volume`;
    return blocked('VolumeDiffers', message);
  }
  if (lv.tags.includes(copyingTag)) {
    return blocked('CopyUnfinished', `${vg.name}/${lv.name} is still being copied`);
  }
  if (isHalfMadeRaid(lv, vg)) return planRemovalOf(vg, lv, {});
  const target = { vg: vg.name, vgUuid: vg.uuid, lv: lv.name, lvUuid: lv.uuid };
  const isGrowing = lv.sizeBytes < desired.sizeBytes;
  // Whoever grows a raw volume was told of it. A repeated create must not zero beside him.
  const isMaking = desired.uuid === undefined && !isGrowing;
  const unfinished = isMaking ? undefined : planGrownEnd(vg, lv, { isGrowing });
  if (unfinished !== undefined) return unfinished;
  if (lv.sizeBytes < desired.sizeBytes) {
    const sizeBytes = grownSize(desired.sizeBytes, lv, vg);
    const refusal = roomToGrow(desired.deviceClass, lv, sizeBytes, vg);
    if (refusal !== undefined) return refusal;
    return planGrowthMark(vg, lv) ?? next({ kind: 'extend-lv', ...target, sizeBytes });
  }
  if (!lv.isActive) return next({ kind: 'activate-lv', ...target });
  if (lv.tags.includes(makingTag)) {
    return next({ kind: 'change-tags', ...target, add: [], remove: [makingTag] });
  }
  return rest;
}

/**
 * A RAID whose lvcreate was cut off shows its parts, and lvm never activates it again. While it
 * carries the pending mark nobody has used it: it is removed, parts and all, and made anew.
 */
function isHalfMadeRaid(lv: ObservedLv, vg: ObservedVg): boolean {
  const isPart = (name: string) => /^_r(meta|image)_\d+$/.test(name.slice(lv.name.length));
  const parts = vg.lvs.filter(({ name }) => name.startsWith(lv.name) && isPart(name));
  return parts.length > 0 && isOurs(lv.tags) && lv.tags.includes(pendingTag);
}

function planRemoval(desired: AbsentVolume, host: ObservedHost): Decision {
  const vg = usableOwnVg(host, desired, { mayBePartial: true });
  // A group that is away may come back with the volume in it: "gone" must be seen, not assumed.
  if (isBlocked(vg)) return vg;
  const lv = findLv(vg, desired.name);
  // The name, and a helper after it, belong to another volume by now.
  if (lv !== undefined && desired.uuid !== undefined && desired.uuid !== lv.uuid) return rest;
  const helper = findLv(vg, copySourceName(desired.name));
  if (helper !== undefined && readTag(helper.tags, 'role') === copySourceRole) {
    return planRemovalOf(vg, helper, {});
  }
  if (lv === undefined) return rest;
  if (!isVolume(lv) && lv.kind !== 'cow-snapshot') {
    return blocked('NotOurs', `${vg.name}/${lv.name} is a ${lv.kind}, no volume of anybody`);
  }
  const recorded = desired.isAdopted ? { recorded: lv.name } : {};
  return planRemovalOf(vg, lv, recorded, { discards: desired.discards === true });
}

export function planRemovalOf(
  vg: ObservedVg,
  lv: ObservedLv,
  recorded: { readonly recorded?: string },
  { discards }: { readonly discards: boolean } = { discards: false },
): Decision {
  const permit = permitFor({ deed: 'remove-lv', vg, lv, ...recorded });
  if (isBlocked(permit)) return permit;
  const target = { vg: vg.name, vgUuid: vg.uuid, lv: lv.name, lvUuid: lv.uuid };
  const dependents = lv.kind === 'thin-pool' ? 'thin-volumes' : 'cow-snapshots';
  // A thin volume has no blocks of its own: they are its pool's.
  const passedOn = discards && lv.kind !== 'thin' ? ({ discards: true } as const) : {};
  const bears = isOurs(lv.tags) ? { bears: ownerTag } : {};
  return next({ kind: 'remove-lv', ...target, dependents, ...bears, ...passedOn, permit });
}

/** Everything that a volume request can have made, of whatever layout. */
export function isVolume(lv: ObservedLv): lv is ObservedLv & { readonly kind: LayoutKind } {
  return lv.kind in layouts;
}

/** What LVM makes of a size: whole extents, as many in each column. */
export function sizeInGroup(desired: PresentVolume, vg: ObservedVg): Bytes {
  const extents = countUp(desired.sizeBytes, vg.extentSizeBytes);
  const geometry = geometryOf(desired.deviceClass.layout);
  const logical = geometry === undefined ? extents : logicalExtents(geometry, extents);
  return times(logical, vg.extentSizeBytes);
}

/** Growing keeps the columns a volume has, whatever its class says by now. */
export function grownSize(wanted: Bytes, lv: ObservedLv, vg: ObservedVg): Bytes {
  const columns = BigInt(lv.dataColumns);
  const extents = countUp(countUp(wanted, vg.extentSizeBytes), columns) * columns;
  return times(extents, vg.extentSizeBytes);
}

/** Nobody needs to wait for a group that never comes back. */
function givenUp(deviceClass: DeviceClass): Blocked | undefined {
  return deviceClass.isGivenUp === true ? refusalOf(deviceClass) : undefined;
}

function refusalOf({ name, refusal }: DeviceClass): Blocked | undefined {
  if (refusal === undefined) return undefined;
  return blocked('DeviceClassRefused', `nothing new is made in the class ${name}: ${refusal}`);
}

/** Why a new volume of this size, in whole extents, cannot be made. */
export function roomToCreate(
  deviceClass: DeviceClass,
  sizeBytes: Bytes,
  vg: ObservedVg,
): Blocked | undefined {
  const { layout, spareBytes } = deviceClass;
  const refusal = refusalOf(deviceClass);
  if (refusal !== undefined) return refusal;
  if (layout.kind === 'thin') {
    const pool = { name: layout.pool, ratio: deviceClass.overprovisionRatio };
    return thinRoom(pool, sizeBytes, vg, 'InsufficientCapacity');
  }
  const geometry = geometryOf(layout);
  const few = tooFewDevices(layout, vg);
  if (geometry === undefined || few !== undefined) return few;
  const most = times(mostExtents(geometry, vg, spareBytes), vg.extentSizeBytes);
  if (sizeBytes <= most) return undefined;
  const needs = areaExtents(geometry, sizeBytes / vg.extentSizeBytes);
  const message =
    `${vg.name} can give a ${layout.kind} volume of at most ${showBytes(most)} ` +
    `(${showBytes(spareBytes)} kept spare), not ${showBytes(sizeBytes)}: ` +
    `${needs} extents on each of ${geometry.areas} device(s)`;
  return blocked('InsufficientCapacity', message);
}

/** Some layouts need devices, not only room. */
export function tooFewDevices(layout: Layout, vg: ObservedVg): Blocked | undefined {
  const usable = usablePvs(vg).length;
  const needs = devicesMin(layout);
  if (layout.kind === 'thin' || usable >= needs) return undefined;
  const message = `${layout.kind} needs ${needs} devices but ${vg.name} has ${usable}`;
  return blocked('LayoutNeedsDevices', message);
}

/** Why a class can give no volume at all, not even the smallest. */
export function emptyReason(deviceClass: DeviceClass, host: ObservedHost): Blocked | undefined {
  const vg = usableVg(host, deviceClass.vg);
  if (isBlocked(vg)) return vg;
  const geometry = geometryOf(deviceClass.layout);
  const extents = geometry === undefined ? 1n : logicalExtents(geometry, 1n);
  return roomToCreate(deviceClass, times(extents, vg.extentSizeBytes), vg);
}

function thinRoom(
  pool: { readonly name: string; readonly ratio: number },
  moreBytes: Bytes,
  vg: ObservedVg,
  code: 'InsufficientCapacity' | 'InsufficientCapacityToExpand',
): Blocked | undefined {
  const refusal = poolRefusal(vg, pool.name);
  const isGrowing = code === 'InsufficientCapacityToExpand';
  if (refusal?.code === 'ThinPoolFull' && isGrowing) return blocked(code, refusal.message);
  if (refusal !== undefined) return refusal;
  const { availableBytes } = thinCapacity(vg, pool.name, pool.ratio);
  if (moreBytes <= availableBytes) return undefined;
  const message =
    `the thin pool ${vg.name}/${pool.name} may promise ${showBytes(availableBytes)} more ` +
    `at ratio ${pool.ratio}, not ${showBytes(moreBytes)}`;
  return blocked(code, message);
}

function roomToGrow(
  deviceClass: DeviceClass,
  lv: ObservedLv,
  sizeBytes: Bytes,
  vg: ObservedVg,
): Blocked | undefined {
  const name = `${vg.name}/${lv.name}`;
  const snapshots = cowSnapshotsOf(lv, vg);
  if (isVolume(lv) && !layouts[lv.kind].growWithSnapshots && snapshots.length > 0) {
    return blocked('GrowUnsupported', `${name} has the snapshot(s) ${showList(snapshots)}`);
  }
  if (lv.health !== '') return blocked('VolumeUnhealthy', `${name}: ${lv.health}`);
  const growth = bytes(sizeBytes - lv.sizeBytes);
  if (lv.kind === 'thin') {
    // Its own pool counts, whatever its class says by now.
    const pool = { name: lv.pool ?? '', ratio: deviceClass.overprovisionRatio };
    return thinRoom(pool, growth, vg, 'InsufficientCapacityToExpand');
  }
  return thickRoom(lv, growth, vg, deviceClass.spareBytes);
}

export function thickRoom(
  lv: ObservedLv,
  growth: Bytes,
  vg: ObservedVg,
  spareBytes: Bytes,
): Blocked | undefined {
  const extents = growth / vg.extentSizeBytes;
  const budget = freeExtents(vg, spareBytes);
  if (growthExtents(lv, extents) <= budget && fitsGrowth(lv, extents, vg)) return undefined;
  const message =
    `${vg.name}/${lv.name} needs ${growthExtents(lv, extents)} more extents on ${lv.stripes} ` +
    `device(s), and ${vg.name} has ${budget} (${showBytes(spareBytes)} kept spare)`;
  return blocked('InsufficientCapacityToExpand', message);
}

export function cowSnapshotsOf(lv: ObservedLv, vg: ObservedVg): readonly string[] {
  return vg.lvs
    .filter((other) => other.kind === 'cow-snapshot' && other.origin === lv.name)
    .map((other) => other.name);
}
