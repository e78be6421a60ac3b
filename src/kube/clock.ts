import { uptime } from 'node:os';
import type { Clock } from './ports.ts';

/**
 * The time that leases are measured by. The ordinary clock of a process stands still while the
 * machine sleeps, and others may take our lease meanwhile; the time since boot goes on. Whichever
 * of both went further counts.
 */
export function leaseClock(clock: Clock, sinceBootMs: () => number = () => uptime() * 1000): Clock {
  const bootMs = sinceBootMs();
  const startMs = clock.nowMs();
  return {
    nowMs: () => Math.max(clock.nowMs() - startMs, sinceBootMs() - bootMs),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
}
