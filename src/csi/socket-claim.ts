import { closeSync, constants, openSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';

/**
 * The right to serve a path. Node cannot lock files, so an instance listens on a socket of its
 * own, in a directory of its own beside the path:
 *
 *   .csi.sock.claim-h3Gd9x/.claim
 *
 * First it shows its claim, then it looks for others. Of two instances the one that looks later
 * sees the other, so they can never both find themselves alone. The kernel ends a claim together
 * with its process: a claim that refuses connections is dead. It may be removed by name, because
 * no name is used twice and no claim is shown before it listens.
 *
 * All names begin with a dot: kubelet takes every other socket in its directories for a plugin.
 */
export class SocketClaim {
  /** A short path to our directory: paths of sockets have little room. */
  readonly directory: string;
  readonly #path: string;
  readonly #fd: number;
  readonly #server: Server;

  constructor(parts: { readonly path: string; readonly fd: number; readonly server: Server }) {
    this.#path = parts.path;
    this.#fd = parts.fd;
    this.#server = parts.server;
    this.directory = shortPath(parts.fd);
  }

  /** libuv removes the socket when it closes it, by the path it was bound to: the fd goes last. */
  async release(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
    try {
      await rm(this.#path, { recursive: true, force: true });
    } finally {
      closeSync(this.#fd);
    }
  }
}

/** Fails when another instance serves the path, or is about to. */
export async function claimSocket(path: string): Promise<SocketClaim> {
  const parent = dirname(path);
  await mkdir(parent, { recursive: true, mode: 0o750 });
  await removeLitter(path);
  const { name, claim } = await showClaim(path);
  try {
    await findOthersGone(path, name);
    return claim;
  } catch (error) {
    await claim.release();
    throw error;
  }
}

/** Does anybody answer? A socket that is too busy to answer is in use, too. */
export async function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    );
  });
}

async function showClaim(path: string) {
  const made = await mkdtemp(`${prefix(path)}new-`);
  const shown = made.replace(/new-(\w+)$/, 'claim-$1');
  const fd = openSync(made, constants.O_RDONLY | constants.O_DIRECTORY);
  const server = createServer((socket) => socket.destroy());
  const claim = new SocketClaim({ path: shown, fd, server });
  await listen(server, `${claim.directory}/.claim`);
  await rename(made, shown);
  return { name: basename(shown), claim };
}

/** Of those that start together, the first by name waits for the rest to give way. */
async function findOthersGone(path: string, own: string): Promise<void> {
  const giveUpAtMs = performance.now() + limits.socketClaimWaitMs;
  for (;;) {
    const others = await liveClaims(path, own);
    if (others.length === 0) return;
    const isTooLate = performance.now() > giveUpAtMs || (await isServed(path));
    if (isTooLate || others.some((name) => name < own)) {
      throw new OperationError('SocketInUse', `another instance serves ${path}, or starts to`);
    }
    await sleep(20);
  }
}

async function liveClaims(path: string, own: string): Promise<readonly string[]> {
  const live: string[] = [];
  for (const name of await namesOf(path, 'claim-')) {
    if (name === own) continue;
    const directory = join(dirname(path), name);
    if (await hasLiveClaim(directory)) live.push(name);
    else await rm(directory, { recursive: true, force: true });
  }
  return live;
}

async function hasLiveClaim(directory: string): Promise<boolean> {
  const fd = openIfThere(directory);
  if (fd === undefined) return false;
  try {
    return await isServed(`${shortPath(fd)}/.claim`);
  } finally {
    closeSync(fd);
  }
}

/** An instance that died before it showed its claim leaves a directory that nobody misses. */
async function removeLitter(path: string): Promise<void> {
  for (const name of await namesOf(path, 'new-')) {
    const directory = join(dirname(path), name);
    const madeAtMs = await stat(directory).then(
      ({ mtimeMs }) => mtimeMs,
      () => Number.POSITIVE_INFINITY,
    );
    if (Date.now() - madeAtMs < limits.socketLitterAgeMs) continue;
    await rm(directory, { recursive: true, force: true });
  }
}

async function namesOf(path: string, kind: 'claim-' | 'new-'): Promise<readonly string[]> {
  const start = basename(prefix(path)) + kind;
  return (await readdir(dirname(path))).filter((name) => name.startsWith(start));
}

function prefix(path: string): string {
  return join(dirname(path), `.${basename(path)}.`);
}

function shortPath(fd: number): string {
  return `/proc/self/fd/${fd}`;
}

function openIfThere(directory: string): number | undefined {
  try {
    return openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function listen(server: Server, path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path }, resolve);
  });
  server.unref();
}
