import { type Blocked, blocked } from '../base/failures.ts';
import type { ObservedHost, ObservedVg } from './observed.ts';

/** The one volume group of this name that may be changed, or why there is none. */
export function usableVg(
  host: ObservedHost,
  name: string,
  options: { readonly mayBePartial: boolean } = { mayBePartial: false },
): ObservedVg | Blocked {
  const found = host.vgs.filter((vg) => vg.name === name);
  const [vg, second] = found;
  if (vg === undefined) {
    return blocked('VolumeGroupMissing', `there is no volume group ${name} on this node`);
  }
  if (second !== undefined) {
    const uuids = found.map((candidate) => candidate.uuid).join(' and ');
    return blocked('VolumeGroupAmbiguous', `two volume groups are called ${name}: ${uuids}`);
  }
  if (vg.isExported) return notUsable(name, 'it is exported (vgimport brings it back)');
  if (!vg.isWritable) return notUsable(name, 'it is read-only (vgchange --permission rw)');
  // LVM itself refuses to allocate in a partial group; removing and activating it allows.
  if (vg.isPartial && !options.mayBePartial) {
    const missing = vg.pvs.filter((pv) => pv.isMissing).map((pv) => `${pv.uuid} (${pv.device})`);
    const message = `the volume group ${name} misses the device(s) ${missing.join(', ')}`;
    return blocked('VolumeGroupPartial', `${message}${backAgain(vg)}`);
  }
  return vg;
}

/**
 * A device that was away while its group was changed stays missing when it is back, because LVM
 * cannot know what is on it by now. Only a person can say that it is good.
 */
export function backAgain({ name, pvs }: ObservedVg): string {
  const back = pvs.filter(({ isMissing, device }) => isMissing && device.startsWith('/'));
  if (back.length === 0) return '';
  const devices = back.map(({ device }) => device).join(' ');
  return `; ${devices} is back: \`vgextend --restoremissing ${name} ${devices}\` takes it in again`;
}

export function isBlocked<T extends object>(value: T | Blocked): value is Blocked {
  return 'kind' in value && value.kind === 'blocked';
}

function notUsable(name: string, why: string): Blocked {
  return blocked('VolumeGroupNotUsable', `the volume group ${name} cannot be changed: ${why}`);
}
