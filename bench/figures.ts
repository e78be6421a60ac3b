import type { Memory } from './process.ts';

/** What the bench in the guest hands to the one that prints. All times are in milliseconds. */

export const kinds = ['thick', 'thin'] as const;
export type Kind = (typeof kinds)[number];

export const operations = ['create', 'expand', 'snapshot', 'delete'] as const;
export type Operation = (typeof operations)[number];

export const sides = ['quarry', 'bare', 'lvmd'] as const;
export type Side = (typeof sides)[number];

export type Options = {
  readonly rounds: number;
  /** Numbers of existing volumes, from none to the most. */
  readonly levels: readonly number[];
  readonly atOnce: number;
  readonly fioRounds: number;
};

/** Runs of lvm that change something, runs that only look, and other programs by name. */
export type Runs = {
  readonly changes: number;
  readonly reads: number;
  readonly programs: Readonly<Record<string, number>>;
};

/** Runs of lvm that the caller waits for, and those for whoever watches. */
export type LvmdRuns = { readonly waited: number; readonly reports: number };

export type CountRow = {
  readonly what: string;
  readonly runs: Runs;
  /** None where TopoLVM has no such call. */
  readonly lvmd?: LvmdRuns;
};

export type LatencyRow = {
  readonly existing: number;
  readonly kind: Kind;
  readonly operation: Operation;
  readonly ms: Readonly<Record<Side, readonly number[]>>;
};

/** Creates one after the other, or all at once; `restMs` is what programs took after the answer. */
export type LoopRow = {
  readonly what: 'serial' | 'parallel';
  readonly existing: number;
  readonly quarry: { readonly count: number; readonly ms: number; readonly restMs: number };
  readonly runs: Runs;
  readonly bare: { readonly count: number; readonly ms: number };
  readonly lvmd?: { readonly count: number; readonly ms: number };
};

export type NodeRow = {
  readonly what: string;
  readonly runs: Runs;
  readonly ms: readonly number[];
};

export type MemoryRow = {
  readonly existing: number;
  readonly quarry: Memory;
  readonly lvmd: Memory;
};

export const jobs = ['randread', 'randwrite', 'read', 'write'] as const;
export type Job = (typeof jobs)[number];

/** Requests a second of each job, a value for each round. */
export type FioRow = {
  readonly target: string;
  readonly iops: Readonly<Record<Job, readonly number[]>>;
};

export type Figures = {
  readonly counts: readonly CountRow[];
  readonly latencies: readonly LatencyRow[];
  readonly loops: readonly LoopRow[];
  readonly node: readonly NodeRow[];
  readonly memory: readonly MemoryRow[];
  readonly fio: readonly FioRow[];
};

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The smallest value that so large a share of all does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export async function clocked(work: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return performance.now() - startedAtMs;
}
