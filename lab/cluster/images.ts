import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../host/command.ts';
import { type TarEntry, tarOf } from './tar.ts';

export type ImageSpec = {
  /** The full name pods use, for example `quarry.lab/busybox:1`. */
  readonly name: string;
  /** Uncompressed tar archives, the lowest first. */
  readonly layers: readonly Buffer[];
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

/** In every cluster: what holds a pod together, and a shell with small tools. */
export const pauseImage = 'quarry.lab/pause:1';
export const busyboxImage = 'quarry.lab/busybox:1';

const mediaTypes = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
} as const;

type Blob = { readonly digest: string; readonly data: Buffer };

/** An OCI image layout as one archive, as `ctr images import` takes it. No registry is needed. */
export function imageArchive(images: readonly ImageSpec[]): Buffer {
  const blobs = new Map<string, Blob>();
  const add = (data: Buffer): Blob => {
    const digest = createHash('sha256').update(data).digest('hex');
    const blob = blobs.get(digest) ?? { digest, data };
    blobs.set(digest, blob);
    return blob;
  };
  const manifests = images.map((image) => ({
    ...descriptorOf(mediaTypes.manifest, addImage(image, add)),
    annotations: { 'io.containerd.image.name': image.name },
  }));
  return tarOf([
    { kind: 'file', path: 'oci-layout', data: json({ imageLayoutVersion: '1.0.0' }) },
    { kind: 'file', path: 'index.json', data: json({ schemaVersion: 2, manifests }) },
    ...[...blobs.values()].map(
      ({ digest, data }): TarEntry => ({ kind: 'file', path: `blobs/sha256/${digest}`, data }),
    ),
  ]);
}

function addImage(image: ImageSpec, add: (data: Buffer) => Blob): Blob {
  const layers = image.layers.map(add);
  const config = add(
    json({
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
      os: 'linux',
      config: {
        Entrypoint: image.entrypoint,
        Cmd: image.command,
        Env: Object.entries(image.env ?? {}).map(([name, value]) => `${name}=${value}`),
      },
      rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => `sha256:${digest}`) },
    }),
  );
  return add(
    json({
      schemaVersion: 2,
      mediaType: mediaTypes.manifest,
      config: descriptorOf(mediaTypes.config, config),
      layers: layers.map((layer) => descriptorOf(mediaTypes.layer, layer)),
    }),
  );
}

function descriptorOf(mediaType: string, { digest, data }: Blob): object {
  return { mediaType, digest: `sha256:${digest}`, size: data.length };
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** Pause and busybox, both from the static busybox of the guests' root file system. */
export async function baseImages(guestRoot: string): Promise<readonly ImageSpec[]> {
  const busybox = join(guestRoot, 'usr/bin/busybox');
  const applets = (await runCommand([busybox, '--list'])).trim().split('\n');
  const directories = ['bin', 'dev', 'etc', 'proc', 'root', 'sys', 'tmp', 'var'];
  const layer = tarOf([
    ...directories.map((path): TarEntry => ({ kind: 'directory', path })),
    { kind: 'file', path: 'bin/busybox', data: await readFile(busybox) },
    ...applets
      .filter((name) => name !== 'busybox')
      .map((name): TarEntry => ({ kind: 'symlink', path: `bin/${name}`, target: 'busybox' })),
    {
      kind: 'file',
      path: 'etc/passwd',
      data: Buffer.from('root:x:0:0:root:/root:/bin/sh\n'),
      mode: 0o644,
    },
    { kind: 'file', path: 'etc/group', data: Buffer.from('root:x:0:\n'), mode: 0o644 },
  ]);
  const env = { PATH: '/bin' };
  return [
    { name: pauseImage, layers: [layer], entrypoint: ['/bin/sleep', 'infinity'], env },
    { name: busyboxImage, layers: [layer], command: ['/bin/sh'], env },
  ];
}
