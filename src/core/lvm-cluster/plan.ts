import { showProblem } from '../../api/decode.ts';
import { askedNote, askedOf, isNoted } from '../../api/lvm-cluster/asked.ts';
import { classesOf } from '../../api/lvm-cluster/check.ts';
import { checkClassChange, checkNaming } from '../../api/lvm-cluster/check-change.ts';
import { Findings } from '../../api/lvm-cluster/findings.ts';
import type { LvmCluster } from '../../api/objects/lvm-cluster.ts';
import type {
  LvmVolumeGroup,
  LvmVolumeGroupNodeStatus,
  LvmVolumeGroupSpec,
} from '../../api/objects/lvm-volume-group.ts';
import type { Node, StorageClass } from '../../api/objects/storage.ts';
import { isSameJson } from '../../api/same.ts';
import { showFew, showList } from '../../base/show.ts';
import { clusterNoteAnnotation, clusterNoteText } from './cluster-note.ts';
import { heldBy, type VolumesView } from './gate.ts';
import { clusterFinalizer, groupFinalizerPrefix, legacyGroupFinalizer } from './marks.ts';
import {
  isOwn,
  isOwnedBy,
  ownGroups,
  snapshotClassesOf,
  storageClassesOf,
  storageClassName,
  volumeGroupsOf,
} from './objects.ts';
import { clusterProblems, type KnownProblem, lostClasses } from './recheck.ts';
import { noteChanges } from './release.ts';
import { nodesOfCluster } from './status.ts';

/** What is in the cluster around an LVMCluster. */
export type ClusterView = VolumesView & {
  readonly cluster: LvmCluster;
  readonly nodes: readonly Node[];
  readonly groups: readonly LvmVolumeGroup[];
  readonly reports: readonly LvmVolumeGroupNodeStatus[];
  readonly classes: readonly StorageClass[];
  /**
   * How StorageClasses were when they were applied last: their `appliedKey`, by name. Undefined for
   * who only foresees: he cannot tell our labels from those of others.
   */
  readonly applied?: ReadonlyMap<string, string>;
  /** Undefined where there is no such kind. */
  readonly snapshotClasses: readonly SnapshotClass[] | undefined;
};

type Labelled = {
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
};

type SnapshotClass = Labelled & { readonly driver: string; readonly deletionPolicy: string };

/** One write. Each can be done again, and the next look finds what it did. */
export type Deed =
  | { readonly kind: 'mark-cluster' }
  | { readonly kind: 'apply-class'; readonly object: StorageClassObject }
  | { readonly kind: 'apply-snapshot-class'; readonly object: SnapshotClassObject }
  | { readonly kind: 'delete-class'; readonly name: string }
  | { readonly kind: 'delete-snapshot-class'; readonly name: string }
  | { readonly kind: 'make-group'; readonly name: string; readonly spec: LvmVolumeGroupSpec }
  | {
      readonly kind: 'change-group';
      readonly group: LvmVolumeGroup;
      readonly spec: LvmVolumeGroupSpec;
      /** Which devices shall leave and what was asked, in annotations that differ. */
      readonly notes: ReturnType<typeof noteChanges>;
    }
  | { readonly kind: 'delete-group'; readonly group: LvmVolumeGroup }
  | { readonly kind: 'make-report'; readonly node: string; readonly note: string }
  | {
      readonly kind: 'note-report';
      readonly report: LvmVolumeGroupNodeStatus;
      readonly note: string;
    }
  | { readonly kind: 'delete-report'; readonly report: LvmVolumeGroupNodeStatus }
  | {
      readonly kind: 'free-group';
      readonly group: LvmVolumeGroup;
      readonly nodes: readonly string[];
    }
  | { readonly kind: 'release-cluster' };

type StorageClassObject = ReturnType<typeof storageClassesOf>[number];
type SnapshotClassObject = ReturnType<typeof snapshotClassesOf>[number];

export type ClusterPlan = {
  readonly deeds: readonly Deed[];
  /** What cannot be done, and why. */
  readonly troubles: readonly string[];
  /** What somebody has to delete first. */
  readonly waits: readonly string[];
};

export function planCluster(view: ClusterView): ClusterPlan {
  const { cluster } = view;
  if (cluster.metadata.deletionTimestamp !== undefined) return planDeletion(view);
  if (!(cluster.metadata.finalizers ?? []).includes(clusterFinalizer)) {
    return { deeds: [{ kind: 'mark-cluster' }], troubles: [], waits: [] };
  }
  const problems = clusterProblems(view);
  // Nothing is begun on the strength of an object that the webhook would have refused.
  const wrong = problems.filter(({ isStrict }) => !isStrict).map(showProblem);
  const lost = lostClasses(view);
  if (lost.length > 0) {
    const deeds = classesOf(cluster).length === 0 ? [] : planReports(view);
    return { deeds, troubles: [...wrong, ...lost], waits: [] };
  }
  const gone = planGoneClasses(view);
  const groups = wrong.length > 0 ? { ...none, refused: [] } : planGroups(view, problems);
  const classes = wrong.length > 0 ? none : planClasses(view, groups.refused);
  const parts = [gone, groups, classes];
  return {
    deeds: [...parts.flatMap(({ deeds }) => deeds), ...planReports(view)],
    troubles: [...wrong, ...parts.flatMap(({ troubles }) => troubles)],
    waits: gone.waits,
  };
}

type Part = ClusterPlan;
const none: Part = { deeds: [], troubles: [], waits: [] };

/** `refused` are classes that cannot be as they are wanted: nothing else is made for them. */
function planGroups(
  view: ClusterView,
  known: readonly KnownProblem[],
): Part & { readonly refused: readonly string[] } {
  const deeds: Deed[] = [];
  const troubles: string[] = [];
  const refused: string[] = [];
  for (const { name, spec } of volumeGroupsOf(view.cluster, view.groups)) {
    const group = view.groups.find(({ metadata }) => metadata.name === name);
    const isAbout = ({ field }: KnownProblem) => field.includes(`deviceClasses[${name}]`);
    const wrong = known.filter((one) => one.isNew && isAbout(one)).map(showProblem);
    const changed = group === undefined ? [] : whyNotChange(group, spec, view);
    const found = [...wrong, ...changed];
    if (found.length > 0) {
      troubles.push(...found);
      refused.push(name);
    } else if (group === undefined) {
      deeds.push({ kind: 'make-group', name, spec });
    } else {
      // Whoever altered it alone is set right: of the class nothing has changed.
      const notes = [...noteChanges(group, spec), ...askedNote(group, spec)];
      const isSame = isSameJson(group.spec ?? {}, spec) && notes.length === 0;
      const isOurs = isOwn(group, view.cluster) && !isLegacy(group);
      if (!isSame || !isOurs) deeds.push({ kind: 'change-group', group, spec, notes });
    }
  }
  return { deeds, troubles, waits: [], refused };
}

function whyNotChange(
  group: LvmVolumeGroup,
  spec: LvmVolumeGroupSpec,
  { reports }: ClusterView,
): readonly string[] {
  const { name, deletionTimestamp } = group.metadata;
  if (deletionTimestamp !== undefined) {
    return [`LVMVolumeGroup ${name} is being deleted: it is made anew when it is gone`];
  }
  const findings = new Findings();
  const [was, is] = [
    { name, ...askedOf(group) },
    { name, ...spec },
  ];
  checkClassChange(was, is, findings);
  checkNaming(was, is, reports, findings);
  if (findings.problems.length > 0 && !isNoted(group)) {
    const remedy = 'if somebody altered it, and not the class, write there what the class has';
    findings.refuse(`LVMVolumeGroup ${name} spec`, group.spec, remedy);
  }
  return findings.problems.map(showProblem);
}

/** Storage classes first: from then on nobody can ask for more. Groups go when they hold nothing. */
function planGoneClasses(view: ClusterView): Part {
  const wanted = new Set(classesOf(view.cluster).map(({ name }) => name));
  const deeds: Deed[] = [];
  const waits: string[] = [];
  for (const name of ownClasses(view).filter((one) => !wanted.has(one))) {
    const held = heldBy(name, view);
    const group = ownGroups(view).find(({ metadata }) => metadata.name === name);
    if (held.length > 0) {
      waits.push(`device class ${name} stays while it holds ${showFew(held)}`);
      deeds.push(...noDefault(group));
      continue;
    }
    const others = classDeletions(name, view);
    if (others.length > 0) deeds.push(...others);
    else if (group !== undefined && group.metadata.deletionTimestamp === undefined) {
      deeds.push({ kind: 'delete-group', group });
    }
  }
  return { deeds, troubles: [], waits };
}

/** Another class is the default now, and lvmd.yaml takes one only. */
function noDefault(group: LvmVolumeGroup | undefined): readonly Deed[] {
  const { spec, metadata } = group ?? {};
  const isGoing = metadata?.deletionTimestamp !== undefined;
  if (group === undefined || spec?.default !== true || isGoing) return [];
  const { default: _default, ...others } = spec;
  return [{ kind: 'change-group', group, spec: others, notes: askedNote(group, others) }];
}

/** Does a cluster that stays have the class? */
export function isWanted(deviceClass: string, cluster: LvmCluster): boolean {
  const isGoing = cluster.metadata.deletionTimestamp !== undefined;
  return !isGoing && classesOf(cluster).some(({ name }) => name === deviceClass);
}

/** Classes that anything of ours tells of, in one order. */
function ownClasses(view: ClusterView): readonly string[] {
  const prefix = storageClassName('');
  const named = [...view.classes, ...(view.snapshotClasses ?? [])]
    .filter((one) => isOwnedBy(one, view.cluster) && one.metadata.name.startsWith(prefix))
    .map(({ metadata }) => metadata.name.slice(prefix.length));
  const groups = ownGroups(view).map(({ metadata }) => metadata.name);
  return [...new Set([...groups, ...named])].toSorted();
}

function isLegacy({ metadata }: LvmVolumeGroup): boolean {
  return (metadata.finalizers ?? []).includes(legacyGroupFinalizer);
}

function classDeletions(deviceClass: string, view: ClusterView): readonly Deed[] {
  const name = storageClassName(deviceClass);
  const isOurs = (one: Labelled) => one.metadata.name === name && isOwnedBy(one, view.cluster);
  return [
    ...(view.classes.some(isOurs) ? [{ kind: 'delete-class', name } as const] : []),
    ...((view.snapshotClasses ?? []).some(isOurs)
      ? [{ kind: 'delete-snapshot-class', name } as const]
      : []),
  ];
}

function planClasses(view: ClusterView, refused: readonly string[]): Part {
  const deeds: Deed[] = [];
  const troubles: string[] = [];
  const isWanted = ({ metadata: { name } }: Labelled) =>
    !refused.some((one) => storageClassName(one) === name);
  const wanted = storageClassesOf(view.cluster, view.driver, view.classes).filter(isWanted);
  for (const object of wanted) {
    const { name } = object.metadata;
    const found = view.classes.find(({ metadata }) => metadata.name === name);
    const unlike = found === undefined ? [] : differences(found, object);
    if (unlike.length > 0) {
      troubles.push(
        `StorageClass ${name} has another ${showList(unlike)}, and these can never be changed: \
delete it, and it is made as it should be; volumes are not touched by that`,
      );
    } else if (found === undefined || !isMarked(found, object)) {
      deeds.push({ kind: 'apply-class', object });
    } else if (hasMore(found, object) && isUntried(found, object, view)) {
      // A label that was left out of the class, or somebody else's: only applying tells.
      deeds.push({ kind: 'apply-class', object });
    }
  }
  const there = view.snapshotClasses;
  if (there === undefined) return { deeds, troubles, waits: [] };
  for (const object of snapshotClassesOf(view.cluster, view.driver).filter(isWanted)) {
    const found = there.find((one) => one.metadata.name === object.metadata.name);
    if (found !== undefined && isOwnedBy(found, view.cluster)) continue;
    const { driver, deletionPolicy } = found ?? object;
    // Old versions of LVMS put no labels on what they made.
    if (driver === object.driver && deletionPolicy === object.deletionPolicy) {
      deeds.push({ kind: 'apply-snapshot-class', object });
    } else {
      troubles.push(`VolumeSnapshotClass ${object.metadata.name} is somebody else's: it stays`);
    }
  }
  return { deeds, troubles, waits: [] };
}

const unchangeable = ['provisioner', 'parameters', 'reclaimPolicy', 'volumeBindingMode'] as const;

function differences(found: StorageClass, object: StorageClassObject): readonly string[] {
  return unchangeable.filter((key) => !isSameJson(found[key], object[key]));
}

/** Has it all labels and annotations that it should have? Others may stand beside them. */
function isMarked({ metadata }: StorageClass, object: StorageClassObject): boolean {
  return (['labels', 'annotations'] as const).every((key) =>
    Object.entries(object.metadata[key]).every(([name, value]) => metadata[key]?.[name] === value),
  );
}

function hasMore({ metadata }: StorageClass, { metadata: wanted }: StorageClassObject): boolean {
  return Object.keys(metadata.labels ?? {}).some((key) => !Object.hasOwn(wanted.labels, key));
}

function isUntried(found: StorageClass, object: StorageClassObject, { applied }: ClusterView) {
  return applied !== undefined && applied.get(found.metadata.name) !== appliedKey(found, object);
}

export function appliedKey({ metadata }: StorageClass, object: StorageClassObject): string {
  return `${metadata.resourceVersion} ${JSON.stringify(object.metadata)}`;
}

/** One report for each node that is meant, and none of nodes that are gone. */
function planReports(view: ClusterView): readonly Deed[] {
  const wanted = nodesOfCluster(view);
  const note = clusterNoteText(view.cluster);
  const there = new Set(view.reports.map(({ metadata }) => metadata.name));
  const made = wanted
    .filter((node) => !there.has(node))
    .map((node): Deed => ({ kind: 'make-report', node, note }));
  const noted = view.reports
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .filter(({ metadata }) => metadata.annotations?.[clusterNoteAnnotation] !== note)
    .filter(({ metadata }) => view.nodes.some((node) => node.metadata.name === metadata.name))
    .map((report): Deed => ({ kind: 'note-report', report, note }));
  return [...made, ...noted, ...planGoneNodes(view)];
}

/** A node that is gone reports nothing any more, and holds no group back. */
function planGoneNodes(view: ClusterView): readonly Deed[] {
  const nodes = new Set(view.nodes.map(({ metadata }) => metadata.name));
  const reports = view.reports
    .filter(({ metadata }) => !nodes.has(metadata.name))
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined || hasFinalizer(metadata))
    .map((report): Deed => ({ kind: 'delete-report', report }));
  const groups = view.groups.flatMap((group): readonly Deed[] => {
    const gone = (group.metadata.finalizers ?? [])
      .filter((name) => name.startsWith(groupFinalizerPrefix))
      .map((name) => name.slice(groupFinalizerPrefix.length))
      .filter((node) => !nodes.has(node));
    // Of one that stays it is taken with the next change.
    const isHeld = isLegacy(group) && group.metadata.deletionTimestamp !== undefined;
    return gone.length === 0 && !isHeld ? [] : [{ kind: 'free-group', group, nodes: gone }];
  });
  return [...reports, ...groups];
}

function hasFinalizer({ finalizers = [] }: { readonly finalizers?: readonly string[] }): boolean {
  return finalizers.length > 0;
}

/** What is first goes first: nobody asks for more, groups, reports, and the cluster itself. */
function planDeletion(view: ClusterView): ClusterPlan {
  const { cluster } = view;
  const names = [
    ...new Set([...classesOf(cluster).map(({ name }) => name), ...ownClasses(view)]),
  ].toSorted();
  const waits = names.flatMap((name) => {
    const held = heldBy(name, view);
    return held.length === 0 ? [] : [`device class ${name} holds ${showFew(held)}`];
  });
  const freed = planGoneNodes(view);
  if (waits.length > 0) return { deeds: freed, troubles: [], waits };
  const classes = names.flatMap((name) => classDeletions(name, view));
  if (classes.length > 0) return { deeds: [...classes, ...freed], troubles: [], waits: [] };
  const groups = ownGroups(view);
  if (groups.length > 0) {
    const going = groups
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map((group): Deed => ({ kind: 'delete-group', group }));
    return { deeds: [...going, ...freed], troubles: [], waits: [] };
  }
  if (view.reports.length > 0) {
    const deeds = view.reports.map((report): Deed => ({ kind: 'delete-report', report }));
    return { deeds, troubles: [], waits: [] };
  }
  return { deeds: [{ kind: 'release-cluster' }], troubles: [], waits: [] };
}
