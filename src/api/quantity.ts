import { type Bytes, bytes } from '../base/bytes.ts';
import { type Blocked, blocked } from '../base/failures.ts';
import { show } from '../base/show.ts';

/**
 * Kubernetes quantities as sizes. The grammar is Kubernetes': a decimal number, then one of
 * `n u m "" k M G T P E`, one of `Ki Mi Gi Ti Pi Ei`, or an exponent `e3` / `E3`. A fraction of a
 * byte is rounded up, as Kubernetes does. What Kubernetes would cap (over 2^63-1) is refused.
 */
export function parseQuantity(text: unknown): Bytes | Blocked {
  if (typeof text === 'number') return parseQuantity(String(text));
  if (typeof text !== 'string') return invalid(text, 'it is not text');
  const match = pattern.exec(text);
  if (match === null) return invalid(text, 'it is not a quantity');
  const [, sign = '', whole = '', fraction = '', suffix = ''] = match;
  if (whole === '' && fraction === '') return invalid(text, 'it has no digits');
  if (sign === '-') return invalid(text, 'it is negative');
  const scale = scaleOf(suffix);
  if (scale === undefined) return invalid(text, `the suffix ${show(suffix)} is unknown`);
  const digits = BigInt(whole + fraction);
  const numerator = digits * scale.numerator;
  const denominator = 10n ** BigInt(fraction.length) * scale.denominator;
  const value = (numerator + denominator - 1n) / denominator;
  if (value > int64Max) return invalid(text, 'it is larger than 2^63-1 bytes');
  return bytes(value);
}

/** The shortest exact form with a binary suffix, as people write sizes in manifests. */
export function showQuantity(size: Bytes): string {
  for (const [suffix, unit] of binaryLargestFirst) {
    if (size !== 0n && size % unit === 0n) return `${size / unit}${suffix}`;
  }
  return size.toString();
}

/** Digits beyond this are nonsense, and unbounded exponents would eat memory. */
const exponentMax = 30;
const pattern = /^([+-]?)([0-9]{0,40})(?:\.([0-9]{0,40}))?([a-zA-Z]*[+-]?[0-9]*)$/;
const int64Max = 2n ** 63n - 1n;

const binaryLargestFirst = [
  ['Ei', 1024n ** 6n],
  ['Pi', 1024n ** 5n],
  ['Ti', 1024n ** 4n],
  ['Gi', 1024n ** 3n],
  ['Mi', 1024n ** 2n],
  ['Ki', 1024n],
] as const;

type Scale = { readonly numerator: bigint; readonly denominator: bigint };

const suffixes: ReadonlyMap<string, Scale> = new Map<string, Scale>([
  ['n', { numerator: 1n, denominator: 10n ** 9n }],
  ['u', { numerator: 1n, denominator: 10n ** 6n }],
  ['m', { numerator: 1n, denominator: 10n ** 3n }],
  ['', { numerator: 1n, denominator: 1n }],
  ...['k', 'M', 'G', 'T', 'P', 'E'].map((suffix, power): [string, Scale] => [
    suffix,
    { numerator: 10n ** BigInt(3 * (power + 1)), denominator: 1n },
  ]),
  ...binaryLargestFirst.map(([suffix, unit]): [string, Scale] => [
    suffix,
    { numerator: unit, denominator: 1n },
  ]),
]);

function scaleOf(suffix: string): Scale | undefined {
  const exponent = /^[eE]([+-]?[0-9]{1,4})$/.exec(suffix)?.[1];
  if (exponent === undefined) return suffixes.get(suffix);
  const power = Number(exponent);
  if (Math.abs(power) > exponentMax) return undefined;
  const factor = 10n ** BigInt(Math.abs(power));
  return power < 0
    ? { numerator: 1n, denominator: factor }
    : { numerator: factor, denominator: 1n };
}

function invalid(text: unknown, why: string): Blocked {
  return blocked('InvalidSize', `${show(text)} is not a size: ${why}; write for example 10Gi`);
}
