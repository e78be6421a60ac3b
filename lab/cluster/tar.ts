/** What can be in an archive. Owner is always root, and time stands still: same in, same out. */
export type TarEntry =
  | { readonly kind: 'directory'; readonly path: string; readonly mode?: number }
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly data: Uint8Array;
      readonly mode?: number;
    }
  | { readonly kind: 'symlink'; readonly path: string; readonly target: string };

const blockBytes = 512;
const pathBytesMax = 100;

/** Writes the ustar format, with names that fit into its first field. */
export function tarOf(entries: readonly TarEntry[]): Buffer {
  const blocks: Buffer[] = [];
  for (const entry of entries) {
    const data = entry.kind === 'file' ? Buffer.from(entry.data) : Buffer.alloc(0);
    blocks.push(headerOf(entry, data.length), data, Buffer.alloc(paddingOf(data.length)));
  }
  // Two empty blocks are the end of an archive.
  return Buffer.concat([...blocks, Buffer.alloc(2 * blockBytes)]);
}

function paddingOf(sizeBytes: number): number {
  return (blockBytes - (sizeBytes % blockBytes)) % blockBytes;
}

const typeFlags = { file: '0', symlink: '2', directory: '5' } as const;

function headerOf(entry: TarEntry, sizeBytes: number): Buffer {
  const path = entry.kind === 'directory' ? `${entry.path}/` : entry.path;
  const target = entry.kind === 'symlink' ? entry.target : '';
  for (const name of [path, target]) {
    if (Buffer.byteLength(name) > pathBytesMax) throw new Error(`${name} is too long for tar`);
  }
  const mode = entry.kind === 'symlink' ? 0o777 : (entry.mode ?? 0o755);
  const header = Buffer.alloc(blockBytes);
  header.write(path, 0);
  header.write(octal(mode, 8), 100);
  header.write(octal(0, 8), 108); // owner
  header.write(octal(0, 8), 116); // group
  header.write(octal(sizeBytes, 12), 124);
  header.write(octal(0, 12), 136); // time
  header.write(' '.repeat(8), 148); // the checksum counts its own field as blanks
  header.write(typeFlags[entry.kind], 156);
  header.write(target, 157);
  header.write('ustar', 257);
  header.write('00', 263);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 7)} `, 148);
  return header;
}

/** A zero-ended octal number that fills `widthBytes`. */
function octal(value: number, widthBytes: number): string {
  return `${value.toString(8).padStart(widthBytes - 1, '0')}\0`;
}
