import { spawn } from 'node:child_process';

export type CommandResult = {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stdoutBytes: Buffer;
  readonly stderr: string;
};

export type CommandOptions = {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly onLine?: (line: string) => void;
};

/** Runs a host command to its end and hands back what it said, whatever its exit code. */
export function tryCommand(
  argv: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const [program, ...args] = argv;
  if (program === undefined) throw new Error('a command needs a program');
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => {
    stderr.push(chunk);
    for (const line of chunk.toString().split('\n')) if (line !== '') options.onLine?.(line);
  });
  child.stdin.on('error', () => {}); // a program may end without reading its input
  child.stdin.end(options.stdin ?? '');
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      resolve({
        exitCode: code ?? -1,
        stdout: Buffer.concat(stdout).toString(),
        stdoutBytes: Buffer.concat(stdout),
        stderr: Buffer.concat(stderr).toString(),
      });
    });
  });
}

/** Like `tryCommand`, but a command that fails throws with everything it said. */
export async function runCommand(
  argv: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  return (await mustSucceed(argv, options)).stdout;
}

/** For commands that print something else than text. */
export async function commandBytes(argv: readonly string[]): Promise<Buffer> {
  return (await mustSucceed(argv, {})).stdoutBytes;
}

async function mustSucceed(
  argv: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const result = await tryCommand(argv, options);
  if (result.exitCode === 0) return result;
  throw new Error(
    `${argv.join(' ')} ended with ${result.exitCode}\n${result.stdout}${result.stderr}`.trim(),
  );
}
