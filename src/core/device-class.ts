import type { WipePolicy } from '../api/lvmd-file/spec.ts';
import type { Bytes } from '../base/bytes.ts';
import { type Blocked, blocked } from '../base/failures.ts';
import { showList } from '../base/show.ts';
import type { Layout } from './layouts.ts';

/** What users choose volumes from: a volume group and how volumes lie in it. */
export type DeviceClass = {
  readonly name: string;
  readonly vg: string;
  readonly isDefault: boolean;
  readonly layout: Layout;
  /** Never given out of a thick class. */
  readonly spareBytes: Bytes;
  readonly overprovisionRatio: number;
  readonly lvcreateOptions: readonly string[];
  /**
   * Room in the group that a byte of a volume costs, where options ask for more than the layout
   * shows. At least 1, which it is when left out; counts for what a thick class offers only.
   */
  readonly overheadFactor?: number;
  /** The thin pool may grow into what is free in the group before it is full. */
  readonly growsPool?: boolean;
  /** Other ways to lay out a volume of this class, which a claim may ask for by name. */
  readonly optionClasses?: readonly OptionClass[];
  /** What happens to the blocks of a deleted volume; left out, the layout decides. */
  readonly wipePolicy?: WipePolicy;
  /** Why nothing new is made in it. What is in it is served as ever. */
  readonly refusal?: string;
  /** The identity of its group, where it was made here: another one of that name is not it. */
  readonly vgUuid?: string;
  /** An administrator said that its group never comes back. */
  readonly isGivenUp?: boolean;
};

/** Takes the place of the layout and the options of a class. */
export type OptionClass = Pick<DeviceClass, 'name' | 'layout' | 'lvcreateOptions'>;

/** The class of this name; '' means the default one. */
export function findDeviceClass(
  classes: readonly DeviceClass[],
  name: string,
): DeviceClass | Blocked {
  const found = classes.find((candidate) =>
    name === '' ? candidate.isDefault : candidate.name === name,
  );
  if (found !== undefined) return found;
  const known = showList(classes.map((candidate) => candidate.name)) || 'none';
  const what = name === '' ? 'no default device class' : `no device class ${name}`;
  return blocked('UnknownDeviceClass', `there is ${what} on this node; known: ${known}`);
}

/** The class as an lvcreate option class changes it; '' means that none was named. */
export function withOptionClass(deviceClass: DeviceClass, name: string): DeviceClass | Blocked {
  if (name === '') return deviceClass;
  const { optionClasses = [] } = deviceClass;
  const found = optionClasses.findLast((candidate) => candidate.name === name);
  if (found !== undefined) {
    return { ...deviceClass, layout: found.layout, lvcreateOptions: found.lvcreateOptions };
  }
  const known = showList([...new Set(optionClasses.map((each) => each.name))]) || 'none';
  const message = `there is no lvcreate option class ${name} on this node; known: ${known}`;
  return blocked('UnknownOptionClass', message);
}
