import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Namespace } from '../host/namespace.ts';
import type { Guest } from '../index.ts';

export type ShareSpec = {
  readonly namespace: Namespace;
  /** The directory user-mode Linux is chrooted to; it shows guests what is below it. */
  readonly guestRoot: string;
  /** What guests see, read-only. */
  readonly directory: string;
  /** Files that are shown at a path below it without being copied. */
  readonly files: ReadonlyMap<string, string>;
  /** Guests write their logs here, seen as `log`. */
  readonly logDirectory: string;
};

/** Below the lab's own directory in that chroot, which is in memory and goes away with the lab. */
const inside = '/lab/cluster';

/** Shows a directory of the host to all guests of a lab. Each guest has to mount it. */
export async function shareWithGuests(spec: ShareSpec): Promise<void> {
  const { namespace, directory } = spec;
  const to = join(spec.guestRoot, inside);
  await mkdir(join(directory, 'log'), { recursive: true });
  for (const path of spec.files.keys()) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), '');
  }
  await namespace.run(['mkdir', '-p', to]);
  await namespace.run(['mount', '--bind', '-o', 'ro', directory, to]);
  await namespace.run(['mount', '--bind', spec.logDirectory, join(to, 'log')]);
  for (const [path, source] of spec.files) {
    await namespace.run(['mount', '--bind', '-o', 'ro', source, join(to, path)]);
  }
}

export async function mountShare(guest: Guest, at: string): Promise<void> {
  await guest.sh(`mkdir -p ${at} && mount -t hostfs -o hostfs=${inside} cluster ${at}`);
}
