import { deadClaimFinalizers } from '../core/cluster/nodes.ts';
import { isKubeError, KubeError } from '../kube/errors.ts';
import { guardOff } from '../kube/finalizers.ts';
import { claimKind } from '../kube/kinds.ts';
import { type Again, WorkQueue } from '../kube/queue.ts';
import type { Cluster, Duty } from './duty.ts';

/** Strips what TopoLVM put on claims long ago and nobody takes off any more. */
export class DeadFinalizers implements Duty {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { stores, clock, chance, log } = this.#cluster;
    const queue = new WorkQueue({
      ...{ clock, chance, workers: 1, firstWaitMs: 1_000, longestWaitMs: 300_000 },
      work: (key, stop) => this.#strip(key, stop),
      trouble: (key, error, waitMs) => {
        if (!(error instanceof KubeError)) throw error;
        log({ level: 'warn', message: `the claim ${key}: ${error.message}`, waitMs });
      },
    });
    const leave = stores.claims.onChange(({ type, object }) => {
      const { namespace = '', name, finalizers = [] } = object.metadata;
      const isDead = deadClaimFinalizers.some((one) => finalizers.includes(one));
      if (type !== 'deleted' && isDead) queue.add(`${namespace}/${name}`);
    });
    await queue.run(signal).finally(leave);
  }

  async #strip(key: string, signal: AbortSignal): Promise<Again> {
    const { stores, client } = this.#cluster;
    const [namespace = '', name = ''] = key.split('/');
    const claim = stores.claims.get({ namespace, name });
    const dead = deadClaimFinalizers.find((one) => claim?.metadata.finalizers?.includes(one));
    const patch = claim === undefined || dead === undefined ? undefined : guardOff(claim, dead);
    if (patch === undefined) return undefined;
    try {
      stores.claims.putOwn(await client.patch(claimKind, { namespace, name }, patch, { signal }));
    } catch (error) {
      if (!isKubeError(error, 'NotFound')) throw error;
      return undefined;
    }
    // There may be another one.
    return { afterMs: 0 };
  }
}
