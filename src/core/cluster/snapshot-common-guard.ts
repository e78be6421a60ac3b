import type { DataSource, PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { VolumeSnapshot, VolumeSnapshotContent } from '../../api/objects/snapshot.ts';
import { claimFinalizer, snapshotGroup, snapshotMarks } from './snapshot-content-marks.ts';

/** The snapshot that a claim is made from, as `namespace/name`. */
export function sourceOf({ metadata, spec }: PersistentVolumeClaim): string | undefined {
  const source: (DataSource & { readonly namespace?: string }) | undefined =
    spec.dataSourceRef ?? spec.dataSource;
  if (source?.kind !== 'VolumeSnapshot' || source.apiGroup !== snapshotGroup) return undefined;
  return `${source.namespace ?? metadata.namespace}/${source.name}`;
}

/** Claims that are being made from a snapshot. */
export function restoresOf(
  { metadata }: VolumeSnapshot,
  claims: Iterable<PersistentVolumeClaim>,
): readonly PersistentVolumeClaim[] {
  const name = `${metadata.namespace}/${metadata.name}`;
  return [...claims].filter(
    (claim) => (claim.status?.phase ?? 'Pending') === 'Pending' && sourceOf(claim) === name,
  );
}

/** Finalizers of a claim that no snapshot needs any more; undefined: it stays as it is. */
export function freedClaim(
  claim: PersistentVolumeClaim,
  snapshots: Iterable<VolumeSnapshot>,
): readonly string[] | undefined {
  const { namespace, name, finalizers = [] } = claim.metadata;
  if (!finalizers.includes(claimFinalizer)) return undefined;
  for (const { metadata, spec, status } of snapshots) {
    const isOfIt =
      metadata.namespace === namespace && spec.source.persistentVolumeClaimName === name;
    if (isOfIt && status?.readyToUse !== true) return undefined;
  }
  return finalizers.filter((finalizer) => finalizer !== claimFinalizer);
}

/** Nobody deletes a content past its driver; undefined: it is held, or goes already. */
export function heldContent({ metadata }: VolumeSnapshotContent): readonly string[] | undefined {
  const { finalizers = [], deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined || finalizers.includes(snapshotMarks.finalizer)) {
    return undefined;
  }
  return [...finalizers, snapshotMarks.finalizer];
}
