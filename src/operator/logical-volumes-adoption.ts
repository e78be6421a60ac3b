import { decideAdoption } from '../core/cluster/logical-volume-adoption.ts';
import { isKubeError, KubeError } from '../kube/errors.ts';
import { logicalVolumeKind } from '../kube/kinds.ts';
import { type Again, WorkQueue } from '../kube/queue.ts';
import type { Cluster, Duty } from './duty.ts';

/** Gives objects that others made what ours have from the start. */
export class Adoption implements Duty {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { stores, names, clock, chance, log } = this.#cluster;
    const queue = new WorkQueue({
      ...{ clock, chance, workers: 4, firstWaitMs: 500, longestWaitMs: 60_000 },
      work: (name, stop) => this.#adopt(name, stop),
      trouble: (name, error, waitMs) => {
        if (!(error instanceof KubeError)) throw error;
        if (isKubeError(error, 'Conflict')) return;
        log({ level: 'warn', message: `${name}: ${error.message}`, waitMs });
      },
    });
    const leave = stores.logicalVolumes.onChange(({ type, object }) => {
      if (type === 'deleted' || decideAdoption(object, names).kind === 'rest') return;
      queue.add(object.metadata.name);
    });
    await queue.run(signal).finally(leave);
  }

  async #adopt(name: string, signal: AbortSignal): Promise<Again> {
    const { stores, names, client } = this.#cluster;
    const volume = stores.logicalVolumes.get({ name });
    if (volume === undefined) return undefined;
    const decision = decideAdoption(volume, names);
    if (decision.kind === 'rest') return undefined;
    const kind = logicalVolumeKind(names.domain);
    const patch = { type: 'merge', body: decision.body } as const;
    try {
      stores.logicalVolumes.putOwn(await client.patch(kind, { name }, patch, { signal }));
    } catch (error) {
      if (!isKubeError(error, 'NotFound')) throw error;
    }
    return undefined;
  }
}
