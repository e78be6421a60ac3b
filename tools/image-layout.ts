import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

/** An image for one machine; the index leads each machine to its own. */
export type ImageSpec = {
  readonly architecture: 'amd64' | 'arm64';
  /** Uncompressed archives, the lowest first. */
  readonly layers: readonly Buffer[];
  readonly config: {
    readonly User: string;
    readonly Entrypoint: readonly string[];
    readonly Env: readonly string[];
  };
  readonly annotations: Readonly<Record<string, string>>;
};

export type ImageName = { readonly repository: string; readonly tag: string };

export type Layout = {
  /** Paths below the directory of the layout. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** Of the index: what a manifest pins. */
  readonly digest: string;
  readonly digests: Readonly<Record<string, string>>;
};

export const mediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const;

/** Times are part of an image's digest: ours stands still, so that the same tree gives the same. */
const created = '1970-01-01T00:00:00Z';

/** OCI's image layout. Everything in it follows from what is given, to the last byte. */
export function layoutOf(images: readonly ImageSpec[], name: ImageName): Layout {
  const files = new Map<string, Buffer>();
  const add = (mediaType: string, data: Buffer): Descriptor => {
    const digest = digestOf(data);
    files.set(`blobs/${digest.replace(':', '/')}`, data);
    return { mediaType, digest, size: data.length };
  };
  const compressed = new Map<Buffer, Buffer>();
  const layerOf = (layer: Buffer): Descriptor => {
    const data = compressed.get(layer) ?? gzipSync(layer);
    compressed.set(layer, data);
    return add(mediaTypes.layer, data);
  };
  const manifests = images.map((image) => ({
    ...add(mediaTypes.manifest, manifestOf(image, add, layerOf)),
    platform: platforms[image.architecture],
  }));
  const index = { schemaVersion: 2, mediaType: mediaTypes.index, manifests };
  const descriptor = add(mediaTypes.index, json(index));
  const annotations = {
    'org.opencontainers.image.ref.name': name.tag,
    // What containerd calls it after an import.
    'io.containerd.image.name': `${name.repository}:${name.tag}`,
  };
  files.set('oci-layout', json({ imageLayoutVersion: '1.0.0' }));
  files.set(
    'index.json',
    json({
      ...{ schemaVersion: 2, mediaType: mediaTypes.index },
      manifests: [{ ...descriptor, annotations }],
    }),
  );
  const digests = manifests.map(({ digest, platform }) => [platform.architecture, digest] as const);
  return { files, digest: descriptor.digest, digests: Object.fromEntries(digests) };
}

type Descriptor = { readonly mediaType: string; readonly digest: string; readonly size: number };

const platforms = {
  amd64: { architecture: 'amd64', os: 'linux' },
  arm64: { architecture: 'arm64', os: 'linux', variant: 'v8' },
} as const;

function manifestOf(
  { architecture, layers, config, annotations }: ImageSpec,
  add: (mediaType: string, data: Buffer) => Descriptor,
  layerOf: (layer: Buffer) => Descriptor,
): Buffer {
  const described = {
    ...{ created, ...platforms[architecture], config: { ...config, Labels: annotations } },
    rootfs: { type: 'layers', diff_ids: layers.map(digestOf) },
    history: layers.map(() => ({ created, created_by: 'make image' })),
  };
  return json({
    ...{ schemaVersion: 2, mediaType: mediaTypes.manifest },
    config: add(mediaTypes.config, json(described)),
    layers: layers.map(layerOf),
    annotations,
  });
}

export function digestOf(data: Buffer): string {
  return `sha256:${createHash('sha256').update(data).digest('hex')}`;
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
