import type { Socket } from 'node:net';
import type { Disk, Outcome } from './disk.ts';

/** Numbers of the NBD protocol, as published with nbd (doc/proto.md). */
const magic = {
  greeting: 0x4e42444d41474943n,
  option: 0x49484156454f5054n,
  optionReply: 0x3e889045565a9n,
  request: 0x25609513,
  reply: 0x67446698,
} as const;
const option = { exportName: 1, abort: 2, list: 3, info: 6, go: 7 } as const;
const answer = {
  ack: 1,
  server: 2,
  info: 3,
  unsupported: 0x80000001,
  unknown: 0x80000006,
} as const;
const command = { read: 0, write: 1, disconnect: 2, flush: 3, trim: 4, writeZeroes: 6 } as const;
const flag = {
  fixedNewstyle: 1,
  noZeroes: 2,
  hasFlags: 1,
  sendFlush: 4,
  sendFua: 8,
  sendTrim: 32,
  sendWriteZeroes: 64,
  canMultiConn: 256,
  fua: 1,
} as const;
const errorOf: Readonly<Record<Outcome, number>> = {
  done: 0,
  'io-error': 5,
  'out-of-range': 22,
  'no-space': 28,
};

const requestBytes = 28;
const optionHeaderBytes = 16;
const payloadBytesMax = 64 * 1024 * 1024;

type Request = {
  readonly flags: number;
  readonly type: number;
  readonly handle: bigint;
  readonly offset: number;
  readonly length: number;
};

export type FindDisk = (exportName: string) => Disk | undefined;

/** Speaks NBD with one client until it leaves. */
export class NbdSession {
  readonly #socket: Socket;
  readonly #findDisk: FindDisk;
  #chunks: Buffer[] = [];
  #bufferedBytes = 0;
  /** What to do with the next so many bytes. */
  #wantBytes = 4;
  #next: (data: Buffer) => void;
  #disk: Disk | undefined;

  constructor(socket: Socket, findDisk: FindDisk) {
    this.#socket = socket;
    this.#findDisk = findDisk;
    this.#next = () => this.#expect(optionHeaderBytes, (data) => this.#optionHeader(data));
  }

  open(): void {
    this.#socket.setNoDelay(true);
    this.#socket.on('error', () => this.#socket.destroy());
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk));
    const greeting = Buffer.alloc(18);
    greeting.writeBigUInt64BE(magic.greeting, 0);
    greeting.writeBigUInt64BE(magic.option, 8);
    greeting.writeUInt16BE(flag.fixedNewstyle | flag.noZeroes, 16);
    this.#socket.write(greeting);
  }

  #expect(bytes: number, next: (data: Buffer) => void): void {
    this.#wantBytes = bytes;
    this.#next = next;
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.length;
    while (this.#bufferedBytes >= this.#wantBytes && !this.#socket.destroyed) {
      const [only] = this.#chunks;
      const all = this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks);
      const data = all.subarray(0, this.#wantBytes);
      const rest = all.subarray(this.#wantBytes);
      this.#chunks = rest.length > 0 ? [rest] : [];
      this.#bufferedBytes = rest.length;
      this.#next(data);
    }
  }

  #optionHeader(header: Buffer): void {
    const length = header.readUInt32BE(12);
    if (header.readBigUInt64BE(0) !== magic.option || length > payloadBytesMax) {
      this.#socket.destroy();
      return;
    }
    const kind = header.readUInt32BE(8);
    if (length === 0) this.#option(kind, Buffer.alloc(0));
    else this.#expect(length, (data) => this.#option(kind, data));
  }

  #option(kind: number, data: Buffer): void {
    this.#expect(optionHeaderBytes, (header) => this.#optionHeader(header));
    if (kind === option.exportName) {
      this.#exportName(data.toString());
    } else if (kind === option.info || kind === option.go) {
      this.#infoOrGo(kind, data.subarray(4, 4 + data.readUInt32BE(0)).toString());
    } else if (kind === option.abort) {
      this.#answerOption(kind, answer.ack);
      this.#socket.end();
    } else {
      this.#answerOption(kind, answer.unsupported);
    }
  }

  #exportName(name: string): void {
    const disk = this.#findDisk(name);
    if (disk === undefined) {
      this.#socket.destroy();
      return;
    }
    const reply = Buffer.alloc(10);
    reply.writeBigUInt64BE(BigInt(disk.store.sizeBytes), 0);
    reply.writeUInt16BE(exportFlags(disk), 8);
    this.#socket.write(reply);
    this.#attach(disk);
  }

  #infoOrGo(kind: number, name: string): void {
    const disk = this.#findDisk(name);
    if (disk === undefined) {
      this.#answerOption(kind, answer.unknown);
      return;
    }
    const info = Buffer.alloc(12);
    info.writeUInt16BE(0, 0);
    info.writeBigUInt64BE(BigInt(disk.store.sizeBytes), 2);
    info.writeUInt16BE(exportFlags(disk), 10);
    this.#answerOption(kind, answer.info, info);
    const sizes = Buffer.alloc(14);
    sizes.writeUInt16BE(3, 0);
    sizes.writeUInt32BE(512, 2);
    sizes.writeUInt32BE(4096, 6);
    sizes.writeUInt32BE(32 * 1024 * 1024, 10);
    this.#answerOption(kind, answer.info, sizes);
    this.#answerOption(kind, answer.ack);
    if (kind === option.go) this.#attach(disk);
  }

  #answerOption(kind: number, type: number, data: Buffer = Buffer.alloc(0)): void {
    const header = Buffer.alloc(20);
    header.writeBigUInt64BE(magic.optionReply, 0);
    header.writeUInt32BE(kind, 8);
    header.writeUInt32BE(type, 12);
    header.writeUInt32BE(data.length, 16);
    this.#socket.write(Buffer.concat([header, data]));
  }

  #attach(disk: Disk): void {
    this.#disk = disk;
    this.#expect(requestBytes, (data) => this.#requestHeader(data));
  }

  #requestHeader(data: Buffer): void {
    const request: Request = {
      flags: data.readUInt16BE(4),
      type: data.readUInt16BE(6),
      handle: data.readBigUInt64BE(8),
      offset: Number(data.readBigUInt64BE(16)),
      length: data.readUInt32BE(24),
    };
    if (data.readUInt32BE(0) !== magic.request || request.type === command.disconnect) {
      this.#socket.end();
      return;
    }
    if (request.type !== command.write) {
      this.#serve(request, Buffer.alloc(0));
      return;
    }
    if (request.length > payloadBytesMax) {
      this.#socket.destroy();
      return;
    }
    this.#expect(request.length, (payload) => {
      this.#expect(requestBytes, (next) => this.#requestHeader(next));
      this.#serve(request, payload);
    });
  }

  #serve(request: Request, payload: Buffer): void {
    const disk = this.#disk;
    const kind = kindOf(request.type);
    if (disk === undefined || kind === undefined) {
      this.#reply(request.handle, errorOf['out-of-range']);
      return;
    }
    const through = (request.flags & flag.fua) !== 0;
    const alive = (): boolean => !this.#socket.destroyed;
    disk.serve({ ...request, kind, payload, through, alive }, (outcome, data) => {
      this.#reply(request.handle, errorOf[outcome], data);
    });
  }

  #reply(handle: bigint, error: number, data?: Buffer): void {
    if (this.#socket.destroyed) return;
    const header = Buffer.allocUnsafe(16);
    header.writeUInt32BE(magic.reply, 0);
    header.writeUInt32BE(error, 4);
    header.writeBigUInt64BE(handle, 8);
    this.#socket.cork();
    this.#socket.write(header);
    if (data !== undefined) this.#socket.write(data);
    this.#socket.uncork();
  }
}

function kindOf(type: number): 'read' | 'write' | 'zero' | 'flush' | undefined {
  switch (type) {
    case command.read:
      return 'read';
    case command.write:
      return 'write';
    case command.flush:
      return 'flush';
    case command.trim:
    case command.writeZeroes:
      return 'zero';
    default:
      return undefined;
  }
}

function exportFlags(disk: Disk): number {
  const always = flag.hasFlags | flag.sendTrim | flag.sendWriteZeroes | flag.canMultiConn;
  // A disk that loses nothing needs no flush, and a client that knows sends none.
  const flushing = disk.store.writeCache === 'volatile' ? flag.sendFlush | flag.sendFua : 0;
  return always | flushing;
}
