/** Whoever waits for an object to become as he needs it looks again with each change of it. */
export class Waiters {
  readonly #looks = new Map<string, Set<() => void>>();

  /** What `look` gives, as soon as it gives something. It may throw, which ends the wait too. */
  async until<T>(key: string, look: () => T | undefined, signal?: AbortSignal): Promise<T> {
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      signal?.throwIfAborted();
      await this.#next(key, signal);
    }
  }

  changed(key: string): void {
    const looks = this.#looks.get(key);
    this.#looks.delete(key);
    for (const look of looks ?? []) look();
  }

  #next(key: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise<void>((resolve) => {
      const looks = this.#looks.get(key) ?? new Set();
      this.#looks.set(key, looks);
      const done = () => {
        signal?.removeEventListener('abort', done);
        looks.delete(done);
        if (looks.size === 0 && this.#looks.get(key) === looks) this.#looks.delete(key);
        resolve();
      };
      looks.add(done);
      signal?.addEventListener('abort', done);
    });
  }
}
