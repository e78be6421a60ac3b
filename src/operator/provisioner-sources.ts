import type { PersistentVolumeClaim } from '../api/objects/claim.ts';
import type { VolumeSnapshot } from '../api/objects/snapshot.ts';
import type { VolumeAttributesClass } from '../api/objects/storage.ts';
import {
  cloneGuard,
  type FoundSource,
  snapshotGuard,
  wantedSource,
} from '../core/cluster/sources.ts';
import { isKubeError } from '../kube/errors.ts';
import { guardOn } from '../kube/finalizers.ts';
import {
  claimKind,
  volumeAttributesClassKind,
  volumeSnapshotContentKind,
  volumeSnapshotKind,
} from '../kube/kinds.ts';
import type { Cluster } from './duty.ts';

/** What a claim refers to. Snapshots are read as they are now: nobody watches them for us. */
export async function findSource(
  { client, stores }: Cluster,
  claim: PersistentVolumeClaim,
  signal: AbortSignal,
): Promise<FoundSource> {
  const wanted = wantedSource(claim);
  if (wanted.kind === 'claim') {
    const source = stores.claims.get(wanted);
    const volumeName = source?.spec.volumeName ?? '';
    const volume = volumeName === '' ? undefined : stores.volumes.get({ name: volumeName });
    return { kind: 'claim', claim: source, volume };
  }
  if (wanted.kind !== 'snapshot') return { kind: 'none' };
  try {
    const snapshot = await client.find(volumeSnapshotKind, wanted, { signal });
    const name = snapshot?.status?.boundVolumeSnapshotContentName;
    const content =
      name === undefined
        ? undefined
        : await client.find(volumeSnapshotContentKind, { name }, { signal });
    return { kind: 'snapshot', isInstalled: true, snapshot, content };
  } catch (error) {
    if (!isKubeError(error, 'KindMissing')) throw error;
    return { kind: 'snapshot', isInstalled: false, snapshot: undefined, content: undefined };
  }
}

/** A server without the kind has no claim that names one. */
export async function findAttributes(
  { client }: Cluster,
  claim: PersistentVolumeClaim,
  signal: AbortSignal,
): Promise<VolumeAttributesClass | undefined> {
  const name = claim.spec.volumeAttributesClassName ?? '';
  if (name === '') return undefined;
  try {
    return await client.find(volumeAttributesClassKind, { name }, { signal });
  } catch (error) {
    if (isKubeError(error, 'KindMissing')) return undefined;
    throw error;
  }
}

/** The source is kept while it is copied: whoever deletes it waits for the copy. */
export async function guardSource(
  cluster: Cluster,
  found: FoundSource,
  signal: AbortSignal,
): Promise<void> {
  switch (found.kind) {
    case 'none':
      return;
    case 'claim':
      if (found.claim !== undefined) await guardClaim(cluster, found.claim, signal);
      return;
    case 'snapshot':
      if (found.snapshot !== undefined) await guardSnapshot(cluster, found.snapshot, signal);
      return;
  }
}

async function guardClaim(
  { client, stores }: Cluster,
  claim: PersistentVolumeClaim,
  signal: AbortSignal,
): Promise<void> {
  if (isGuarded(claim, cloneGuard)) return;
  const patch = guardOn(claim, cloneGuard);
  stores.claims.putOwn(await client.patch(claimKind, claim.metadata, patch, { signal }));
}

/** Where we may not write to snapshots the copy is made all the same. */
async function guardSnapshot(
  { client, log }: Cluster,
  snapshot: VolumeSnapshot,
  signal: AbortSignal,
): Promise<void> {
  if (isGuarded(snapshot, snapshotGuard)) return;
  const patch = guardOn(snapshot, snapshotGuard);
  try {
    await client.patch(volumeSnapshotKind, snapshot.metadata, patch, { signal });
  } catch (error) {
    if (!isKubeError(error, 'Forbidden')) throw error;
    const { namespace, name } = snapshot.metadata;
    const message = 'a snapshot is not guarded while it is restored: we may not write to it';
    log({ level: 'warn', message, snapshot: `${namespace}/${name}` });
  }
}

/** What is going takes no further finalizers. */
function isGuarded({ metadata }: PersistentVolumeClaim | VolumeSnapshot, guard: string): boolean {
  if (metadata.deletionTimestamp !== undefined) return true;
  return metadata.finalizers?.includes(guard) === true;
}
