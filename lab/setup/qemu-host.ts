import { access, constants } from 'node:fs/promises';

/**
 * Plain emulation unless somebody asks for the host's help: a /dev/kvm that opens is no sign that
 * it works, inside another virtual machine a guest may hang in its first instruction.
 */
export type Accelerator = 'kvm' | 'tcg';

/** Debian moved the program to a package of its own when it was rewritten. */
const virtiofsdPaths = ['/usr/libexec/virtiofsd', '/usr/lib/qemu/virtiofsd'] as const;

export async function hasVirtiofsd(): Promise<boolean> {
  return findVirtiofsd().then(
    () => true,
    () => false,
  );
}

export async function findVirtiofsd(): Promise<string> {
  for (const path of virtiofsdPaths) if (await allows(path, constants.X_OK)) return path;
  throw new Error(`none of these is there: ${virtiofsdPaths.join(' ')}`);
}

function allows(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
