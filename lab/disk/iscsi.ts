import type { Socket } from 'node:net';
import type { Disk } from './disk.ts';
import { answerKeys, encodeKeys, type Negotiated, negotiate, parseKeys } from './iscsi-login.ts';
import {
  flagsOf,
  framePieces,
  isImmediate,
  noTag,
  opcodeOf,
  type Pdu,
  PduReader,
  pduHeader,
  request,
  response,
  taskTagOf,
  unitOf,
} from './iscsi-pdu.ts';
import { executeScsi, type ScsiReply } from './scsi.ts';
import { encodeSense } from './scsi-sense.ts';

/** The disks one guest sees, by unit number. */
export type Target = { readonly name: string; readonly units: ReadonlyMap<number, Disk> };

type Task = {
  readonly tag: number;
  readonly unit: number;
  readonly unitBytes: Buffer;
  readonly cdb: Buffer;
  readonly expectedBytes: number;
  /** What the initiator sends with a write; filled piece by piece. */
  readonly dataOut: Buffer;
  receivedBytes: number;
  /** End of the piece that was asked for. */
  burstEnd: number;
  transfers: number;
  aborted: boolean;
};

const windowCommands = 128;
const flag = {
  final: 0x80,
  continued: 0x40,
  overflow: 0x04,
  underflow: 0x02,
  status: 0x01,
} as const;
const stage = { full: 3 } as const;
const status = { good: 0x00, check: 0x02 } as const;
const noTarget = { class: 0x02, detail: 0x03 } as const;

/** One connection of one initiator; a session has no more. */
export class IscsiSession {
  readonly #socket: Socket;
  readonly #findTarget: (name: string) => Target | undefined;
  readonly #reader = new PduReader();
  readonly #offered = new Map<string, string>();
  readonly #tasks = new Map<number, Task>();
  #negotiated: Negotiated | undefined;
  #target: Target | undefined;
  #statusNumber = 1;
  #expectedCommand = 0;

  constructor(socket: Socket, findTarget: (name: string) => Target | undefined) {
    this.#socket = socket;
    this.#findTarget = findTarget;
  }

  open(): void {
    this.#socket.setNoDelay(true);
    this.#socket.on('error', () => this.#socket.destroy());
    this.#socket.on('data', (chunk: Buffer) => {
      try {
        for (const pdu of this.#reader.push(chunk)) this.#handle(pdu);
      } catch {
        this.#socket.destroy(); // an initiator that speaks nonsense sees a broken connection
      }
    });
  }

  #handle(pdu: Pdu): void {
    const { header } = pdu;
    const opcode = opcodeOf(header);
    if (opcode !== request.dataOut && !isImmediate(header) && opcode !== request.login) {
      this.#expectedCommand = (header.readUInt32BE(24) + 1) >>> 0;
    }
    switch (opcode) {
      case request.login:
        this.#login(pdu);
        break;
      case request.scsi:
        this.#command(pdu);
        break;
      case request.dataOut:
        this.#dataOut(pdu);
        break;
      case request.nop:
        this.#nop(pdu);
        break;
      case request.taskManagement:
        this.#taskManagement(header);
        break;
      case request.logout:
        this.#send(pduHeader(response.logout, flag.final, taskTagOf(header)));
        this.#socket.end();
        break;
      default:
        throw new Error(`unexpected opcode ${opcode}`);
    }
  }

  #login(pdu: Pdu): void {
    const { header } = pdu;
    const flags = flagsOf(header);
    const keys = parseKeys(pdu.data);
    for (const [key, value] of keys) this.#offered.set(key, value);
    // The first command continues the numbering of the login.
    this.#expectedCommand = header.readUInt32BE(24);
    const wanted = this.#offered.get('TargetName') ?? '';
    this.#target = this.#findTarget(wanted);
    const last = (flags & flag.final) !== 0 && (flags & 3) === stage.full;
    const reply = pduHeader(response.login, flags & ~flag.continued, taskTagOf(header));
    header.copy(reply, 8, 8, 14);
    if (last) reply.writeUInt16BE(1, 14); // session handle
    if (this.#target === undefined) {
      reply[1] = 0;
      reply[36] = noTarget.class;
      reply[37] = noTarget.detail;
      this.#send(reply);
      this.#socket.end();
      return;
    }
    if (last) this.#negotiated = negotiate(this.#offered);
    this.#send(reply, encodeKeys(answerKeys(keys)));
  }

  #command(pdu: Pdu): void {
    const { header } = pdu;
    const flags = flagsOf(header);
    const writes = (flags & 0x20) !== 0;
    const expectedBytes = header.readUInt32BE(20);
    const task: Task = {
      tag: taskTagOf(header),
      unit: unitOf(header),
      unitBytes: Buffer.from(header.subarray(8, 16)),
      cdb: Buffer.from(header.subarray(32, 48)),
      expectedBytes,
      dataOut: writes ? Buffer.allocUnsafe(expectedBytes) : Buffer.alloc(0),
      receivedBytes: pdu.data.length,
      // Without the final flag, unasked-for data follows, up to the first burst.
      burstEnd: (flags & flag.final) === 0 ? this.#firstBurst(expectedBytes) : pdu.data.length,
      transfers: 0,
      aborted: false,
    };
    this.#tasks.set(task.tag, task);
    pdu.data.copy(task.dataOut, 0);
    this.#continueTask(task);
  }

  #firstBurst(expectedBytes: number): number {
    return Math.min(this.#negotiated?.firstBurstBytes ?? 0, expectedBytes);
  }

  #dataOut(pdu: Pdu): void {
    const task = this.#tasks.get(taskTagOf(pdu.header));
    if (task === undefined) return; // aborted while its data was on the way
    pdu.data.copy(task.dataOut, pdu.header.readUInt32BE(40));
    task.receivedBytes += pdu.data.length;
    const sequenceEnds = (flagsOf(pdu.header) & flag.final) !== 0;
    if (sequenceEnds) task.burstEnd = task.receivedBytes;
    this.#continueTask(task);
  }

  /** Carries the command out when all data is here, or asks for the next piece. */
  #continueTask(task: Task): void {
    if (task.receivedBytes < task.burstEnd) return;
    if (task.receivedBytes < task.dataOut.length) {
      this.#askForData(task);
      return;
    }
    const units = this.#target?.units ?? new Map<number, Disk>();
    const alive = (): boolean => !task.aborted && !this.#socket.destroyed;
    const command = { cdb: task.cdb, dataOut: task.dataOut, alive };
    executeScsi(command, units.get(task.unit), [...units.keys()], (reply) => {
      if (!alive()) return;
      this.#tasks.delete(task.tag);
      this.#answer(task, reply);
    });
  }

  #askForData(task: Task): void {
    const left = task.dataOut.length - task.receivedBytes;
    const bytes = Math.min(left, this.#negotiated?.burstBytesMax ?? left);
    const header = pduHeader(response.readyToTransfer, flag.final, task.tag);
    task.unitBytes.copy(header, 8);
    header.writeUInt32BE(task.tag, 20);
    header.writeUInt32BE(task.transfers, 36);
    header.writeUInt32BE(task.receivedBytes, 40);
    header.writeUInt32BE(bytes, 44);
    task.transfers += 1;
    task.burstEnd = task.receivedBytes + bytes;
    this.#send(header, undefined, { countsStatus: false });
  }

  #answer(task: Task, reply: ScsiReply): void {
    if (reply.kind === 'check') {
      const header = pduHeader(response.scsi, flag.final, task.tag);
      header[3] = status.check;
      const bytes = encodeSense(reply.sense);
      this.#send(header, Buffer.concat([Buffer.from([0, bytes.length]), bytes]));
      return;
    }
    const wanted = task.dataOut.length > 0 ? 0 : task.expectedBytes;
    const data = reply.data.subarray(0, Math.min(wanted, allocationOf(task.cdb)));
    if (data.length > 0) {
      this.#sendData(task, data);
      return;
    }
    const header = pduHeader(response.scsi, flag.final, task.tag);
    if (wanted > 0) {
      header[1] = flag.final | flag.underflow;
      header.writeUInt32BE(wanted, 44);
    }
    this.#send(header);
  }

  /** The last piece carries the status, which saves a frame for every read. */
  #sendData(task: Task, data: Buffer): void {
    const pieceBytes = this.#negotiated?.sendBytesMax ?? data.length;
    this.#socket.cork();
    for (let at = 0, number = 0; at < data.length; at += pieceBytes, number += 1) {
      const piece = data.subarray(at, at + pieceBytes);
      const last = at + piece.length === data.length;
      const missing = task.expectedBytes - data.length;
      const flags = flag.final | flag.status | (missing > 0 ? flag.underflow : 0);
      const header = pduHeader(response.dataIn, last ? flags : 0, task.tag);
      header.writeUInt32BE(noTag, 20);
      header.writeUInt32BE(number, 36);
      header.writeUInt32BE(at, 40);
      if (last) header.writeUInt32BE(missing, 44);
      this.#send(header, piece, { countsStatus: last });
    }
    this.#socket.uncork();
  }

  #nop(pdu: Pdu): void {
    const tag = taskTagOf(pdu.header);
    if (tag === noTag) return; // an answer, and we never ask
    const header = pduHeader(response.nop, flag.final, tag);
    header.writeUInt32BE(noTag, 20);
    this.#send(header, pdu.data);
  }

  #taskManagement(header: Buffer): void {
    const abortsOne = (flagsOf(header) & 0x7f) === 1;
    const referenced = header.readUInt32BE(20);
    for (const task of this.#tasks.values()) {
      const meant = abortsOne ? task.tag === referenced : task.unit === unitOf(header);
      if (!meant) continue;
      task.aborted = true;
      this.#tasks.delete(task.tag);
    }
    this.#send(pduHeader(response.taskManagement, flag.final, taskTagOf(header)));
  }

  #send(
    header: Buffer,
    data: Buffer = Buffer.alloc(0),
    { countsStatus }: { readonly countsStatus: boolean } = { countsStatus: true },
  ): void {
    if (this.#socket.destroyed) return;
    header.writeUInt32BE(this.#statusNumber, 24);
    if (countsStatus) this.#statusNumber = (this.#statusNumber + 1) >>> 0;
    header.writeUInt32BE(this.#expectedCommand, 28);
    header.writeUInt32BE((this.#expectedCommand + windowCommands) >>> 0, 32);
    this.#socket.cork();
    for (const piece of framePieces(header, data)) this.#socket.write(piece);
    this.#socket.uncork();
  }
}

/** How much of an answer a command has room for; data transfers say it by their length. */
function allocationOf(cdb: Buffer): number {
  switch (cdb[0]) {
    case 0x03:
    case 0x1a:
      return cdb[4] ?? 0;
    case 0x12:
      return cdb.readUInt16BE(3);
    case 0x5a:
      return cdb.readUInt16BE(7);
    case 0x9e:
      return cdb.readUInt32BE(10);
    case 0xa0:
      return cdb.readUInt32BE(6);
    default:
      return Number.POSITIVE_INFINITY;
  }
}
