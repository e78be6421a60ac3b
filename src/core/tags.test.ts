import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  checkCallerTags,
  copyingTag,
  isOurs,
  ownerTag,
  pendingTag,
  readTag,
  type TagKey,
  tagOf,
} from './tags.ts';

/** What lvm2 accepts in a tag; a tag must not start with a hyphen. */
const lvmTag = /^[A-Za-z0-9_+.][A-Za-z0-9_+.\-/=!:&#]*$/;

const key = fc.constantFrom<TagKey>('class', 'source', 'copied', 'name', 'role');
/** Also what is no proper text: halves of surrogate pairs. */
const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 12 });
const anything = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  units.map((codes) => String.fromCharCode(...codes)),
);

test('any text comes back from a tag as it was', () => {
  fc.assert(
    fc.property(key, anything, (name, value) => {
      assert.equal(readTag([ownerTag, tagOf(name, value)], name), value);
    }),
    { numRuns: 500 },
  );
});

test('a tag has only characters that LVM allows', () => {
  fc.assert(
    fc.property(key, anything, (name, value) => assert.match(tagOf(name, value), lvmTag)),
    { numRuns: 500 },
  );
});

test('two texts never share a tag', () => {
  fc.assert(
    fc.property(anything, anything, (one, two) => {
      assert.equal(tagOf('name', one) === tagOf('name', two), one === two);
    }),
  );
});

const spelled: readonly (readonly [value: string, tag: string])[] = [
  ['', 'quarry.name='],
  ['pvc-1', 'quarry.name=pvc-1'],
  ['a b', 'quarry.name=a!20.b'],
  ['a,b', 'quarry.name=a!2c.b'],
  ['50%!', 'quarry.name=50!25.!21.'],
  ['!20.', 'quarry.name=!21.20.'],
  ['Größe', 'quarry.name=Gr!f6.!df.e'],
  ['💾', 'quarry.name=!1f4be.'],
  ['\uD800', 'quarry.name=!d800.'],
];

for (const [value, tag] of spelled) {
  test(`${JSON.stringify(value)} is written as ${tag}`, () => {
    assert.equal(tagOf('name', value), tag);
    assert.equal(readTag([tag], 'name'), value);
  });
}

test('a tag is found by its key alone, and what is not there is not made up', () => {
  const tags = ['quarry.classic=x', 'class=a', tagOf('class', 'fast'), tagOf('name', 'n')];
  assert.equal(readTag(tags, 'class'), 'fast');
  assert.equal(readTag(tags, 'source'), undefined);
  assert.equal(readTag([], 'name'), undefined);
});

test('only the owner tag makes a volume ours', () => {
  assert.equal(isOurs([ownerTag]), true);
  for (const tags of [[], ['Quarry'], ['quarry2'], [pendingTag], [copyingTag], ['lvms']]) {
    assert.equal(isOurs(tags), false, tags.join());
  }
});

const callerTags: readonly (readonly [tag: string, isAllowed: boolean])[] = [
  ['a', true],
  ['env=prod/eu-1', true],
  ['quarryman', true],
  ['a'.repeat(1024), true],
  ['a'.repeat(1025), false],
  ['', false],
  ['-a', false],
  ['a b', false],
  ['ä', false],
  ['a\n', false],
  ['quarry', false],
  ['quarry.pending', false],
];

for (const [tag, isAllowed] of callerTags) {
  test(`a caller may ${isAllowed ? '' : 'not '}use the tag ${JSON.stringify(tag.slice(0, 20))}`, () => {
    assert.equal(checkCallerTags(['ok', tag]) === undefined, isAllowed);
  });
}
