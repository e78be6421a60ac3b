import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { bytes } from './bytes.ts';
import { show, showBytes, showList } from './show.ts';

const sizes: readonly (readonly [size: bigint, text: string])[] = [
  [0n, '0 B'],
  [1023n, '1023 B'],
  [1024n, '1 KiB'],
  [1536n, '1.50 KiB'],
  [4n * 1024n ** 2n, '4 MiB'],
  [1024n ** 3n - 1n, '1023.99 MiB'],
  [1024n ** 3n, '1 GiB'],
  [1024n ** 3n + 1n, '1.00 GiB'],
  [10n * 1024n ** 4n, '10 TiB'],
  [1024n ** 6n, '1 EiB'],
  [5000n * 1024n ** 6n, '5000 EiB'],
  [-1536n, '-1.50 KiB'],
];

for (const [size, text] of sizes) {
  test(`shows ${size} bytes as ${text}`, () => assert.equal(showBytes(bytes(size)), text));
}

test('a size shown without a fraction is exact', () => {
  const powers = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 75n }), (size) => {
      const [number = '', unit = ''] = showBytes(bytes(size)).split(' ');
      if (number.includes('.')) return;
      assert.equal(BigInt(number) * 1024n ** BigInt(powers.indexOf(unit)), size);
    }),
  );
});

const values: readonly (readonly [value: unknown, text: string])[] = [
  ['a"b', '"a\\"b"'],
  [12n, '12'],
  [undefined, 'undefined'],
  [null, 'null'],
  [Number.NaN, 'NaN'],
  [{ size: 4096n, list: [1n, 'x'] }, '{"size":4096,"list":[1,"x"]}'],
  [{ size: 2n ** 53n + 1n }, '{"size":"9007199254740993"}'],
  [{ size: 2n ** 53n - 1n }, '{"size":9007199254740991}'],
];

for (const [value, text] of values) {
  test(`shows a ${typeof value} as ${text}`, () => assert.equal(show(value), text));
}

const lists: readonly (readonly [items: readonly string[], text: string])[] = [
  [[], ''],
  [['a'], 'a'],
  [['a', 'b'], 'a and b'],
  [['a', 'b', 'c'], 'a, b and c'],
];

for (const [items, text] of lists) {
  test(`${items.length} items stand in a sentence as "${text}"`, () => {
    assert.equal(showList(items), text);
  });
}
