import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { projectDirectory } from '../cache.ts';
import { ensureEntry, type Progress } from '../setup/entry.ts';
import {
  type GoModule,
  goBuild,
  goBuildEnvironment,
  goBuildFlags,
  goDirectoryOf,
  goFetch,
  goInputs,
  goVersionOf,
  withClock,
} from '../setup/go-program.ts';

/** TopoLVM with the sidecars that making and growing volumes needs, and LVMS, which is all in one. */
const peers = {
  hypertopolvm: {
    directory: 'topolvm',
    source: 'github.com/topolvm/topolvm',
    target: 'github.com/topolvm/topolvm/cmd/hypertopolvm',
  },
  'csi-provisioner': {
    directory: 'provisioner',
    source: 'github.com/kubernetes-csi/external-provisioner/v5',
    target: 'github.com/kubernetes-csi/external-provisioner/v5/cmd/csi-provisioner',
  },
  'csi-resizer': {
    directory: 'resizer',
    source: 'github.com/kubernetes-csi/external-resizer',
    target: 'github.com/kubernetes-csi/external-resizer/cmd/csi-resizer',
  },
  lvms: {
    directory: 'lvms',
    source: 'github.com/openshift/lvm-operator/v4',
    target: 'github.com/openshift/lvm-operator/v4/cmd',
  },
} as const;

export type PeerName = keyof typeof peers;

export type PeerProgram = { readonly path: string; readonly version: string };

const linkerFlags = '-s -w';

export async function ensurePeer(name: PeerName, progress: Progress): Promise<PeerProgram> {
  const { source, target } = peers[name];
  const module = moduleOf(name);
  const { go, files } = await goInputs(module);
  const entry = await ensureEntry(
    {
      name,
      inputs: { go, files, flags: [goBuildFlags, linkerFlags], goBuildEnvironment },
      announce: `building ${name} from source (a few minutes the first time)`,
      build: (to) =>
        withClock(name, progress, async () => {
          await goBuild(module, { target, linkerFlags, out: join(to, name) });
          if (name === 'lvms') await copyKinds(module, source, join(to, 'kinds'));
          return { [name]: await goVersionOf(module, source) };
        }),
    },
    progress,
  );
  return { path: join(entry.path, name), version: entry.manifest.versions[name] ?? 'unknown' };
}

function moduleOf(name: PeerName): GoModule {
  return {
    directory: join(projectDirectory, 'lab/peer', peers[name].directory),
    files: ['go.mod', 'go.sum'],
    need: `${name} is built from source and needs Go (1.26 or newer): there is no \`go\` on PATH`,
  };
}

/** Where the sources of a peer are, or of something that it is made of, without building it. */
export function fetchPeer(name: PeerName, source: string = peers[name].source): Promise<string> {
  return goFetch(moduleOf(name), source);
}

/** Where the kinds of LVMS are: a directory of YAML files. */
export function lvmsKinds({ path }: PeerProgram): string {
  return join(dirname(path), 'kinds');
}

/** As their authors publish them. LogicalVolumes are not among them: those are ours, a superset. */
async function copyKinds(module: GoModule, source: string, to: string): Promise<void> {
  const from = join(await goDirectoryOf(module, source), 'config/crd/bases');
  const files = (await readdir(from)).filter((name) => name.startsWith('lvm.topolvm.io_'));
  if (files.length === 0) throw new Error(`${from} has no kinds`);
  await mkdir(to);
  for (const name of files) await copyFile(join(from, name), join(to, name));
}
