import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../host/command.ts';
import type { Progress } from './entry.ts';

/** A pinned Go module of ours: its go.mod and go.sum say what is fetched, and prove it. */
export type GoModule = {
  readonly directory: string;
  readonly files: readonly string[];
  /** What a person reads where there is no Go. */
  readonly need: string;
};

/**
 * The flags decide the result together with the sources and the Go version, so they are part of
 * the key. Two compilers at once, because each may take 2 to 3 GB at its peak.
 */
export const goBuildFlags = ['-mod=readonly', '-trimpath', '-buildvcs=false', '-p', '2'] as const;
export const goBuildEnvironment = { CGO_ENABLED: '0' } as const;

const tellEveryMs = 30_000;

/** Everything beside the flags that decides what a build gives. */
export async function goInputs(module: GoModule) {
  const go = await goIdentity(module);
  const files: Record<string, string> = {};
  for (const name of module.files) {
    const bytes = await readFile(join(module.directory, name));
    files[name] = createHash('sha256').update(bytes).digest('hex');
  }
  return { go, files };
}

/** The version that go.mod pins. */
export async function goVersionOf(module: GoModule, path: string): Promise<string> {
  const list = ['go', 'list', '-m', '-f', '{{.Version}}', path];
  return (await runCommand(list, { cwd: module.directory })).trim();
}

/** Where Go has unpacked a module; a build has fetched and proved it before. */
export async function goDirectoryOf(module: GoModule, path: string): Promise<string> {
  const list = ['go', 'list', '-m', '-f', '{{.Dir}}', path];
  return (await runCommand(list, { cwd: module.directory })).trim();
}

/** The same without a build: fetched if need be, and proved by go.sum. */
export async function goFetch(module: GoModule, path: string): Promise<string> {
  await goIdentity(module);
  const said = await runCommand(['go', 'mod', 'download', '-json', path], {
    cwd: module.directory,
  });
  return (JSON.parse(said) as { readonly Dir: string }).Dir;
}

export async function goBuild(
  module: GoModule,
  request: { readonly target: string; readonly linkerFlags: string; readonly out: string },
): Promise<void> {
  const { target, linkerFlags, out } = request;
  const build = ['nice', '-n', '5', 'go', 'build', ...goBuildFlags, '-ldflags', linkerFlags];
  await runCommand([...build, '-o', out, target], {
    cwd: module.directory,
    env: goBuildEnvironment,
  });
}

/** Tells every now and then that a long build is still at work. */
export async function withClock<T>(
  what: string,
  progress: Progress,
  work: () => Promise<T>,
): Promise<T> {
  const startedMs = Date.now();
  const clock = setInterval(() => {
    const seconds = Math.round((Date.now() - startedMs) / 1000);
    progress(`still building ${what}, ${seconds} s so far`);
  }, tellEveryMs);
  try {
    return await work();
  } finally {
    clearInterval(clock);
  }
}

async function goIdentity({ directory, need }: GoModule): Promise<readonly string[]> {
  try {
    // Asked for in the module's directory, because go.mod may choose another toolchain.
    const said = await runCommand(['go', 'env', 'GOVERSION', 'GOOS', 'GOARCH'], { cwd: directory });
    return said.trim().split('\n');
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    throw new Error(need, { cause });
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
