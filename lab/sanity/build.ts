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

export type SanityBuild = { readonly path: string; readonly version: string };

const module: GoModule = {
  directory: join(projectDirectory, 'lab/sanity'),
  files: ['go.mod', 'go.sum'],
  need:
    'csi-sanity is built from source and needs Go (1.26 or newer) for it, but there is no `go` ' +
    'on PATH; install it',
};
const source = 'github.com/kubernetes-csi/csi-test/v5';
const target = `${source}/cmd/csi-sanity`;

/** The conformance suite of CSI, as its authors publish it. */
export async function ensureSanity(progress: Progress): Promise<SanityBuild> {
  const { go, files } = await goInputs(module);
  const entry = await ensureEntry(
    {
      name: 'csi-sanity',
      inputs: { go, files, flags: [goBuildFlags, linkerFlags('')], goBuildEnvironment },
      announce: 'building csi-sanity from source (up to a minute)',
      build: (directory) =>
        withClock('csi-sanity', progress, () => build(join(directory, 'csi-sanity'))),
    },
    progress,
  );
  const version = entry.manifest.versions['csi-test'];
  if (version === undefined) throw new Error(`${entry.path} does not say its version`);
  return { path: join(entry.path, 'csi-sanity'), version };
}

async function build(out: string): Promise<Readonly<Record<string, string>>> {
  const version = await goVersionOf(module, source);
  await goBuild(module, { target, linkerFlags: linkerFlags(version), out });
  const told = (await runCommand([out, '--version'])).trim();
  if (told !== `Version = ${version}`) throw new Error(`built ${version}, but it says ${told}`);
  return { 'csi-test': version };
}

function linkerFlags(version: string): string {
  return `-s -w -X main.VERSION=${version}`;
}
