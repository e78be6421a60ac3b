/** A member of an archive that somebody else made. */
export type Member = {
  readonly path: string;
  readonly kind: 'file' | 'directory' | 'link' | 'other';
  readonly mode: number;
  /** Of a link. */
  readonly target: string;
  readonly data: Buffer;
};

const blockBytes = 512;

/** Reads what dpkg and npm write: ustar, with GNU's long names. */
export function readTar(archive: Buffer): readonly Member[] {
  const members: Member[] = [];
  let longName: string | undefined;
  for (let at = 0; at + blockBytes <= archive.length; ) {
    const header = archive.subarray(at, at + blockBytes);
    if (header.every((byte) => byte === 0)) break;
    const size = Number.parseInt(text(header, 124, 12), 8);
    const data = archive.subarray(at + blockBytes, at + blockBytes + size);
    at += blockBytes + Math.ceil(size / blockBytes) * blockBytes;
    const flag = text(header, 156, 1);
    if (flag === 'L') {
      longName = text(data, 0, data.length);
      continue;
    }
    const prefix = text(header, 257, 5) === 'ustar' ? text(header, 345, 155) : '';
    const name = longName ?? (prefix === '' ? '' : `${prefix}/`) + text(header, 0, 100);
    longName = undefined;
    members.push({
      path: name.replace(/^\.?\//, '').replace(/\/$/, ''),
      kind: kinds[flag] ?? 'other',
      mode: Number.parseInt(text(header, 100, 8), 8),
      target: text(header, 157, 100),
      data,
    });
  }
  return members;
}

const kinds: Readonly<Record<string, Member['kind']>> = {
  '': 'file',
  '0': 'file',
  '2': 'link',
  '5': 'directory',
};

function text(from: Buffer, at: number, length: number): string {
  const field = from.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end < 0 ? field.length : end);
}
