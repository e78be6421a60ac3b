import { showList } from '../../base/show.ts';
import { diskId } from '../device/wipeable.ts';
import type { ObservedNode } from '../observed.ts';
import type { CreateVg } from '../step.ts';

/**
 * Groups that are about to be made, by name: the disks that were chosen, by what they are, one on
 * each line. A group that was made, and of which nothing could be learned before its disks went
 * away, looks like one that never was; only this tells them apart.
 */
export type Begun = ReadonlyMap<string, string>;

export function noteOfBegun({ devices }: CreateVg, node: ObservedNode): string {
  return node.devices
    .filter(({ path }) => devices.includes(path))
    .map(diskId)
    .toSorted()
    .join('\n');
}

/** What is still open: on disks that are all here it was not made, unless it is to be seen. */
export function stillBegun(begun: Begun, node: ObservedNode): Begun {
  const open = [...begun].filter(
    ([name, noted]) => node.vgs.some((vg) => vg.name === name) || awayOf(noted, node).length > 0,
  );
  return new Map(open);
}

/** In the place of identities that were never learned: of groups that are not to be seen. */
export function lostBegun(begun: Begun, node: ObservedNode): ReadonlyMap<string, string> {
  const lost = [...begun].filter(([name]) => !node.vgs.some((vg) => vg.name === name));
  return new Map(lost.map(([name, noted]) => [name, `begun on ${showList(awayOf(noted, node))}`]));
}

function awayOf(noted: string, node: ObservedNode): readonly string[] {
  const present = new Set(node.devices.map(diskId));
  return noted.split('\n').filter((id) => !present.has(id));
}
