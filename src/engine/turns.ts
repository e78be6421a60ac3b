import { OperationError } from '../base/failures.ts';
import type { Signal } from './ports.ts';

/**
 * One piece of work at a time for each key, in the order they came. Whoever stops waiting loses
 * only the wait: the work goes on and the next one with its key begins when it is really done.
 */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  run<T>(key: string, work: () => Promise<T>, signal?: Signal): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    // The next one waits for this one, however it ends.
    const ended = mine.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, ended);
    void ended.then(() => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    });
    return signal === undefined ? mine : orAborted(mine, signal, key);
  }

  /** Keys with work under way or waiting. */
  get size(): number {
    return this.#last.size;
  }
}

function orAborted<T>(work: Promise<T>, signal: Signal, key: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      const message = `nobody waits for ${key} any more; it may still come about`;
      reject(new OperationError('Cancelled', message));
    };
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave);
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
