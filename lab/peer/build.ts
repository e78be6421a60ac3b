import { join } from 'node:path';
import { projectDirectory } from '../cache.ts';
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

/** TopoLVM and the two sidecars that making and growing volumes needs. */
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
} as const;

export type PeerName = keyof typeof peers;
export const peerNames = Object.keys(peers) as readonly PeerName[];

export type PeerProgram = { readonly path: string; readonly version: string };

const linkerFlags = '-s -w';

export async function ensurePeer(name: PeerName, progress: Progress): Promise<PeerProgram> {
  const { directory, source, target } = peers[name];
  const module: GoModule = {
    directory: join(projectDirectory, 'lab/peer', directory),
    files: ['go.mod', 'go.sum'],
    need: `${name} is built from source and needs Go (1.26 or newer): there is no \`go\` on PATH`,
  };
  const { go, files } = await goInputs(module);
  const entry = await ensureEntry(
    {
      name,
      inputs: { go, files, flags: [goBuildFlags, linkerFlags], goBuildEnvironment },
      announce: `building ${name} from source (a few minutes the first time)`,
      build: (to) =>
        withClock(name, progress, async () => {
          await goBuild(module, { target, linkerFlags, out: join(to, name) });
          return { [name]: await goVersionOf(module, source) };
        }),
    },
    progress,
  );
  return { path: join(entry.path, name), version: entry.manifest.versions[name] ?? 'unknown' };
}
