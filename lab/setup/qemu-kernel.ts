import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../host/command.ts';
import { findDebianSource, PackageSource } from './apt.ts';
import { type Entry, ensureEntry, type Progress } from './entry.ts';

/** The newest stable kernel, whatever release the guest itself runs. */
const suite = 'trixie';
const metaPackage = 'linux-image-cloud-amd64';
const recipeRevision = 1;
const modulesPath = 'usr/lib/modules';

export type QemuKernel = { readonly image: string; readonly modules: string };

export async function ensureQemuKernel(progress: Progress): Promise<QemuKernel> {
  const { path } = await ensureEntry(
    {
      name: 'qemu-kernel',
      inputs: { suite, metaPackage, recipeRevision },
      announce: 'fetching the Debian kernel for QEMU',
      build: buildKernel,
    },
    progress,
  );
  const image = (await readdir(join(path, 'boot'))).find((name) => name.startsWith('vmlinuz-'));
  if (image === undefined) throw new Error(`no kernel in ${path}/boot`);
  return { image: join(path, 'boot', image), modules: join(path, modulesPath) };
}

async function buildKernel(directory: string): Promise<Entry['manifest']['versions']> {
  const packages = new PackageSource(directory);
  await packages.open(await findDebianSource(), suite);
  const names = await packages.dependenciesOf(metaPackage);
  const name = names.find((found) => found.startsWith('linux-image-'));
  if (name === undefined) throw new Error(`${metaPackage} depends on no kernel`);
  const version = await packages.unpack(name, directory);
  await packages.close();
  for (const release of await readdir(join(directory, modulesPath))) {
    // Left to the installation of the package, which we do not do.
    await runCommand(['depmod', '--basedir', join(directory, 'usr'), release]);
  }
  return { [name]: version };
}
