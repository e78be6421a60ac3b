import type { DesiredVg } from '../../src/core/volume-group/desired.ts';

/** A group of ours that takes any device. */
export function desiredVgOf(given: Partial<DesiredVg> = {}): DesiredVg {
  return {
    name: 'vg1',
    uuid: undefined,
    presence: 'present',
    selector: { kind: 'any', forceWipe: false },
    ownerTag: 'lvms',
    isManaged: true,
    adopt: 'tagged',
    takesNewDevices: true,
    release: [],
    devicesMin: 1,
    ...given,
  };
}

/** The same with devices that were named for it. */
export function desiredVgOn(
  required: readonly string[],
  { forceWipe = false, optional = [] }: Partial<{ forceWipe: boolean; optional: string[] }> = {},
): DesiredVg {
  return desiredVgOf({ selector: { kind: 'paths', required, optional, forceWipe } });
}
