import { isUnmanaged } from '../../api/lvm-cluster/check.ts';
import type { LvmCluster } from '../../api/objects/lvm-cluster.ts';
import type { LvmVolumeGroupNodeStatus } from '../../api/objects/lvm-volume-group.ts';
import type { Toleration } from '../../api/objects/node-selector.ts';

/**
 * What an agent must know of the LVMCluster stands on its own report: the LVMCluster itself changes
 * with every node, and each agent would hear all of that.
 */
export const clusterNoteAnnotation = 'quarry.io/lvm-cluster';

export type ClusterNote = {
  /** The file and its groups are the administrator's. */
  readonly isUnmanaged: boolean;
  readonly tolerations: readonly Toleration[];
};

export function clusterNoteText(cluster: LvmCluster): string {
  const note = {
    isUnmanaged: isUnmanaged(cluster),
    tolerations: cluster.spec?.tolerations ?? [],
  } satisfies ClusterNote;
  return JSON.stringify(note);
}

/** Undefined while nobody has said it. The operator writes it anew when somebody changed it. */
export function clusterNoteOf(
  report: LvmVolumeGroupNodeStatus | undefined,
): ClusterNote | undefined {
  const text = report?.metadata.annotations?.[clusterNoteAnnotation];
  if (text === undefined) return undefined;
  try {
    const note = JSON.parse(text) as Partial<ClusterNote> | null;
    if (!Array.isArray(note?.tolerations)) return undefined;
    const tolerations = note.tolerations as readonly Toleration[];
    return { isUnmanaged: note.isUnmanaged === true, tolerations };
  } catch {
    return undefined;
  }
}
