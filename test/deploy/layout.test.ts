import assert from 'node:assert/strict';
import test from 'node:test';
import { tarOf } from '../../lab/cluster/tar.ts';
import { type ImageSpec, layoutOf } from '../../tools/image-layout.ts';
import { readLock } from '../../tools/image-packages.ts';
import { readTar } from '../../tools/image-tar.ts';
import { readLayout } from './oci.ts';

const name = { repository: 'quarry', tag: '1' };
const config = { User: '65532', Entrypoint: ['/a'], Env: [] };
const shared = tarOf([{ kind: 'file', path: 'shared', data: Buffer.from('both') }]);
const images: readonly ImageSpec[] = (['amd64', 'arm64'] as const).map((architecture) => ({
  architecture,
  layers: [
    tarOf([{ kind: 'file', path: 'own', data: Buffer.from(architecture), mode: 0o644 }]),
    shared,
  ],
  config,
  annotations: {},
}));

test('a layout follows its own digests from the index down to every layer', () => {
  const read = readLayout(layoutOf(images, name).files);
  assert.deepEqual([...read.keys()], ['amd64', 'arm64']);
  for (const [architecture, { members }] of read) {
    assert.deepEqual(
      members.map(({ path, data }) => `${path}: ${data.toString()}`),
      [`own: ${architecture}`, 'shared: both'],
    );
  }
});

test('a layer that two machines share is in it once', () => {
  const { files } = layoutOf(images, name);
  // The layout's own two files, its index, and for each machine a manifest, a config and a layer.
  assert.equal(files.size, 2 + 1 + 2 * 3 + 1);
});

test('a name is no part of what is pinned', () => {
  const renamed = layoutOf(images, { repository: 'example/quarry', tag: '2' });
  assert.equal(renamed.digest, layoutOf(images, name).digest);
});

test('the same parts give the same digest, another byte gives another', () => {
  const digest = layoutOf(images, name).digest;
  assert.equal(layoutOf(images, name).digest, digest);
  const [first, ...more] = images;
  assert.ok(first !== undefined);
  const changed = { ...first, config: { ...config, User: '0' } };
  assert.notEqual(layoutOf([changed, ...more], name).digest, digest);
});

test('archives are read as they were written', () => {
  const archive = tarOf([
    { kind: 'directory', path: 'usr/bin' },
    { kind: 'file', path: 'usr/bin/a', data: Buffer.alloc(513, 'x'), mode: 0o755 },
    { kind: 'symlink', path: 'bin', target: 'usr/bin' },
  ]);
  assert.deepEqual(
    readTar(archive).map(({ path, kind, mode, target, data }) => [
      ...[path, kind, mode.toString(8), target, data.length],
    ]),
    [
      ['usr/bin', 'directory', '755', '', 0],
      ['usr/bin/a', 'file', '755', '', 513],
      ['bin', 'link', '777', 'usr/bin', 0],
    ],
  );
});

test('both machines are given the same versions of the same packages', () => {
  const of = (architecture: string) =>
    readLock()
      .packages.filter((one) => one.architecture === architecture)
      .map(({ name, version }) => `${name} ${version}`);
  assert.deepEqual(of('arm64'), of('amd64'));
  assert.equal(of('amd64').length, 6);
});
