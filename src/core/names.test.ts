import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { assertBlocked } from '../../test/samples/decisions.ts';
import { dmName } from '../api/lv-name.ts';
import { limits } from '../base/limits.ts';
import { checkLvName, copySourceName } from './names.ts';

const good = [
  'v1',
  'pvc-3f2504e0-4f89-11d3-9a0c-0305e82c3301',
  '_',
  '.hidden',
  '+x',
  'a.copy',
  'mysnapshot',
  'x-pvmove',
  'a'.repeat(limits.dmNameLengthMax - 'g-'.length),
];

for (const name of good) {
  test(`${name.slice(0, 40)} is a name LVM takes`, () =>
    assert.equal(checkLvName(name, 'g'), undefined));
}

const bad: readonly (readonly [name: string, why: RegExp])[] = [
  ['', /empty/],
  ['.', /dots/],
  ['..', /dots/],
  ['-a', /letters, digits/],
  ['a b', /letters, digits/],
  ['a/b', /letters, digits/],
  ['a\n', /letters, digits/],
  ['größe', /letters, digits/],
  ['snapshot', /itself/],
  ['snapshot-1', /itself/],
  ['pvmove0', /itself/],
  ['a_rimage_0', /itself/],
  ['pool_tdata', /itself/],
  ['pool_tmeta', /itself/],
  ['lvol0_pmspare', /itself/],
  ['x_mlog', /itself/],
  ['x_vorigin', /itself/],
  ['a'.repeat(limits.lvNameLengthMax + 1), /longer than 127/],
  ['a'.repeat(limits.lvNameLengthMax), /device name of more than 127/],
  [`a${'-'.repeat(64)}`, /device name/],
];

for (const [name, why] of bad) {
  test(`${JSON.stringify(name.slice(0, 40))} is refused`, () => {
    assertBlocked(checkLvName(name, 'g') ?? {}, 'InvalidName', why);
  });
}

test('a name must fit a device name together with its group, hyphens doubled', () => {
  const room = limits.dmNameLengthMax - 'my--vg-'.length;
  assert.equal(checkLvName('a'.repeat(room), 'my-vg'), undefined);
  assertBlocked(checkLvName('a'.repeat(room + 1), 'my-vg') ?? {}, 'InvalidName', /group my-vg/);
  assertBlocked(checkLvName('-a'.repeat(50).slice(1), 'my-vg') ?? {}, 'InvalidName', /my-vg/);
});

test('no two volumes share a device-mapper name', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '-', '.'), minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(name, name, name, name, (vg, lv, otherVg, otherLv) => {
      // LVM allows no name that starts with a hyphen.
      fc.pre([vg, lv, otherVg, otherLv].every((text) => !text.startsWith('-')));
      const isSame = vg === otherVg && lv === otherLv;
      assert.equal(dmName(vg, lv) === dmName(otherVg, otherLv), isSame);
    }),
    { numRuns: 1000 },
  );
});

test('hyphens are doubled in a device-mapper name', () => {
  assert.equal(dmName('my-vg', 'pvc-1'), 'my--vg-pvc--1');
});

test('the helper of a copy is named after its clone and is a name LVM takes', () => {
  assert.equal(copySourceName('c1'), 'c1.copy');
  assert.equal(checkLvName(copySourceName('c1'), 'g'), undefined);
});
