import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDirectory } from '../cache.ts';
import { runCommand, tryCommand } from '../host/command.ts';
import type { Progress } from './entry.ts';
import { withLock } from './lock.ts';
import { hasVirtiofsd } from './qemu-host.ts';

export type GuestKind = 'uml' | 'qemu';

type HostProgram = { readonly program: string; readonly package: string };

const basePrograms: readonly HostProgram[] = [
  { program: 'mmdebstrap', package: 'mmdebstrap' },
  { program: 'ip', package: 'iproute2' },
  { program: 'openssl', package: 'openssl' },
  { program: 'setpriv', package: 'util-linux' },
  { program: 'unshare', package: 'util-linux' },
  { program: 'nsenter', package: 'util-linux' },
  { program: 'flock', package: 'util-linux' },
];

const qemuPrograms: readonly HostProgram[] = [
  { program: 'qemu-system-x86_64', package: 'qemu-system-x86' },
  { program: 'depmod', package: 'kmod' },
  { program: 'mkfs.ext4', package: 'e2fsprogs' },
  { program: 'xz', package: 'xz-utils' },
];

/**
 * Installs what the host lacks. Where we may not install anything it says exactly what is
 * missing and stops, because half a lab only fails later and in a darker place.
 */
export async function ensureHostPackages(kind: GuestKind, progress: Progress): Promise<void> {
  const missing = await missingPackages(kind);
  const root = process.getuid?.() === 0;
  if (missing.length > 0) {
    const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
    if (!root || !/^ID="?debian/m.test(release)) {
      throw new Error(`the lab needs these Debian packages on this machine: ${missing.join(' ')}`);
    }
    await installMissing(kind, progress);
  }
  if (!root) throw new Error('the lab needs root: it makes network namespaces and mounts');
}

async function missingPackages(kind: GuestKind): Promise<readonly string[]> {
  const wanted = kind === 'qemu' ? [...basePrograms, ...qemuPrograms] : basePrograms;
  const missing: string[] = [];
  for (const { program, package: name } of wanted) {
    const found = await tryCommand(['sh', '-c', 'command -v "$1"', 'sh', program]);
    if (found.exitCode !== 0 && !missing.includes(name)) missing.push(name);
  }
  if (kind === 'qemu' && !missing.includes('qemu-system-x86') && !(await hasVirtiofsd())) {
    missing.push('virtiofsd'); // a package of its own since Debian 13
  }
  return missing;
}

/** Suites of tests start several labs at one moment: only one of them may ask apt. */
async function installMissing(kind: GuestKind, progress: Progress): Promise<void> {
  const lock = join(await cacheDirectory(), 'host-packages.lock');
  const onWait = (): void => progress('waiting for another set-up of this machine to end');
  await withLock(lock, onWait, async () => {
    const missing = await missingPackages(kind);
    if (missing.length === 0) return;
    progress(`installing on this machine: ${missing.join(' ')}`);
    await installPackages(missing);
  });
}

async function installPackages(names: readonly string[]): Promise<void> {
  // Somebody else may be installing something at this moment.
  const apt = ['apt-get', '--option', 'DPkg::Lock::Timeout=300'];
  const install = [...apt, 'install', '--yes', '--no-install-recommends', ...names];
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  const first = await tryCommand(install, { env });
  if (first.exitCode === 0) return;
  // Package lists may be missing or too old to name files that still exist.
  await runCommand([...apt, 'update'], { env });
  await runCommand(install, { env });
}
