/** What a test asks the agent in a guest, one JSON line each; see `agent.ts`. */
export type Ask =
  /** Starts the driver, and answers once both of its sockets are served. */
  | { readonly op: 'serve' }
  | { readonly op: 'call'; readonly wire: Wire; readonly cancelAfterMs?: number }
  /** What happens around the next programs that change something. */
  | { readonly op: 'arm'; readonly fate: Fate }
  /** The programs that were started since then. */
  | { readonly op: 'steps' }
  /** The last lines that the driver printed. */
  | { readonly op: 'log' }
  /** Answers once the driver is gone. */
  | { readonly op: 'mourn' };

/** A call as it goes to one of the driver's sockets. */
export type Wire = {
  readonly service: 'controller' | 'node' | 'lv' | 'vg';
  readonly method: string;
  readonly request: object;
};

export type Answer = {
  /** gRPC's word. */
  readonly code: string;
  readonly message: string;
  readonly response?: unknown;
};

export const deaths = ['before', 'during', 'torn', 'program', 'after'] as const;

/**
 * Where it hits: before the n-th program, in its middle, or after it. `torn` ends the program and
 * the driver, `program` the program alone, all others the driver alone.
 */
export type Death = {
  readonly when: (typeof deaths)[number];
  readonly nth: number;
  readonly delayMs: number;
};

export type Fate = Death | { readonly when: 'never' };

export type StepRun = { readonly argv: string; readonly ms: number };

export type Steps = {
  readonly runs: readonly StepRun[];
  /** A program was ended before its end. */
  readonly wasTorn: boolean;
};

/** JSON has no large numbers and no maps. */
export function toLine(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === 'bigint') return { $bigint: String(inner) };
    return inner instanceof Map ? { $map: [...inner] } : inner;
  });
}

export function fromLine(text: string): unknown {
  return JSON.parse(text, (_key, inner: unknown) => {
    const marked = inner as { $bigint?: string; $map?: [string, unknown][] } | null;
    if (typeof marked?.$bigint === 'string') return BigInt(marked.$bigint);
    return Array.isArray(marked?.$map) ? new Map(marked.$map) : inner;
  });
}
