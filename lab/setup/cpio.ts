/** Writes the archive format a kernel takes its first files from ("newc"). */

export type ArchiveFile = {
  readonly path: string;
  readonly mode: number;
  readonly content: Buffer;
};

const directoryMode = 0o040755;
const fileMode = 0o100000;

export function cpioArchive(files: readonly ArchiveFile[]): Buffer {
  const directories = new Set<string>();
  for (const { path } of files) {
    const parts = path.split('/').slice(0, -1);
    for (let depth = 1; depth <= parts.length; depth += 1) {
      directories.add(parts.slice(0, depth).join('/'));
    }
  }
  const entries = [
    ...[...directories].map((path) => ({ path, mode: directoryMode, content: Buffer.alloc(0) })),
    ...files.map((file) => ({ ...file, mode: fileMode | file.mode })),
    { path: 'TRAILER!!!', mode: 0, content: Buffer.alloc(0) },
  ];
  return Buffer.concat(entries.flatMap((entry, index) => encodeEntry(entry, index + 1)));
}

function encodeEntry(file: ArchiveFile, inode: number): readonly Buffer[] {
  const name = Buffer.from(`${file.path}\0`);
  const links = 1;
  const fields = [
    inode,
    file.mode,
    0,
    0,
    links,
    0,
    file.content.length,
    0,
    0,
    0,
    0,
    name.length,
    0,
  ];
  const header = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`;
  const head = Buffer.concat([Buffer.from(header), name]);
  return [pad(head), pad(file.content)];
}

function pad(data: Buffer): Buffer {
  return Buffer.concat([data, Buffer.alloc(-data.length & 3)]);
}
