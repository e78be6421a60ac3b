import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** The working tree this file belongs to: what guests see at `/quarry`. */
export const projectDirectory = resolve(import.meta.dirname, '..');

/** Where everything expensive is kept between runs, shared by all working trees of one user. */
export async function cacheDirectory(): Promise<string> {
  const base = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const path = join(base, 'quarry');
  await mkdir(path, { recursive: true });
  return path;
}
