import type { ChildProcess } from 'node:child_process';
import { runCommand } from './command.ts';
import { ended, spawnOwned } from './owned.ts';

/** A private network and mount namespace. It exists as long as a process lives in it. */
export type Namespace = {
  /** Turns a command into one that runs inside, without another process in between. */
  enter(argv: readonly string[]): readonly string[];
  run(argv: readonly string[]): Promise<string>;
  readonly networkPath: string;
  close(): Promise<void>;
};

/**
 * Makes the namespace and runs the given commands in it. Mounts, bridges and taps made there need
 * no removal: the kernel drops them with the last process inside.
 */
export async function createNamespace(
  commands: readonly (readonly string[])[],
): Promise<Namespace> {
  const script = ['set -e', ...commands.map(quoteCommand), 'exec cat'].join('\n');
  const holder = spawnOwned(['unshare', '--net', '--mount', 'sh', '-c', script], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  await untilReady(holder);
  const { pid } = holder;
  if (pid === undefined) throw new Error('the namespace holder has no process id');
  const enter = (argv: readonly string[]): readonly string[] => [
    ...['nsenter', `--net=/proc/${pid}/ns/net`, `--mount=/proc/${pid}/ns/mnt`, '--'],
    ...argv,
  ];
  return {
    enter,
    run: (argv) => runCommand(enter(argv)),
    networkPath: `/proc/${pid}/ns/net`,
    close: async () => {
      holder.kill('SIGKILL');
      await ended(holder);
    },
  };
}

async function untilReady(holder: ChildProcess): Promise<void> {
  const said: Buffer[] = [];
  holder.stderr?.on('data', (chunk: Buffer) => said.push(chunk));
  await new Promise<void>((resolve, reject) => {
    holder.once('error', reject);
    holder.once('close', () => {
      reject(new Error(`cannot make a namespace: ${Buffer.concat(said).toString()}`));
    });
    // `cat` answers only when every command before it succeeded.
    holder.stdout?.once('data', () => resolve());
    holder.stdin?.on('error', () => {});
    holder.stdin?.write('ready\n');
  });
}

function quoteCommand(argv: readonly string[]): string {
  return argv.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
}
