import type { LvmVolumeGroupStatus } from '../../api/objects/lvm-volume-group.ts';
import { limits } from '../../base/limits.ts';
import type { LvmdSight } from './external-report.ts';

/**
 * A group is Ready when volumes can be made in it, and not before. `unserved` has why lvmd.yaml
 * does not say of a class what it should, by its name; '' has what keeps the whole file as it is.
 */
export function withServing(
  told: readonly LvmVolumeGroupStatus[],
  lvmd: Pick<LvmdSight, 'classes' | 'retired'>,
  unserved: ReadonlyMap<string, string>,
): readonly LvmVolumeGroupStatus[] {
  const open = lvmd.classes.filter(({ refusal }) => refusal === undefined);
  return told.map((one) => {
    const { name = '' } = one;
    if (one.status !== 'Ready') return one;
    const own = unserved.get(name);
    const isOpen = open.some((each) => each.name === name && each.vg === name);
    if (isOpen && own === undefined) return one;
    const reason = isTooLong(name)
      ? `${name} is not served: its name is longer than ${nameMax} characters`
      : (clashOf(name, lvmd) ??
        own ??
        unserved.get('') ??
        `lvmd.yaml does not give the device class ${name}, or is refused`);
    return { ...one, status: 'Degraded', reason };
  });
}

/** Volumes of the class are made in a group of the administrator's, who had the name first. */
function clashOf(
  name: string,
  { classes, retired }: Pick<LvmdSight, 'classes' | 'retired'>,
): string | undefined {
  const other = classes.find((each) => each.name === name && each.vg !== name);
  // Of what the file no longer has the name is free.
  if (other === undefined || retired.includes(name)) return undefined;
  return `lvmd.yaml gives ${name} from ${other.vg}: rename one of them`;
}

const nameMax = limits.deviceClassNameLengthMax;

/** LVMS let them pass, and they would make the whole file wrong. */
export function isTooLong(name: string): boolean {
  return name.length > nameMax;
}
