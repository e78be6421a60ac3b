import { closeSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';

/** What becomes of writes that were answered but not flushed when the power goes. */
export type PowerLoss =
  | { readonly kind: 'keep' }
  | { readonly kind: 'lose' }
  /** Every block is kept or lost by chance, as a real disk may; the seed repeats it. */
  | { readonly kind: 'lose-some'; readonly seed: number };

export type WriteCache = 'kept' | 'volatile';

const blockBytes = 4096;
/** A disk has only so much cache; beyond it the oldest blocks reach the platter by themselves. */
const cachedBlocksMax = 64 * 1024;

/**
 * The bytes of one disk: a sparse file, and for a volatile disk the blocks that are only in its
 * cache. Offsets and lengths are multiples of 512.
 */
export class DiskStore {
  readonly sizeBytes: number;
  readonly writeCache: WriteCache;
  readonly #file: number;
  /** One bit per block that holds data. A file cannot be punched from Node, so holes are here. */
  readonly #written: Uint8Array;
  readonly #cached = new Map<number, Buffer>();

  constructor(options: {
    readonly path: string;
    readonly sizeBytes: number;
    readonly writeCache: WriteCache;
    /** The file holds data already. */
    readonly filled: boolean;
  }) {
    this.sizeBytes = options.sizeBytes;
    this.writeCache = options.writeCache;
    this.#file = openSync(options.path, options.filled ? 'r+' : 'wx+');
    ftruncateSync(this.#file, this.sizeBytes);
    this.#written = new Uint8Array(Math.ceil(this.sizeBytes / blockBytes / 8));
    if (options.filled) this.#written.fill(0xff);
  }

  close(): void {
    this.#cached.clear();
    closeSync(this.#file);
  }

  read(offset: number, length: number): Buffer {
    const data = Buffer.allocUnsafe(length);
    this.#readFile(data, offset);
    if (this.#cached.size > 0) {
      eachBlock(offset, length, ({ block, from, at, bytes }) => {
        this.#cached.get(block)?.copy(data, at, from, from + bytes);
      });
    }
    return data;
  }

  write(offset: number, data: Buffer, options: { readonly through: boolean }): void {
    if (this.writeCache === 'kept' || options.through) {
      this.#writeThrough(offset, data);
      return;
    }
    eachBlock(offset, data.length, ({ block, from, at, bytes }) => {
      const old = this.#cached.get(block);
      const whole = bytes === blockBytes;
      const content = old ?? (whole ? Buffer.allocUnsafe(blockBytes) : this.#blockOfFile(block));
      data.copy(content, from, at, at + bytes);
      if (old === undefined) this.#cached.set(block, content);
    });
    this.#destageOldest();
  }

  /** For discards and zeroes alike: what was there reads as zeroes from now on. */
  zero(offset: number, length: number): void {
    const first = Math.ceil(offset / blockBytes);
    const end = Math.floor((offset + length) / blockBytes);
    if (first > end) {
      this.#writeThrough(offset, Buffer.alloc(length));
      return;
    }
    const head = first * blockBytes - offset;
    const tail = offset + length - end * blockBytes;
    if (head > 0) this.#writeThrough(offset, Buffer.alloc(head));
    if (tail > 0) this.#writeThrough(end * blockBytes, Buffer.alloc(tail));
    this.#clearWritten(first, end);
    if (this.#cached.size < end - first) {
      for (const block of this.#cached.keys()) {
        if (block >= first && block < end) this.#cached.delete(block);
      }
      return;
    }
    for (let block = first; block < end; block += 1) this.#cached.delete(block);
  }

  flush(): void {
    for (const [block, content] of this.#cached) this.#writeFile(block, content);
    this.#cached.clear();
  }

  /** Writes all that is not zero into a new, sparse file. */
  save(path: string): void {
    this.flush();
    const copy = openSync(path, 'w');
    try {
      ftruncateSync(copy, this.sizeBytes);
      const end = Math.ceil(this.sizeBytes / blockBytes);
      for (let block = 0; block < end; block += 1) {
        if ((block & 7) === 0 && this.#written[block >> 3] === 0) block += 7;
        else if (this.#isWritten(block)) {
          const content = this.#blockOfFile(block);
          const bytes = Math.min(blockBytes, this.sizeBytes - block * blockBytes);
          writeSync(copy, content, 0, bytes, block * blockBytes);
        }
      }
    } finally {
      closeSync(copy);
    }
  }

  /** Whether this range was never written, so that storing it takes new space. */
  needsSpace(offset: number, length: number): boolean {
    let needs = false;
    eachBlock(offset, length, ({ block }) => {
      if (!this.#isWritten(block) && !this.#cached.has(block)) needs = true;
    });
    return needs;
  }

  losePower(loss: PowerLoss): void {
    switch (loss.kind) {
      case 'keep':
        this.flush();
        break;
      case 'lose':
        this.#cached.clear();
        break;
      case 'lose-some': {
        const chance = seededChance(loss.seed);
        for (const block of this.#cached.keys()) if (chance() < 0.5) this.#cached.delete(block);
        this.flush();
        break;
      }
    }
  }

  #writeThrough(offset: number, data: Buffer): void {
    const aligned = offset % blockBytes === 0 && data.length % blockBytes === 0;
    if (aligned && this.#cached.size === 0) {
      writeSync(this.#file, data, 0, data.length, offset);
      this.#setWritten(offset / blockBytes, (offset + data.length) / blockBytes);
      return;
    }
    eachBlock(offset, data.length, ({ block, from, at, bytes }) => {
      const content = this.#cached.get(block) ?? this.#blockOfFile(block);
      data.copy(content, from, at, at + bytes);
      this.#cached.delete(block);
      this.#writeFile(block, content);
    });
  }

  #destageOldest(): void {
    for (const [block, content] of this.#cached) {
      if (this.#cached.size <= cachedBlocksMax) return;
      this.#writeFile(block, content);
      this.#cached.delete(block);
    }
  }

  #blockOfFile(block: number): Buffer {
    const content = Buffer.alloc(blockBytes);
    this.#readFile(content, block * blockBytes);
    return content;
  }

  #readFile(data: Buffer, offset: number): void {
    const read = readSync(this.#file, data, 0, data.length, offset);
    data.fill(0, read); // the last block may reach beyond the end of the disk
    const first = Math.floor(offset / blockBytes);
    const end = Math.ceil((offset + data.length) / blockBytes);
    for (let block = first; block < end; block += 1) {
      if (this.#isWritten(block)) continue;
      const from = Math.max(block * blockBytes - offset, 0);
      data.fill(0, from, Math.min((block + 1) * blockBytes - offset, data.length));
    }
  }

  #writeFile(block: number, content: Buffer): void {
    const bytes = Math.min(blockBytes, this.sizeBytes - block * blockBytes);
    writeSync(this.#file, content, 0, bytes, block * blockBytes);
    this.#setWritten(block, block + 1);
  }

  #isWritten(block: number): boolean {
    return ((this.#written[block >> 3] ?? 0) & (1 << (block & 7))) !== 0;
  }

  #setWritten(first: number, end: number): void {
    for (let block = first; block < end; block += 1) {
      this.#written[block >> 3] = (this.#written[block >> 3] ?? 0) | (1 << (block & 7));
    }
  }

  #clearWritten(first: number, end: number): void {
    let block = first;
    for (; block < end && (block & 7) !== 0; block += 1) this.#clearOne(block);
    const wholeEnd = end & ~7;
    if (block < wholeEnd) {
      this.#written.fill(0, block >> 3, wholeEnd >> 3);
      block = wholeEnd;
    }
    for (; block < end; block += 1) this.#clearOne(block);
  }

  #clearOne(block: number): void {
    this.#written[block >> 3] = (this.#written[block >> 3] ?? 0) & ~(1 << (block & 7));
  }
}

type BlockPart = {
  readonly block: number;
  /** First byte inside the block. */
  readonly from: number;
  /** First byte inside the request. */
  readonly at: number;
  readonly bytes: number;
};

function eachBlock(offset: number, length: number, visit: (part: BlockPart) => void): void {
  let at = 0;
  while (at < length) {
    const block = Math.floor((offset + at) / blockBytes);
    const from = offset + at - block * blockBytes;
    const bytes = Math.min(blockBytes - from, length - at);
    visit({ block, from, at, bytes });
    at += bytes;
  }
}

/** A small generator with a seed (mulberry32): Node's own cannot be repeated. */
function seededChance(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
