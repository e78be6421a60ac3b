import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import test, { before } from 'node:test';
import { runCommand } from '../../../lab/host/command.ts';
import manifest from '../../../package.json' with { type: 'json' };
import { archiveOf, type Built, buildImage } from '../../../tools/image.ts';
import { isElf, neededBy } from '../../../tools/image-elf.ts';
import { type Member, readTar } from '../../../tools/image-tar.ts';
import { type ReadImage, readLayout } from '../oci.ts';

/** Fetches Debian's packages and Node once; they are kept in the cache of the lab. */
let built: Built;
let images: ReadonlyMap<string, ReadImage>;

before(async () => {
  built = await buildImage('quarry');
  images = readLayout(built.files);
});

/** The numbers that ELF has for them. */
const machines: Readonly<Record<string, number>> = { amd64: 62, arm64: 183 };

test('there is an image for each machine, and every program in it is for that machine', () => {
  assert.deepEqual([...images.keys()], ['amd64', 'arm64']);
  for (const [architecture, { config, members }] of images) {
    assert.equal(config.os, 'linux');
    const programs = members.filter(({ data }) => isElf(data));
    assert.ok(programs.length > 5);
    for (const { path, data } of programs) {
      assert.equal(data.readUInt16LE(0x12), machines[architecture], path);
    }
  }
});

test('every library that a program asks for is there', () => {
  for (const { members } of images.values()) {
    const names = new Set(members.map(({ path }) => posix.basename(path)));
    for (const { path, data } of members.filter((one) => isElf(one.data))) {
      const { libraries, loader } = neededBy(data);
      const missing = libraries.filter((name) => !names.has(name));
      assert.deepEqual(missing, [], path);
      if (loader !== undefined) assert.ok(names.has(posix.basename(loader)), path);
    }
  }
});

test('it is not run as root unless a manifest says so, and nothing in it is set-uid', () => {
  for (const { config, members } of images.values()) {
    assert.equal(config.config.User, '65532:65532');
    assert.deepEqual(
      members.filter(({ kind, mode }) => kind === 'file' && (mode & 0o6022) !== 0),
      [],
    );
  }
});

test('its bill of materials has everything that is in it and nothing that only builds it', () => {
  for (const { members } of images.values()) {
    const data = members.find(({ path }) => path === 'usr/share/doc/quarry/sbom.json')?.data;
    assert.ok(data !== undefined);
    const { components } = JSON.parse(data.toString()) as { components: { name: string }[] };
    const names = components.map(({ name }) => name);
    for (const name of ['node', 'libc6', 'util-linux', 'js-yaml', '@grpc/grpc-js']) {
      assert.ok(names.includes(name), name);
    }
    assert.ok(!names.includes('typescript'));
  }
});

test('built twice it is the same to the last byte', async () => {
  const again = await buildImage('quarry');
  assert.equal(again.digest, built.digest);
  assert.deepEqual([...again.files.keys()], [...built.files.keys()]);
});

test('an archive gives the image the name that manifests ask for, and one for people', () => {
  const members = readTar(archiveOf(built));
  const index = members.find(({ path }) => path === 'index.json');
  const { manifests } = JSON.parse(index?.data.toString() ?? '') as {
    manifests: { digest: string; annotations: Readonly<Record<string, string>> }[];
  };
  const { repository, tag } = built.release.image;
  const names = manifests.map(({ annotations }) => annotations['io.containerd.image.name']);
  assert.deepEqual(names, [`${repository}:${tag}`, `${repository}@${built.digest}`]);
  for (const { digest } of manifests) assert.equal(digest, built.digest);
  const blobs = members.filter(({ path }) => path.startsWith('blobs/'));
  assert.equal(blobs.length, built.files.size - 2);
});

test('its root file system runs quarry and nsenter, and nothing from outside', async () => {
  const image = images.get(process.arch === 'arm64' ? 'arm64' : 'amd64');
  const root = mkdtempSync(join(tmpdir(), 'quarry-image-'));
  try {
    for (const member of image?.members ?? []) unpack(root, member);
    const run = (...argv: string[]) => runCommand(['chroot', root, ...argv]);
    assert.equal((await run('/usr/bin/quarry', '--version')).trim(), manifest.version);
    assert.match(await run('/usr/bin/quarry', 'crds'), /logicalvolumes\.topolvm\.io/);
    assert.match(await run('/usr/bin/nsenter', '--version'), /util-linux/);
  } finally {
    rmSync(root, { recursive: true });
  }
});

function unpack(root: string, { path, kind, mode, target, data }: Member): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  if (kind === 'directory') mkdirSync(file, { recursive: true });
  else if (kind === 'link') symlinkSync(target, file);
  else writeFileSync(file, data);
  if (kind === 'file') chmodSync(file, mode);
}
