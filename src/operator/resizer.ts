import type { PersistentVolumeClaim } from '../api/objects/claim.ts';
import { BugError } from '../base/assert.ts';
import { limits } from '../base/limits.ts';
import { keyOf, type ObjectName } from '../kube/kind.ts';
import { WorkQueue } from '../kube/queue.ts';
import type { Cluster, Duty, Stores } from './duty.ts';
import { ResizerRounds } from './resizer-round.ts';

/** Volumes grow to what their claims ask for. */
export class Resizer implements Duty {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { stores, clock, chance, log } = this.#cluster;
    const { claims, volumes } = stores;
    const rounds = new ResizerRounds({ ...this.#cluster, claims, volumes });
    const queue = new WorkQueue({
      ...{ clock, chance, workers: limits.expandWorkers },
      ...{ firstWaitMs: limits.expandRetryMs, longestWaitMs: limits.infeasibleRetryMs },
      work: (key, stop) => rounds.round(nameOfKey(key), stop),
      trouble: (claim, error, waitMs) => {
        if (error instanceof BugError) throw error;
        log({ level: 'warn', message: `a claim could not grow: ${String(error)}`, claim, waitMs });
      },
    });
    const look = (name: ObjectName) => {
      if (rounds.wants(name)) queue.add(keyOf(name));
    };
    const gone = (claim: PersistentVolumeClaim) => rounds.forget(claim);
    const ends = onClaimChange({ claims, volumes }, { changed: look, gone });
    try {
      await queue.run(signal);
    } finally {
      for (const end of ends) end();
    }
  }
}

/** Tells of claims that changed, or whose volume did. The answers end it. */
export function onClaimChange(
  { claims, volumes }: Pick<Stores, 'claims' | 'volumes'>,
  tell: {
    readonly changed: (name: ObjectName) => void;
    readonly gone?: (claim: PersistentVolumeClaim) => void;
  },
): readonly (() => void)[] {
  return [
    claims.onChange(({ type, object }) => {
      if (type === 'deleted') tell.gone?.(object);
      else tell.changed(object.metadata);
    }),
    volumes.onChange(({ type, object }) => {
      const { name, namespace } = object.spec.claimRef ?? {};
      if (type !== 'deleted' && name !== undefined) tell.changed({ name, namespace });
    }),
  ];
}

/** Of a claim: `namespace/name`. */
export function nameOfKey(key: string): ObjectName {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}
