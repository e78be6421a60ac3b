import { KubeError } from './errors.ts';
import type { Clock } from './ports.ts';

export type Rate = { readonly perSecond: number; readonly atOnce: number };

/** A bucket of tokens that fills steadily. Who comes first goes first. */
export class Limiter {
  readonly #rate: Rate;
  readonly #clock: Clock;
  /** When the bucket would be full if nobody took any more. */
  #fullAtMs: number;

  constructor(rate: Rate, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
    this.#fullAtMs = clock.nowMs();
  }

  /** Resolves when it is the caller's turn. A place that is given up stays paid for. */
  async take(signal?: AbortSignal): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const tokenMs = 1000 / this.#rate.perSecond;
    this.#fullAtMs = Math.max(this.#fullAtMs, nowMs) + tokenMs;
    const waitMs = this.#fullAtMs - nowMs - this.#rate.atOnce * tokenMs;
    // Sums of fractions are off by a hair, and that is no reason to wait.
    if (waitMs > 1e-6) await this.#clock.sleep(waitMs, signal);
    if (signal?.aborted === true) throw new KubeError('Cancelled', 'nobody waits any more');
  }
}
