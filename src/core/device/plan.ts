import type { ObservedDevice, ObservedNode, ObservedVg } from '../observed.ts';
import type { DesiredVg } from '../volume-group/desired.ts';
import type { DeviceSelector } from './desired.ts';
import { dataReasons, type Exclusion, unfitReasons } from './reasons.ts';

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
  node: ObservedNode,
  others: readonly DesiredVg[],
): Choice {
  const vg = node.vgs.find((candidate) => candidate.name === desired.name);
  const chosen: ObservedDevice[] = [];
  const members: ObservedDevice[] = [];
  const wipeable: ObservedDevice[] = [];
  const excluded: ExcludedDevice[] = [];
  for (const device of sorted(node.devices)) {
    if (isMember(device, vg)) {
      members.push(device);
      excluded.push({ device, reasons: [inThisGroup(desired.name)] });
      continue;
    }
    const unfit = [
      ...selectionReasons(device, desired, others),
      ...ambiguity(device, node),
      ...membership(device, node),
      ...unfitReasons(device),
    ];
    const data = dataReasons(device);
    // What is on a device nobody may take is of no interest.
    const [first, ...more] = unfit.length > 0 ? unfit : data;
    if (first === undefined) chosen.push(device);
    else excluded.push({ device, reasons: [first, ...more] });
    if (desired.selector.forceWipe && isBlockedByContentOnly(device, unfit, data)) {
      wipeable.push(device);
    }
  }
  return { chosen, members, wipeable, excluded, missing: missingPaths(desired.selector, node) };
}

export function namesOf(device: ObservedDevice): readonly string[] {
  return [device.path, ...device.links];
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

function inThisGroup(vg: string): Exclusion {
  return { reason: 'in-this-group', message: `it is in the volume group ${vg} already` };
}

function selectionReasons(
  device: ObservedDevice,
  desired: DesiredVg,
  others: readonly DesiredVg[],
): readonly Exclusion[] {
  if (desired.selector.kind === 'paths') {
    if (isNamed(device, desired.selector)) return [];
    return [{ reason: 'not-selected', message: 'its path is not in the device selector' }];
  }
  const owner = others.find((other) => isNamed(device, other.selector));
  if (owner === undefined) return [];
  return [{ reason: 'wanted-elsewhere', message: `the volume group ${owner.name} names it` }];
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

/** Two disks with one WWN are two paths to one disk, or copies: taking either is a guess. */
function ambiguity(device: ObservedDevice, node: ObservedNode): readonly Exclusion[] {
  if (device.wwn === '' || device.type === 'part') return [];
  const twin = node.devices.find(
    (other) => other.path !== device.path && other.type === device.type && other.wwn === device.wwn,
  );
  if (twin === undefined) return [];
  const message = `${twin.path} has the same WWN ${device.wwn}: two paths to one disk, or a copy`;
  return [{ reason: 'ambiguous', message }];
}

function isBlockedByContentOnly(
  device: ObservedDevice,
  unfit: readonly Exclusion[],
  data: readonly Exclusion[],
): boolean {
  if (device.label.kind === 'member' || device.label.kind === 'unknown') return false;
  const others = unfit.filter((exclusion) => exclusion.reason !== 'has-holders');
  const holdersArePartitions = device.holders.every((holder) => holder.startsWith(device.path));
  return others.length === 0 && holdersArePartitions && unfit.length + data.length > 0;
}

function missingPaths(selector: DeviceSelector, node: ObservedNode): readonly string[] {
  if (selector.kind === 'any') return [];
  const present = new Set(node.devices.flatMap(namesOf));
  return [...selector.required, ...selector.optional].filter((path) => !present.has(path));
}

function sorted(devices: readonly ObservedDevice[]): readonly ObservedDevice[] {
  return devices.toSorted((a, b) => a.path.localeCompare(b.path, 'en', { numeric: true }));
}
