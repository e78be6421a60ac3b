import { dmName } from '../../api/lv-name.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import { layouts } from '../layouts.ts';
import { findLv, type ObservedHost, type ObservedLv, type ObservedVg } from '../observed.ts';
import { copyingTag } from '../tags.ts';
import { backAgain, isBlocked, usableVg } from '../usable-vg.ts';
import { unfinishedGrowth } from '../volume/growth.ts';
import { isVolume } from '../volume/plan.ts';
import type { PublishedVolume, UnpublishedVolume } from './desired.ts';
import type { MountOwner, ObservedPublication, VolumeDevice } from './observed.ts';
import { act, type InGroup, type PublicationDecision } from './step.ts';

/** A volume that can be shown right now, with its device. */
export type Publishable = {
  readonly vg: ObservedVg;
  readonly lv: ObservedLv;
  readonly device: VolumeDevice;
};

/** The volume as it must be to be shown; or why it is not, or what makes it so. */
export function publishable(
  volume: PublishedVolume,
  wantsWrites: boolean,
  observed: ObservedPublication,
): Publishable | PublicationDecision {
  const found = findPublished(volume, observed.host);
  if (isBlocked(found)) return found;
  const { vg, lv } = found;
  const refusal = lvRefusal(found, wantsWrites);
  if (refusal !== undefined) return refusal;
  if (!lv.isActive) return vg.lockType === '' ? act(activate) : inactive(found);
  const { device } = observed;
  return deviceRefusal(found, device) ?? { vg, lv, device: device as VolumeDevice };
}

const activate: InGroup = { kind: 'in-group', want: 'activate' };

type Found = { readonly vg: ObservedVg; readonly lv: ObservedLv };

export function findPublished(volume: PublishedVolume, host: ObservedHost): Found | Blocked {
  const vg = usableVg(host, volume.vg, { mayBePartial: true });
  if (isBlocked(vg)) return vg;
  const lv = findLv(vg, volume.name);
  if (lv?.uuid === volume.uuid) return { vg, lv };
  const now = lv === undefined ? '' : `; another volume, ${lv.uuid}, has its name`;
  const message = `there is no volume ${volume.vg}/${volume.name} (${volume.uuid})${now}`;
  return blocked('VolumeNotFound', message);
}

function lvRefusal({ vg, lv }: Found, wantsWrites: boolean): Blocked | undefined {
  const name = `${vg.name}/${lv.name}`;
  if (lv.kind === 'thin-pool' || lv.kind === 'pvmove') {
    return blocked('NotOurs', `${name} is a ${lv.kind}, no volume`);
  }
  if (lv.tags.includes(copyingTag)) {
    return blocked('CopyUnfinished', `${name} is still being copied`);
  }
  const unfinished = unfinishedGrowth(lv);
  if (unfinished !== undefined) return unfinished;
  if (lv.isInvalid && lv.kind === 'cow-snapshot') {
    return blocked('SnapshotOverflowed', `${name} overflowed and can no longer be read`);
  }
  if (lv.isInvalid) return blocked('VolumeUnhealthy', `${name} must be checked before it is used`);
  if (lv.health === 'partial' && !survivesLoss(lv)) {
    const message = `${name} is partial: a device it lies on is missing${backAgain(vg)}`;
    return blocked('VolumeUnhealthy', message);
  }
  if (lv.isReadOnly && wantsWrites) {
    return blocked('VolumeReadOnly', `${name} is read-only and is wanted writable`);
  }
  return undefined;
}

/** A mirror is for the day when a device is gone; if too many are, LVM or the kernel says so. */
function survivesLoss(lv: ObservedLv): boolean {
  return isVolume(lv) && layouts[lv.kind].survivesDeviceLoss > 0;
}

function inactive({ vg, lv }: Found): Blocked {
  const message = `${vg.name}/${lv.name} is inactive, and its group is shared by ${vg.lockType}`;
  return blocked('VolumeInactive', message);
}

function deviceRefusal({ vg, lv }: Found, device: VolumeDevice | undefined): Blocked | undefined {
  const name = `${vg.name}/${lv.name}`;
  if (device === undefined) {
    const path = `/dev/mapper/${dmName(vg.name, lv.name)}`;
    return blocked('VolumeDeviceMissing', `${name} is active but there is no ${path}`);
  }
  if (device.dmUuid !== dmUuidOf(vg, lv)) {
    const message = `${device.path} (${device.number}) is ${device.dmUuid}, not ${name}`;
    return blocked('VolumeDeviceMissing', message);
  }
  if (device.isSuspended) {
    return blocked('DeviceSuspended', `${device.path} is suspended: its I/O would hang`);
  }
  return undefined;
}

/** LVM's identity of a device in the kernel: both UUIDs without hyphens. */
export function dmUuidOf(vg: { readonly uuid: string }, lv: { readonly uuid: string }): string {
  return `LVM-${bare(vg.uuid)}${bare(lv.uuid)}`;
}

/** Is the device of this mount the volume's? A name counts only where no identity is known. */
export function isMountOf(volume: UnpublishedVolume, owner: MountOwner): boolean {
  if (owner.kind !== 'lv') return false;
  if (volume.uuid !== undefined) return owner.dmUuid.slice(lvUuidStart) === bare(volume.uuid);
  if (volume.vg !== undefined) return owner.dmName === dmName(volume.vg, volume.name);
  return lvNameIn(owner.dmName) === volume.name;
}

/** The name of the volume in `group-volume`, where hyphens of either name are doubled. */
function lvNameIn(device: string): string {
  const [, lv = ''] = /^(?:[^-]|--)+-((?:[^-]|--)+)$/.exec(device) ?? [];
  return lv.replaceAll('--', '-');
}

/** `LVM-` and the group's 32 characters come first. */
const lvUuidStart = 36;

function bare(uuid: string): string {
  return uuid.replaceAll('-', '');
}
