import type { Chance, Clock } from './ports.ts';

/** When to come back to a key without being told; undefined: not before it is added again. */
export type Again = { readonly afterMs: number } | undefined;

export type QueueParts = {
  readonly clock: Clock;
  readonly chance: Chance;
  /** How many keys are worked on at once. */
  readonly workers: number;
  /** One key is never worked on twice at once. What it throws is tried again, later and later. */
  readonly work: (key: string, signal: AbortSignal) => Promise<Again>;
  /** Told of what is tried again. What it throws ends the queue: a bug of ours. */
  readonly trouble: (key: string, error: unknown, waitMs: number) => void;
  readonly firstWaitMs: number;
  readonly longestWaitMs: number;
};

/**
 * Keys of objects that somebody should look at. A key that is added while it is worked on comes
 * round once more; a key that waits is waited for once.
 */
export class WorkQueue {
  readonly #parts: QueueParts;
  readonly #ready = new Set<string>();
  readonly #working = new Set<string>();
  readonly #again = new Set<string>();
  readonly #failures = new Map<string, number>();
  /** Until when a key sleeps, by the clock. */
  readonly #sleeping = new Map<string, number>();
  readonly #stop = new AbortController();
  #isRunning = false;
  #bug: unknown;
  #wake: () => void = () => undefined;

  constructor(parts: QueueParts) {
    this.#parts = parts;
  }

  /** Keys that wait for a worker. */
  get length(): number {
    return this.#ready.size;
  }

  add(key: string): void {
    this.#sleeping.delete(key);
    if (this.#working.has(key)) this.#again.add(key);
    else this.#ready.add(key);
    this.#pump();
  }

  /** Sooner than it was going to be looked at anyway, or not at all. */
  addAfter(key: string, ms: number): void {
    const atMs = this.#parts.clock.nowMs() + ms;
    const before = this.#sleeping.get(key);
    if (this.#ready.has(key) || (before !== undefined && before <= atMs)) return;
    this.#sleeping.set(key, atMs);
    void this.#parts.clock.sleep(ms, this.#stop.signal).then(() => {
      if (this.#sleeping.get(key) === atMs && !this.#stop.signal.aborted) this.add(key);
    });
  }

  /** Works until the signal fires, and then until nothing is under way any more. */
  async run(signal: AbortSignal): Promise<void> {
    this.#isRunning = true;
    const stop = () => {
      this.#stop.abort();
      this.#wake();
    };
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    this.#pump();
    while (!this.#stop.signal.aborted || this.#working.size > 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#bug !== undefined) throw this.#bug;
  }

  #pump(): void {
    if (!this.#isRunning) return;
    for (const key of this.#ready) {
      if (this.#stop.signal.aborted || this.#working.size >= this.#parts.workers) return;
      this.#ready.delete(key);
      this.#working.add(key);
      void this.#workOn(key);
    }
  }

  async #workOn(key: string): Promise<void> {
    const { work, clock } = this.#parts;
    try {
      const again = await work(key, this.#stop.signal);
      this.#failures.delete(key);
      this.#leave(key);
      if (again !== undefined) this.addAfter(key, again.afterMs);
    } catch (error) {
      this.#leave(key);
      this.#fail(key, error);
    }
    // Others may have something to say before the next one begins.
    await clock.sleep(0);
    this.#pump();
    this.#wake();
  }

  #leave(key: string): void {
    this.#working.delete(key);
    if (this.#again.delete(key)) this.#ready.add(key);
  }

  #fail(key: string, error: unknown): void {
    const { chance, firstWaitMs, longestWaitMs, trouble } = this.#parts;
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const most = Math.min(firstWaitMs * 2 ** Math.min(failures - 1, 30), longestWaitMs);
    const waitMs = Math.round(most * (0.5 + chance() / 2));
    try {
      trouble(key, error, waitMs);
    } catch (bug) {
      this.#bug ??= bug;
      this.#stop.abort();
      return;
    }
    // What changed meanwhile may be what was missing, or what we wrote about our failure ourselves.
    const isNew = this.#ready.delete(key);
    this.addAfter(key, isNew ? Math.min(waitMs, firstWaitMs) : waitMs);
  }
}
