import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  bytes,
  countUp,
  divide,
  least,
  minus,
  most,
  roundDown,
  roundUp,
  scale,
  sum,
} from './bytes.ts';

const size = fc.bigInt({ min: 0n, max: 2n ** 70n });
const unit = fc.bigInt({ min: 1n, max: 2n ** 40n });

test('rounding up gives the next whole unit, and a whole unit stays as it is', () => {
  fc.assert(
    fc.property(size, unit, (value, step) => {
      const rounded = roundUp(value, step);
      assert.equal(rounded % step, 0n);
      assert.ok(rounded >= value && rounded - value < step);
      assert.equal(roundUp(rounded, step), rounded);
    }),
  );
});

test('rounding down gives the last whole unit that fits', () => {
  fc.assert(
    fc.property(size, unit, (value, step) => {
      const rounded = roundDown(value, step);
      assert.equal(rounded % step, 0n);
      assert.ok(rounded <= value && value - rounded < step);
    }),
  );
});

test('as many units as counted hold the value, and one fewer does not', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 2n ** 70n }), unit, (value, step) => {
      const count = countUp(value, step);
      assert.ok(count * step >= value);
      assert.ok((count - 1n) * step < value);
    }),
  );
});

test('free space never becomes a debt', () => {
  fc.assert(
    fc.property(size, size, (a, b) => {
      assert.equal(minus(a, b), a >= b ? a - b : 0n);
    }),
  );
});

const scaled: readonly (readonly [size: bigint, ratio: number, result: bigint])[] = [
  [100n, 10, 1000n],
  [100n, 1.5, 150n],
  [3n, 1.5, 4n],
  [10n ** 18n, 1.1, 11n * 10n ** 17n],
  [2n ** 60n, 1, 2n ** 60n],
  [0n, 100, 0n],
];

for (const [value, ratio, result] of scaled) {
  test(`${value} bytes at ratio ${ratio} are ${result}`, () => {
    assert.equal(scale(value, ratio), result);
  });
}

const divided: readonly (readonly [size: bigint, factor: number, result: bigint])[] = [
  [100n, 1, 100n],
  [100n, 1.5, 66n],
  [3n, 1_000_000, 0n],
  [2n ** 60n, 1, 2n ** 60n],
  [11n * 10n ** 17n, 1.1, 10n ** 18n],
];

for (const [value, factor, result] of divided) {
  test(`${value} bytes by ${factor} are ${result}`, () => {
    assert.equal(divide(value, factor), result);
  });
}

test('sums, least and most are exact beyond 2^53', () => {
  const large = 2n ** 53n + 1n;
  assert.equal(sum(large, 1n, large), 2n ** 54n + 3n);
  assert.equal(sum(), 0n);
  assert.equal(least(large, large - 1n), large - 1n);
  assert.equal(most(large - 1n, large), large);
});

test('a fraction of a byte is no size', () => {
  assert.throws(() => bytes(1.5), RangeError);
});
