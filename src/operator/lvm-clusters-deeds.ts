import { askedAnnotations } from '../api/lvm-cluster/asked.ts';
import type { LvmCluster } from '../api/objects/lvm-cluster.ts';
import type { Metadata } from '../api/objects/metadata.ts';
import { clusterNoteAnnotation } from '../core/lvm-cluster/cluster-note.ts';
import {
  clusterFinalizer,
  legacyGroupFinalizer,
  needlessMarks,
} from '../core/lvm-cluster/marks.ts';
import { ownerOf } from '../core/lvm-cluster/objects.ts';
import type { Deed } from '../core/lvm-cluster/plan.ts';
import type { noteChanges } from '../core/lvm-cluster/release.ts';
import type { KubeClient } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { guardOff, guardOn } from '../kube/finalizers.ts';
import type { Kind, KubeObject } from '../kube/kind.ts';
import { storageClassKind, volumeSnapshotClassKind } from '../kube/kinds.ts';
import { lvmClusterKind, lvmNodeStatusKind, lvmVolumeGroupKind } from '../kube/lvms-kinds.ts';
import { type Patch, pointer } from '../kube/patch.ts';

/** LVMS' own: what it applied before is ours to change. */
const fieldManager = 'lvms-operator';

/** LVMS protects reports by it. */
export const reportFinalizer = 'delete-protection.lvm.openshift.io';

type Means = { readonly client: KubeClient; readonly signal: AbortSignal };

type ClassDeed = Extract<
  Deed,
  { kind: 'apply-class' | 'apply-snapshot-class' | 'delete-class' | 'delete-snapshot-class' }
>;

/** Carries out one write. Each may be done twice: what is done already is left as it is. */
export async function carryOut(deed: Deed, cluster: LvmCluster, means: Means): Promise<void> {
  const { client, signal } = means;
  const { namespace = '' } = cluster.metadata;
  switch (deed.kind) {
    case 'mark-cluster':
      await client.patch(lvmClusterKind, cluster.metadata, guardOn(cluster, clusterFinalizer), {
        signal,
      });
      return;
    case 'release-cluster':
      return release(lvmClusterKind, cluster, clusterFinalizer, means);
    case 'make-group': {
      const { name, spec } = deed;
      const annotations = askedAnnotations(spec);
      const metadata = { name, namespace, ownerReferences: [ownerOf(cluster)], annotations };
      return unlessThere(client.create(lvmVolumeGroupKind, { metadata, spec }, { signal }));
    }
    case 'change-group':
      await client.patch(lvmVolumeGroupKind, deed.group.metadata, groupPatch(deed, cluster), {
        signal,
      });
      return;
    case 'delete-group': {
      const { metadata } = deed.group;
      await client.delete(lvmVolumeGroupKind, metadata, { signal, uid: metadata.uid });
      return;
    }
    case 'free-group': {
      const off = needlessMarks(deed.nodes);
      await client.patch(lvmVolumeGroupKind, deed.group.metadata, withoutMarks(deed.group, off), {
        signal,
      });
      return;
    }
    case 'make-report': {
      const marks = { ownerReferences: [ownerOf(cluster)], finalizers: [reportFinalizer] };
      const annotations = { [clusterNoteAnnotation]: deed.note };
      const metadata = { name: deed.node, namespace, annotations, ...marks };
      return unlessThere(client.create(lvmNodeStatusKind, { metadata, spec: {} }, { signal }));
    }
    case 'note-report': {
      const { metadata } = deed.report;
      const annotations = { [clusterNoteAnnotation]: deed.note };
      const body = { metadata: { uid: metadata.uid, annotations } };
      await client.patch(lvmNodeStatusKind, metadata, { type: 'merge', body }, { signal });
      return;
    }
    case 'delete-report': {
      const { metadata } = deed.report;
      await client.delete(lvmNodeStatusKind, metadata, { signal, uid: metadata.uid });
      return release(lvmNodeStatusKind, deed.report, reportFinalizer, means);
    }
    default:
      return carryOutClass(deed, means);
  }
}

async function carryOutClass(deed: ClassDeed, { client, signal }: Means): Promise<void> {
  switch (deed.kind) {
    case 'apply-class': {
      const { name } = deed.object.metadata;
      await client.patch(storageClassKind, { name }, applied(deed.object), { signal });
      return;
    }
    case 'apply-snapshot-class': {
      const { name } = deed.object.metadata;
      await client.patch(volumeSnapshotClassKind, { name }, applied(deed.object), { signal });
      return;
    }
    case 'delete-class':
      await client.delete(storageClassKind, { name: deed.name }, { signal });
      return;
    case 'delete-snapshot-class':
      await client.delete(volumeSnapshotClassKind, { name: deed.name }, { signal });
      return;
  }
}

async function release<T extends KubeObject>(
  kind: Kind<T>,
  object: T,
  finalizer: string,
  { client, signal }: Means,
): Promise<void> {
  const patch = guardOff(object, finalizer);
  if (patch === undefined) return;
  try {
    await client.patch(kind, object.metadata, patch, { signal });
  } catch (error) {
    if (!isKubeError(error, 'NotFound')) throw error;
  }
}

function applied(body: object): Patch {
  return { type: 'apply', fieldManager, force: true, body };
}

/** What it shall be now, if it is still as we know it. */
function groupPatch(
  { group, spec, notes }: Extract<Deed, { kind: 'change-group' }>,
  cluster: LvmCluster,
): Patch {
  const { metadata } = group;
  const { finalizers = [], ownerReferences = [] } = metadata;
  const isOwned = ownerReferences.some(({ uid }) => uid === cluster.metadata.uid);
  const owners = [...ownerReferences, ownerOf(cluster)];
  const kept = finalizers.filter((name) => name !== legacyGroupFinalizer);
  const put = (key: string, value: unknown) =>
    ({ op: 'add', path: pointer('metadata', key), value }) as const;
  return {
    type: 'json',
    operations: [
      ...sameVersion(metadata),
      { op: 'add', path: '/spec', value: spec },
      ...annotated(metadata, notes),
      ...(isOwned ? [] : [put('ownerReferences', owners)]),
      ...(kept.length === finalizers.length ? [] : [put('finalizers', kept)]),
    ],
  };
}

function withoutMarks({ metadata }: KubeObject, marks: readonly string[]): Patch {
  const value = (metadata.finalizers ?? []).filter((name) => !marks.includes(name));
  const path = pointer('metadata', 'finalizers');
  return { type: 'json', operations: [...sameVersion(metadata), { op: 'add', path, value }] };
}

function sameVersion({ resourceVersion: value }: Metadata) {
  return [{ op: 'test', path: pointer('metadata', 'resourceVersion'), value } as const];
}

function annotated({ annotations = {} }: Metadata, notes: ReturnType<typeof noteChanges>) {
  if (notes.length === 0) return [];
  const gone = new Set(notes.map(([key]) => key));
  const kept = Object.entries(annotations).filter(([key]) => !gone.has(key));
  const value = Object.fromEntries([...kept, ...notes.filter(([, text]) => text !== undefined)]);
  return [{ op: 'add', path: pointer('metadata', 'annotations'), value } as const];
}

async function unlessThere(made: Promise<unknown>): Promise<void> {
  try {
    await made;
  } catch (error) {
    if (!isKubeError(error, 'AlreadyExists')) throw error;
  }
}
