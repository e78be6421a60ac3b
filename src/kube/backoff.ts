import { kubeLimits } from './limits.ts';
import type { Chance } from './ports.ts';

/**
 * How long to wait after so many troubles in a row. Half of it is chance, so that agents that lost
 * one server do not come back together. What the server asked for is the least.
 */
export function backoffMs(
  troubles: number,
  retryAfterMs: number | undefined,
  chance: Chance,
): number {
  const doublings = Math.min(Math.max(troubles - 1, 0), 20);
  const most = Math.min(kubeLimits.backoffMsMin * 2 ** doublings, kubeLimits.backoffMsMax);
  const wait = most * (0.5 + chance() / 2);
  if (retryAfterMs === undefined) return wait;
  // Also after Retry-After not everybody in the same moment.
  const asked = Math.min(retryAfterMs, kubeLimits.retryAfterMsMax);
  return Math.max(wait, asked + chance() * kubeLimits.backoffMsMin);
}
