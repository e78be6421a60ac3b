import { chmod, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../host/command.ts';
import { findDebianSource, oneLineSource } from './apt.ts';
import { type Entry, ensureEntry, type Progress } from './entry.ts';

export type Suite = 'trixie' | 'bookworm';

/** Raise when the steps below change, so that old entries are not taken for new ones. */
const recipeRevision = 1;

const storagePackages = [
  'lvm2',
  'lvm2-lockd',
  'sanlock',
  'thin-provisioning-tools',
  'xfsprogs',
  'e2fsprogs',
  'btrfs-progs',
  'cryptsetup-bin',
  'multipath-tools',
  'mdadm',
  'udev',
  'nbd-client',
  'open-iscsi',
  'fdisk',
  'parted',
  'kmod',
  'procps',
  'iproute2',
  'iputils-ping',
  'nftables',
  'curl',
  'strace',
  'ca-certificates',
  'busybox-static',
  // Node 24 comes from the project's own modules; only the libraries it links are taken here.
  'libstdc++6',
];

/** A Kubernetes node runs in the same root file system, so that one build serves both. */
const clusterPackages = [
  'containerd',
  'runc',
  'containernetworking-plugins',
  'etcd-server',
  'kubectl',
];

/** What `make bench` measures volumes with: 50 MB and a few seconds of the build. */
const benchPackages = ['fio'];

const packagesOf: Readonly<Record<Suite, readonly string[]>> = {
  trixie: [...storagePackages, ...clusterPackages, ...benchPackages],
  // The older release is there for its lvm2 only.
  bookworm: storagePackages,
};

/** Empty directories the lab mounts over; the root file system itself stays read-only. */
const mountPoints = ['lab', 'quarry', 'usr/lib/modules'];

/** The root file system of a guest: a plain directory, `<entry>/root`. */
export function ensureRootfs(suite: Suite, progress: Progress): Promise<Entry> {
  const packages = packagesOf[suite];
  return ensureEntry(
    {
      name: `rootfs-${suite}`,
      inputs: { suite, packages, recipeRevision },
      announce: `building the Debian ${suite} guest root file system (1 to 2 minutes)`,
      build: async (directory) => {
        const root = join(directory, 'root');
        const source = await findDebianSource();
        await runCommand([
          ...['nice', 'mmdebstrap', '--variant=minbase', '--quiet'],
          `--include=${packages.join(',')}`,
          '--dpkgopt=path-exclude=/usr/share/doc/*',
          '--dpkgopt=path-exclude=/usr/share/man/*',
          '--dpkgopt=path-exclude=/usr/share/locale/*',
          ...[suite, root, oneLineSource(source, suite)],
        ]);
        for (const path of mountPoints) await mkdir(join(root, path), { recursive: true });
        await chmod(root, 0o755);
        return installedVersions(root);
      },
    },
    progress,
  );
}

async function installedVersions(root: string): Promise<Readonly<Record<string, string>>> {
  const status = await readFile(join(root, 'var/lib/dpkg/status'), 'utf8');
  const versions: Record<string, string> = {};
  for (const stanza of status.split('\n\n')) {
    const name = /^Package: (.+)$/m.exec(stanza)?.[1];
    const version = /^Version: (.+)$/m.exec(stanza)?.[1];
    if (name !== undefined && version !== undefined) versions[name] = version;
  }
  return versions;
}
