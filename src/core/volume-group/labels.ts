import { diskId } from '../device/wipeable.ts';
import type { ObservedNode } from '../observed.ts';
import type { CreateVg, ExtendVg } from '../step.ts';

/**
 * Labels that lvm puts on disks for a group, by `group/disk`: the PV, or '' while nobody has
 * looked. It may label a disk and be cut off before the disk is in the group, which then may be
 * made without it. Nobody could tell later whose label that is.
 */
export type Labels = ReadonlyMap<string, string>;

/** Before it is done: a label that is there already is somebody else's. */
export function withLabelling(
  noted: Labels,
  { vg, devices }: CreateVg | ExtendVg,
  node: ObservedNode,
): Labels {
  const bare = node.devices.filter(
    ({ path, label }) => devices.includes(path) && label.kind === 'none',
  );
  return new Map([...noted, ...bare.map((disk) => [`${vg}/${diskId(disk)}`, ''] as const)]);
}

/** What is in a group leaves with it, and what bears no label, or another one, is not ours. */
export function labelsAfterLook(noted: Labels, node: ObservedNode): Labels {
  return new Map(
    [...noted].flatMap(([key, before]) => {
      const id = key.slice(key.indexOf('/') + 1);
      const [disk, ...twins] = node.devices.filter((device) => diskId(device) === id);
      // It is away, or one of two that nobody can tell apart.
      if (disk === undefined || twins.length > 0) return [[key, before] as const];
      const { label } = disk;
      if (label.kind === 'none' || label.kind === 'member') return [];
      if (label.kind !== 'orphan') return [[key, before] as const];
      return before === '' || before === label.pvUuid ? [[key, label.pvUuid] as const] : [];
    }),
  );
}

/** PVs that were labelled for this group, and are in none. */
export function labelledFor(vg: string, noted: Labels): readonly string[] {
  return [...noted]
    .filter(([key, pv]) => key.startsWith(`${vg}/`) && pv !== '')
    .map(([, pv]) => pv);
}
