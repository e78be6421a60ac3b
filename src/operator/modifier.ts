import { BugError } from '../base/assert.ts';
import { limits } from '../base/limits.ts';
import { decideModify, type KnownClass, type ModifyDecision } from '../core/cluster/modify.ts';
import { isKubeError } from '../kube/errors.ts';
import { keyOf, type ObjectName } from '../kube/kind.ts';
import { volumeAttributesClassKind } from '../kube/kinds.ts';
import { type Again, WorkQueue } from '../kube/queue.ts';
import type { Cluster, Duty } from './duty.ts';
import { nameOfKey, onClaimChange } from './resizer.ts';
import { fieldsOf, type Pair, type PairParts, Pairs, subjectOf, timeText } from './resizer-pair.ts';

/** Claims that name a VolumeAttributesClass get it, or are told why not. */
export class Modifier implements Duty {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { stores, clock, chance, log } = this.#cluster;
    const { claims, volumes } = stores;
    const rounds = new ModifierRounds({ ...this.#cluster, claims, volumes });
    const queue = new WorkQueue({
      ...{ clock, chance, workers: 1 },
      ...{ firstWaitMs: limits.expandRetryMs, longestWaitMs: limits.infeasibleRetryMs },
      work: (key, stop) => rounds.round(nameOfKey(key), stop),
      trouble: (claim, error, waitMs) => {
        if (error instanceof BugError) throw error;
        const message = `the attributes of a claim could not be changed: ${String(error)}`;
        log({ level: 'warn', message, claim, waitMs });
      },
    });
    const look = (name: ObjectName) => {
      if (rounds.wants(name)) queue.add(keyOf(name));
    };
    const ends = onClaimChange({ claims, volumes }, { changed: look });
    try {
      await queue.run(signal);
    } finally {
      for (const end of ends) end();
    }
  }
}

export type ModifierParts = PairParts & Pick<Cluster, 'names' | 'recorder' | 'wall' | 'log'>;

export class ModifierRounds {
  readonly #parts: ModifierParts;
  readonly #pairs: Pairs;

  constructor(parts: ModifierParts) {
    this.#parts = parts;
    this.#pairs = new Pairs(parts);
  }

  wants(name: ObjectName): boolean {
    const pair = this.#pairs.seen(name);
    return pair !== undefined && this.#decide(pair, undefined).kind !== 'rest';
  }

  async round(name: ObjectName, signal: AbortSignal): Promise<Again> {
    if (!this.wants(name)) return undefined;
    let pair = await this.#pairs.live(name, signal);
    let known: KnownClass | undefined;
    for (let pass = 0; pair !== undefined && pass < limits.staleRetriesMax; pass += 1) {
      const decision = this.#decide(pair, known);
      if (decision.kind === 'rest') {
        return decision.afterMs === undefined ? undefined : { afterMs: decision.afterMs };
      }
      if (decision.kind === 'ask') {
        known = await this.#classNamed(decision.className, signal);
        if (known === undefined) return undefined;
        continue;
      }
      const written = await this.#write(pair, decision, signal);
      if (written === 'gone') return undefined;
      pair = written === 'changed' ? await this.#pairs.live(name, signal) : written;
    }
    return pair === undefined ? undefined : { afterMs: limits.infeasibleRetryMs };
  }

  #decide(pair: Pair, known: KnownClass | undefined): ModifyDecision {
    const { names, wall } = this.#parts;
    return decideModify({ ...pair, driver: names.driver, nowText: timeText(wall()) }, known);
  }

  /** undefined where the server has no such kind: there no claim can have a class. */
  async #classNamed(name: string, signal: AbortSignal): Promise<KnownClass | undefined> {
    try {
      const { client } = this.#parts;
      return { name, found: await client.find(volumeAttributesClassKind, { name }, { signal }) };
    } catch (error) {
      if (isKubeError(error, 'KindMissing')) return undefined;
      throw error;
    }
  }

  async #write(
    pair: Pair,
    decision: ModifyDecision & { readonly kind: 'write-claim' | 'write-volume' },
    signal: AbortSignal,
  ) {
    if (decision.kind === 'write-volume') {
      return this.#pairs.patchVolume(pair, decision.patch, signal);
    }
    const written = await this.#pairs.patchClaim(pair, decision.patch, signal);
    const { event } = decision;
    if (typeof written !== 'string' && event !== undefined) {
      this.#parts.recorder.event(subjectOf(pair.claim), event);
      this.#parts.log({ level: 'info', message: event.message, ...fieldsOf(pair) });
    }
    return written;
  }
}
