import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { link, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TarEntry, tarOf } from '../../lab/cluster/tar.ts';
import { bundle } from '../../tools/bundle.ts';
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

/** The image and the manifests as `make image` makes them. The archive is the caller's to remove. */
export async function buildInstallation(chosen: Partial<Settings> = {}): Promise<Installation> {
  await mkdir(join(root, 'build'), { recursive: true });
  const directory = await mkdtemp(join(root, 'build/e2e-image-'));
  const kept = join(root, 'build', `e2e-image.${await keyOf(directory)}`);
  const isKept = await readFile(join(kept, 'release.json')).catch(() => undefined);
  if (isKept === undefined) await keep(kept, join(directory, 'new'));
  const archive = join(directory, 'quarry.tar');
  await link(join(kept, 'quarry.tar'), archive);
  const release = JSON.parse(await readFile(join(kept, 'release.json'), 'utf8')) as Release;
  const settings = { ...defaultSettings(release), ...chosen };
  return { archive, manifests: manifestsOf(settings), release };
}

/** Of all that an image is made from. Packing it takes minutes of a busy machine. */
async function keyOf(scratch: string): Promise<string> {
  const program = join(scratch, 'program.cjs');
  await bundle(program);
  const hash = createHash('sha256').update(readFileSync(program));
  const files = ['package.json', 'package-lock.json', 'LICENSE', 'test/e2e/image.ts'];
  for (const file of [...files, ...globSync('tools/image*', { cwd: root }).toSorted()]) {
    hash.update(readFileSync(join(root, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

async function keep(place: string, scratch: string): Promise<void> {
  const machine = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const { files, release } = await buildImage(repository, [machine]);
  const name = `${repository}:${release.version}`;
  const entries = [...files].map(([path, data]): TarEntry => {
    return { kind: 'file', path, data: path === 'index.json' ? withName(data, name) : data };
  });
  await mkdir(scratch);
  await writeFile(join(scratch, 'quarry.tar'), tarOf(entries));
  await writeFile(join(scratch, 'release.json'), JSON.stringify(release));
  for (const old of globSync('build/e2e-image.*', { cwd: root })) {
    if (join(root, old) !== place) await rm(join(root, old), { recursive: true, force: true });
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
