import assert from 'node:assert/strict';
import test from 'node:test';
import { sampleThin } from '../../test/samples/observed.ts';
import { limits } from '../base/limits.ts';
import { ownerTag, pendingTag, readTag, tagOf, unusedTag } from './tags.ts';
import { formattedFor, isUnused, madeForTags } from './unused.ts';

const pending = [ownerTag, pendingTag];
const rows: readonly (readonly [title: string, tags: readonly string[], isUnused: boolean])[] = [
  ['new', pending, true],
  ['a snapshot of what was new', [ownerTag, unusedTag], true],
  ['in use', [ownerTag], false],
  ["somebody else's", [pendingTag], false],
];

for (const [title, tags, expected] of rows) {
  test(`nobody has used a volume that is ${title}: ${expected}`, () => {
    assert.equal(isUnused(sampleThin({ tags })), expected);
  });
}

test('a copy of a copy tells of all for whom a file system may have been made on it', () => {
  const first = sampleThin({ uuid: 'first', tags: pending });
  const snapshot = sampleThin({ uuid: 'kept', tags: [ownerTag, unusedTag, ...madeForTags(first)] });
  // Nothing is ever made on a snapshot.
  assert.deepEqual(formattedFor(snapshot), ['first']);
  const second = sampleThin({ uuid: 'second', tags: [...pending, ...madeForTags(snapshot)] });
  assert.deepEqual(formattedFor(second), ['second', 'first']);
  assert.deepEqual(madeForTags(second), [tagOf('madeFor', 'second/first')]);
});

test('a long line of copies tells of the nearest', () => {
  let lv = sampleThin({ uuid: 'u0', tags: pending });
  for (let count = 1; count < 2 * limits.madeForMax; count += 1) {
    lv = sampleThin({ uuid: `u${count}`, tags: [...pending, ...madeForTags(lv)] });
  }
  const noted = readTag(madeForTags(lv), 'madeFor')?.split('/');
  assert.equal(noted?.length, limits.madeForMax);
  assert.equal(noted?.[0], lv.uuid);
});

test('an unused snapshot of an earlier version gives its copies no empty note', () => {
  assert.deepEqual(madeForTags(sampleThin({ tags: [ownerTag, unusedTag] })), []);
});
