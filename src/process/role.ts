import { failures, OperationError } from '../base/failures.ts';
import type { Log } from './log.ts';

export type Environment = {
  readonly path: string;
  readonly version: string;
  readonly print: (text: string) => void;
  readonly warn: (text: string) => void;
};

/**
 * As those of every other command, see docs/guides/standalone.md. `unusable`: what was asked for
 * cannot be understood, or the configuration cannot be used.
 */
export const exitCodes = { stopped: 0, failed: 1, unusable: 2, retryLater: 75 } as const;

export type Flags = {
  readonly help: boolean;
  readonly version: boolean;
  readonly ignored: readonly string[];
};

export type Run = { readonly log: Log; readonly toldToStop: Promise<void> };

/** A process that stays: its flags, and what it does until it is told to stop, also at its start. */
export type Role<F extends Flags, E extends Environment> = {
  readonly role: string;
  readonly usage: string;
  readonly read: () => F;
  readonly serve: (flags: F, environment: E, run: Run) => Promise<number>;
};

export async function runRole<F extends Flags, E extends Environment>(
  { role, usage: text, read, serve: work }: Role<F, E>,
  environment: E,
): Promise<number> {
  try {
    const values = read();
    if (!values.help && !values.version) {
      const log = loggedTo(environment, values);
      return await hearing((toldToStop) => work(values, environment, { log, toldToStop }));
    }
    environment.print(values.help ? text : environment.version);
    return exitCodes.stopped;
  } catch (error) {
    if (error instanceof OperationError) return tell(error, environment);
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (!code.startsWith('ERR_PARSE_ARGS_')) throw error;
    environment.warn(`quarry: ${message}`);
    environment.warn(`quarry: \`quarry ${role} --help\` shows the flags`);
    return exitCodes.unusable;
  }
}

function loggedTo({ print }: Environment, { ignored }: Flags): Log {
  const log = (event: object) => print(toLine(event));
  for (const flag of ignored) {
    log({ level: 'warn', message: `${flag} is ignored: lvmd has no such flag any more` });
  }
  return log;
}

function tell(error: OperationError, { warn }: Environment): number {
  warn(`quarry: ${error.code}: ${error.message}`);
  warn(`quarry: ${failures[error.code].hint}`);
  if (error.code === 'InvalidConfiguration') return exitCodes.unusable;
  return failures[error.code].retry === 'backoff' ? exitCodes.retryLater : exitCodes.failed;
}

/** From the first step on: a signal during the start must not end a command of lvm half-way. */
async function hearing<T>(work: (toldToStop: Promise<void>) => Promise<T>): Promise<T> {
  const signals = ['SIGTERM', 'SIGINT'] as const;
  let stop = () => {};
  const toldToStop = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const deaf = () => {
    for (const signal of signals) process.off(signal, heard);
  };
  /** Whoever does not want to wait tells it twice. */
  const heard = () => {
    deaf();
    stop();
  };
  for (const signal of signals) process.on(signal, heard);
  try {
    return await work(toldToStop);
  } finally {
    deaf();
  }
}

/** One line of JSON for each event; sizes that no number can hold are written as text. */
function toLine(event: object): string {
  const time = new Date().toISOString();
  return JSON.stringify({ time, ...event }, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}
