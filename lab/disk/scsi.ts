import type { Disk, Outcome, ServedRequest } from './disk.ts';
import {
  capacity10,
  capacity16,
  inquiryData,
  modeData,
  sectorBytes,
  vitalProductData,
} from './scsi-pages.ts';
import { encodeSense, type Sense, sense } from './scsi-sense.ts';

export type ScsiCommand = {
  readonly cdb: Buffer;
  readonly dataOut: Buffer;
  readonly alive: () => boolean;
};

export type ScsiReply =
  | { readonly kind: 'good'; readonly data: Buffer }
  | { readonly kind: 'check'; readonly sense: Sense };

export type ScsiDone = (reply: ScsiReply) => void;

const op = {
  testUnitReady: 0x00,
  requestSense: 0x03,
  inquiry: 0x12,
  modeSense6: 0x1a,
  startStop: 0x1b,
  preventRemoval: 0x1e,
  capacity10: 0x25,
  read10: 0x28,
  write10: 0x2a,
  verify10: 0x2f,
  synchronize10: 0x35,
  writeSame10: 0x41,
  unmap: 0x42,
  modeSense10: 0x5a,
  read16: 0x88,
  write16: 0x8a,
  verify16: 0x8f,
  synchronize16: 0x91,
  writeSame16: 0x93,
  serviceIn16: 0x9e,
  reportLuns: 0xa0,
} as const;

const nothing = Buffer.alloc(0);

/** Carries out one command. `units` are the unit numbers the target has right now. */
export function executeScsi(
  command: ScsiCommand,
  disk: Disk | undefined,
  units: readonly number[],
  done: ScsiDone,
): void {
  const told = tellAboutDisk(command.cdb, disk, units);
  if (told !== undefined) {
    done(told);
    return;
  }
  if (disk === undefined) {
    done(check(sense.noSuchUnit));
    return;
  }
  switch (command.cdb[0]) {
    case op.read10:
    case op.read16:
      transfer('read', command, disk, done);
      break;
    case op.write10:
    case op.write16:
      transfer('write', command, disk, done);
      break;
    case op.synchronize10:
    case op.synchronize16:
      serve(disk, command, { kind: 'flush', offset: 0, length: 0 }, done);
      break;
    case op.writeSame10:
    case op.writeSame16:
      writeSame(command, disk, done);
      break;
    case op.unmap:
      unmap(command, disk, done);
      break;
    default:
      done(check(sense.unknownCommand));
      break;
  }
}

/** Answers what needs no look at the data, and nothing for the rest. */
function tellAboutDisk(
  cdb: Buffer,
  disk: Disk | undefined,
  units: readonly number[],
): ScsiReply | undefined {
  const code = cdb[0];
  // These two are answered even where there is no disk: they are how an initiator finds that out.
  if (code === op.reportLuns) return good(reportLuns(units));
  if (code === op.inquiry) return inquiry(cdb, disk);
  if (disk === undefined) return undefined;
  switch (code) {
    case op.testUnitReady:
    case op.startStop:
    case op.preventRemoval:
    case op.verify10:
    case op.verify16:
      return good(nothing);
    case op.requestSense:
      return good(encodeSense({ key: 0, code: 0, qualifier: 0 }));
    case op.modeSense6:
    case op.modeSense10: {
      const page = (cdb[2] ?? 0) & 0x3f;
      return good(modeData(disk, { long: code === op.modeSense10, page }));
    }
    case op.capacity10:
      return good(capacity10(disk));
    case op.serviceIn16:
      // The only service we know is "read capacity".
      return ((cdb[1] ?? 0) & 0x1f) === 0x10 ? good(capacity16(disk)) : check(sense.invalidField);
    default:
      return undefined;
  }
}

function good(data: Buffer): ScsiReply {
  return { kind: 'good', data };
}

function check(why: Sense): ScsiReply {
  return { kind: 'check', sense: why };
}

function inquiry(cdb: Buffer, disk: Disk | undefined): ScsiReply {
  const vital = ((cdb[1] ?? 0) & 1) !== 0;
  if (!vital) return good(inquiryData(disk));
  const page = disk && vitalProductData(disk, cdb[2] ?? 0);
  return page === undefined ? check(sense.invalidField) : good(page);
}

function reportLuns(units: readonly number[]): Buffer {
  const data = Buffer.alloc(8 + units.length * 8);
  data.writeUInt32BE(units.length * 8, 0);
  for (const [index, unit] of units.entries()) data.writeUInt16BE(unit, 8 + index * 8);
  return data;
}

type Range = { readonly offset: number; readonly length: number };

function rangeOf(cdb: Buffer): Range {
  const long = (cdb[0] ?? 0) >= 0x80;
  const first = long ? Number(cdb.readBigUInt64BE(2)) : cdb.readUInt32BE(2);
  const count = long ? cdb.readUInt32BE(10) : cdb.readUInt16BE(7);
  return { offset: first * sectorBytes, length: count * sectorBytes };
}

function transfer(kind: 'read' | 'write', command: ScsiCommand, disk: Disk, done: ScsiDone): void {
  const range = rangeOf(command.cdb);
  const incomplete = kind === 'write' && command.dataOut.length < range.length;
  if (incomplete) done(check(sense.invalidField));
  else serve(disk, command, { kind, ...range }, done);
}

/** Zeroes only: nothing else ever asks a disk to repeat a pattern. */
function writeSame(command: ScsiCommand, disk: Disk, done: ScsiDone): void {
  const noDataOut = ((command.cdb[1] ?? 0) & 0x01) !== 0;
  const zeroes = noDataOut || command.dataOut.every((byte) => byte === 0);
  const range = rangeOf(command.cdb);
  if (!zeroes || range.length === 0) done(check(sense.invalidField));
  else serve(disk, command, { kind: 'zero', ...range }, done);
}

function unmap(command: ScsiCommand, disk: Disk, done: ScsiDone): void {
  const list = command.dataOut;
  const end = list.length < 8 ? 0 : Math.min(8 + list.readUInt16BE(2), list.length);
  const ranges: Range[] = [];
  for (let at = 8; at + 16 <= end; at += 16) {
    const offset = Number(list.readBigUInt64BE(at)) * sectorBytes;
    ranges.push({ offset, length: list.readUInt32BE(at + 8) * sectorBytes });
  }
  const next = (reply: ScsiReply): void => {
    const range = ranges.shift();
    if (reply.kind === 'check' || range === undefined) done(reply);
    else serve(disk, command, { kind: 'zero', ...range }, next);
  };
  next(good(nothing));
}

function serve(
  disk: Disk,
  command: ScsiCommand,
  request: Pick<ServedRequest, 'kind' | 'offset' | 'length'>,
  done: ScsiDone,
): void {
  const { cdb, alive } = command;
  const through = request.kind === 'write' && ((cdb[1] ?? 0) & 0x08) !== 0;
  const payload = command.dataOut.subarray(0, request.length);
  disk.serve({ ...request, payload, through, alive }, (outcome, data = nothing) => {
    done(outcome === 'done' ? good(data) : check(senseOf(outcome, request.kind)));
  });
}

function senseOf(outcome: Exclude<Outcome, 'done'>, kind: ServedRequest['kind']): Sense {
  switch (outcome) {
    case 'io-error':
      return kind === 'read' ? sense.unreadable : sense.unwritable;
    case 'no-space':
      return sense.noSpace;
    case 'out-of-range':
      return sense.outOfRange;
  }
}
