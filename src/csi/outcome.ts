import { type Blocked, OperationError } from '../base/failures.ts';
import { isBlocked } from '../core/usable-vg.ts';
import type { Signal } from '../engine/ports.ts';

/** A refusal is thrown here: whoever called gets it as an answer. */
export function orThrow<T extends object | bigint>(value: T | Blocked): T {
  const isRefusal = typeof value === 'object' && isBlocked(value);
  if (!isRefusal) return value;
  const { code, message } = value;
  throw new OperationError(code, message);
}

/**
 * What it rested on was deleted meanwhile: it begins again with what is there now. Nothing is begun
 * for a caller who has left: he would never hear of what is made, and what he knew of may be gone.
 */
export async function overtaken<T>(work: () => Promise<T>, signal: Signal | undefined): Promise<T> {
  const hasLeft = () => signal?.aborted === true;
  if (hasLeft()) {
    throw new OperationError('Cancelled', 'nobody waits for it any more, and it had not begun');
  }
  try {
    return await work();
  } catch (error) {
    const isOvertaken = error instanceof OperationError && error.code === 'VolumeLost';
    if (!isOvertaken || hasLeft()) throw error;
    return await work();
  }
}
