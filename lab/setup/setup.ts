import { join } from 'node:path';
import { ensureAgentProgram } from './agent-program.ts';
import type { Progress } from './entry.ts';
import { ensureHostPackages, type GuestKind } from './host-packages.ts';
import { findVirtiofsd } from './qemu-host.ts';
import { ensureQemuImage, type QemuImage } from './qemu-image.ts';
import { ensureQemuKernel } from './qemu-kernel.ts';
import { ensureRootfs, type Suite } from './rootfs.ts';
import { ensureUmlKernel } from './uml-kernel.ts';

export type SetupRequest = {
  readonly kind: GuestKind;
  readonly suites: readonly Suite[];
  readonly progress: Progress;
};

export type LabParts = {
  readonly agentProgram: string;
  root(suite: Suite): string;
} & (
  | { readonly kind: 'uml'; readonly umlKernel: string; readonly umlVersion: string }
  | {
      readonly kind: 'qemu';
      readonly kernelImage: string;
      qemuImage(suite: Suite): QemuImage;
      readonly virtiofsd: string;
    }
);

/** Makes sure everything a lab needs is on this machine. Silent when it already is. */
export async function setUpLab(request: SetupRequest): Promise<LabParts> {
  const { kind, progress } = request;
  await ensureHostPackages(kind, progress);
  const roots = new Map<Suite, string>();
  for (const suite of request.suites) {
    const { path } = await ensureRootfs(suite, progress);
    roots.set(suite, join(path, 'root'));
  }
  const parts = {
    agentProgram: await ensureAgentProgram(),
    root: (suite: Suite): string => {
      const root = roots.get(suite);
      if (root === undefined) throw new Error(`no root file system of ${suite} was set up`);
      return root;
    },
  };
  if (kind === 'qemu') return { ...parts, kind, ...(await qemuParts(roots, progress)) };
  const kernel = await ensureUmlKernel(progress);
  const umlVersion = kernel.manifest.versions['user-mode-linux'] ?? 'unknown';
  return { ...parts, kind, umlKernel: kernel.path, umlVersion };
}

async function qemuParts(
  roots: ReadonlyMap<Suite, string>,
  progress: Progress,
): Promise<Omit<Extract<LabParts, { kind: 'qemu' }>, 'kind' | 'agentProgram' | 'root'>> {
  const kernel = await ensureQemuKernel(progress);
  const images = new Map<Suite, QemuImage>();
  for (const [suite, root] of roots) {
    images.set(suite, await ensureQemuImage({ suite, root, kernel, progress }));
  }
  return {
    kernelImage: kernel.image,
    virtiofsd: await findVirtiofsd(),
    qemuImage: (suite) => {
      const image = images.get(suite);
      if (image === undefined) throw new Error(`no disk image of ${suite} was set up`);
      return image;
    },
  };
}

/** The version of the UML kernel that is used here, for the verdict of its self test. */
export async function umlVersionOf(progress: Progress): Promise<string> {
  const { manifest } = await ensureUmlKernel(progress);
  return manifest.versions['user-mode-linux'] ?? 'unknown';
}
