import type { ObservedDevice, ObservedNode, ObservedVg } from '../observed.ts';
import type { DesiredVg } from '../volume-group/desired.ts';
import type { DeviceSelector } from './desired.ts';
import { dataReasons, type Exclusion, holdsPartitionsOnly, unfitReasons } from './reasons.ts';
import { mayWipe } from './wipeable.ts';

/**
 * Which devices a volume group takes. Every device that is not chosen has at least one reason a
 * person can read, and nothing that is in use or holds anything is ever chosen.
 */
export type Choice = {
  readonly chosen: readonly ObservedDevice[];
  /** Devices that are in the group already. */
  readonly members: readonly ObservedDevice[];
  /** Devices that would be chosen once they were wiped, which was allowed for them by name. */
  readonly wipeable: readonly ObservedDevice[];
  readonly excluded: readonly ExcludedDevice[];
  /** Named paths with no device behind them. */
  readonly missing: readonly string[];
};

export type ExcludedDevice = {
  readonly device: ObservedDevice;
  readonly reasons: readonly [Exclusion, ...Exclusion[]];
};

export function planDevices(
  desired: DesiredVg,
  observed: ObservedNode,
  others: readonly DesiredVg[],
): Choice {
  // In one order from here on: a message that names another device must not flap.
  const node = { ...observed, devices: sorted(observed.devices) };
  const vg = node.vgs.find((candidate) => candidate.name === desired.name);
  const chosen: ObservedDevice[] = [];
  const members: ObservedDevice[] = [];
  const wipeable: ObservedDevice[] = [];
  const excluded: ExcludedDevice[] = [];
  for (const device of node.devices) {
    if (isMember(device, vg)) {
      members.push(device);
      excluded.push({ device, reasons: [inThisGroup(desired.name)] });
      continue;
    }
    const unfit = [
      ...selectionReasons(device, desired, others),
      ...completeness(desired, vg),
      ...ambiguity(device, node),
      ...membership(device, node),
      ...unfitReasons(device),
      ...foundationReasons(device, node),
    ];
    const data = dataReasons(device);
    // What is on a device nobody may take is of no interest.
    const [first, ...more] = unfit.length > 0 ? unfit : data;
    if (first === undefined) chosen.push(device);
    else excluded.push({ device, reasons: [first, ...more] });
    const isAllowed = mayWipe(device, desired.selector) || isOnlyHalfMade(device, data);
    if (isAllowed && isBlockedByContentOnly(device, unfit, data)) wipeable.push(device);
  }
  return { chosen, members, wipeable, excluded, missing: missingPaths(desired.selector, node) };
}

export function namesOf(device: ObservedDevice): readonly string[] {
  return [device.path, ...device.links];
}

/** Every path that any of these groups calls a device by. */
export function pathsNamed(groups: readonly Pick<DesiredVg, 'selector'>[]): readonly string[] {
  return groups.flatMap(({ selector }) =>
    selector.kind === 'any' ? [] : [...selector.required, ...selector.optional],
  );
}

export function isNamed(device: ObservedDevice, selector: DeviceSelector): boolean {
  if (selector.kind === 'any') return false;
  const names = namesOf(device);
  return [...selector.required, ...selector.optional].some((path) => names.includes(path));
}

function isMember(device: ObservedDevice, vg: ObservedVg | undefined): boolean {
  if (vg === undefined) return false;
  const names = namesOf(device);
  return vg.pvs.some((pv) => !pv.isMissing && names.includes(pv.device));
}

/** Is anything named that is not in the group? It may come later, or be given up by others. */
export function awaitsDevices(desired: DesiredVg, node: ObservedNode): boolean {
  const { selector, name } = desired;
  if (selector.kind === 'any') return false;
  const vg = node.vgs.find((candidate) => candidate.name === name);
  const members = node.devices.filter((device) => isMember(device, vg)).flatMap(namesOf);
  return [...selector.required, ...selector.optional].some((path) => !members.includes(path));
}

function inThisGroup(vg: string): Exclusion {
  return { reason: 'in-this-group', message: `it is in the volume group ${vg} already` };
}

function selectionReasons(
  device: ObservedDevice,
  desired: DesiredVg,
  others: readonly DesiredVg[],
): readonly Exclusion[] {
  // Without this a device that was given up would be taken again at once.
  if (device.label.kind === 'orphan' && desired.release.includes(device.label.pvUuid)) {
    return [{ reason: 'not-selected', message: `it shall leave the volume group ${desired.name}` }];
  }
  if (desired.selector.kind === 'paths' && !isNamed(device, desired.selector)) {
    return [{ reason: 'not-selected', message: 'its path is not in the device selector' }];
  }
  const rival = others.find((other) => isRival(device, desired.selector, other.selector));
  if (rival === undefined) return [];
  const claim = rival.selector.kind === 'any' ? 'takes any device too' : 'names it';
  return [{ reason: 'wanted-elsewhere', message: `the volume group ${rival.name} ${claim}` }];
}

/** A name wins over `any`; between equals nobody takes the device, whatever the order is. */
function isRival(device: ObservedDevice, own: DeviceSelector, other: DeviceSelector): boolean {
  return other.kind === 'any' ? own.kind === 'any' : isNamed(device, other);
}

function completeness(desired: DesiredVg, vg: ObservedVg | undefined): readonly Exclusion[] {
  if (vg === undefined) return [];
  if (desired.takesNewDevices && vg.tags.includes(desired.ownerTag)) return [];
  const message = `the volume group ${vg.name} exists and takes no new devices`;
  return [{ reason: 'group-complete', message }];
}

/** LVM may know of a membership that the device's own label did not show, and the reverse. */
function membership(device: ObservedDevice, node: ObservedNode): readonly Exclusion[] {
  const names = namesOf(device);
  const vg = node.vgs.find((candidate) =>
    candidate.pvs.some((pv) => !pv.isMissing && names.includes(pv.device)),
  );
  if (vg === undefined) return [];
  return [{ reason: 'in-another-group', message: `it belongs to the volume group ${vg.name}` }];
}

/** A partition or mapping is no freer than the volume, or the disk in use, that it stands on. */
function foundationReasons(device: ObservedDevice, node: ObservedNode): readonly Exclusion[] {
  const telling = new Set([
    ...['unusable-type', 'mounted', 'swap', 'suspended', 'opened', 'in-another-group'],
  ]);
  return foundationsOf(device, node).flatMap((below) =>
    [...unfitReasons(below), ...labelOf(below), ...membership(below, node)]
      .filter(({ reason }) => telling.has(reason))
      .map(({ reason, message }) => ({
        reason,
        message: `it stands on ${below.path}, and of that: ${message}`,
      })),
  );
}

function labelOf({ label }: ObservedDevice): readonly Exclusion[] {
  if (label.kind !== 'member') return [];
  return [{ reason: 'in-another-group', message: `it belongs to the volume group ${label.vg}` }];
}

function foundationsOf(device: ObservedDevice, node: ObservedNode): readonly ObservedDevice[] {
  const found = new Set<ObservedDevice>();
  const visit = (path: string): void => {
    for (const below of node.devices) {
      if (!below.holders.includes(path) || found.has(below)) continue;
      found.add(below);
      visit(below.path);
    }
  };
  visit(device.path);
  return [...found];
}

/** Two disks with one WWN are two paths to one disk, or copies: taking either is a guess. */
function ambiguity(device: ObservedDevice, node: ObservedNode): readonly Exclusion[] {
  // Partitions repeat the WWN of their disk, so it is the disks that are compared.
  const disk =
    device.type === 'part'
      ? node.devices.find((other) => other.holders.includes(device.path))
      : device;
  if (disk === undefined || disk.wwn === '') return [];
  const twin = node.devices.find(
    (other) => other.path !== disk.path && other.type === disk.type && other.wwn === disk.wwn,
  );
  if (twin === undefined) return [];
  const message = `${twin.path} has the same WWN ${disk.wwn}: two paths to one disk, or a copy`;
  return [{ reason: 'ambiguous', message }];
}

/** Our own unfinished work is cleared without being told to. */
function isOnlyHalfMade(device: ObservedDevice, data: readonly Exclusion[]): boolean {
  return (
    device.label.kind === 'half-made' &&
    data.every((exclusion) => exclusion.reason === 'lvm-label-unclear')
  );
}

function isBlockedByContentOnly(
  device: ObservedDevice,
  unfit: readonly Exclusion[],
  data: readonly Exclusion[],
): boolean {
  if (device.label.kind === 'member' || device.label.kind === 'unknown') return false;
  const others = unfit.filter((exclusion) => exclusion.reason !== 'has-holders');
  return others.length === 0 && holdsPartitionsOnly(device) && unfit.length + data.length > 0;
}

function missingPaths(selector: DeviceSelector, node: ObservedNode): readonly string[] {
  if (selector.kind === 'any') return [];
  const present = new Set(node.devices.flatMap(namesOf));
  return [...selector.required, ...selector.optional].filter((path) => !present.has(path));
}

function sorted(devices: readonly ObservedDevice[]): readonly ObservedDevice[] {
  return devices.toSorted(byPath);
}

/** Made once: to make it costs more than all comparisons of a look. */
const collator = new Intl.Collator('en', { numeric: true });

/** `sda2` before `sda10`. */
export function byPath(one: { readonly path: string }, other: { readonly path: string }): number {
  return collator.compare(one.path, other.path);
}
