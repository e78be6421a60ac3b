/** Kept where it was: what every process that stays logs is in `process/`. */
export type { Log, LogEvent } from '../process/log.ts';
