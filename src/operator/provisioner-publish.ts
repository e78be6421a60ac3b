import type { LogicalVolume } from '../api/objects/logical-volume.ts';
import { OperationError } from '../base/failures.ts';
import { unpublishedAnnotation } from '../core/cluster/names.ts';
import {
  checkPublished,
  type Publication,
  persistentVolumeOf,
} from '../core/cluster/persistent-volume.ts';
import { volumeNameOf } from '../core/cluster/provisioning.ts';
import { backoffMs } from '../kube/backoff.ts';
import { isKubeError, KubeError, kubeCodes } from '../kube/errors.ts';
import { logicalVolumeKind, persistentVolumeKind } from '../kube/kinds.ts';
import { pointer } from '../kube/patch.ts';
import type { Cluster } from './duty.ts';

/**
 * Gives a volume to the cluster. First its record loses the mark that nobody knows it: from then on
 * it is not removed for having no claim, because a PersistentVolume may be there or have been.
 */
export async function publish(
  cluster: Cluster,
  publication: Publication,
  signal: AbortSignal,
): Promise<void> {
  await takeOffMark(cluster, publication, signal);
  for (let failures = 1; ; failures += 1) {
    try {
      await makeVolume(cluster, publication, signal);
      return;
    } catch (error) {
      const isPassing = error instanceof KubeError && kubeCodes[error.code] === 'backoff';
      if (!isPassing || signal.aborted) throw error;
      await waitOut(cluster, publication, { error, failures, signal });
    }
  }
}

/**
 * Whoever waits now is the only one who knows that the volume is nobody's: its claim may go
 * meanwhile, and then only a PersistentVolume leads to it.
 */
async function waitOut(
  { clock, chance, log }: Cluster,
  { claim }: Publication,
  trouble: { readonly error: KubeError; readonly failures: number; readonly signal: AbortSignal },
): Promise<void> {
  const { error, failures, signal } = trouble;
  const waitMs = backoffMs(failures, error.retryAfterMs, chance);
  log({ level: 'warn', message: error.message, volume: volumeNameOf(claim), waitMs });
  await clock.sleep(waitMs, signal);
}

async function makeVolume(
  { client, stores }: Cluster,
  publication: Publication,
  signal: AbortSignal,
): Promise<void> {
  try {
    const draft = persistentVolumeOf(publication);
    stores.volumes.putOwn(await client.create(persistentVolumeKind, draft, { signal }));
  } catch (error) {
    if (!isKubeError(error, 'AlreadyExists')) throw error;
    const name = volumeNameOf(publication.claim);
    const found = await client.find(persistentVolumeKind, { name }, { signal });
    if (found === undefined) throw stale(`PersistentVolume ${name} was there and is gone`);
    const wrong = checkPublished(found, publication);
    if (wrong !== undefined) throw new OperationError(wrong.code, wrong.message);
    stores.volumes.putOwn(found);
  }
}

async function takeOffMark(
  { client, stores, names }: Cluster,
  { claim, made }: Publication,
  signal: AbortSignal,
): Promise<void> {
  const name = volumeNameOf(claim);
  const kind = logicalVolumeKind(names.domain);
  const known = stores.logicalVolumes.get({ name });
  // Once it is off it never comes back, so an old view is as good as a new one.
  if (isUnmarked(known, made.id)) return;
  const record = known ?? (await client.find(kind, { name }, { signal }));
  const mark = record?.metadata.annotations?.[unpublishedAnnotation];
  if (mark !== undefined) {
    const path = pointer('metadata', 'annotations', unpublishedAnnotation);
    try {
      const operations = [
        { op: 'test', path: pointer('metadata', 'uid'), value: made.id },
        { op: 'test', path, value: mark },
        { op: 'remove', path },
      ] as const;
      const patched = await client.patch(kind, { name }, { type: 'json', operations }, { signal });
      stores.logicalVolumes.putOwn(patched);
      if (isUnmarked(patched, made.id)) return;
    } catch (error) {
      if (!isKubeError(error, 'Conflict') && !isKubeError(error, 'NotFound')) throw error;
    }
  }
  if (isUnmarked(await client.find(kind, { name }, { signal }), made.id)) return;
  throw stale(`LogicalVolume ${name} is being deleted, or is another one than ${made.id}`);
}

function isUnmarked(record: LogicalVolume | undefined, id: string): boolean {
  if (record === undefined || record.metadata.uid !== id) return false;
  if (record.metadata.deletionTimestamp !== undefined) return false;
  return record.metadata.annotations?.[unpublishedAnnotation] === undefined;
}

function stale(message: string): OperationError {
  return new OperationError('StaleView', message);
}
