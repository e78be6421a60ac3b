import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { type TarEntry, tarOf } from '../lab/cluster/tar.ts';
import { bundle, type OtherTexts, programEnvironment } from './bundle.ts';
import { type ImageSpec, type Layout, layoutOf } from './image-layout.ts';
import {
  type Architecture,
  architectures,
  membersOf,
  nodeOf,
  type PinnedPackage,
  readLock,
} from './image-packages.ts';
import { layersOf } from './image-root.ts';
import { manifestFiles, releaseFile } from './manifests.ts';
import type { Release } from './manifests-settings.ts';

/**
 * OCI images for all machines, in a directory that skopeo, crane and ctr read, and manifests that
 * pin them. The same tree gives the same digests.
 *
 *   node tools/image.ts --repository example/quarry
 */
const root = join(import.meta.dirname, '..');

export type Built = Layout & { readonly release: Release };

export async function buildImage(
  repository: string,
  machines: readonly Architecture[] = architectures,
  others: OtherTexts = {},
): Promise<Built> {
  const file = join(root, 'build/image-program.cjs');
  await bundle(file, others);
  const program = readFileSync(file, 'utf8');
  const manifest = others['package.json'] ?? readFileSync(join(root, 'package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { readonly version: string };
  const images: ImageSpec[] = [];
  for (const architecture of machines) {
    images.push(await imageFor(architecture, { program, version }));
  }
  const layout = layoutOf(images, { repository, tag: version });
  return {
    ...layout,
    release: { version, image: { repository, tag: version, digest: layout.digest } },
  };
}

const variables = Object.entries(programEnvironment).map(([name, value]) => `${name}=${value}`);

type Ours = { readonly program: string; readonly version: string };

async function imageFor(
  architecture: Architecture,
  { program, version }: Ours,
): Promise<ImageSpec> {
  const packages = readLock().packages.filter((one) => one.architecture === architecture);
  const system = (await Promise.all(packages.map(membersOf))).flat();
  const node = await nodeOf(architecture);
  const member = (path: string) => node.members.find((one) => one.path === path)?.data;
  const binary = member('package/bin/node');
  if (binary === undefined) throw new Error(`the package of Node for ${architecture} has none`);
  return {
    architecture,
    layers: layersOf({
      system,
      node: binary,
      program,
      papers: {
        LICENSE: readFileSync(join(root, 'LICENSE'), 'utf8'),
        'LICENSE.node': member('package/LICENSE')?.toString() ?? '',
        'sbom.json': billOf(packages, node.version),
      },
    }),
    config: {
      // The operator needs no rights. Agents ask for root in their manifest.
      User: '65532:65532',
      Entrypoint: ['/usr/bin/quarry'],
      Env: ['PATH=/usr/bin:/usr/sbin', ...variables],
    },
    annotations: {
      'org.opencontainers.image.title': 'quarry',
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': 'Apache-2.0',
    },
  };
}

type Bill = { readonly components: readonly { readonly scope: string }[] };

/** The lockfile's bill without what only builds, and what this image has beside it. */
function billOf(packages: readonly PinnedPackage[], nodeVersion: string): string {
  const bill = JSON.parse(readFileSync(join(root, 'docs/sbom.json'), 'utf8')) as Bill;
  const debian = packages.map(({ name, version, architecture, sha256 }) => ({
    ...{ type: 'library', name, version, scope: 'required' },
    purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`,
    hashes: [{ alg: 'SHA-256', content: sha256 }],
  }));
  const node = { type: 'application', name: 'node', version: nodeVersion, scope: 'required' };
  const shipped = bill.components.filter(({ scope }) => scope === 'required');
  const components = [...shipped, { ...node, purl: `pkg:generic/node@${nodeVersion}` }, ...debian];
  return `${JSON.stringify({ ...bill, components }, undefined, 2)}\n`;
}

export function writeLayout({ files }: Layout, directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  for (const [path, data] of files) write(join(directory, path), data);
}

/**
 * The layout as one file, for `ctr images import`. containerd takes the image in under two names:
 * manifests ask for it by digest, and an image that was not fetched has no name but those given.
 */
export function archiveOf({ files, release }: Built): Buffer {
  const { repository, digest } = release.image;
  const entries = [...files].map(([path, data]): TarEntry => {
    const named = path === 'index.json' ? withName(data, `${repository}@${digest}`) : data;
    return { kind: 'file', path, data: named, mode: 0o644 };
  });
  return tarOf(entries);
}

function withName(index: Buffer, name: string): Buffer {
  const parsed = JSON.parse(index.toString()) as { readonly manifests: readonly object[] };
  const annotations = { 'io.containerd.image.name': name };
  const second = parsed.manifests.map((manifest) => ({ ...manifest, annotations }));
  return Buffer.from(JSON.stringify({ ...parsed, manifests: [...parsed.manifests, ...second] }));
}

function write(file: string, data: string | Buffer): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, data);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      repository: { type: 'string', default: 'quarry' },
      /** A file with all of it, for `ctr images import`. */
      archive: { type: 'string' },
      /** Writes the digest into the tree, for a release. */
      release: { type: 'boolean', default: false },
    },
  });
  const built = await buildImage(values.repository);
  writeLayout(built, join(root, 'build/image'));
  if (values.archive !== undefined) write(values.archive, archiveOf(built));
  const text = `${JSON.stringify(built.release, undefined, 2)}\n`;
  write(join(root, 'build/manifests/release.json'), text);
  for (const [path, made] of Object.entries(manifestFiles(built.release))) {
    write(join(root, 'build/manifests', path), made);
    if (values.release) write(join(root, path), made);
  }
  if (values.release) write(join(root, releaseFile), text);
  const bytes = [...built.files.values()].reduce((sum, { length }) => sum + length, 0);
  console.log(`build/image: ${built.digest}, ${Math.round(bytes / 2 ** 20)} MiB for both machines`);
}
