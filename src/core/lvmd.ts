import { readThickOptions, readThinOptions } from '../api/lvmd-file/lvcreate-options.ts';
import type { LvmdDeviceClass, LvmdOptionClass, LvmdSpec } from '../api/lvmd-file/spec.ts';
import type { DeviceClass } from './device-class.ts';
import { layoutOf } from './node.ts';

/** The device classes that an lvmd.yaml describes. */
export function lvmdDeviceClasses(spec: LvmdSpec): readonly DeviceClass[] {
  return spec.deviceClasses.map((entry) => deviceClass(entry, spec.lvcreateOptionClasses));
}

function deviceClass(
  spec: LvmdDeviceClass,
  optionClasses: readonly LvmdOptionClass[],
): DeviceClass {
  const { target, wipePolicy } = spec;
  return {
    name: spec.name,
    vg: spec.volumeGroup,
    isDefault: spec.isDefault,
    ...volumesOf(spec, spec.lvcreateOptions, spec),
    spareBytes: spec.spareBytes,
    overprovisionRatio: target.kind === 'thin' ? target.overprovisionRatio : 1,
    overheadFactor: spec.overheadFactor,
    ...(target.kind === 'thin' && target.mayGrow === true ? { growsPool: true } : {}),
    // An option class takes the place of the stripes too.
    optionClasses: optionClasses.map(({ name, options }) => ({
      name,
      ...volumesOf(spec, options, {}),
    })),
    ...(wipePolicy === undefined ? {} : { wipePolicy }),
  };
}

function volumesOf(
  { target }: LvmdDeviceClass,
  options: readonly string[],
  stripes: Pick<LvmdDeviceClass, 'stripe' | 'stripeSizeBytes'>,
): Pick<DeviceClass, 'layout' | 'lvcreateOptions'> {
  if (target.kind === 'thin') {
    const layout = { kind: 'thin', pool: target.poolName } as const;
    return { layout, lvcreateOptions: readThinOptions(options) };
  }
  const { layout, rest } = readThickOptions(options, stripes);
  return { layout: layoutOf(layout), lvcreateOptions: rest };
}
