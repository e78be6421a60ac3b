/** The little of the ELF format that an image needs: which libraries a program wants. */

type Segment = {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
};

const types = { load: 1, dynamic: 2, interpreter: 3 } as const;
const tags = { end: 0, needed: 1, strings: 5 } as const;

export function isElf(data: Buffer): boolean {
  return data.subarray(0, 4).equals(Buffer.from('\x7fELF', 'latin1'));
}

/** Names of libraries, and the path of the loader that begins the program. */
export function neededBy(data: Buffer): {
  readonly libraries: readonly string[];
  readonly loader: string | undefined;
} {
  const segments = segmentsOf(data);
  const interpreter = segments.find(({ type }) => type === types.interpreter);
  const dynamic = segments.find(({ type }) => type === types.dynamic);
  const entries = dynamic === undefined ? [] : dynamicEntries(data, dynamic);
  const address = entries.find(({ tag }) => tag === tags.strings)?.value ?? 0;
  const holder = segments.find(
    (one) => one.type === types.load && address >= one.address && address < one.address + one.size,
  );
  const strings = holder === undefined ? 0 : address - holder.address + holder.offset;
  return {
    libraries: entries
      .filter(({ tag }) => tag === tags.needed)
      .map(({ value }) => textAt(data, strings + value)),
    loader: interpreter === undefined ? undefined : textAt(data, interpreter.offset),
  };
}

/**
 * Without names for debuggers, a sixth of Node: what lies behind the last part that is loaded, and
 * the table that points there.
 */
export function stripped(data: Buffer): Buffer {
  const ends = segmentsOf(data).map(({ offset, size }) => offset + size);
  const programHeaders = number(data, 0x20) + data.readUInt16LE(0x36) * data.readUInt16LE(0x38);
  const kept = Buffer.from(data.subarray(0, Math.max(programHeaders, ...ends)));
  kept.writeBigUInt64LE(0n, 0x28); // where the table of sections is
  kept.writeUInt16LE(0, 0x3c); // how many there are
  kept.writeUInt16LE(0, 0x3e); // which one has their names
  return kept;
}

function segmentsOf(data: Buffer): readonly Segment[] {
  const isWide = data[4] === 2 && data[5] === 1;
  if (!isElf(data) || !isWide) throw new Error('this is no 64-bit little-endian ELF file');
  const [start, length, count] = [
    number(data, 0x20),
    data.readUInt16LE(0x36),
    data.readUInt16LE(0x38),
  ];
  return Array.from({ length: count }, (_, index) => {
    const at = start + index * length;
    return {
      type: data.readUInt32LE(at),
      offset: number(data, at + 8),
      address: number(data, at + 16),
      size: number(data, at + 32),
    };
  });
}

function dynamicEntries(data: Buffer, { offset, size }: Segment) {
  const all = Array.from({ length: size / 16 }, (_, index) => {
    const at = offset + index * 16;
    return { tag: number(data, at), value: number(data, at + 8) };
  });
  const end = all.findIndex(({ tag }) => tag === tags.end);
  return end < 0 ? all : all.slice(0, end);
}

/** Tags of processors are beyond what a number holds exactly, and nobody asks for them. */
function number(data: Buffer, at: number): number {
  return Number(data.readBigUInt64LE(at));
}

function textAt(data: Buffer, at: number): string {
  return data.toString('latin1', at, data.indexOf(0, at));
}
