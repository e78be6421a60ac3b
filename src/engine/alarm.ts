import type { Signal } from './ports.ts';

/** Ends a sleep early and leaves nothing behind: a race would let every hint leak a sleep. */
export class Alarm implements Signal {
  aborted = false;
  readonly #listeners = new Set<() => void>();

  ring(): void {
    this.aborted = true;
    for (const listener of this.#listeners) listener();
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener);
  }
}
