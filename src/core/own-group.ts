import { type Blocked, blocked } from '../base/failures.ts';
import type { DeviceClass } from './device-class.ts';
import type { ObservedHost, ObservedVg } from './observed.ts';
import { isBlocked, usableVg } from './usable-vg.ts';

/** Which group is meant: by its name alone where nothing is known of its identity. */
export type OwnGroup = Pick<DeviceClass, 'vg' | 'vgUuid'>;

/** Another group that took the name is not it: a disk of another node may bring one. */
export function findOwnGroup(host: ObservedHost, { vg, vgUuid }: OwnGroup): ObservedVg | undefined {
  return host.vgs.find(({ name, uuid }) => name === vg && uuid === (vgUuid ?? uuid));
}

/** The one that is meant, if it may be changed, or why there is none. */
export function usableOwnVg(
  host: ObservedHost,
  { vg: name, vgUuid }: OwnGroup,
  options?: Parameters<typeof usableVg>[2],
): ObservedVg | Blocked {
  const vg = usableVg(host, name, options);
  if (isBlocked(vg) || vgUuid === undefined || vg.uuid === vgUuid) return vg;
  const message = `${name} was ${vgUuid} and is another volume group now: ${vg.uuid}`;
  return blocked('VolumeGroupLost', message);
}

/**
 * The groups of these classes that are not here. What was in one of them comes back with it, so
 * nobody may be told that it is gone. A group that an administrator gave up does not come back.
 */
export function awayGroups(classes: readonly DeviceClass[], host: ObservedHost): readonly string[] {
  const away = classes.filter(
    (each) => each.isGivenUp !== true && findOwnGroup(host, each) === undefined,
  );
  return [...new Set(away.map(({ vg }) => vg))];
}

/**
 * Of the groups that were seen here, and of those that an administrator gave up: which are known,
 * and which names no group has borne since. Who gave one up may have done so while we wrote.
 */
export function knownGroups(
  seen: ReadonlyMap<string, string>,
  forgotten: ReadonlyMap<string, string>,
) {
  const made = new Map([...seen].filter(([name, uuid]) => forgotten.get(name) !== uuid));
  return { made, givenUp: new Set([...forgotten.keys()].filter((name) => !made.has(name))) };
}
