import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Starts a long-lived process that cannot outlive us. The kernel kills it when this process ends
 * in any way, SIGKILL included, so no exit handler is needed and none can be forgotten.
 * The pid of the child is the pid of the program itself: every wrapper replaces itself by exec.
 * It has a session of its own, because Ctrl-C must reach us first and not every guest at once.
 */
export function spawnOwned(
  argv: readonly string[],
  options: { readonly stdio: StdioOptions; readonly env?: Readonly<Record<string, string>> },
): ChildProcess {
  return spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...argv], {
    stdio: options.stdio,
    env: { ...process.env, ...options.env },
    detached: true,
  });
}

export type ScratchDirectory = {
  readonly path: string;
  /** Removes the directory and waits until it is gone. */
  remove(): Promise<void>;
};

/**
 * A temporary directory that goes away with this process. A small detached shell waits for the end
 * of a pipe only we hold; the kernel closes it even when we are killed with SIGKILL.
 */
export async function createScratchDirectory(prefix: string): Promise<ScratchDirectory> {
  const path = await mkdtemp(join(tmpdir(), prefix));
  const janitor = spawn('sh', ['-c', 'cat >/dev/null; rm -rf -- "$1"', 'janitor', path], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  const gone = new Promise<void>((resolve) => janitor.once('exit', () => resolve()));
  // Waiting for the janitor would keep an otherwise finished process alive for ever.
  janitor.unref();
  const { stdin } = janitor;
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref();
  return {
    path,
    remove: () => {
      janitor.ref();
      stdin.end();
      return gone;
    },
  };
}

/** Resolves when the process has ended; a process that already ended resolves at once. */
export function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', () => resolve()));
}
