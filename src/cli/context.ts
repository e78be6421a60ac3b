import { type FailureCode, failures } from '../base/failures.ts';
import { showList } from '../base/show.ts';
import type { DesiredNode } from '../core/node.ts';
import { Engine } from '../engine/engine.ts';
import type { Host, Trace } from '../engine/ports.ts';
import { realClock } from '../host/clock.ts';
import { realHost } from '../host/host.ts';
import { withToldStrays } from '../host/strays.ts';

/** What `main.ts` read from the environment; nothing below it reads more. */
export type Environment = {
  readonly path: string;
  readonly version: string;
  readonly print: (text: string) => void;
  readonly warn: (text: string) => void;
  /** What the user types: `quarry`, or `kubectl quarry`. */
  readonly program: string;
  /** A person reads this on a terminal and did not ask for plain text. */
  readonly hasColours: boolean;
  readonly variables: Variables;
};

/** '' where nothing is said. */
export type Variables = {
  readonly kubeconfig: string;
  readonly home: string;
  readonly serviceHost: string;
  readonly servicePort: string;
  /** All there are, for a program of the user's that hands out credentials. */
  readonly all: () => Readonly<Record<string, string>>;
};

export type Context = Environment & { readonly host: Host; readonly engine: Engine };

export type CommonFlags = { readonly nsenter: boolean; readonly verbose: boolean };

export const nsenter = [
  'nsenter',
  '--target',
  '1',
  '--mount',
  '--uts',
  '--ipc',
  '--net',
  '--pid',
  '--',
];

export function makeContext(environment: Environment, flags: CommonFlags): Context {
  const door = realHost({ prefix: flags.nsenter ? nsenter : [], path: environment.path });
  const host = withToldStrays(door, (strays) =>
    environment.warn(`quarry: waiting for what an earlier run began: ${showList(strays)}`),
  );
  const trace: Trace = (event) => {
    if (!flags.verbose) return;
    const how = event.exitCode === undefined ? 'did not end' : `exit ${event.exitCode}`;
    environment.warn(`+ ${event.argv.join(' ')}  # ${Math.round(event.durationMs)} ms, ${how}`);
  };
  return { ...environment, host, engine: new Engine({ host, clock: realClock, trace }) };
}

/** What a command that was killed left suspended hangs every look: it comes first. */
export async function recover(context: Context, desired: DesiredNode): Promise<void> {
  const groups = desired.volumeGroups.map((vg) => vg.name);
  const { resumed, leftAlone } = await context.engine.recover(groups);
  if (resumed.length > 0) context.warn(`quarry: resumed ${showList(resumed)}`);
  if (leftAlone.length === 0) return;
  const { hint } = failures.DeviceSuspended;
  context.warn(`quarry: DeviceSuspended: ${showList(leftAlone)}, not ours. ${hint}`);
}

export const exitCodes = { done: 0, failed: 1, usage: 2, retryLater: 75 } as const;

export function exitCodeOf(code: FailureCode): number {
  if (code === 'InvalidConfiguration') return exitCodes.usage;
  return failures[code].retry === 'backoff' ? exitCodes.retryLater : exitCodes.failed;
}

export class UsageError extends Error {
  override readonly name = 'UsageError';
}
