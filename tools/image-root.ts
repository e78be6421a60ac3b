import { posix } from 'node:path';
import { type TarEntry, tarOf } from '../lab/cluster/tar.ts';
import { nodeFlag } from './bundle.ts';
import { isElf, neededBy, stripped } from './image-elf.ts';
import type { Member } from './image-tar.ts';

/** The file system of an image, as layers: what changes least comes first. */
export type RootParts = {
  /** Of all Debian packages together. */
  readonly system: readonly Member[];
  readonly node: Buffer;
  /** The bundle. */
  readonly program: string;
  /** Beside the program, by name: licenses, bill of materials. */
  readonly papers: Readonly<Record<string, string>>;
};

export function layersOf({ system, node, program, papers }: RootParts): readonly Buffer[] {
  const nsenter = memberAt(system, 'usr/bin/nsenter');
  const base = [
    ...skeleton,
    ...usedBy([node, nsenter.data], system),
    fileOf('usr/bin/nsenter', nsenter.data, 0o755),
    ...system.filter(({ path }) => isLicense(path)).map(({ path, data }) => fileOf(path, data)),
  ];
  return [
    archive(base),
    archive([fileOf('usr/bin/node', stripped(node), 0o755)]),
    archive([
      fileOf('usr/bin/quarry', Buffer.from(`#!/usr/bin/node ${nodeFlag}\n${program}`), 0o755),
      ...Object.entries(papers).map(([name, text]) =>
        fileOf(`usr/share/doc/quarry/${name}`, Buffer.from(text)),
      ),
    ]),
  ];
}

const user = 65532;

/** There is no shell, no package manager and nobody to log in. */
const skeleton: readonly TarEntry[] = [
  ...['dev', 'proc', 'run', 'sys', 'var/lib/quarry'].map(
    (path): TarEntry => ({ kind: 'directory', path }),
  ),
  { kind: 'directory', path: 'tmp', mode: 0o1777 },
  ...['bin', 'lib', 'lib64', 'sbin'].map(
    (path): TarEntry => ({ kind: 'symlink', path, target: `usr/${path}` }),
  ),
  { kind: 'directory', path: 'usr/lib64' },
  { kind: 'directory', path: 'usr/sbin' },
  fileOf('etc/passwd', text(['root:x:0:0::/:/', `quarry:x:${user}:${user}::/:/`])),
  fileOf('etc/group', text(['root:x:0:', `quarry:x:${user}:`])),
];

function text(lines: readonly string[]): Buffer {
  return Buffer.from(`${lines.join('\n')}\n`);
}

/** Libraries that programs need, and those that these need, with the links that lead to them. */
function usedBy(programs: readonly Buffer[], system: readonly Member[]): readonly TarEntry[] {
  const byName = new Map(system.map((one) => [posix.basename(one.path), one]));
  const found = new Map<string, TarEntry>();
  const take = (member: Member): void => {
    if (found.has(member.path)) return;
    if (member.kind === 'link') {
      found.set(member.path, { kind: 'symlink', path: member.path, target: member.target });
      take(memberAt(system, posix.join(posix.dirname(member.path), member.target)));
      return;
    }
    found.set(member.path, fileOf(member.path, member.data, 0o755));
    visit(member.data);
  };
  const visit = (data: Buffer): void => {
    if (!isElf(data)) throw new Error('a library is no ELF file');
    const { libraries, loader } = neededBy(data);
    if (loader !== undefined) take(memberAt(system, `usr${loader}`));
    for (const name of libraries) {
      const member = byName.get(name);
      if (member === undefined) throw new Error(`no package of the image has ${name}`);
      take(member);
    }
  };
  programs.forEach(visit);
  return [...found.values()];
}

function memberAt(system: readonly Member[], path: string): Member {
  const found = system.find((one) => one.path === path);
  if (found === undefined) throw new Error(`no package of the image has ${path}`);
  return found;
}

function isLicense(path: string): boolean {
  return /^usr\/share\/doc\/[^/]+\/copyright$/.test(path);
}

function fileOf(path: string, data: Buffer, mode = 0o644): TarEntry {
  return { kind: 'file', path, data, mode };
}

/** Sorted, and every directory before what is in it. */
function archive(entries: readonly TarEntry[]): Buffer {
  const known = new Map(entries.map((entry) => [entry.path, entry]));
  for (const { path } of entries) {
    for (let up = posix.dirname(path); up !== '.'; up = posix.dirname(up)) {
      if (!known.has(up)) known.set(up, { kind: 'directory', path: up });
    }
  }
  return tarOf([...known.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1)));
}
