import type { Clock, Signal } from '../../src/engine/ports.ts';
import type { Chance } from './chance.ts';

/**
 * Time that passes only when everybody waits. Whatever is due at one moment runs in an order the
 * seed chooses, so that a test which needs a certain order fails for some seed.
 */
export class FakeClock implements Clock {
  readonly #chance: Chance;
  #nowMs: number;
  #order = 0;
  /** Sorted by time, then by the lot that was drawn for it, so that equal times are shuffled. */
  readonly #due: Due[] = [];

  constructor(chance: Chance, startMs = 1_700_000_000_000) {
    this.#chance = chance;
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: Signal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        signal?.removeEventListener('abort', wake);
        cancel();
        resolve();
      };
      const cancel = this.after(ms, wake, 'sleep');
      signal?.addEventListener('abort', wake);
    });
  }

  /** Runs the function once the time has passed; the answer takes it back. */
  after(ms: number, run: () => void, what = 'event'): () => void {
    const due: Due = {
      atMs: this.#nowMs + Math.max(0, ms),
      lot: this.#chance.bits(),
      order: this.#order++,
      run,
      what,
    };
    this.#insert(due);
    return () => {
      const index = this.#due.indexOf(due);
      if (index >= 0) this.#due.splice(index, 1);
    };
  }

  /** Lets everything happen until the promise settles, and gives what it settles to. */
  async run<T>(promise: Promise<T>, limitMs = 24 * 3_600_000): Promise<T> {
    let isSettled = false;
    const settled = promise.finally(() => {
      isSettled = true;
    });
    settled.catch(() => undefined);
    const endMs = this.#nowMs + limitMs;
    await idle();
    while (!isSettled) {
      const next = this.#due[0];
      if (next === undefined) throw new Error('everybody waits and nothing is due: a deadlock');
      if (next.atMs > endMs) throw new Error(`not settled after ${limitMs} ms of fake time`);
      this.#step();
      await idle();
    }
    return settled;
  }

  /** Lets time pass, with all that is due in it. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await idle();
    while ((this.#due[0]?.atMs ?? Number.POSITIVE_INFINITY) <= endMs) {
      this.#step();
      await idle();
    }
    this.#nowMs = endMs;
  }

  /** What is due and when, for the message of a test that failed. */
  pending(): readonly string[] {
    return this.#due.map((due) => `${due.what} in ${due.atMs - this.#nowMs} ms`);
  }

  #step(): void {
    const next = this.#due.shift();
    if (next === undefined) return;
    this.#nowMs = Math.max(this.#nowMs, next.atMs);
    next.run();
  }

  #insert(due: Due): void {
    let low = 0;
    let high = this.#due.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(this.#due[middle] as Due, due)) low = middle + 1;
      else high = middle;
    }
    this.#due.splice(low, 0, due);
  }
}

type Due = {
  readonly atMs: number;
  readonly lot: number;
  readonly order: number;
  readonly run: () => void;
  readonly what: string;
};

function isBefore(a: Due, b: Due): boolean {
  if (a.atMs !== b.atMs) return a.atMs < b.atMs;
  return a.lot === b.lot ? a.order < b.order : a.lot < b.lot;
}

/** A turn of the event loop comes only after the last microtask: then everybody waits. */
function idle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
