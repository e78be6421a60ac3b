/** Why a SCSI command failed, in the standard's three numbers. */
export type Sense = { readonly key: number; readonly code: number; readonly qualifier: number };

export const sense = {
  unreadable: { key: 0x03, code: 0x11, qualifier: 0x00 },
  unwritable: { key: 0x03, code: 0x0c, qualifier: 0x00 },
  unknownCommand: { key: 0x05, code: 0x20, qualifier: 0x00 },
  outOfRange: { key: 0x05, code: 0x21, qualifier: 0x00 },
  invalidField: { key: 0x05, code: 0x24, qualifier: 0x00 },
  noSuchUnit: { key: 0x05, code: 0x25, qualifier: 0x00 },
  /** Linux turns exactly this one into ENOSPC. */
  noSpace: { key: 0x07, code: 0x27, qualifier: 0x07 },
} as const satisfies Record<string, Sense>;

/** Fixed format, 18 bytes: the one every initiator reads. */
export function encodeSense(value: Sense): Buffer {
  const bytes = Buffer.alloc(18);
  bytes[0] = 0x70;
  bytes[2] = value.key;
  bytes[7] = 10;
  bytes[12] = value.code;
  bytes[13] = value.qualifier;
  return bytes;
}
