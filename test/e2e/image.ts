import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TarEntry, tarOf } from '../../lab/cluster/tar.ts';
import { buildImage } from '../../tools/image.ts';
import { defaultSettings, manifests as manifestsOf } from '../../tools/manifests-objects.ts';
import type { Manifest, Settings } from '../../tools/manifests-settings.ts';

/** The name under which the nodes have it: nothing is fetched from anywhere. */
const repository = 'quarry.lab/quarry';

export type Installation = {
  /** An archive for `ctr images import`. */
  readonly archive: string;
  readonly manifests: ReturnType<typeof manifestsOf>;
};

/** The image and the manifests as `make image` makes them. */
export async function buildInstallation(chosen: Partial<Settings> = {}): Promise<Installation> {
  const built = await buildImage(repository);
  const name = `${repository}:${built.release.version}`;
  const entries: TarEntry[] = [];
  for (const [path, data] of built.files) {
    const named = path === 'index.json' ? withName(data, name) : data;
    entries.push({ kind: 'file', path, data: named });
  }
  const directory = await mkdtemp(join(tmpdir(), 'quarry-image-'));
  const archive = join(directory, 'quarry.tar');
  await writeFile(archive, tarOf(entries));
  return { archive, manifests: manifestsOf({ ...defaultSettings(built.release), ...chosen }) };
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
