import { askedAnnotations } from '../../api/lvm-cluster/asked.ts';
import type {
  LvmVolumeGroup,
  LvmVolumeGroupNodeStatus,
} from '../../api/objects/lvm-volume-group.ts';
import type { Metadata } from '../../api/objects/metadata.ts';
import { limits } from '../../base/limits.ts';
import { clusterNoteAnnotation } from './cluster-note.ts';
import { clusterFinalizer, legacyGroupFinalizer, needlessMarks } from './marks.ts';
import { ownerOf } from './objects.ts';
import { type ClusterView, type Deed, planCluster } from './plan.ts';

export type ForeseenCluster = {
  /** Every write to the cluster's objects, in order. */
  readonly deeds: readonly Deed[];
  readonly troubles: readonly string[];
  readonly waits: readonly string[];
  /** How the objects are then. What waits for nodes is still there. */
  readonly view: ClusterView;
};

/** What the operator would write, one round after the other, if nothing else happened. */
export function foreseeCluster(given: ClusterView): ForeseenCluster {
  const deeds: Deed[] = [];
  let view = given;
  for (let round = 0; ; round += 1) {
    const { deeds: more, troubles, waits } = planCluster(view);
    const isOver = more.some(({ kind }) => kind === 'release-cluster');
    if (more.length === 0 || isOver || round === limits.passesMax) {
      return { deeds: [...deeds, ...(isOver ? more : [])], troubles, waits, view };
    }
    deeds.push(...more);
    view = more.reduce(afterDeed, view);
  }
}

function afterDeed(view: ClusterView, deed: Deed): ClusterView {
  const { cluster, groups, reports, classes, snapshotClasses = [] } = view;
  switch (deed.kind) {
    case 'mark-cluster': {
      const finalizers = [...(cluster.metadata.finalizers ?? []), clusterFinalizer];
      return { ...view, cluster: { ...cluster, metadata: { ...cluster.metadata, finalizers } } };
    }
    case 'make-group':
    case 'change-group':
    case 'delete-group':
    case 'free-group':
      return { ...view, groups: groupsAfter(groups, deed, view) };
    case 'make-report': {
      const report = { metadata: metadataOf(deed.node), spec: {} };
      return { ...view, reports: [...reports, noted(report, deed.note)] };
    }
    case 'note-report': {
      const others = without(reports, deed.report.metadata.name);
      return { ...view, reports: [...others, noted(deed.report, deed.note)] };
    }
    case 'delete-report':
      return { ...view, reports: without(reports, deed.report.metadata.name) };
    case 'apply-class': {
      const { object } = deed;
      const { name } = object.metadata;
      const metadata = { ...metadataOf(name), ...object.metadata };
      return { ...view, classes: [...without(classes, name), { ...object, metadata }] };
    }
    case 'apply-snapshot-class': {
      const others = without(snapshotClasses, deed.object.metadata.name);
      return { ...view, snapshotClasses: [...others, deed.object] };
    }
    case 'delete-class':
      return { ...view, classes: without(classes, deed.name) };
    case 'delete-snapshot-class':
      return { ...view, snapshotClasses: without(snapshotClasses, deed.name) };
    case 'release-cluster':
      return view;
  }
}

type GroupDeed = Extract<
  Deed,
  { kind: 'make-group' | 'change-group' | 'delete-group' | 'free-group' }
>;

function groupsAfter(
  groups: readonly LvmVolumeGroup[],
  deed: GroupDeed,
  { cluster }: ClusterView,
): readonly LvmVolumeGroup[] {
  const ownerReferences = [ownerOf(cluster)];
  if (deed.kind === 'make-group') {
    const { name, spec } = deed;
    const annotations = askedAnnotations(spec);
    const metadata = { ...metadataOf(name), ownerReferences, annotations };
    return [...groups, { metadata, spec }];
  }
  const { metadata } = deed.group;
  const others = without(groups, metadata.name);
  if (deed.kind === 'change-group') {
    const annotations = annotationsAfter(metadata.annotations ?? {}, deed.notes);
    const finalizers = (metadata.finalizers ?? []).filter((name) => name !== legacyGroupFinalizer);
    const changed = { ...metadata, annotations, finalizers, ownerReferences };
    return [...others, { metadata: changed, spec: deed.spec }];
  }
  const marks = deed.kind === 'free-group' ? needlessMarks(deed.nodes) : [];
  const finalizers = (metadata.finalizers ?? []).filter((name) => !marks.includes(name));
  const isGoing = deed.kind === 'delete-group' || metadata.deletionTimestamp !== undefined;
  // Nobody holds it any more.
  if (isGoing && finalizers.length === 0) return others;
  const deletionTimestamp = isGoing ? { deletionTimestamp: 'foreseen' } : {};
  return [
    ...others,
    { ...deed.group, metadata: { ...metadata, finalizers, ...deletionTimestamp } },
  ];
}

function annotationsAfter(
  annotations: Readonly<Record<string, string>>,
  notes: Extract<Deed, { kind: 'change-group' }>['notes'],
): Readonly<Record<string, string>> {
  const changed = new Map(Object.entries(annotations));
  for (const [key, text] of notes) {
    if (text === undefined) changed.delete(key);
    else changed.set(key, text);
  }
  return Object.fromEntries(changed);
}

function without<T extends { readonly metadata: { readonly name: string } }>(
  objects: readonly T[],
  name: string,
): readonly T[] {
  return objects.filter(({ metadata }) => metadata.name !== name);
}

function metadataOf(name: string): Metadata {
  return { name, uid: `foreseen ${name}`, resourceVersion: '' };
}

function noted(report: LvmVolumeGroupNodeStatus, note: string): LvmVolumeGroupNodeStatus {
  const { annotations = {} } = report.metadata;
  const metadata = {
    ...report.metadata,
    annotations: { ...annotations, [clusterNoteAnnotation]: note },
  };
  return { ...report, metadata };
}
