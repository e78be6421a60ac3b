import { isMeant } from '../../api/lvm-cluster/nodes.ts';
import type { LvmVolumeGroup } from '../../api/objects/lvm-volume-group.ts';
import type { Node } from '../../api/objects/storage.ts';
import { planDevices } from '../device/plan.ts';
import { type DeviceStatus, deviceStatus } from '../device/status.ts';
import { type Block, foreseeNode } from '../foresee.ts';
import type { DesiredNode } from '../node.ts';
import type { ObservedNode } from '../observed.ts';
import type { Step } from '../step.ts';
import { isBlocked } from '../usable-vg.ts';
import { leavingVg } from '../volume-group/leaving.ts';
import type { ForeseenCluster } from './foresee.ts';
import { type Inventory, inventoryAnnotation, readInventory } from './inventory.ts';
import { groupFinalizer } from './marks.ts';
import { leavingNode, wishFor } from './node-wish.ts';
import { isOfLvmCluster } from './objects.ts';
import { permittedWipes } from './permitted-wipes.ts';
import { noteAfterLook, noteText, releaseAnnotation, releaseNote } from './release.ts';

/** What the agent of one node would do, and to which disk. */
export type NodePlan = {
  readonly node: string;
  /** Has its agent told of its disks, as they are by now? Without that nothing can be foreseen. */
  readonly isTold: boolean;
  readonly devices: readonly PlannedDevice[];
  readonly steps: readonly Step[];
  readonly blocks: readonly Block[];
};

export type PlannedDevice = DeviceStatus & { readonly group: string };

/** One for each node that any class means or meant, in one order. */
export function nodePlans({ view }: ForeseenCluster): readonly NodePlan[] {
  const tolerations = view.cluster.spec?.tolerations ?? [];
  return view.nodes
    .toSorted((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1))
    .flatMap((node) => {
      const groups = view.groups.map((group) => markedFor(node, group, tolerations));
      const isConcerned = groups.some((group) => hasMark(node, group));
      const report = view.reports.find(({ metadata }) => metadata.name === node.metadata.name);
      return isConcerned ? [planOf({ node, groups, report, tolerations })] : [];
    });
}

type Tolerations = Parameters<typeof isMeant>[2];

/** As the agent marks it before it begins. */
function markedFor(node: Node, group: LvmVolumeGroup, tolerations: Tolerations): LvmVolumeGroup {
  const { metadata, spec } = group;
  const isGoing = metadata.deletionTimestamp !== undefined;
  const mayBegin = isOfLvmCluster(group) && isMeant(node, spec?.nodeSelector, tolerations);
  if (isGoing || hasMark(node, group) || !mayBegin) return group;
  const finalizers = [...(metadata.finalizers ?? []), groupFinalizer(node.metadata.name)];
  return { ...group, metadata: { ...metadata, finalizers } };
}

function hasMark({ metadata: { name } }: Node, { metadata }: LvmVolumeGroup): boolean {
  return (metadata.finalizers ?? []).includes(groupFinalizer(name));
}

type Asked = Omit<Parameters<typeof wishFor>[0], 'known' | 'givenUp' | 'present'>;

function planOf(asked: Asked): NodePlan {
  const { name: node, annotations = {} } = asked.node.metadata;
  const inventory = readInventory(annotations[inventoryAnnotation]);
  if (inventory === undefined || isOlder(inventory, asked)) {
    return { node, isTold: false, devices: [], steps: [], blocks: [] };
  }
  const { known, givenUp, wipes, node: observed } = inventory;
  const present = new Set(observed.vgs.map((vg) => vg.name));
  const seen = { ...asked, known, givenUp, present };
  const wish = wishFor({ ...seen, groups: withNotes(seen, observed) });
  const { desired } = permittedWipes(wish.desired, observed, wipes);
  const leaving = wish.leaving.map((group) => leavingNode(group, seen));
  const stays = leaving.flatMap(({ volumeGroups }) => whyTheyStay(volumeGroups, observed));
  const parts = [
    desired,
    // A pool goes before its group.
    ...leaving
      .filter(({ volumeGroups }) => whyTheyStay(volumeGroups, observed).length === 0)
      .flatMap(({ volumeGroups, thinPools }) => [
        { volumeGroups: [], thinPools },
        { volumeGroups, thinPools: [] },
      ]),
  ];
  const steps: Step[] = [];
  const blocks: Block[] = [...stays];
  let view = observed;
  for (const part of parts) {
    const foreseen = foreseeNode(part, view);
    steps.push(...foreseen.steps);
    blocks.push(...foreseen.blocks);
    view = foreseen.node;
  }
  return { node, isTold: true, devices: devicesOf(desired, observed), steps, blocks };
}

/** What the agent asks before it removes a group. */
function whyTheyStay(groups: DesiredNode['volumeGroups'], node: ObservedNode): readonly Block[] {
  return groups.flatMap((group) => {
    const vg = leavingVg(group, node);
    if (vg === undefined || !isBlocked(vg)) return [];
    return [{ what: `volume group ${group.name}`, code: vg.code, message: vg.message }];
  });
}

/**
 * Agents write to their Node once in a while, and to their report at once. A group that is served
 * and that the disks say nothing of was made in between: it is not lost.
 */
function isOlder({ known, node }: Inventory, { report, groups }: Asked): boolean {
  const told = report?.spec?.nodeStatus ?? [];
  return groups.some(({ metadata: { name } }) => {
    const isServed = told.some((one) => one.name === name && one.status === 'Ready');
    return isServed && !known.has(name) && node.vgs.every((vg) => vg.name !== name);
  });
}

/** As the agent notes which devices shall leave, before any of them does. */
function withNotes(seen: Parameters<typeof wishFor>[0], node: ObservedNode) {
  const { desired } = wishFor(seen);
  const { name } = seen.node.metadata;
  return seen.groups.map((group): LvmVolumeGroup => {
    const vg = desired.volumeGroups.find((each) => each.name === group.metadata.name);
    if (vg === undefined) return group;
    const text = noteText(noteAfterLook(releaseNote(group, name), vg, node)) ?? '{}';
    const annotations = { ...group.metadata.annotations, [releaseAnnotation(name)]: text };
    return { ...group, metadata: { ...group.metadata, annotations } };
  });
}

function devicesOf({ volumeGroups }: DesiredNode, node: ObservedNode): readonly PlannedDevice[] {
  return volumeGroups.flatMap((vg) => {
    const others = volumeGroups.filter((other) => other !== vg);
    const devices = deviceStatus(planDevices(vg, node, others));
    return devices.map((device) => ({ group: vg.name, ...device }));
  });
}
