import { access, constants } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { runCommand } from '../host/command.ts';
import type { Progress } from '../setup/entry.ts';
import { ensureKube, type KubeBuild } from './kube-build.ts';

export const kubePrograms = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
] as const;
export type KubeProgram = (typeof kubePrograms)[number];
export type ProgramName = KubeProgram | 'etcd' | 'kubectl';

/** A file to run, the words that must come first, and where it came from. */
export type Program = {
  readonly path: string;
  readonly words: readonly string[];
  readonly source: string;
};

export type Programs = Readonly<Record<ProgramName, Program>>;

const subCommands: Readonly<Record<KubeProgram, string>> = {
  'kube-apiserver': 'apiserver',
  'kube-controller-manager': 'controller-manager',
  'kube-scheduler': 'scheduler',
  kubelet: 'kubelet',
};

/**
 * Takes every program from the assets directory that has it (the layout controller tests use), the
 * rest of Kubernetes from our own build, and etcd and kubectl from the guests' root file system:
 * both run on the host as they are.
 */
export async function findPrograms(request: {
  readonly assetsDirectory: string | undefined;
  readonly guestRoot: string;
  readonly progress: Progress;
}): Promise<Programs> {
  const { assetsDirectory, guestRoot } = request;
  const given = new Map<ProgramName, Program>();
  if (assetsDirectory !== undefined) {
    for (const name of [...kubePrograms, 'etcd', 'kubectl'] as const) {
      const path = join(resolve(assetsDirectory), name);
      const source = 'KUBEBUILDER_ASSETS';
      if (await isExecutable(path)) given.set(name, { path, words: [], source });
    }
    if (given.size === 0) throw new Error(`KUBEBUILDER_ASSETS=${assetsDirectory} has no programs`);
  }
  const complete = kubePrograms.every((name) => given.has(name));
  const built = complete ? undefined : await ensureKube(request.progress);
  const kube = (name: KubeProgram): Program => given.get(name) ?? builtProgram(built, name);
  const packaged = (name: 'etcd' | 'kubectl'): Program =>
    given.get(name) ?? {
      path: join(guestRoot, 'usr/bin', name),
      words: [],
      source: 'the guest root file system',
    };
  return {
    'kube-apiserver': kube('kube-apiserver'),
    'kube-controller-manager': kube('kube-controller-manager'),
    'kube-scheduler': kube('kube-scheduler'),
    kubelet: kube('kubelet'),
    etcd: packaged('etcd'),
    kubectl: packaged('kubectl'),
  };
}

/** Which program comes from where, one line for each source. */
export function describePrograms(programs: Programs): readonly string[] {
  const bySource = new Map<string, string[]>();
  for (const [name, { source }] of Object.entries(programs)) {
    bySource.set(source, [...(bySource.get(source) ?? []), name]);
  }
  return [...bySource].map(([source, names]) => `${names.join(', ')}: ${source}`);
}

/** A warning when given and built programs are of different releases: not all of them get along. */
export async function mixedVersions(programs: Programs): Promise<string | undefined> {
  const versions = new Map<string, string>();
  for (const name of kubePrograms) {
    const { path, words } = programs[name];
    const said = (await runCommand([path, ...words, '--version'])).trim();
    versions.set(name, said.replace('Kubernetes ', ''));
  }
  if (new Set(versions.values()).size === 1) return undefined;
  const list = [...versions].map(([name, version]) => `${name} ${version}`);
  return `MIXED VERSIONS, which may not work together: ${list.join(', ')}`;
}

function builtProgram(built: KubeBuild | undefined, name: KubeProgram): Program {
  if (built === undefined) throw new Error(`${name} was neither given nor built`);
  const source = `built here, ${built.version}`;
  return { path: built.path, words: [subCommands[name]], source };
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
