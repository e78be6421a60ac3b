import { KubeError } from '../kube/errors.ts';
import type { Cluster } from './duty.ts';

/** Looks at everything again and again; what the API server refuses is tried in the next round. */
export async function sweep(
  { clock, log }: Pick<Cluster, 'clock' | 'log'>,
  everyMs: number,
  look: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await look(signal);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (!signal.aborted) log({ level: 'warn', message: error.message, waitMs: everyMs });
    }
    await clock.sleep(everyMs, signal);
  }
}

/** Since when something is so. What is not so in a look was never so. */
export class Since {
  #since = new Map<string, number>();

  /** How long each of these has been so, without a break. */
  seen(keys: Iterable<string>, nowMs: number): ReadonlyMap<string, number> {
    const before = this.#since;
    this.#since = new Map([...keys].map((key) => [key, before.get(key) ?? nowMs]));
    return new Map([...this.#since].map(([key, sinceMs]) => [key, nowMs - sinceMs]));
  }
}
