import type { PersistentVolume } from '../api/objects/persistent-volume.ts';
import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { volumeGuard } from '../core/cluster/persistent-volume.ts';
import { isWorthTelling } from '../core/cluster/provisioning.ts';
import { decideVolume, nodeOf, type ReclaimDecision } from '../core/cluster/reclaim.ts';
import { isKubeError, KubeError } from '../kube/errors.ts';
import { guardOff, guardOn } from '../kube/finalizers.ts';
import { persistentVolumeKind } from '../kube/kinds.ts';
import { WorkQueue } from '../kube/queue.ts';
import type { Cluster, Duty } from './duty.ts';
import { aboutVolume, asFailure, failed, isTrouble } from './provisioner-events.ts';
import { untilAnswered } from './provisioner-wait.ts';

/** Removes volumes that were given back, and the PersistentVolume after that, never before. */
export class Reclaimer implements Duty {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, chance, log, stores } = this.#cluster;
    const queue = new WorkQueue({
      ...{ clock, chance, workers: limits.clusterWorkers },
      ...{ firstWaitMs: limits.clusterRetryMs, longestWaitMs: limits.clusterRetryMsMax },
      work: async (name, until) => {
        await this.#work(name, until);
        return undefined;
      },
      trouble: (volume, error, waitMs) => {
        if (!isTrouble(error)) throw error;
        log({ level: 'warn', message: error.message, volume, waitMs });
      },
    });
    const end = stores.volumes.onChange(({ type, object }) => {
      if (type === 'deleted') return;
      if (this.#decide(object, []).kind !== 'leave') queue.add(object.metadata.name);
    });
    try {
      await queue.run(signal);
    } finally {
      end();
    }
  }

  async #work(name: string, signal: AbortSignal): Promise<void> {
    const volume = this.#cluster.stores.volumes.get({ name });
    if (volume === undefined) return;
    try {
      await this.#carryOut(volume, signal);
    } catch (error) {
      if (error instanceof OperationError) this.#tellFailure(volume, error);
      if (error instanceof KubeError) this.#tellFailure(volume, asFailure(error));
      throw error;
    }
  }

  async #carryOut(volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const decision = this.#decide(volume);
    switch (decision.kind) {
      case 'leave':
        return;
      case 'guard':
        await this.#guard(volume, signal);
        return;
      case 'release':
        await this.#release(volume, signal);
        return;
      case 'blocked':
        throw new OperationError(decision.code, decision.message);
      case 'remove':
        await this.#remove(volume, signal);
    }
  }

  #decide(
    volume: PersistentVolume,
    others: Iterable<PersistentVolume> = this.#cluster.stores.volumes.values(),
  ): ReclaimDecision {
    return decideVolume(volume, others, this.#cluster.names.driver);
  }

  async #guard(volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { client, stores } = this.#cluster;
    const patch = guardOn(volume, volumeGuard);
    const written = await client.patch(persistentVolumeKind, volume.metadata, patch, { signal });
    stores.volumes.putOwn(written);
  }

  async #release(volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const patch = guardOff(volume, volumeGuard);
    if (patch === undefined) return;
    try {
      await this.#cluster.client.patch(persistentVolumeKind, volume.metadata, patch, { signal });
    } catch (error) {
      if (!isKubeError(error, 'NotFound')) throw error;
    }
  }

  /** Somebody may have decided to keep it since the store heard of it. */
  async #remove(known: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { client, book, clock, log, endings } = this.#cluster;
    const { name, uid } = known.metadata;
    const volume = await client.find(persistentVolumeKind, { name }, { signal });
    if (volume === undefined || volume.metadata.uid !== uid) return;
    const decision = this.#decide(volume);
    if (decision.kind !== 'remove') return;
    const { handle } = decision;
    const what = () => `${nodeOf(volume)} has not removed the volume ${handle}`;
    await endings.of({ operation: 'remove', key: uid }, signal, () =>
      untilAnswered({ clock, signal, what }, (until) => book.remove('volume', handle, until)),
    );
    log({ level: 'info', message: 'volume removed', volume: name, id: handle });
    await client.delete(persistentVolumeKind, { name }, { uid, signal });
    const left = await client.find(persistentVolumeKind, { name }, { signal });
    if (left?.metadata.uid === uid) await this.#release(left, signal);
  }

  #tellFailure(volume: PersistentVolume, failure: OperationError): void {
    if (!isWorthTelling(failure.code)) return;
    this.#cluster.recorder.event(aboutVolume(volume), failed('VolumeFailedDelete', failure));
  }
}
