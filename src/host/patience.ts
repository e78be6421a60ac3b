import { OperationError } from '../base/failures.ts';

type Pending = { readonly timeoutMs: number; readonly lateAtMs: number; ended: Promise<void> };

/**
 * A file operation on a dead device may never end, and holds one of the few threads that all of
 * them share. So each path has one at a time. Who comes later waits in line, but no longer than the
 * one that is under way may take; after that, everybody is refused until it has ended.
 */
export class Patience {
  readonly #pending = new Map<string, Pending>();

  async run<T>(path: string, timeoutMs: number, work: () => Promise<T>): Promise<T> {
    let ahead = this.#pending.get(path);
    while (ahead !== undefined) {
      await inTime(ahead.ended, path, ahead);
      ahead = this.#pending.get(path);
    }
    const running = work();
    const leave = () => void this.#pending.delete(path);
    const ended = running.then(leave, leave);
    const pending = { timeoutMs, lateAtMs: performance.now() + timeoutMs, ended };
    this.#pending.set(path, pending);
    return inTime(running, path, pending);
  }
}

async function inTime<T>(work: Promise<T>, path: string, pending: Pending): Promise<T> {
  const { timeoutMs, lateAtMs } = pending;
  const leftMs = lateAtMs - performance.now();
  const message = `${path} gave no answer in ${timeoutMs} ms`;
  // Nobody is added to those who wait for what may never come.
  if (leftMs <= 0) throw new OperationError('CommandTimedOut', message);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new OperationError('CommandTimedOut', message)), leftMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
