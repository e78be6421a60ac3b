import { Alarm } from './alarm.ts';
import type { Clock } from './ports.ts';

/** The answer of some work, or a failure when it takes too long. The work itself goes on. */
export async function within<T>(
  clock: Clock,
  work: Promise<T>,
  limit: { readonly ms: number; readonly failure: () => Error },
): Promise<T> {
  const alarm = new Alarm();
  const late = Symbol('late');
  try {
    const first = await Promise.race([work, clock.sleep(limit.ms, alarm).then(() => late)]);
    if (first === late) throw limit.failure();
    return first as T;
  } finally {
    alarm.ring();
    // Nobody waits for it any more when it fails in the end.
    work.catch(() => undefined);
  }
}
