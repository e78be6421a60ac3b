import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { type Bytes, bytes } from '../base/bytes.ts';
import { parseLvmSize } from './lvm-size.ts';
import { parseQuantity, showQuantity } from './quantity.ts';

const readable: readonly (readonly [unknown, bigint])[] = [
  ['0', 0n],
  ['1', 1n],
  ['+1', 1n],
  ['1.5Gi', 1610612736n],
  ['.5Ki', 512n],
  ['5.', 5n],
  ['100M', 100_000_000n],
  ['1e9', 1_000_000_000n],
  ['1E9', 1_000_000_000n],
  ['1e+3', 1000n],
  ['15e-1', 2n],
  ['1E', 10n ** 18n],
  ['7Ei', 7n * 1024n ** 6n],
  ['500m', 1n],
  ['1500m', 2n],
  ['1u', 1n],
  ['1n', 1n],
  ['1k', 1000n],
  ['9223372036854775807', 2n ** 63n - 1n],
  ['9007199254740993', 9007199254740993n],
  [1073741824, 1073741824n],
];

for (const [text, size] of readable) {
  test(`reads ${String(text)} as ${size} bytes`, () => assert.equal(parseQuantity(text), size));
}

const unreadable: readonly unknown[] = [
  '',
  ' ',
  '.',
  'Gi',
  '1 Gi',
  '1gi',
  '1GI',
  '1K',
  '1KB',
  '1GiB',
  '-1',
  '-1Gi',
  '1e',
  '1e999',
  '1.2.3',
  '0x10',
  '1_000',
  'e3',
  '9223372036854775808',
  '8Ei',
  'NaN',
  'Infinity',
  null,
  undefined,
  {},
  [],
  true,
  Number.NaN,
  1e40,
  '١',
];

for (const text of unreadable) {
  test(`refuses ${JSON.stringify(text) ?? String(text)}, naming it`, () => {
    const result = parseQuantity(text);
    assert.ok(typeof result === 'object' && result.kind === 'blocked', 'must be refused');
    assert.equal(result.code, 'InvalidSize');
  });
}

test('what is shown is read again as the same size', () => {
  const sizes = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map((n): Bytes => bytes(n));
  fc.assert(fc.property(sizes, (size) => parseQuantity(showQuantity(size)) === size));
});

test('a decimal number of any suffix is exact, and a fraction of a byte is rounded up', () => {
  const digits = fc.record({
    whole: fc.nat(999_999),
    fraction: fc.nat(999),
    power: fc.constantFrom(0, 1, 2, 3, 4),
  });
  fc.assert(
    fc.property(digits, ({ whole, fraction, power }) => {
      const suffix = ['', 'Ki', 'Mi', 'Gi', 'Ti'][power];
      const text = `${whole}.${String(fraction).padStart(3, '0')}${suffix}`;
      const thousandths = BigInt(whole * 1000 + fraction) * 1024n ** BigInt(power);
      return parseQuantity(text) === (thousandths + 999n) / 1000n;
    }),
  );
});

test('no text makes the parser throw or answer below zero', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const result = parseQuantity(text);
      return typeof result === 'object' || result >= 0n;
    }),
  );
});

const lvmSizes: readonly (readonly [unknown, bigint])[] = [
  ['64', 65536n],
  [64, 65536n],
  ['64k', 65536n],
  ['64K', 65536n],
  ['1m', 1048576n],
  ['1.5g', 1610612736n],
  ['8s', 4096n],
  ['4096b', 4096n],
];

for (const [text, size] of lvmSizes) {
  test(`reads LVM's ${String(text)} as ${size} bytes`, () =>
    assert.equal(parseLvmSize(text, 'k'), size));
}

for (const text of ['', 'k', '-1k', '1kb', '1 k', '1e3', '64ki']) {
  test(`refuses LVM size ${JSON.stringify(text)}`, () => {
    const result = parseLvmSize(text, 'k');
    assert.ok(typeof result === 'object' && result.code === 'InvalidSize');
  });
}
