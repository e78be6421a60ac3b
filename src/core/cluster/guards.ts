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

/** `done` is a claim that has its volume, though it may not be known as bound yet. */
export function mayReleaseSnapshot(
  snapshot: VolumeSnapshot,
  claims: Iterable<PersistentVolumeClaim>,
  done?: string,
): boolean {
  if (snapshot.metadata.finalizers?.includes(snapshotGuard) !== true) return false;
  return !isWanted('snapshot', snapshot, claims, done);
}

function isWanted(
  kind: 'claim' | 'snapshot',
  { metadata }: PersistentVolumeClaim | VolumeSnapshot,
  claims: Iterable<PersistentVolumeClaim>,
  done?: string,
): boolean {
  for (const claim of claims) {
    const phase = claim.status?.phase ?? '';
    if ((phase !== '' && phase !== 'Pending') || claim.metadata.uid === done) continue;
    const wanted = wantedSource(claim);
    if (wanted.kind !== kind || wanted.name !== metadata.name) continue;
    if (wanted.namespace === metadata.namespace) return true;
  }
  return false;
}
