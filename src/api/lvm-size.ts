import { type Bytes, bytes } from '../base/bytes.ts';
import { type Blocked, blocked } from '../base/failures.ts';
import { show } from '../base/show.ts';

/**
 * Sizes as LVM's own options take them (`64`, `64k`, `1.5g`): the letter is a power of 1024, `b`
 * is bytes and `s` sectors of 512. LVM reads a bare number as `defaultUnit` (stripe sizes: KiB).
 * LVM's upper-case letters mean powers of 1000 in reports but of 1024 on input; we read input.
 */
export function parseLvmSize(text: unknown, defaultUnit: LvmUnit): Bytes | Blocked {
  const match = /^([0-9]{1,30})(?:\.([0-9]{1,20}))?([bskmgtpe]?)$/i.exec(String(text).trim());
  if (match === null) {
    const message = `${show(text)} is not an LVM size; write a number and one of b s k m g t p e`;
    return blocked('InvalidSize', message);
  }
  const [, whole = '', fraction = '', letter = ''] = match;
  const unit = units[(letter === '' ? defaultUnit : letter.toLowerCase()) as LvmUnit];
  const scaled = BigInt(whole + fraction) * unit;
  const divisor = 10n ** BigInt(fraction.length);
  return bytes((scaled + divisor - 1n) / divisor);
}

export type LvmUnit = keyof typeof units;

const units = {
  b: 1n,
  s: 512n,
  k: 1024n,
  m: 1024n ** 2n,
  g: 1024n ** 3n,
  t: 1024n ** 4n,
  p: 1024n ** 5n,
  e: 1024n ** 6n,
} as const;
