import type { Bytes } from '../../base/bytes.ts';
import { byPath, type Choice, type ExcludedDevice } from './plan.ts';

/** One line a person reads about a device: what becomes of it, and why. */
export type DeviceStatus = {
  readonly path: string;
  readonly sizeBytes: Bytes;
  readonly model: string;
  readonly serial: string;
  readonly state: 'used' | 'chosen' | 'left-alone';
  /** Does the group ask for it, by name or by asking for any? */
  readonly isAskedFor: boolean;
  readonly reasons: readonly string[];
};

export function deviceStatus(choice: Choice): readonly DeviceStatus[] {
  const members = new Set(choice.members.map((device) => device.path));
  const leftAlone = choice.excluded.filter(isWorthALine).map(
    ({ device, reasons }): DeviceStatus => ({
      ...identity(device),
      state: members.has(device.path) ? 'used' : 'left-alone',
      isAskedFor: reasons[0].reason !== 'not-selected',
      reasons: reasons.map((exclusion) => exclusion.message),
    }),
  );
  const taken = choice.chosen.map(
    (device): DeviceStatus => ({
      ...identity(device),
      state: 'chosen',
      isAskedFor: true,
      reasons: [],
    }),
  );
  return [...taken, ...leftAlone].toSorted(byPath);
}

/** Empty loop devices and logical volumes that nobody named would drown the rest. */
function isWorthALine({ device, reasons }: ExcludedDevice): boolean {
  const [first] = reasons;
  if (first.reason !== 'not-selected' && first.reason !== 'unusable-type') return true;
  return device.sizeBytes > 0n && device.type !== 'lvm';
}

function identity(device: Choice['chosen'][number]) {
  const { path, sizeBytes, model, serial } = device;
  return { path, sizeBytes, model, serial };
}
