import { createHash } from 'node:crypto';
import type { Disk } from './disk.ts';

/** Everything a SCSI disk says about itself: inquiry data, vital product data, mode pages. */

export const sectorBytes = 512;
const unmapBlocksMax = 0xffff_ffff;
const transferBlocksMax = 16 * 1024;

/** Standard inquiry data; without a disk, the answer for a unit that is not there. */
export function inquiryData(disk: Disk | undefined): Buffer {
  const data = Buffer.alloc(64);
  data[0] = disk === undefined ? 0x7f : 0x00;
  data[2] = 0x06; // SPC-4
  data[3] = 0x02;
  data[4] = data.length - 5;
  data[7] = 0x02; // commands may be queued
  data.fill(' ', 8, 36);
  if (disk === undefined) return data;
  data.write(disk.identity.vendor.slice(0, 8), 8, 'latin1');
  data.write(disk.identity.model.slice(0, 16), 16, 'latin1');
  data.write('1', 32, 'latin1');
  return data;
}

/** A page of vital product data, or nothing when the page is not offered. */
export function vitalProductData(disk: Disk, page: number): Buffer | undefined {
  switch (page) {
    case 0x00:
      return pageOf(page, Buffer.from([0x00, 0x80, 0x83, 0xb0, 0xb1, 0xb2]));
    case 0x80:
      return pageOf(page, Buffer.from(disk.identity.serial, 'latin1'));
    case 0x83:
      return pageOf(page, identification(disk));
    case 0xb0:
      return pageOf(page, blockLimits());
    case 0xb1:
      return pageOf(page, characteristics());
    case 0xb2:
      // Unmap and write-same with unmap work, and unmapped blocks read as zeroes.
      return pageOf(page, Buffer.from([0x00, 0xe4, 0x02, 0x00]));
    default:
      return undefined;
  }
}

function pageOf(page: number, body: Buffer): Buffer {
  const header = Buffer.from([0x00, page, body.length >> 8, body.length & 0xff]);
  return Buffer.concat([header, body]);
}

/**
 * A world wide name made from the serial, so that it stays over restarts and is never shared. It
 * has the registered format (5): Linux passes over locally assigned ones where it can.
 */
export function worldWideName(serial: string): Buffer {
  const name = createHash('sha256').update(serial).digest().subarray(0, 8);
  name.writeUInt32BE((0x5020_0770 | ((name[3] ?? 0) & 0x0f)) >>> 0, 0);
  return name;
}

function identification(disk: Disk): Buffer {
  const { vendor, model, serial } = disk.identity;
  const text = `${vendor.padEnd(8).slice(0, 8)}${model.padEnd(16).slice(0, 16)}${serial}`;
  const vendorId = Buffer.from(text, 'latin1');
  return Buffer.concat([
    Buffer.from([0x01, 0x03, 0x00, 0x08]),
    worldWideName(serial),
    Buffer.from([0x02, 0x01, 0x00, vendorId.length]),
    vendorId,
  ]);
}

function blockLimits(): Buffer {
  const body = Buffer.alloc(60);
  body.writeUInt16BE(8, 2); // optimal granularity: 4 KiB
  body.writeUInt32BE(transferBlocksMax, 4);
  body.writeUInt32BE(unmapBlocksMax, 16);
  body.writeUInt32BE(256, 20); // ranges in one unmap
  body.writeUInt32BE(8, 24); // unmap granularity: 4 KiB
  body.writeUInt32BE(0x8000_0000, 28); // aligned to zero
  body.writeBigUInt64BE(BigInt(unmapBlocksMax), 32); // longest write-same
  return body;
}

function characteristics(): Buffer {
  const body = Buffer.alloc(60);
  body.writeUInt16BE(1, 0); // does not rotate
  return body;
}

export function capacity10(disk: Disk): Buffer {
  const last = disk.store.sizeBytes / sectorBytes - 1;
  const data = Buffer.alloc(8);
  data.writeUInt32BE(Math.min(last, 0xffff_ffff), 0);
  data.writeUInt32BE(sectorBytes, 4);
  return data;
}

export function capacity16(disk: Disk): Buffer {
  const data = Buffer.alloc(32);
  data.writeBigUInt64BE(BigInt(disk.store.sizeBytes / sectorBytes - 1), 0);
  data.writeUInt32BE(sectorBytes, 8);
  data[13] = 3; // eight sectors make a physical block
  data[14] = 0xc0; // thinly provisioned, unmapped blocks read as zeroes
  return data;
}

/** The caching page is the only one that matters: it says whether flushes are needed. */
export function modeData(disk: Disk, request: { readonly long: boolean; page: number }): Buffer {
  const caching = Buffer.alloc(20);
  caching[0] = 0x08;
  caching[1] = caching.length - 2;
  caching[2] = disk.store.writeCache === 'volatile' ? 0x04 : 0x00;
  const pages = request.page === 0x08 || request.page === 0x3f ? caching : Buffer.alloc(0);
  const forcedAccess = 0x10;
  if (!request.long) {
    return Buffer.concat([Buffer.from([pages.length + 3, 0x00, forcedAccess, 0x00]), pages]);
  }
  const header = Buffer.alloc(8);
  header.writeUInt16BE(pages.length + 6, 0);
  header[3] = forcedAccess;
  return Buffer.concat([header, pages]);
}
