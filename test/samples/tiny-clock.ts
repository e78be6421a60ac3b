import { setImmediate } from 'node:timers/promises';
import type { Clock, Signal } from '../../src/engine/ports.ts';

/** Lets everything happen that waits for nothing but its turn. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await setImmediate();
}

/** A clock that a test moves by hand. */
export class TinyClock implements Clock {
  #nowMs = 1000;
  readonly #sleepers = new Set<{ readonly wakeAtMs: number; readonly wake: () => void }>();

  nowMs(): number {
    return this.#nowMs;
  }

  /** How many sleep right now: a sleep that nobody waits for any more is a leak. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  sleep(ms: number, signal?: Signal): Promise<void> {
    return new Promise((resolve) => {
      const sleeper = {
        wakeAtMs: this.#nowMs + ms,
        wake: () => {
          this.#sleepers.delete(sleeper);
          signal?.removeEventListener('abort', sleeper.wake);
          resolve();
        },
      };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', sleeper.wake);
      if (signal?.aborted === true) sleeper.wake();
    });
  }

  /** Moves on in small strides, so that who sleeps again after waking is woken again in time. */
  async advance(ms: number, strideMs = 50): Promise<void> {
    await settle();
    const endMs = this.#nowMs + ms;
    while (this.#nowMs < endMs) {
      this.#nowMs = Math.min(endMs, this.#nowMs + strideMs);
      const due = [...this.#sleepers].filter((sleeper) => sleeper.wakeAtMs <= this.#nowMs);
      for (const sleeper of due) sleeper.wake();
      if (due.length > 0) await settle();
    }
    await settle();
  }
}
