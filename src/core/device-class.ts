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
};

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
