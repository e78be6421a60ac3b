import { isShared } from '../../api/lvm-cluster/access.ts';
import { classSpecOf, groupSpecOf } from '../../api/lvm-cluster/node-spec.ts';
import { isMeant, isSelected } from '../../api/lvm-cluster/nodes.ts';
import type {
  LvmVolumeGroup,
  LvmVolumeGroupNodeStatus,
} from '../../api/objects/lvm-volume-group.ts';
import type { Toleration } from '../../api/objects/node-selector.ts';
import type { Node } from '../../api/objects/storage.ts';
import { showList } from '../../base/show.ts';
import { type DesiredNode, desiredNode } from '../node.ts';
import type { ObservedNode } from '../observed.ts';
import type { DesiredVg } from '../volume-group/desired.ts';
import { groupFinalizer, wipedAnnotation } from './marks.ts';
import { isOfLvmCluster } from './objects.ts';
import { releaseNote } from './release.ts';

/** What objects ask of one node. */
export type NodeView = {
  readonly node: Node;
  readonly groups: readonly LvmVolumeGroup[];
  /** The operator makes it for nodes that are meant; without it nothing is begun. */
  readonly report: LvmVolumeGroupNodeStatus | undefined;
  /**
   * Of the LVMCluster: on a node with other taints nothing new is begun, nor while nobody has said
   * which.
   */
  readonly tolerations: readonly Toleration[] | undefined;
  /** Identities of groups that were seen before, by name. */
  readonly known: ReadonlyMap<string, string>;
  /** Names of groups that never come back, by an administrator's word. */
  readonly givenUp: ReadonlySet<string>;
  /** Names of the volume groups that are on the node now. */
  readonly present: ReadonlySet<string>;
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

export function wishFor(view: NodeView): NodeWish {
  const { node, groups, report, tolerations } = view;
  const { name } = node.metadata;
  const isMarked = (group: LvmVolumeGroup) => isMarkedFor(name, group);
  const isGoing = ({ metadata }: LvmVolumeGroup) => metadata.deletionTimestamp !== undefined;
  const inOrder = groups.toSorted((one, other) =>
    one.metadata.name < other.metadata.name ? -1 : 1,
  );
  const meant = inOrder.filter(
    ({ metadata, spec }) =>
      report !== undefined &&
      metadata.deletionTimestamp === undefined &&
      // Each node would make a group of its own of disks that all of them see.
      !isShared(spec ?? {}) &&
      isSelected(node, spec?.nodeSelector),
  );
  const served = meant.filter(isMarked);
  const mayBegin = (group: LvmVolumeGroup) =>
    tolerations !== undefined &&
    !isMarked(group) &&
    // LVMS and the operator give each an owner: no disk is taken for one that nobody asked for.
    isOfLvmCluster(group) &&
    isMeant(node, group.spec?.nodeSelector, tolerations);
  return {
    desired: desiredFor(served, view),
    served,
    unmarked: meant.filter(mayBegin),
    leaving: inOrder.filter((group) => isGoing(group) && isMarked(group)),
  };
}

/** One that nobody asked for is as good as none, unless this node has begun it already. */
export function isNobodys(group: LvmVolumeGroup, node: string): boolean {
  return !isOfLvmCluster(group) && !isMarkedFor(node, group);
}

function isMarkedFor(node: string, { metadata }: LvmVolumeGroup): boolean {
  return (metadata.finalizers ?? []).includes(groupFinalizer(node));
}

type Seen = Pick<NodeView, 'node' | 'report' | 'known' | 'givenUp' | 'present'>;

function desiredFor(groups: readonly LvmVolumeGroup[], seen: Seen): DesiredNode {
  const known = new Map(seen.known);
  for (const { metadata } of groups) {
    const identity = seen.known.get(metadata.name) ?? lostIdentity(metadata.name, seen);
    if (identity !== undefined) known.set(metadata.name, identity);
  }
  const spec = {
    volumeGroups: groups.map(({ metadata, spec: of = {} }) => groupSpecOf(metadata.name, of)),
    deviceClasses: groups.map(({ metadata, spec: of = {} }) => classSpecOf(metadata.name, of)),
  };
  const desired = desiredNode(spec, known);
  const volumeGroups = desired.volumeGroups.map((vg, index): DesiredVg => {
    const group = groups[index];
    if (group === undefined) return vg;
    const mayWipe = isFresh(group, seen);
    const noted = Object.values(releaseNote(group, seen.node.metadata.name));
    const release = noted.filter((pv) => pv !== '');
    return { ...vg, release, selector: wiping(vg.selector, mayWipe) };
  });
  return { ...desired, volumeGroups };
}

/** Nothing of it was ever here: only then may its disks be wiped. */
function isFresh({ metadata }: LvmVolumeGroup, { node, ...seen }: Seen): boolean {
  const isWiped = metadata.annotations?.[wipedAnnotation(node.metadata.name)] !== undefined;
  const ever = [seen.known, seen.givenUp, seen.present];
  return !isWiped && ever.every((names) => !names.has(metadata.name));
}

/**
 * Somebody before us told of devices in this group, and it is not here: its disks are away. It is
 * never made a second time, or there would be two of the name when they come back. Unless it was
 * given up: what was told of it is told again for as long as it has an identity.
 */
function lostIdentity(name: string, { report, givenUp, present }: Seen): string | undefined {
  if (givenUp.has(name)) return undefined;
  const told = report?.spec?.nodeStatus?.find((one) => one.name === name)?.devices ?? [];
  return told.length > 0 && !present.has(name) ? `the one with ${showList(told)}` : undefined;
}

/** Our groups that are to be seen, whole or not, by name and identity. */
export function groupsHere(
  { volumeGroups }: DesiredNode,
  { vgs }: ObservedNode,
): ReadonlyMap<string, string> {
  const here = volumeGroups.flatMap(({ name, ownerTag }) => {
    const [vg, ...more] = vgs.filter((each) => each.name === name);
    const isOurs = vg?.tags.includes(ownerTag) === true && more.length === 0;
    return isOurs ? [[name, vg.uuid] as const] : [];
  });
  return new Map(here);
}

/** Which disks that are is decided with a look at them: until then none. */
function wiping(selector: DesiredVg['selector'], mayWipe: boolean): DesiredVg['selector'] {
  if (selector.kind === 'any') return selector;
  return { ...selector, forceWipe: selector.forceWipe && mayWipe, onlyWipe: [] };
}

/** A group that shall go: its pool first, and never with a volume in it. */
export function leavingNode(group: LvmVolumeGroup, seen: Seen) {
  const { volumeGroups, thinPools } = desiredFor([group], { ...seen, report: undefined });
  return {
    volumeGroups: volumeGroups.map((vg) => ({ ...vg, presence: 'absent' }) as const),
    thinPools: thinPools.map((pool) => ({ ...pool, presence: 'absent' }) as const),
  };
}
