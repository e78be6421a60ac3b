import { dmName } from '../../api/lv-name.ts';
import { bytes } from '../../base/bytes.ts';
import { blocked } from '../../base/failures.ts';
import { limits } from '../../base/limits.ts';
import { showBytes, showList } from '../../base/show.ts';
import { type Choice, isNamed, namesOf, planDevices } from '../device/plan.ts';
import { inUseReasons } from '../device/reasons.ts';
import {
  type ObservedDevice,
  type ObservedNode,
  type ObservedPv,
  type ObservedVg,
  usablePvs,
} from '../observed.ts';
import { permitFor } from '../permit.ts';
import { type Decision, next, rest, type Step } from '../step.ts';
import { isBlocked, usableVg } from '../usable-vg.ts';
import type { DesiredVg } from './desired.ts';

/** A volume group from devices: made, extended, given up. `others` are the node's other groups. */
export function planVolumeGroup(
  desired: DesiredVg,
  node: ObservedNode,
  others: readonly DesiredVg[],
): Decision {
  if (!desired.isManaged) {
    const vg = usableVg(node, desired.name);
    return isBlocked(vg) ? vg : rest;
  }
  const exists = node.vgs.some((vg) => vg.name === desired.name);
  if (desired.presence === 'absent') {
    const isThere = node.vgs.some((vg) => isMeant(vg, desired));
    return isThere ? planRemoval(desired, node) : planLabelRemoval(desired, node);
  }
  const choice = planDevices(desired, node, others);
  return exists ? planExisting(desired, node, choice) : planCreation(desired, node, choice);
}

/** One that took the name of a group that was known is another one. */
function isMeant(vg: ObservedVg, { name, uuid }: DesiredVg): boolean {
  return vg.name === name && (uuid === undefined || vg.uuid === uuid);
}

function planCreation(desired: DesiredVg, node: ObservedNode, choice: Choice): Decision {
  const { name, uuid } = desired;
  if (uuid !== undefined) {
    const renamed = renamedTo(desired, node);
    if (renamed !== undefined) {
      const remedy = `\`vgrename ${renamed} ${name}\` gives it its name back`;
      return blocked('VolumeGroupRenamed', `${wasRenamed(desired, renamed)}: ${remedy}`);
    }
    return blocked('VolumeGroupLost', `no device of the volume group ${name} (${uuid}) is here`);
  }
  const hidden = node.devices.find(({ label }) => label.kind === 'member' && label.vg === name);
  if (hidden !== undefined) {
    const message =
      `${hidden.path} belongs to a volume group ${name} that lvm does not show: ` +
      'the devices file or a filter leaves it out (lvmdevices --adddev)';
    return blocked('VolumeGroupNotUsable', message);
  }
  const obstacle = planDevicesFirst(desired, node, choice);
  if (obstacle !== undefined) return obstacle;
  if (choice.chosen.length === 0) {
    const reasons = choice.excluded.map(
      ({ device, reasons: [first] }) => `${device.path}: ${first.message}`,
    );
    const detail = reasons.length > 0 ? ` (${reasons.join('; ')})` : '';
    return blocked('NoUsableDevices', `no device can be taken for ${desired.name}${detail}`);
  }
  return next({
    kind: 'create-vg',
    vg: desired.name,
    devices: choice.chosen.map((device) => device.path),
    tags: [desired.ownerTag],
    metadataBytes: bytes(limits.vgMetadataBytes),
  });
}

function planExisting(desired: DesiredVg, node: ObservedNode, choice: Choice): Decision {
  const vg = usableVg(node, desired.name);
  if (isBlocked(vg)) {
    // Not when two groups have the name, or it is exported: then it is not ours to mend.
    const isOurs = node.vgs.some((one) => isMeant(one, desired));
    const isPartial = vg.code === 'VolumeGroupPartial';
    const mend = isPartial && isOurs ? planHalfMade(desired, node, choice) : undefined;
    return mend ?? vg;
  }
  if (desired.uuid !== undefined && vg.uuid !== desired.uuid) {
    const renamed = renamedTo(desired, node);
    if (renamed !== undefined) {
      const told = `${wasRenamed(desired, renamed)}, and another group has its name: ${vg.uuid}`;
      return blocked('VolumeGroupRenamed', told);
    }
    const message = `${vg.name} was ${desired.uuid} and is another volume group now: ${vg.uuid}`;
    return blocked('VolumeGroupLost', message);
  }
  if (!vg.tags.includes(desired.ownerTag)) {
    if (desired.adopt === 'named') return rest;
    const message = `the volume group ${vg.name} exists without the tag ${desired.ownerTag}`;
    return blocked('VolumeGroupForeign', message);
  }
  // What has left is bare, also while another device cannot leave.
  const leaving = planReleasedLabel(desired, node) ?? planRelease(desired, vg, { node, choice });
  const coming = planComing(desired, vg, { node, choice });
  // What leaves may find room on a device that comes, and may take hours.
  return coming.kind === 'step' ? coming : (leaving ?? coming);
}

function planComing(desired: DesiredVg, vg: ObservedVg, { node, choice }: Looked): Decision {
  if (!desired.takesNewDevices) return rest;
  const obstacle = planDevicesFirst(desired, node, choice);
  if (obstacle !== undefined) return obstacle;
  if (choice.chosen.length === 0) return rest;
  return next({
    kind: 'extend-vg',
    vg: vg.name,
    vgUuid: vg.uuid,
    devices: choice.chosen.map((device) => device.path),
    metadataBytes: bytes(limits.vgMetadataBytes),
  });
}

/** The name that the group we know has now, when it is another one. */
function renamedTo({ name, uuid }: DesiredVg, node: ObservedNode): string | undefined {
  return node.vgs.find((vg) => vg.uuid === uuid && vg.name !== name)?.name;
}

function wasRenamed({ name, uuid }: DesiredVg, renamed: string): string {
  return `the volume group ${name} (${uuid}) was renamed to ${renamed}`;
}

/** What stands before taking devices. Nothing is wiped for a group that cannot come about yet. */
function planDevicesFirst(
  desired: DesiredVg,
  node: ObservedNode,
  choice: Choice,
): Decision | undefined {
  const afterWiping = { ...choice, chosen: [...choice.chosen, ...choice.wipeable] };
  return (
    requiredDevicesMissing(desired, afterWiping) ??
    planWipe(desired, node, choice) ??
    requiredDevicesMissing(desired, choice)
  );
}

/**
 * A power cut in vgcreate can leave a group whose metadata names a device that lost its label.
 * Such a group is empty and ours, and every device it shall have is here: it is made whole.
 */
function planHalfMade(
  desired: DesiredVg,
  node: ObservedNode,
  choice: Choice,
): Decision | undefined {
  const vg = node.vgs.find((candidate) => candidate.name === desired.name);
  if (vg?.isPartial !== true || desired.selector.kind === 'any') return undefined;
  const absentPaths = choice.missing;
  const permit = permitFor({ deed: 'drop-missing', vg, tag: desired.ownerTag, absentPaths });
  if (isBlocked(permit)) return undefined;
  return next({ kind: 'drop-missing', vg: vg.name, vgUuid: vg.uuid, permit });
}

/** Every required path must be chosen or in the group; nothing is half done otherwise. */
function requiredDevicesMissing(desired: DesiredVg, choice: Choice): Decision | undefined {
  if (desired.selector.kind === 'any') return undefined;
  const good = new Set([...choice.chosen, ...choice.members].flatMap(namesOf));
  const bad = desired.selector.required.filter((path) => !good.has(path));
  if (bad.length === 0) return undefined;
  const details = bad.map((path) => `${path}: ${whyNot(path, choice)}`).join('; ');
  const isAbsent = bad.every((path) => choice.missing.includes(path));
  return blocked(isAbsent ? 'DeviceNotFound' : 'DeviceNotUsable', details);
}

function whyNot(path: string, choice: Choice): string {
  const entry = choice.excluded.find(({ device }) => namesOf(device).includes(path));
  if (entry === undefined) return 'there is no such device';
  return showList(entry.reasons.map((exclusion) => exclusion.message));
}

/**
 * The first wipe that was allowed and is needed: partitions before the disk they are on, and only
 * where all of them may be wiped.
 */
function planWipe(desired: DesiredVg, node: ObservedNode, choice: Choice): Decision | undefined {
  const { selector } = desired;
  for (const disk of choice.wipeable) {
    const steps: Step[] = [];
    const targets = [...partitionsWithContent(disk, node), disk];
    for (const device of targets) {
      const whole = device === disk ? {} : { disk };
      const permit = permitFor({ deed: 'wipe-device', device, selector, ...whole });
      if (!isBlocked(permit)) steps.push({ kind: 'wipe-device', device: device.path, permit });
    }
    const [first] = steps;
    if (first !== undefined && steps.length === targets.length) return next(first);
  }
  return undefined;
}

function partitionsWithContent(
  disk: ObservedDevice,
  node: ObservedNode,
): readonly ObservedDevice[] {
  return node.devices.filter(
    (device) =>
      device.type === 'part' &&
      disk.holders.includes(device.path) &&
      (device.signatures.kind !== 'none' ||
        device.label.kind !== 'none' ||
        inUseReasons(device).length > 0),
  );
}

type Looked = { readonly node: ObservedNode; readonly choice: Choice };

function planRelease(desired: DesiredVg, vg: ObservedVg, looked: Looked): Decision | undefined {
  const { node, choice } = looked;
  // A move that was begun goes on to its end, also where the device is wanted again by now: what is
  // moved stays locked, and another move could not take it along.
  const begun = pvBeingMoved(desired, vg, node);
  if (begun !== undefined) return evacuation(vg, begun);
  for (const pv of vg.pvs) {
    if (!desired.release.includes(pv.uuid)) continue;
    // By another name, or named again: it is wanted after all.
    if (isWanted(desired.selector, pathsOfPv(pv, node))) continue;
    const unseen = unseenNames(desired, choice);
    if (unseen.length > 0) {
      const message = `${pv.device} stays in ${vg.name} while there is no ${showList(unseen)}: it \
may be another name of it`;
      return blocked('DeviceStays', message);
    }
    const few = tooFewLeft(desired, vg, pv);
    if (few !== undefined) return few;
    if (pv.freeBytes === pv.sizeBytes) {
      const permit = permitFor({ deed: 'reduce-vg', vg, pv });
      if (isBlocked(permit)) return blocked('DeviceStays', permit.message);
      const target = { vg: vg.name, vgUuid: vg.uuid, device: pv.device, pvUuid: pv.uuid };
      return next({ kind: 'reduce-vg', ...target, permit });
    }
    return roomElsewhere(vg, pv) ?? evacuation(vg, pv);
  }
  return undefined;
}

function evacuation(vg: ObservedVg, pv: ObservedPv): Decision {
  const target = { vg: vg.name, vgUuid: vg.uuid, device: pv.device, pvUuid: pv.uuid };
  return next({ kind: 'evacuate-pv', ...target });
}

/**
 * A group that shall go: a move that we began is brought to its end first. What is moved is locked,
 * and so are the volumes that somebody deletes meanwhile.
 */
export function planBegunMove(desired: DesiredVg, node: ObservedNode): Decision {
  const vg = usableVg(node, desired.name);
  // Whoever removes it says why it cannot go.
  if (isBlocked(vg) || !vg.tags.includes(desired.ownerTag)) return rest;
  const pv = pvBeingMoved(desired, vg, node);
  return pv === undefined ? rest : evacuation(vg, pv);
}

/**
 * The device that a move of ours empties: one that shall leave, or should when it was begun. A move
 * stands on those that it fills, too, and these may be others that shall leave.
 */
function pvBeingMoved(
  { release }: DesiredVg,
  vg: ObservedVg,
  node: ObservedNode,
): ObservedPv | undefined {
  const moves = node.devices.filter(({ path }) => isMoveIn(vg, path));
  return vg.pvs.find(({ uuid, device }) => {
    if (!release.includes(uuid)) return false;
    const on = node.devices.find((each) => namesOf(each).includes(device));
    const isOn = ({ path, emptied }: ObservedDevice) =>
      emptied === undefined ? on?.holders.includes(path) : on?.number === emptied;
    return moves.some(isOn);
  });
}

function unseenNames({ selector }: DesiredVg, { missing }: Choice): readonly string[] {
  return selector.kind === 'any' ? [] : selector.required.filter((path) => missing.includes(path));
}

/** What has left is bare, as it was before it came. */
export function planReleasedLabel(desired: DesiredVg, node: ObservedNode): Decision | undefined {
  // Its label is all that keeps it from being taken again.
  if (desired.selector.kind === 'any') return undefined;
  for (const pv of node.orphanPvs.filter(({ uuid }) => desired.release.includes(uuid))) {
    const device = node.devices.find((each) => namesOf(each).includes(pv.device));
    if (device === undefined || isNamed(device, desired.selector)) continue;
    const permit = permitFor({ deed: 'remove-pv', pv, device });
    if (isBlocked(permit)) continue;
    return next({ kind: 'remove-pv', device: device.path, pvUuid: pv.uuid, permit });
  }
  return undefined;
}

export function isWanted(selector: DesiredVg['selector'], paths: readonly string[]): boolean {
  if (selector.kind === 'any') return false;
  return [...selector.required, ...selector.optional].some((path) => paths.includes(path));
}

/** A move that was begun has its places already, and the kernel shows it. */
export function isMoving(vg: ObservedVg, node: ObservedNode): boolean {
  return node.devices.some(({ path }) => isMoveIn(vg, path));
}

function isMoveIn(vg: ObservedVg, path: string): boolean {
  const stem = `/dev/mapper/${dmName(vg.name, 'pvmove')}`;
  return path.startsWith(stem) && /^[0-9]+$/.test(path.slice(stem.length));
}

/** Without it no volume of the class could be made, and those that are there have no place. */
function tooFewLeft(
  { devicesMin }: DesiredVg,
  vg: ObservedVg,
  { uuid, device }: ObservedPv,
): Decision | undefined {
  const left = usablePvs(vg).filter((other) => other.uuid !== uuid).length;
  // The last one has its own words.
  if (left >= devicesMin || devicesMin === 1) return undefined;
  const message =
    `${device} stays in ${vg.name}: volumes of its class need ${devicesMin} devices, and ${left} ` +
    'would be left: name another device first, or this one again';
  return blocked('DeviceStays', message);
}

function roomElsewhere(vg: ObservedVg, pv: ObservedPv): Decision | undefined {
  const used = pv.sizeBytes - pv.freeBytes;
  const free = usablePvs(vg)
    .filter((other) => other.uuid !== pv.uuid)
    .reduce((total, other) => total + other.freeBytes, 0n);
  if (free >= used) return undefined;
  const message =
    `${pv.device} holds ${showBytes(bytes(used))}, and the other devices of ${vg.name} have ` +
    `${showBytes(bytes(free))} free: add a device or delete volumes, or name it again`;
  return blocked('DeviceStays', message);
}

export function pathsOfPv(pv: ObservedPv, node: ObservedNode): readonly string[] {
  const device = node.devices.find((candidate) => namesOf(candidate).includes(pv.device));
  return device === undefined ? [pv.device] : namesOf(device);
}

function planRemoval(desired: DesiredVg, node: ObservedNode): Decision {
  const vg = usableVg(node, desired.name);
  if (isBlocked(vg)) return vg;
  const permit = permitFor({ deed: 'remove-vg', vg, tag: desired.ownerTag });
  if (isBlocked(permit)) return permit;
  return next({ kind: 'remove-vg', vg: vg.name, vgUuid: vg.uuid, permit });
}

/** Orphan labels left behind on devices that were named for the group, or in it: cleared last. */
export function planLabelRemoval(desired: DesiredVg, node: ObservedNode): Decision {
  for (const device of node.devices) {
    const { label } = device;
    if (label.kind !== 'orphan') continue;
    const isNoted = desired.release.includes(label.pvUuid);
    if (!isNamed(device, desired.selector) && !isNoted) continue;
    const listed = node.orphanPvs.find((orphan) => namesOf(device).includes(orphan.device));
    // lvm labels a disk before it puts it on its list of devices, and may be cut off in between.
    if (listed === undefined && !isNoted) continue;
    const pv = listed ?? { uuid: label.pvUuid };
    const permit = permitFor({ deed: 'remove-pv', pv, device });
    if (isBlocked(permit)) return permit;
    const unlisted = listed === undefined ? ({ isUnlisted: true } as const) : {};
    const target = { device: device.path, pvUuid: pv.uuid, ...unlisted };
    return next({ kind: 'remove-pv', ...target, permit });
  }
  return rest;
}
