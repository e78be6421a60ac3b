import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../cache.ts';
import { runCommand } from '../host/command.ts';
import { ensureEntry, type Progress } from '../setup/entry.ts';
import {
  type GoModule,
  goBuild,
  goBuildEnvironment,
  goBuildFlags,
  goDirectoryOf,
  goInputs,
  goVersionOf,
  withClock,
} from '../setup/go-program.ts';

export type SnapshotParts = {
  /** The stock snapshot-controller. */
  readonly program: string;
  readonly version: string;
  /** What it may do, as its authors say: a YAML file. */
  readonly access: string;
  /** Directories with the definitions of kinds, as YAML files. */
  readonly definitions: string;
  readonly groupDefinitions: string;
};

const module: GoModule = {
  directory: join(projectDirectory, 'lab/snapshots'),
  files: ['go.mod', 'go.sum'],
  need:
    'the snapshot-controller is built from source and needs Go (1.26 or newer) for it, but there ' +
    'is no `go` on PATH; install it',
};
const source = 'github.com/kubernetes-csi/external-snapshotter/v8';
const client = 'github.com/kubernetes-csi/external-snapshotter/client/v8';
const access = 'rbac-snapshot-controller.yaml';

/** The snapshot-controller and the kinds it is about, as their authors publish them. */
export async function ensureSnapshotController(progress: Progress): Promise<SnapshotParts> {
  const { go, files } = await goInputs(module);
  const entry = await ensureEntry(
    {
      name: 'snapshot-controller',
      inputs: { go, files, flags: [goBuildFlags, linkerFlags('')], goBuildEnvironment },
      announce: 'building the snapshot-controller from source (a few minutes the first time)',
      build: (directory) => withClock('the snapshot-controller', progress, () => build(directory)),
    },
    progress,
  );
  const version = entry.manifest.versions['external-snapshotter'];
  if (version === undefined) throw new Error(`${entry.path} does not say its version`);
  const at = (name: string): string => join(entry.path, name);
  return {
    ...{ program: at('snapshot-controller'), version, access: at(access) },
    ...{ definitions: at('snapshot'), groupDefinitions: at('groupsnapshot') },
  };
}

async function build(directory: string): Promise<Readonly<Record<string, string>>> {
  const version = await goVersionOf(module, source);
  const kinds = await goVersionOf(module, client);
  if (kinds !== version) throw new Error(`the controller is ${version}, its kinds are ${kinds}`);
  const out = join(directory, 'snapshot-controller');
  const target = `${source}/cmd/snapshot-controller`;
  await goBuild(module, { target, linkerFlags: linkerFlags(version), out });
  const told = (await runCommand([out, '--version'])).trim();
  if (told !== `${out} ${version}`) throw new Error(`built ${version}, but it says ${told}`);
  await copyFile(
    join(await goDirectoryOf(module, source), 'deploy/kubernetes/snapshot-controller', access),
    join(directory, access),
  );
  await copyDefinitions(join(await goDirectoryOf(module, client), 'config/crd'), directory);
  return { 'external-snapshotter': version };
}

/** Their files begin with the group, as in `snapshot.storage.k8s.io_volumesnapshots.yaml`. */
async function copyDefinitions(from: string, to: string): Promise<void> {
  for (const group of ['snapshot', 'groupsnapshot']) {
    const files = (await readdir(from)).filter((name) => name.startsWith(`${group}.storage.`));
    if (files.length !== 3) throw new Error(`${from} has ${files.length} kinds of ${group}, not 3`);
    await mkdir(join(to, group));
    for (const name of files) await copyFile(join(from, name), join(to, group, name));
  }
}

function linkerFlags(version: string): string {
  return `-s -w -X main.version=${version}`;
}
