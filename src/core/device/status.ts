import type { Bytes } from '../../base/bytes.ts';
import type { Choice } from './plan.ts';

/** One line a person reads about a device: what becomes of it, and why. */
export type DeviceStatus = {
  readonly path: string;
  readonly sizeBytes: Bytes;
  readonly model: string;
  readonly serial: string;
  readonly state: 'used' | 'chosen' | 'left-alone';
  readonly reasons: readonly string[];
};

export function deviceStatus(choice: Choice): readonly DeviceStatus[] {
  const members = new Set(choice.members.map((device) => device.path));
  const leftAlone = choice.excluded.map(
    ({ device, reasons }): DeviceStatus => ({
      ...identity(device),
      state: members.has(device.path) ? 'used' : 'left-alone',
      reasons: reasons.map((exclusion) => exclusion.message),
    }),
  );
  const taken = choice.chosen.map(
    (device): DeviceStatus => ({
      ...identity(device),
      state: 'chosen',
      reasons: [],
    }),
  );
  return [...taken, ...leftAlone].toSorted((a, b) =>
    a.path.localeCompare(b.path, 'en', { numeric: true }),
  );
}

function identity(device: Choice['chosen'][number]) {
  const { path, sizeBytes, model, serial } = device;
  return { path, sizeBytes, model, serial };
}
