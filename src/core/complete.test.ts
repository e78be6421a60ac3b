import assert from 'node:assert/strict';
import test from 'node:test';
import { extents, sampleCow, sampleLv, sampleThin } from '../../test/samples/observed.ts';
import { isComplete } from './complete.ts';
import type { ObservedLv } from './observed.ts';
import { copyingTag, copySourceRole, makingTag, ownerTag, snapshotRole, tagOf } from './tags.ts';

const ours = (...tags: readonly string[]) => ({ tags: [ownerTag, ...tags] });
const asked = (count: number) => tagOf('asked', String(extents(count)));

const rows: readonly (readonly [string, ObservedLv, boolean])[] = [
  ['a volume of ours', sampleLv(), true],
  ["somebody else's volume, whatever its tags", sampleLv({ tags: [copyingTag] }), true],
  ['a copy under way', sampleLv(ours(copyingTag)), false],
  ['a RAID in the making', sampleLv(ours(makingTag)), false],
  ['the helper of a copy', sampleCow(ours(tagOf('role', copySourceRole))), false],
  ['a snapshot', sampleCow(ours(tagOf('role', snapshotRole))), true],
  ['a thin snapshot', sampleThin(ours(tagOf('role', snapshotRole))), true],
  ['a CoW snapshot that was cut off', sampleLv(ours(tagOf('role', snapshotRole))), false],
  ['a clone that has its size', sampleThin(ours(asked(10))), true],
  ['a clone that was cut off before it grew', sampleThin(ours(asked(11))), false],
  ['a note that cannot be read', sampleThin(ours(tagOf('asked', 'x'))), true],
];

for (const [title, lv, expected] of rows) {
  test(`${title} is ${expected ? '' : 'not '}complete`, () =>
    assert.equal(isComplete(lv), expected));
}
