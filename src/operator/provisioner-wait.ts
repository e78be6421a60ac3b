import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import type { Clock } from '../kube/ports.ts';

export type Wait = {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** What the node has not done, for who reads it. */
  readonly what: () => string;
};

/**
 * Waits for what a node has to do. After `nodeAnswerMs` only the wait ends: the work goes on, and
 * the same call finds it again.
 */
export async function untilAnswered<T>(
  { clock, signal, what }: Wait,
  begin: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const end = new AbortController();
  const done = new AbortController();
  let isLate = false;
  const stop = () => end.abort();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  void clock.sleep(limits.nodeAnswerMs, done.signal).then(() => {
    if (done.signal.aborted) return;
    isLate = true;
    stop();
  });
  try {
    return await begin(end.signal);
  } catch (error) {
    if (!isLate) throw error;
    const seconds = limits.nodeAnswerMs / 1000;
    throw new OperationError('NodeSilent', `${what()} after ${seconds} s`, { cause: error });
  } finally {
    done.abort();
    signal.removeEventListener('abort', stop);
  }
}
