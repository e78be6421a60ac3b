import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { GuestKind } from './setup/host-packages.ts';

/** The working tree this file belongs to: what guests see at `/quarry`. */
export const projectDirectory = resolve(import.meta.dirname, '..');

/** `QUARRY_LAB_KIND=qemu` runs any suite in the other kind of guest. */
export function preferredKind(): GuestKind | 'auto' {
  const kind = process.env['QUARRY_LAB_KIND'] ?? 'auto';
  if (kind === 'uml' || kind === 'qemu' || kind === 'auto') return kind;
  throw new Error(`QUARRY_LAB_KIND is uml, qemu or auto, not ${kind}`);
}

/** Where everything expensive is kept between runs, shared by all working trees of one user. */
export async function cacheDirectory(): Promise<string> {
  const base = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const path = join(base, 'quarry');
  await mkdir(path, { recursive: true });
  return path;
}
