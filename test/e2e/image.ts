import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { link, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TarEntry, tarOf } from '../../lab/cluster/tar.ts';
import type { Protocols } from '../../src/core/cluster/protocol.ts';
import { bundle, type OtherTexts } from '../../tools/bundle.ts';
import { buildImage } from '../../tools/image.ts';
import { defaultSettings, manifests as manifestsOf } from '../../tools/manifests-objects.ts';
import type { Manifest, Release, Settings } from '../../tools/manifests-settings.ts';

const root = join(import.meta.dirname, '../..');

/** The name under which the nodes have it: nothing is fetched from anywhere. */
const repository = 'quarry.lab/quarry';

export type Installation = {
  /** An archive for `ctr images import`. */
  readonly archive: string;
  readonly manifests: ReturnType<typeof manifestsOf>;
  readonly release: Release;
};

/** The same program under another version, which says that it speaks these protocols. */
export type OtherVersion = { readonly version: string; readonly protocols: Protocols };

/** The image and the manifests as `make image` makes them. The archive is the caller's to remove. */
export async function buildInstallation(
  chosen: Partial<Settings> = {},
  other?: OtherVersion,
): Promise<Installation> {
  await mkdir(join(root, 'build'), { recursive: true });
  const directory = await mkdtemp(join(root, 'build/e2e-image-'));
  const others = other === undefined ? {} : await textsOf(other);
  const name = other === undefined ? 'e2e-image' : `e2e-version-${other.version}`;
  const kept = join(root, 'build', `${name}.${await keyOf(directory, others)}`);
  const isKept = await readFile(join(kept, 'release.json')).catch(() => undefined);
  if (isKept === undefined) await keep(kept, join(directory, 'new'), others);
  const archive = join(directory, `${name}.tar`);
  await link(join(kept, 'quarry.tar'), archive);
  const release = JSON.parse(await readFile(join(kept, 'release.json'), 'utf8')) as Release;
  const settings = { ...defaultSettings(release), ...chosen };
  return { archive, manifests: manifestsOf(settings), release };
}

async function textsOf({ version, protocols }: OtherVersion): Promise<OtherTexts> {
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as object;
  return {
    'package.json': JSON.stringify({ ...manifest, version }),
    'src/core/cluster/protocol.ts': `export const ownProtocols = ${JSON.stringify(protocols)};`,
  };
}

/** Of all that an image is made from. Packing it takes minutes of a busy machine. */
async function keyOf(scratch: string, others: OtherTexts): Promise<string> {
  const program = join(scratch, 'program.cjs');
  await bundle(program, others);
  const hash = createHash('sha256').update(readFileSync(program));
  const files = ['package.json', 'package-lock.json', 'LICENSE', 'test/e2e/image.ts'];
  for (const file of [...files, ...globSync('tools/image*', { cwd: root }).toSorted()]) {
    hash.update(readFileSync(join(root, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

async function keep(place: string, scratch: string, others: OtherTexts): Promise<void> {
  const machine = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const { files, release } = await buildImage(repository, [machine], others);
  const name = `${repository}:${release.version}`;
  const entries = [...files].map(([path, data]): TarEntry => {
    return { kind: 'file', path, data: path === 'index.json' ? withName(data, name) : data };
  });
  await mkdir(scratch);
  await writeFile(join(scratch, 'quarry.tar'), tarOf(entries));
  await writeFile(join(scratch, 'release.json'), JSON.stringify(release));
  for (const old of globSync(place.replace(/\.\w+$/, '.*'))) {
    if (old !== place) await rm(old, { recursive: true, force: true });
  }
  // Who comes second finds the same there.
  await rename(scratch, place).catch(() => readFile(join(place, 'release.json')));
}

/** containerd keeps an archive's image under this name. */
function withName(index: Buffer, name: string): Buffer {
  const parsed = JSON.parse(index.toString()) as { readonly manifests: readonly object[] };
  const annotations = { 'io.containerd.image.name': name };
  const manifests = parsed.manifests.map((manifest) => ({ ...manifest, annotations }));
  return Buffer.from(JSON.stringify({ ...parsed, manifests }));
}

/** By name and not by digest: an archive that was imported has no digest to be asked for by. */
export function byName(objects: readonly Manifest[]): readonly object[] {
  const text = JSON.stringify(objects);
  return JSON.parse(text.replaceAll(/("image":"[^"@]+)@sha256:[0-9a-f]{64}"/g, '$1"')) as object[];
}
