import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { type Member, readTar } from '../../tools/image-tar.ts';

/** Reads a layout by OCI's rules, and stops at what breaks one. */
export type Files = ReadonlyMap<string, Buffer>;

type Descriptor = {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly architecture: string; readonly os: string };
};

type Manifest = { readonly config: Descriptor; readonly layers: readonly Descriptor[] };

type Config = {
  readonly architecture: string;
  readonly os: string;
  readonly config: { readonly User: string; readonly Entrypoint: readonly string[] };
  readonly rootfs: { readonly diff_ids: readonly string[] };
};

export type ReadImage = { readonly config: Config; readonly members: readonly Member[] };

const oci = 'application/vnd.oci.image';

/** Images by architecture. */
export function readLayout(files: Files): ReadonlyMap<string, ReadImage> {
  assert.deepEqual(parse(files.get('oci-layout')), { imageLayoutVersion: '1.0.0' });
  const seen = new Set(['oci-layout', 'index.json']);
  const blob = ({ mediaType, digest, size }: Descriptor, expected: string): Buffer => {
    assert.equal(mediaType, expected);
    const path = `blobs/${digest.replace(':', '/')}`;
    const data = files.get(path);
    assert.ok(data !== undefined, `there is no ${path}`);
    assert.equal(data.length, size);
    assert.equal(sha256(data), digest);
    seen.add(path);
    return data;
  };
  const top = parse<{ manifests: readonly Descriptor[] }>(files.get('index.json'));
  assert.equal(top.manifests.length, 1);
  const [entry] = top.manifests;
  assert.ok(entry !== undefined);
  const index = parse<{ manifests: readonly Descriptor[] }>(blob(entry, `${oci}.index.v1+json`));
  const images = index.manifests.map((descriptor) => {
    const manifest = parse<Manifest>(blob(descriptor, `${oci}.manifest.v1+json`));
    const config = parse<Config>(blob(manifest.config, `${oci}.config.v1+json`));
    assert.equal(descriptor.platform?.architecture, config.architecture);
    const layers = manifest.layers.map((layer) =>
      gunzipSync(blob(layer, `${oci}.layer.v1.tar+gzip`)),
    );
    assert.deepEqual(layers.map(sha256), config.rootfs.diff_ids);
    return [config.architecture, { config, members: layers.flatMap(readTar) }] as const;
  });
  assert.deepEqual([...files.keys()].toSorted(), [...seen].toSorted(), 'nothing else is in it');
  return new Map(images);
}

function sha256(data: Buffer): string {
  return `sha256:${createHash('sha256').update(data).digest('hex')}`;
}

function parse<T>(data: Buffer | undefined): T {
  assert.ok(data !== undefined);
  return JSON.parse(data.toString()) as T;
}
