import { join } from 'node:path';
import { projectDirectory } from '../cache.ts';
import { runCommand } from '../host/command.ts';
import { ensureEntry, type Progress } from '../setup/entry.ts';
import {
  type GoModule,
  goBuild,
  goBuildEnvironment,
  goBuildFlags,
  goInputs,
  goVersionOf,
  withClock,
} from '../setup/go-program.ts';

export type KubeBuild = { readonly path: string; readonly version: string };

const module: GoModule = {
  directory: join(projectDirectory, 'lab/kube'),
  files: ['go.mod', 'go.sum', 'main.go'],
  need:
    'the lab builds Kubernetes and needs Go (1.26 or newer) for it, but there is no `go` on ' +
    'PATH; install it, or set KUBEBUILDER_ASSETS to a directory with ready-made programs',
};
const versionPackages = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'] as const;

/** One program with the sub-commands apiserver, controller-manager, scheduler and kubelet. */
export async function ensureKube(progress: Progress): Promise<KubeBuild> {
  const { go, files } = await goInputs(module);
  const flags = [goBuildFlags, linkerFlags('v1.0.0')];
  const entry = await ensureEntry(
    {
      name: 'kube',
      inputs: { go, files, flags, buildEnvironment: goBuildEnvironment },
      announce: 'building Kubernetes from source: about 5 minutes the first time, then seconds',
      build: (directory) => withClock('Kubernetes', progress, () => build(join(directory, 'kube'))),
    },
    progress,
  );
  const version = entry.manifest.versions['kubernetes'];
  if (version === undefined) throw new Error(`${entry.path} does not say its version`);
  return { path: join(entry.path, 'kube'), version };
}

async function build(out: string): Promise<Readonly<Record<string, string>>> {
  const version = await goVersionOf(module, 'k8s.io/kubernetes');
  await goBuild(module, { target: '.', linkerFlags: linkerFlags(version), out });
  const told = (await runCommand([out, 'version'])).trim();
  if (told !== version) throw new Error(`built Kubernetes ${version}, but it says ${told}`);
  return { kubernetes: version };
}

/** The sources do not know their version; the linker writes it where servers and clients look. */
function linkerFlags(version: string): string {
  const minor = /^v1\.(\d+)\.\d+$/.exec(version)?.[1];
  if (minor === undefined) throw new Error(`${version} is not a released version of Kubernetes`);
  const stamps = versionPackages.flatMap((name) => [
    `-X ${name}.gitVersion=${version}`,
    `-X ${name}.gitMajor=1`,
    `-X ${name}.gitMinor=${minor}`,
  ]);
  return ['-s -w', ...stamps].join(' ');
}
