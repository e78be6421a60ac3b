/**
 * What is written where, without the bytes: each stretch carries the stamp of the write that made
 * it. Equal stamps at equal places are equal data, so a clone can be proved equal to its source.
 * Values are never changed in place; a snapshot shares them for nothing.
 */
export type Content = {
  readonly writes: readonly Write[];
  readonly signatures: readonly Signature[];
};

/** `end` is not included. */
export type Write = { readonly start: number; readonly end: number; readonly stamp: number };

export type Signature = {
  readonly type: string;
  readonly usage: 'filesystem' | 'raid' | 'partition-table' | 'crypto' | 'other';
  readonly uuid: string;
  readonly label: string;
  readonly offset: number;
  /** How large a file system is, and the permissions of its root, where somebody made one. */
  readonly fsBytes?: number;
  readonly rootMode?: number;
  /** The mkfs that writes it says so itself until it is done, as that of XFS does. */
  readonly isUnfinished?: boolean;
};

export const nothing: Content = { writes: [], signatures: [] };

/** The stamp of what former owners of the blocks left: nobody of now wrote it. */
const leftBehind = -1;

export function holdsData(content: Content): boolean {
  const isOwn = content.writes.some(({ stamp }) => stamp !== leftBehind);
  return isOwn || content.signatures.length > 0;
}

/** Blocks that LVM just gave out, up to `end`, show what is on the disks. */
export function givenOut(content: Content, start: number, end: number): Content {
  return start < end ? write(content, { start, end, stamp: leftBehind }) : content;
}

/** Where a reader would see what former owners left. */
export function leftovers(content: Content): readonly Write[] {
  return content.writes.filter(({ stamp }) => stamp === leftBehind);
}

export function write(content: Content, added: Write): Content {
  return { ...content, writes: overlay(content.writes, [added]) };
}

/** What lies in a stretch. */
export function copied(
  content: Content,
  range: { readonly start: number; readonly length: number },
): Content {
  const end = range.start + range.length;
  return {
    writes: content.writes
      .filter((item) => item.end > range.start && item.start < end)
      .map((item) => ({
        start: Math.max(item.start, range.start),
        end: Math.min(item.end, end),
        stamp: item.stamp,
      })),
    signatures: content.signatures.filter(({ offset }) => offset >= range.start && offset < end),
  };
}

/** Copies a stretch of one content over the same stretch of another: holes are copied too. */
export function copyOver(
  target: Content,
  source: Content,
  range: { readonly start: number; readonly length: number },
): Content {
  const part = copied(source, range);
  const end = range.start + range.length;
  const kept = overlay(target.writes, [{ start: range.start, end, stamp: hole }]);
  return {
    writes: overlay(kept, part.writes).filter((item) => item.stamp !== hole),
    signatures: [
      ...target.signatures.filter(({ offset }) => offset < range.start || offset >= end),
      ...part.signatures,
    ],
  };
}

/** Are two contents equal from the start up to `length`, in all that somebody of now wrote? */
export function isSame(a: Content, b: Content, length: number): boolean {
  const range = { start: 0, length };
  return spelled(copied(a, range)) === spelled(copied(b, range));
}

const hole = 0;

function spelled(content: Content): string {
  const joined: Write[] = [];
  for (const item of content.writes.filter(({ stamp }) => stamp !== leftBehind)) {
    const last = joined.at(-1);
    if (last !== undefined && last.end === item.start && last.stamp === item.stamp) {
      joined[joined.length - 1] = { ...last, end: item.end };
    } else joined.push(item);
  }
  const writes = joined.map(({ start, end, stamp }) => `${start}-${end}:${stamp}`);
  const signatures = content.signatures.map(
    ({ type, uuid, offset }) => `${type}/${uuid}@${offset}`,
  );
  return `${writes.join(',')} ${signatures.join(',')}`;
}

/** Sorted, without overlaps: later writes win. */
function overlay(below: readonly Write[], above: readonly Write[]): readonly Write[] {
  let result = below;
  for (const top of above) {
    const around = result.flatMap((item) => [...before(item, top), ...after(item, top)]);
    result = [...around, top].toSorted((a, b) => a.start - b.start);
  }
  return result;
}

function before(item: Write, top: Write): readonly Write[] {
  if (item.start >= top.start) return [];
  return [{ ...item, end: Math.min(item.end, top.start) }];
}

function after(item: Write, top: Write): readonly Write[] {
  if (item.end <= top.end) return [];
  return [{ ...item, start: Math.max(item.start, top.end) }];
}
