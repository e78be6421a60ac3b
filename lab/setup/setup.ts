import { join } from 'node:path';
import { ensureAgentProgram } from './agent-program.ts';
import type { Progress } from './entry.ts';
import { ensureHostPackages, type GuestKind } from './host-packages.ts';
import { ensureRootfs, type Suite } from './rootfs.ts';
import { ensureUmlKernel } from './uml-kernel.ts';

export type SetupRequest = {
  readonly kind: GuestKind;
  readonly suites: readonly Suite[];
  readonly progress: Progress;
};

export type LabParts = {
  readonly umlKernel: string;
  readonly umlVersion: string;
  readonly agentProgram: string;
  root(suite: Suite): string;
};

/** Makes sure everything a lab needs is on this machine. Silent when it already is. */
export async function setUpLab(request: SetupRequest): Promise<LabParts> {
  await ensureHostPackages(request.kind, request.progress);
  const kernel = await ensureUmlKernel(request.progress);
  const roots = new Map<Suite, string>();
  for (const suite of request.suites) {
    const { path } = await ensureRootfs(suite, request.progress);
    roots.set(suite, join(path, 'root'));
  }
  return {
    agentProgram: await ensureAgentProgram(),
    umlKernel: kernel.path,
    umlVersion: kernel.manifest.versions['user-mode-linux'] ?? 'unknown',
    root: (suite) => {
      const root = roots.get(suite);
      if (root === undefined) throw new Error(`no root file system of ${suite} was set up`);
      return root;
    },
  };
}
