import { classSpecOf, groupSpecOf } from '../../api/lvm-cluster/node-spec.ts';
import { isSelected } from '../../api/lvm-cluster/nodes.ts';
import type { LvmVolumeGroup } from '../../api/objects/lvm-volume-group.ts';
import type { Node } from '../../api/objects/storage.ts';
import { type DesiredNode, desiredNode } from '../node.ts';
import type { DesiredVg } from '../volume-group/desired.ts';
import { groupFinalizerPrefix, releaseOf } from './plan.ts';

/** What objects ask of one node. */
export type NodeView = {
  readonly node: Node;
  readonly groups: readonly LvmVolumeGroup[];
  /** The operator makes it for nodes that are meant; without it nothing is begun. */
  readonly hasReport: boolean;
  /** Identities of groups that were seen before, by name. */
  readonly known: ReadonlyMap<string, string>;
};

export type NodeWish = {
  /** What shall be there. */
  readonly desired: DesiredNode;
  /** Groups that may be begun: they bear this node's mark, so that nobody forgets them. */
  readonly served: readonly LvmVolumeGroup[];
  readonly unmarked: readonly LvmVolumeGroup[];
  /** What shall go from this node. */
  readonly leaving: readonly LvmVolumeGroup[];
};

/** LVMS' mark that disks of a class were wiped on a node once: never again. */
export function wipedAnnotation(node: string): string {
  return `wiped.devices.lvms.openshift.io/${node}`;
}

export function groupFinalizer(node: string): string {
  return `${groupFinalizerPrefix}${node}`;
}

export function wishFor({ node, groups, hasReport, known }: NodeView): NodeWish {
  const { name } = node.metadata;
  const isMarked = ({ metadata }: LvmVolumeGroup) =>
    (metadata.finalizers ?? []).includes(groupFinalizer(name));
  const isGoing = ({ metadata }: LvmVolumeGroup) => metadata.deletionTimestamp !== undefined;
  const inOrder = groups.toSorted((one, other) =>
    one.metadata.name < other.metadata.name ? -1 : 1,
  );
  const meant = inOrder.filter(
    (group) => hasReport && !isGoing(group) && isSelected(node, group.spec?.nodeSelector),
  );
  const served = meant.filter(isMarked);
  return {
    desired: desiredFor(served, name, known),
    served,
    unmarked: meant.filter((group) => !isMarked(group)),
    leaving: inOrder.filter((group) => isGoing(group) && isMarked(group)),
  };
}

function desiredFor(
  groups: readonly LvmVolumeGroup[],
  node: string,
  known: ReadonlyMap<string, string>,
): DesiredNode {
  const spec = {
    volumeGroups: groups.map(({ metadata, spec: of = {} }) => groupSpecOf(metadata.name, of)),
    deviceClasses: groups.map(({ metadata, spec: of = {} }) => classSpecOf(metadata.name, of)),
  };
  const desired = desiredNode(spec, known);
  const volumeGroups = desired.volumeGroups.map((vg, index): DesiredVg => {
    const group = groups[index];
    if (group === undefined) return vg;
    const isWiped = group.metadata.annotations?.[wipedAnnotation(node)] !== undefined;
    return { ...vg, release: releaseOf(group), selector: wiping(vg.selector, !isWiped) };
  });
  return { ...desired, volumeGroups };
}

function wiping(selector: DesiredVg['selector'], mayWipe: boolean): DesiredVg['selector'] {
  if (selector.kind === 'any') return selector;
  return { ...selector, forceWipe: selector.forceWipe && mayWipe };
}

/** A group that shall go: its pool first, and never with a volume in it. */
export function leavingNode(group: LvmVolumeGroup, known: ReadonlyMap<string, string>) {
  const { volumeGroups, thinPools } = desiredFor([group], '', known);
  return {
    volumeGroups: volumeGroups.map((vg) => ({ ...vg, presence: 'absent' }) as const),
    thinPools: thinPools.map((pool) => ({ ...pool, presence: 'absent' }) as const),
  };
}
