import { setTimeout as sleep } from 'node:timers/promises';

/** What one look found: the thing waited for, or why it is not there yet. */
export type Look<T> = { readonly found: T } | { readonly missing: string };

export type WaitOptions = {
  /** 90 seconds unless told otherwise: enough for a machine that is busy with other work. */
  readonly timeoutMs?: number;
  /** Between two looks; a tenth of a second unless told otherwise. */
  readonly intervalMs?: number;
  readonly signal?: AbortSignal;
};

const defaultTimeoutMs = 90_000;
const defaultIntervalMs = 100;

/** Looks again and again. A look that throws ends the wait: it will not get better by itself. */
export async function waitUntil<T>(
  what: string,
  look: () => Promise<Look<T>>,
  options: WaitOptions = {},
): Promise<T> {
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  const intervalMs = options.intervalMs ?? defaultIntervalMs;
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    options.signal?.throwIfAborted();
    const seen = await look();
    if ('found' in seen) return seen.found;
    if (performance.now() > deadlineMs) {
      throw new Error(`${what}: not after ${timeoutMs} ms: ${seen.missing}`);
    }
    await sleep(intervalMs, undefined, { ...(options.signal && { signal: options.signal }) });
  }
}
