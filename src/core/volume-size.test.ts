import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { GiB, KiB, MiB } from '../base/bytes.ts';
import type { FailureCode } from '../base/failures.ts';
import { type Access, sizeFor } from './volume-size.ts';

type Row = readonly [
  title: string,
  required: bigint,
  limit: bigint,
  uses: readonly Access[],
  size: bigint | FailureCode,
];

const ext4 = { fsType: 'ext4' };

const rows: readonly Row[] = [
  ['what was asked for', 5n * GiB, 0n, [ext4], 5n * GiB],
  ['whole sectors', 5n * GiB + 1n, 0n, [ext4], 5n * GiB + 4n * KiB],
  ['a GiB when nothing was said', 0n, 0n, [ext4], GiB],
  ['the limit when that is less', 0n, 100n * MiB + 5n, [ext4], 100n * MiB],
  ['a GiB when the limit is more', 0n, 5n * GiB, [ext4], GiB],
  ['at least what ext4 needs', 1n, 0n, [ext4], 32n * MiB],
  ['at least what xfs needs', 1n, 0n, [{ fsType: 'xfs' }], 300n * MiB],
  ['at least what btrfs needs', 1n, 0n, [{ fsType: 'btrfs' }], 200n * MiB],
  ['at least what a block volume needs', 1n, 0n, ['block'], 8n * MiB],
  ['no more for a file system we do not know', 1n, 0n, [{ fsType: 'ext3' }], 4n * KiB],
  ['what the most demanding use needs', 1n, 0n, ['block', { fsType: 'xfs' }], 300n * MiB],
  ['nothing negative', -1n, 0n, [ext4], 'InvalidSize'],
  ['no negative limit', 1n, -1n, [ext4], 'InvalidSize'],
  ['no limit below what is asked for', 2n * GiB, GiB, [ext4], 'InvalidSize'],
  ['no limit below what the use needs', 1n, 10n * MiB, [ext4], 'SizeOutOfRange'],
  ['no limit between two sectors', GiB + 1n, GiB + 2n, [ext4], 'SizeOutOfRange'],
  ['nothing smaller than a sector', 0n, 100n, [], 'SizeOutOfRange'],
];

for (const [title, requiredBytes, limitBytes, uses, expected] of rows) {
  test(`a volume gets ${title}`, () => {
    const size = sizeFor({ requiredBytes, limitBytes }, uses);
    assert.equal(typeof size === 'bigint' ? size : size.code, expected);
  });
}

test('a size is never less than asked for, never above the limit, and in whole sectors', () => {
  const amount = fc.bigInt({ min: 0n, max: 1n << 62n });
  fc.assert(
    fc.property(amount, amount, fc.constantFrom<Access>('block', ext4), (a, b, use) => {
      const size = sizeFor({ requiredBytes: a, limitBytes: b }, [use]);
      if (typeof size !== 'bigint') return;
      assert.ok(size >= a && (b === 0n || size <= b));
      assert.equal(size % (4n * KiB), 0n);
      assert.ok(size > 0n);
    }),
  );
});
