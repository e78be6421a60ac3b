/** The doors of this layer: time and chance. Tests give their own. */

/** The same shape as the engine's. `nowMs` never goes backward and knows no time of day. */
export type Clock = {
  nowMs(): number;
  /** Resolves after the time, or at once when the signal fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
};

/** At least 0 and below 1. */
export type Chance = () => number;

/** Milliseconds since 1970: for what others read, never for what we decide. */
export type WallClock = () => number;

/** What went wrong and is tried again, for logs and metrics. */
export type Trouble = (error: Error, waitMs: number) => void;
