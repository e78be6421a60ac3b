import type { PersistentVolumeClaim } from '../api/objects/claim.ts';
import type { VolumeSnapshot } from '../api/objects/snapshot.ts';
import { limits } from '../base/limits.ts';
import { mayReleaseClaim, mayReleaseSnapshot } from '../core/cluster/guards.ts';
import { cloneGuard, snapshotGuard, wantedSource } from '../core/cluster/sources.ts';
import { isKubeError, KubeError } from '../kube/errors.ts';
import { guardOff } from '../kube/finalizers.ts';
import type { ObjectName } from '../kube/kind.ts';
import { claimKind, volumeSnapshotKind } from '../kube/kinds.ts';
import { WorkQueue } from '../kube/queue.ts';
import type { Change } from '../kube/store.ts';
import type { Cluster, Duty } from './duty.ts';
import { isTrouble } from './provisioner-events.ts';

/**
 * Lets sources of copies go when nobody copies them any more. The provisioner has put the guards
 * there, or a stock one before us.
 */
export class Guards implements Duty {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, chance, log, stores } = this.#cluster;
    const queue = new WorkQueue({
      ...{ clock, chance, workers: limits.clusterWorkers },
      ...{ firstWaitMs: limits.clusterRetryMs, longestWaitMs: limits.clusterRetryMsMax },
      work: async (key, until) => {
        await this.#work(key, until);
        return undefined;
      },
      trouble: (source, error, waitMs) => {
        if (!isTrouble(error)) throw error;
        log({ level: 'warn', message: error.message, source, waitMs });
      },
    });
    const end = stores.claims.onChange((change) => {
      for (const key of keysOf(change)) queue.add(key);
    });
    try {
      await Promise.all([queue.run(signal), this.#sweep(queue, signal)]);
    } finally {
      end();
    }
  }

  async #work(key: string, signal: AbortSignal): Promise<void> {
    const [kind, namespace = '', name = ''] = key.split('/');
    if (kind === 'claim') await this.#lookAtClaim({ namespace, name }, signal);
    else await this.#lookAtSnapshot({ namespace, name }, signal);
  }

  async #lookAtClaim(name: ObjectName, signal: AbortSignal): Promise<void> {
    const { client, stores } = this.#cluster;
    const claim = stores.claims.get(name);
    if (claim === undefined || !mayReleaseClaim(claim, stores.claims.values())) return;
    const patch = guardOff(claim, cloneGuard);
    if (patch === undefined) return;
    await ignoring('NotFound', client.patch(claimKind, name, patch, { signal }));
  }

  async #lookAtSnapshot(name: ObjectName, signal: AbortSignal): Promise<void> {
    const { client } = this.#cluster;
    const snapshot = await ignoring(
      'KindMissing',
      client.find(volumeSnapshotKind, name, { signal }),
    );
    if (snapshot !== undefined) await this.#releaseSnapshot(snapshot, signal);
  }

  async #releaseSnapshot(snapshot: VolumeSnapshot, signal: AbortSignal): Promise<void> {
    const { client, stores } = this.#cluster;
    if (!mayReleaseSnapshot(snapshot, stores.claims.values())) return;
    const patch = guardOff(snapshot, snapshotGuard);
    if (patch === undefined) return;
    const done = client.patch(volumeSnapshotKind, snapshot.metadata, patch, { signal });
    await ignoring('Forbidden', ignoring('NotFound', done));
  }

  /** What an earlier leader left behind. Without snapshots in the cluster there is nothing. */
  async #sweep(queue: WorkQueue, signal: AbortSignal): Promise<void> {
    const { client, clock, log } = this.#cluster;
    while (!signal.aborted) {
      try {
        const { items } = await client.list(volumeSnapshotKind, {}, undefined, { signal });
        const guarded = items.filter(({ metadata }) =>
          metadata.finalizers?.includes(snapshotGuard),
        );
        for (const { metadata } of guarded) queue.add(keyOf('snapshot', metadata));
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        const isExpected = error.code === 'KindMissing' || error.code === 'Forbidden';
        if (!isExpected && !signal.aborted) log({ level: 'warn', message: error.message });
      }
      await clock.sleep(limits.guardSweepMs, signal);
    }
  }
}

/** Sources that a change of a claim may have set free: itself, and what it was a copy of. */
function keysOf(change: Change<PersistentVolumeClaim>): readonly string[] {
  const { type, object } = change;
  const { metadata } = object;
  const keys: string[] = [];
  if (type !== 'deleted' && metadata.finalizers?.includes(cloneGuard) === true) {
    if (metadata.deletionTimestamp !== undefined) keys.push(keyOf('claim', metadata));
  }
  const isDone =
    type === 'deleted' || (type === 'modified' && isBound(object) && !isBound(change.before));
  const wanted = wantedSource(object);
  if (isDone && (wanted.kind === 'claim' || wanted.kind === 'snapshot')) {
    keys.push(keyOf(wanted.kind, wanted));
  }
  return keys;
}

function isBound({ status }: PersistentVolumeClaim): boolean {
  return status?.phase === 'Bound';
}

function keyOf(kind: 'claim' | 'snapshot', { namespace, name }: ObjectName): string {
  return `${kind}/${namespace}/${name}`;
}

async function ignoring<T>(code: KubeError['code'], doing: Promise<T>): Promise<T | undefined> {
  try {
    return await doing;
  } catch (error) {
    if (isKubeError(error, code)) return undefined;
    throw error;
  }
}
