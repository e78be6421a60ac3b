import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import type { Running, Signal } from '../engine/ports.ts';
import type { Command, CommandResult } from '../lvm/command.ts';

/** The only file that spawns. */

export type RunOptions = {
  /** Put before every command, e.g. `nsenter --target 1 --mount ... --` inside a container. */
  readonly prefix: readonly string[];
  /** Takes the place of the prefix and of `lvm` itself: an administrator's own way to run it. */
  readonly lvm?: readonly string[];
  readonly path: string;
  /** Of the caller's own, for a program that is his; nothing else gets them. */
  readonly variables?: Readonly<Record<string, string>>;
};

export const lifeKey = 'QUARRY_LIFE';
/** What this process starts bears its mark. */
export const life = randomUUID();

/**
 * Starts a command in a session of its own, so that a Ctrl-C at our terminal does not reach it.
 * `gone` waits until the last process that holds its output is gone: behind nsenter that is the
 * real program, even if nsenter itself was killed.
 */
export function startCommand(
  command: Command,
  options: RunOptions,
  signal?: Signal,
  heard?: (text: string) => void,
): Running {
  const startedAtMs = performance.now();
  const [program, ...args] = wordsOf(command, options);
  const child = spawn(program ?? '', args, {
    stdio: [command.isHeld === true ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    detached: true,
    env: {
      ...{ LC_ALL: 'C', PATH: options.path, LVM_SUPPRESS_FD_WARNINGS: '1' },
      // By this a later life of ours knows what an earlier one left running.
      ...(command.effect === 'changes' ? { [lifeKey]: life } : {}),
      ...options.variables,
    },
  });
  const output = collect(child, command);
  if (heard !== undefined) child.stdout?.on('data', (chunk: Buffer) => heard(chunk.toString()));
  const end = endOf(child);
  const finished = end.then((ending): CommandResult => {
    if (ending.error !== undefined) throw cannotStart(command, ending.error);
    if (output.isTooLarge()) throw tooLarge(command);
    const durationMs = performance.now() - startedAtMs;
    const { exitCode, signal: endedBy } = ending;
    return { exitCode, signal: endedBy, ...output.texts(), durationMs };
  });
  const patience = waitOnly(command, child, signal);
  const result = Promise.race([finished, patience.broken]).finally(() => patience.release());
  // Who stopped waiting must not be told about it a second time.
  finished.catch(() => undefined);
  const running = { result, gone: end.then(() => undefined) };
  return command.isHeld === true ? { ...running, ...handleOf(child) } : running;
}

function handleOf(child: ChildProcess): Required<Pick<Running, 'ready' | 'release'>> {
  const ready = new Promise<undefined>((resolve) => {
    child.stdout?.once('data', () => resolve(undefined));
  });
  // Who has ended does not read what is left of its input.
  child.stdin?.on('error', () => undefined);
  return { ready, release: () => child.stdin?.end() };
}

/**
 * The same, under a host name of its own where the node lets it have one and lvm decides nothing by
 * it: a mark on what a command leaves when it is cut off, and not worth to do without the command.
 */
export function startNamed(command: Command, options: RunOptions, signal?: Signal): Running {
  const running = canBeNamed(command, options).then((can) =>
    startCommand(can ? command : withoutName(command), options, signal),
  );
  const result = running.then((started) => started.result);
  return { result, gone: running.then((started) => started.gone) };
}

async function canBeNamed(command: Command, options: RunOptions): Promise<boolean> {
  const { hostName = '' } = command;
  const { lvm = [], prefix, path } = options;
  const asked = async (look: Pick<Command, 'argv' | 'hostName'>, where: RunOptions) => {
    const { fileTimeoutMs: timeoutMs } = limits;
    const { result } = startCommand({ ...look, effect: 'reads', timeoutMs }, where);
    const { exitCode, stdout } = await result;
    return exitCode === 0 ? stdout.trim() : undefined;
  };
  const place = lvm.length > 0 ? lvm.slice(0, -1) : prefix;
  const name = { argv: ['cat', '/proc/sys/kernel/hostname'], hostName } as const;
  try {
    const isGiven = (await asked(name, { prefix: place, path })) === hostName;
    return isGiven && (await asked({ argv: ['lvm', 'tags'] }, options)) === '';
  } catch {
    return false;
  }
}

function withoutName({ argv, effect, timeoutMs }: Command): Command {
  return { argv, effect, timeoutMs };
}

function wordsOf(command: Command, { prefix, lvm = [] }: RunOptions): readonly string[] {
  const [program, ...args] = command.argv;
  if (program === 'lvm' && lvm.length > 0) {
    return [...lvm.slice(0, -1), ...nameOf(command), ...lvm.slice(-1), ...args];
  }
  return [...prefix, ...nameOf(command), ...command.argv];
}

/** A host name belongs to a namespace, and in one of its own the program finds another one. */
export function nameOf({ hostName }: Command): readonly string[] {
  if (hostName === undefined) return [];
  const name = 'printf %s "$0" > /proc/sys/kernel/hostname && exec "$@"';
  return ['unshare', '--uts', '--', 'sh', '-c', name, hostName];
}

type Ending = {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly error: Error | undefined;
};

function endOf(child: ChildProcess): Promise<Ending> {
  return new Promise((resolve) => {
    child.on('error', (error) => {
      if (child.pid !== undefined) return;
      resolve({ exitCode: undefined, signal: undefined, error });
    });
    child.on('close', (code, endedBy) =>
      resolve({ exitCode: code ?? undefined, signal: endedBy ?? undefined, error: undefined }),
    );
  });
}

/** Both streams, in full up to a limit. A changing command is drained even past it. */
function collect(child: ChildProcess, command: Command) {
  const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  let total = 0;
  const take = (stream: 'stdout' | 'stderr') => (chunk: Buffer) => {
    total += chunk.length;
    if (total <= limits.outputBytesMax) chunks[stream].push(chunk);
    else if (command.effect === 'reads') killGroup(child, 'SIGKILL');
  };
  child.stdout?.on('data', take('stdout'));
  child.stderr?.on('data', take('stderr'));
  return {
    isTooLarge: () => total > limits.outputBytesMax,
    texts: () => ({
      stdout: Buffer.concat(chunks.stdout).toString('utf8'),
      stderr: Buffer.concat(chunks.stderr).toString('utf8'),
    }),
  };
}

/** Ends the wait at the deadline or when the caller gives up. Only a read is ended with it. */
function waitOnly(command: Command, child: ChildProcess, signal?: Signal) {
  let breakWait: (error: OperationError) => void = () => undefined;
  const broken = new Promise<never>((_resolve, reject) => {
    breakWait = reject;
  });
  broken.catch(() => undefined);
  const stop = (error: OperationError) => {
    if (command.effect === 'reads') endRead(child);
    breakWait(error);
  };
  const timer = setTimeout(() => stop(timedOut(command)), command.timeoutMs);
  const abort = () => stop(cancelled(command));
  signal?.addEventListener('abort', abort);
  if (signal?.aborted === true) abort();
  const release = () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  };
  return { broken, release };
}

function endRead(child: ChildProcess): void {
  killGroup(child, 'SIGTERM');
  const timer = setTimeout(() => killGroup(child, 'SIGKILL'), limits.killGraceMs);
  child.on('close', () => clearTimeout(timer));
}

/** The whole group: behind nsenter the program that reads is a grandchild. */
function killGroup(child: ChildProcess, name: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, name);
  } catch {
    // It is gone already, which is what was wanted.
  }
}

function cannotStart(command: Command, cause: Error): OperationError {
  const [program] = command.argv;
  const message = `${program} cannot be started: ${cause.message}`;
  return new OperationError('CommandNotFound', message, { cause });
}

function tooLarge(command: Command): OperationError {
  const message = `${command.argv.join(' ')} printed more than ${limits.outputBytesMax} bytes`;
  return new OperationError('OutputTooLarge', message);
}

function timedOut(command: Command): OperationError {
  const goesOn = command.effect === 'changes' ? ' and goes on' : '';
  const message = `${command.argv.join(' ')} took longer than ${command.timeoutMs} ms${goesOn}`;
  return new OperationError('CommandTimedOut', message);
}

function cancelled(command: Command): OperationError {
  return new OperationError('Cancelled', `nobody waits for ${command.argv.join(' ')} any more`);
}
