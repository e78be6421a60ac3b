/**
 * What a scalar of a file is taken for. lvmd reads its file with Go's YAML 1.1 rules, and files
 * rely on them: `yes` is true, `010` is eight, `1_000` is a thousand, quoted text is text.
 */
export type ScalarValue = null | boolean | bigint | number | string;

export function readPlain(text: string): ScalarValue {
  const word = words.get(text);
  if (word !== undefined) return word;
  if (/^\.[0-9]/.test(text)) return readFloat(text) ?? text;
  if (!/^[-+0-9]/.test(text)) return text;
  const digits = text.replaceAll('_', '');
  return readWhole(digits) ?? readFloat(digits) ?? text;
}

/** A scalar with a tag, or what the tag does not fit. */
export function readTagged(tag: string, text: string): ScalarValue | undefined {
  const value = readPlain(text);
  switch (tag) {
    case '!!null':
      return value === null ? value : undefined;
    case '!!bool':
      return typeof value === 'boolean' ? value : undefined;
    case '!!int':
      return typeof value === 'bigint' ? value : undefined;
    case '!!float':
      if (typeof value === 'bigint') return Number(value);
      return typeof value === 'number' ? value : undefined;
    case '!!binary':
      return undefined;
    default:
      return text;
  }
}

/** What becomes of a scalar where text is expected: Go writes the value, not what stood there. */
export function textOf(value: Exclude<ScalarValue, null>): string {
  return typeof value === 'number' ? goFloat(value) : String(value);
}

const words = new Map<string, ScalarValue>([
  ...spelled(['y', 'yes', 'true', 'on'], true),
  ...spelled(['n', 'no', 'false', 'off'], false),
  ...spelled(['null'], null),
  ['', null],
  ['~', null],
  ...['.nan', '.NaN', '.NAN'].map((word) => [word, Number.NaN] as const),
  ...['.inf', '.Inf', '.INF'].flatMap((word) => [
    [word, Number.POSITIVE_INFINITY] as const,
    [`+${word}`, Number.POSITIVE_INFINITY] as const,
    [`-${word}`, Number.NEGATIVE_INFINITY] as const,
  ]),
]);

/** Each word in small letters, with a capital, and in capitals; not mixed. */
function spelled<T>(list: readonly string[], value: T): readonly (readonly [string, T])[] {
  return list
    .flatMap((word) => [word, word.slice(0, 1).toUpperCase() + word.slice(1), word.toUpperCase()])
    .map((word) => [word, value] as const);
}

const whole = /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)$/;

/** Whole numbers of 64 bits; Go takes larger ones for floats. */
function readWhole(text: string): bigint | undefined {
  // Nothing of 64 bits is longer, and a very long one would take very long to read.
  if (text.length > 70) return undefined;
  const match = whole.exec(text);
  if (match === null) return undefined;
  const [, sign = '', digits = ''] = match;
  const size = BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits}` : digits.toLowerCase());
  const value = sign === '-' ? -size : size;
  return value >= -(2n ** 63n) && value < 2n ** 64n ? value : undefined;
}

const float = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;

function readFloat(text: string): number | undefined {
  if (!float.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Go's `%g` of a float of 32 bits: as few digits as tell it from its neighbours. */
function goFloat(value: number): string {
  const single = Math.fround(value);
  if (Number.isNaN(single)) return 'NaN';
  if (!Number.isFinite(single)) return single > 0 ? '+Inf' : '-Inf';
  if (single === 0) return Object.is(single, -0) ? '-0' : '0';
  const [digits = '', power = '0'] = shortest(single).split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return String(Number(`${digits}e${exponent}`));
  const sign = exponent < 0 ? '-' : '+';
  return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

function shortest(single: number): string {
  for (let fraction = 0; fraction < 9; fraction += 1) {
    const text = single.toExponential(fraction);
    if (Math.fround(Number(text)) === single) return text;
  }
  return single.toExponential();
}
