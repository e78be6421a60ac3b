import type { Signature } from './content.ts';

/** What a signature looks like on the disk, as far as anybody here reads it. */
export function superblockBytes(
  signatures: readonly Signature[],
  range: { readonly offset: number; readonly length: number },
): Uint8Array {
  const block = new Uint8Array(range.length);
  const view = new DataView(block.buffer);
  for (const signature of signatures) {
    if (range.offset === 0 && signature.type === 'ext4') writeExt4(view, signature);
    if (range.offset === 0 && signature.type === 'xfs') writeXfs(view, signature);
    if (range.offset === 65_536 && signature.type === 'btrfs') writeBtrfs(view, signature);
  }
  return block;
}

export const fakeBlockBytes = 4096;
export const fakeLogBytes = 1024 * fakeBlockBytes;

function writeExt4(view: DataView, signature: Signature): void {
  const at = 1024;
  const blocks = BigInt(Math.floor(sizeOf(signature) / fakeBlockBytes));
  view.setUint32(at + 0x4, Number(blocks & 0xffff_ffffn), true);
  view.setUint32(at + 0x150, Number(blocks >> 32n), true);
  view.setUint32(at + 0x18, 2, true);
  view.setUint32(at + 0x1c, 2, true);
  view.setUint32(at + 0x20, 32_768, true);
  view.setUint32(at + 0x28, 8192, true);
  view.setUint16(at + 0x38, 0xef53, true);
  view.setUint16(at + 0x58, 256, true);
  view.setUint32(at + 0x5c, 0x4, true);
  view.setUint32(at + 0x60, 0x40 | 0x80, true);
  writeUuid(view, at + 0x68, signature.uuid);
}

function writeXfs(view: DataView, signature: Signature): void {
  view.setUint32(0, 0x58465342);
  view.setUint32(4, fakeBlockBytes);
  view.setBigUint64(8, BigInt(Math.floor(sizeOf(signature) / fakeBlockBytes)));
  writeUuid(view, 32, signature.uuid);
  view.setBigUint64(48, 512n);
  view.setUint32(96, fakeLogBytes / fakeBlockBytes);
  view.setUint8(126, signature.isUnfinished === true ? 1 : 0);
}

function writeBtrfs(view: DataView, signature: Signature): void {
  writeUuid(view, 0x20, signature.uuid);
  for (const [index, character] of '_BHRfS_M'.split('').entries()) {
    view.setUint8(0x40 + index, character.charCodeAt(0));
  }
  view.setBigUint64(0x70, BigInt(sizeOf(signature)), true);
  view.setUint32(0x90, fakeBlockBytes, true);
}

export function sizeOf(signature: Signature): number {
  return signature.fsBytes ?? 0;
}

function writeUuid(view: DataView, offset: number, uuid: string): void {
  const hex = uuid.replaceAll('-', '');
  for (let index = 0; index < 16; index += 1) {
    view.setUint8(offset + index, Number.parseInt(hex.slice(2 * index, 2 * index + 2), 16) || 0);
  }
}
