import { showProblem } from '../../api/decode.ts';
import { askedOf } from '../../api/lvm-cluster/asked.ts';
import {
  checkCluster,
  checkSomething,
  classesOf,
  keyOf,
  refuseDefaultGone,
} from '../../api/lvm-cluster/check.ts';
import { type Finding, Findings } from '../../api/lvm-cluster/findings.ts';
import type { LvmCluster, LvmDeviceClass } from '../../api/objects/lvm-cluster.ts';
import type { LvmVolumeGroup } from '../../api/objects/lvm-volume-group.ts';
import type { Node } from '../../api/objects/storage.ts';
import { isSameJson } from '../../api/same.ts';
import { ownGroups, volumeGroupsOf } from './objects.ts';

/**
 * What webhooks judge by the LVMCluster as it was is judged here by its groups: what stands in them
 * was asked for, and no webhook may have run since.
 */
type View = {
  readonly cluster: LvmCluster;
  readonly groups: readonly LvmVolumeGroup[];
  readonly nodes: readonly Node[];
};

/** A strict one that was there before is not new: it may stay. */
export type KnownProblem = Finding & { readonly isNew: boolean };

export function clusterProblems(view: View): readonly KnownProblem[] {
  const { nodes } = view;
  const { is, was } = beforeAndAfter(view);
  const known = new Set(checkCluster(clusterOf(was), nodes).problems.map(keyOf));
  const { spec } = view.cluster;
  const ordered = { spec: { ...spec, storage: { deviceClasses: is } } };
  return checkCluster(ordered, nodes).problems.map((one) => {
    return { ...one, isNew: !one.isStrict || !known.has(keyOf(one)) };
  });
}

/**
 * Of two classes that name one disk the later one is blamed: it shall be the one that changed. Of a
 * class that was there groups do not know all: the rest was as it is.
 */
function beforeAndAfter({ cluster, groups }: View) {
  const wanted = new Map(
    volumeGroupsOf(cluster, groups).map(({ name, spec }) => [name, spec] as const),
  );
  const found = classesOf(cluster).map((one) => {
    const group = groups.find(({ metadata }) => metadata.name === one.name);
    if (group === undefined) return { one, asked: undefined, rank: 2 };
    const asked = askedOf(group);
    return { one, asked, rank: isSameJson(asked, wanted.get(one.name)) ? 0 : 1 };
  });
  const inOrder = found.toSorted((one, other) => one.rank - other.rank);
  const was = inOrder.flatMap(({ one, asked }): readonly LvmDeviceClass[] => {
    if (asked === undefined) return [];
    const { name, fstype, storageClassOptions: options } = one;
    const fileSystem = fstype === undefined ? {} : { fstype };
    const others = options === undefined ? {} : { storageClassOptions: options };
    return [{ name, ...fileSystem, ...others, ...asked }];
  });
  return { is: inOrder.map(({ one }) => one), was };
}

function clusterOf(deviceClasses: readonly LvmDeviceClass[]): Pick<LvmCluster, 'spec'> {
  return { spec: { storage: { deviceClasses } } };
}

/** Classes that must not be missing: nothing is done on the strength of an object without them. */
export function lostClasses(view: View): readonly string[] {
  const classes = classesOf(view.cluster);
  const findings = new Findings();
  const groups = ownGroups(view);
  if (classes.length > 0) checkDefaultStays(classes, groups, findings);
  else if (groups.length === 0) checkSomething(view.cluster, findings);
  else {
    const remedy = 'leave at least one class, or delete it';
    findings.refuse('spec.storage.deviceClasses', undefined, remedy);
  }
  return findings.problems.map(showProblem);
}

function checkDefaultStays(
  classes: readonly LvmDeviceClass[],
  groups: readonly LvmVolumeGroup[],
  findings: Findings,
): void {
  const names = new Set(classes.map(({ name }) => name));
  const defaults = groups.filter(
    (group) => askedOf(group).default === true && group.metadata.deletionTimestamp === undefined,
  );
  const isWanted = ({ metadata }: LvmVolumeGroup) => names.has(metadata.name);
  // Another one is the default already, or is named for it: then this one was not the last.
  if (classes.some((one) => one.default === true) || defaults.some(isWanted)) return;
  for (const { metadata } of defaults) refuseDefaultGone(metadata.name, findings);
}
