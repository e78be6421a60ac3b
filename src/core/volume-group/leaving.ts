import { type Blocked, blocked } from '../../base/failures.ts';
import type { ObservedHost, ObservedVg } from '../observed.ts';
import type { DesiredVg } from './desired.ts';

/**
 * The group that is about to be removed, or why it stays. One that is not to be seen may be away,
 * and one that has its name may be another one. Undefined: there never was one.
 */
export function leavingVg(
  { name, uuid }: Pick<DesiredVg, 'name' | 'uuid'>,
  host: ObservedHost,
): ObservedVg | Blocked | undefined {
  const vg = host.vgs.find((one) => (uuid === undefined ? one.name === name : one.uuid === uuid));
  if (vg === undefined) {
    if (uuid === undefined) return undefined;
    return blocked('VolumeGroupLost', `no device of ${name} (${uuid}) is here`);
  }
  if (vg.name !== name) {
    const message = `${name} (${uuid}) was renamed to ${vg.name}: give it its name back`;
    return blocked('VolumeGroupRenamed', message);
  }
  return vg;
}
