import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { VolumeSnapshot } from '../../api/objects/snapshot.ts';
import { cloneGuard, snapshotGuard, wantedSource } from './sources.ts';

/** A claim that is going, and of which nobody makes a copy any more. */
export function mayReleaseClaim(
  source: PersistentVolumeClaim,
  claims: Iterable<PersistentVolumeClaim>,
): boolean {
  const { deletionTimestamp, finalizers = [] } = source.metadata;
  if (deletionTimestamp === undefined || !finalizers.includes(cloneGuard)) return false;
  return !isWanted('claim', source, claims);
}

/** A snapshot that nobody restores any more, whether it is going or not. */
export function mayReleaseSnapshot(
  snapshot: VolumeSnapshot,
  claims: Iterable<PersistentVolumeClaim>,
): boolean {
  if (snapshot.metadata.finalizers?.includes(snapshotGuard) !== true) return false;
  return !isWanted('snapshot', snapshot, claims);
}

function isWanted(
  kind: 'claim' | 'snapshot',
  { metadata }: PersistentVolumeClaim | VolumeSnapshot,
  claims: Iterable<PersistentVolumeClaim>,
): boolean {
  for (const claim of claims) {
    const phase = claim.status?.phase ?? '';
    if (phase !== '' && phase !== 'Pending') continue;
    const wanted = wantedSource(claim);
    if (wanted.kind !== kind || wanted.name !== metadata.name) continue;
    if (wanted.namespace === metadata.namespace) return true;
  }
  return false;
}
