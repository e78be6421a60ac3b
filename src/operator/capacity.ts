import { capacityKey, decideStaleCapacity } from '../core/cluster/capacity-janitor.ts';
import { capacityNodeLabel } from '../core/cluster/names.ts';
import { isKubeError } from '../kube/errors.ts';
import { csiStorageCapacityKind } from '../kube/kinds.ts';
import type { Cluster, Duty } from './duty.ts';
import { Since, sweep } from './orphans-sweep.ts';

/** A driver that restarts is away for seconds; a node that nobody stands for is away for long. */
export const capacityTimes = { everyMs: 60_000, graceMs: 600_000 } as const;

/** Takes away what nobody tells any more. What is told is the agents' own business. */
export class CapacityJanitor implements Duty {
  readonly #cluster: Cluster;
  readonly #since = new Since();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  run(signal: AbortSignal): Promise<void> {
    return sweep(this.#cluster, capacityTimes.everyMs, (stop) => this.#look(stop), signal);
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { stores, names, clock, client, log } = this.#cluster;
    const all = [...stores.capacities.values()];
    const told = new Set(
      all
        .filter(({ metadata }) => metadata.labels?.[capacityNodeLabel] !== undefined)
        .map((object) => capacityKey(object, names)),
    );
    const stale = all.flatMap((object) => {
      const decision = decideStaleCapacity(object, {
        names,
        hasNode: (name) => stores.nodes.get({ name }) !== undefined,
        csiNode: (name) => stores.csiNodes.get({ name }),
        hasClass: (name) => stores.classes.get({ name }) !== undefined,
        hasTwin: (one) => told.has(capacityKey(one, names)),
      });
      return decision.kind === 'stale' ? [{ object, reason: decision.reason }] : [];
    });
    const uids = stale.map(({ object }) => object.metadata.uid);
    const ages = this.#since.seen(uids, clock.nowMs());
    for (const { object, reason } of stale) {
      const { uid, name, namespace } = object.metadata;
      if (signal.aborted || (ages.get(uid) ?? 0) < capacityTimes.graceMs) continue;
      try {
        await client.delete(csiStorageCapacityKind, { namespace, name }, { uid, signal });
        log({ level: 'info', message: `the capacity object ${name} is taken away: ${reason}` });
      } catch (error) {
        if (!isKubeError(error, 'Conflict')) throw error;
      }
    }
  }
}
