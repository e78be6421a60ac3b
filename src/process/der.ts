/**
 * As much of DER, the binary form of certificates, as making one takes. Every value is a tag, the
 * length of what follows, and that.
 */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = bigEndian(BigInt(length));
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

function bigEndian(value: bigint): Buffer {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
}

export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, ...parts);
}

export function set(...parts: readonly Uint8Array[]): Buffer {
  return der(0x31, ...parts);
}

/** A part that is told by its number; `constructed` ones hold other values. */
export function numbered(number: number, content: Uint8Array, isConstructed = true): Buffer {
  return der((isConstructed ? 0xa0 : 0x80) | number, content);
}

/** Of a number that is not negative: a first bit that is set would make it so. */
export function integer(value: bigint | Uint8Array): Buffer {
  const bytes = typeof value === 'bigint' ? bigEndian(value) : Buffer.from(value);
  const isHigh = ((bytes[0] ?? 0) & 0x80) !== 0;
  return der(0x02, ...(isHigh ? [Buffer.from([0])] : []), bytes);
}

export function boolean(value: boolean): Buffer {
  return der(0x01, Buffer.from([value ? 0xff : 0]));
}

export function text(value: string): Buffer {
  return der(0x0c, Buffer.from(value, 'utf8'));
}

export function octets(value: Uint8Array): Buffer {
  return der(0x04, value);
}

/** Whole bytes unless some bits at the end count for nothing. */
export function bits(value: Uint8Array, unusedBits = 0): Buffer {
  return der(0x03, Buffer.from([unusedBits]), value);
}

/** `2.5.29.17`: the first two numbers share a byte, the others are written in sevens of bits. */
export function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(sevens)]));
}

function sevens(value: number): readonly number[] {
  const low = value & 0x7f;
  let high = value >> 7;
  const bytes = [low];
  while (high > 0) {
    bytes.unshift((high & 0x7f) | 0x80);
    high >>= 7;
  }
  return bytes;
}

/** Two digits of the year until 2049, as X.509 asks for, and four from then on. */
export function time(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return digits < '2050' ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits));
}
