import assert from 'node:assert/strict';
import test from 'node:test';
import {
  sampleCow,
  sampleLv,
  samplePool,
  sampleThin,
  sampleVg,
} from '../../../test/samples/observed.ts';
import { limits } from '../../base/limits.ts';
import type { ObservedLv } from '../observed.ts';
import { copyingTag } from '../tags.ts';
import { volumeCondition } from './condition.ts';

const conditionOf = (lv: ObservedLv, pool: Partial<ObservedLv> = {}) =>
  volumeCondition(lv, sampleVg({ lvs: [samplePool(pool), lv] }));

test('a volume with nothing amiss is healthy', () => {
  for (const lv of [
    sampleLv(),
    sampleThin(),
    sampleCow(),
    sampleLv({ kind: 'raid1', syncPercent: 100 }),
  ]) {
    assert.deepEqual(conditionOf(lv), { isAbnormal: false, message: 'the volume is healthy' });
  }
});

const raid = (given: Partial<ObservedLv>) => sampleLv({ kind: 'raid1', ...given });
const full = limits.thinPoolFullPercent;

const amiss: readonly (readonly [lv: ObservedLv, pool: Partial<ObservedLv>, text: RegExp])[] = [
  [sampleLv({ health: 'partial' }), {}, /vg1\/v1: a device it lies on is missing/],
  [raid({ health: 'refresh needed' }), {}, /lvchange --refresh/],
  [raid({ health: 'mismatches exist' }), {}, /copies of its RAID differ/],
  [raid({ health: 'writemostly' }), {}, /hardly read/],
  [raid({ health: 'something new' }), {}, /LVM says "something new"/],
  [raid({ syncPercent: 40 }), {}, /40 % only/],
  [sampleLv({ isActive: false }), {}, /inactive/],
  [sampleLv({ isSuspended: true }), {}, /suspended/],
  [sampleLv({ isInvalid: true }), {}, /checked/],
  [sampleLv({ tags: [copyingTag] }), {}, /copied/],
  [sampleCow({ isInvalid: true }), {}, /overflowed/],
  [sampleCow({ dataPercent: 90 }), {}, /full to 90 %/],
  [sampleThin(), { health: 'out_of_data' }, /pool0: LVM says "out_of_data"/],
  [sampleThin(), { isInvalid: true }, /pool0 must be checked/],
  [sampleThin(), { dataPercent: full }, new RegExp(`pool0: data ${full} % full`)],
  [sampleThin(), { metadataPercent: full }, new RegExp(`pool0: metadata ${full} % full`)],
];

for (const [lv, pool, text] of amiss) {
  test(`tells that something is amiss: ${text.source}`, () => {
    const { isAbnormal, message } = conditionOf(lv, pool);
    assert.equal(isAbnormal, true);
    assert.match(message, text);
  });
}

test('everything that is amiss is told at once, and a pool only to its own volumes', () => {
  const { message } = conditionOf(sampleLv({ isSuspended: true, health: 'partial' }));
  assert.match(message, /missing; .*suspended/);
  assert.equal(conditionOf(sampleLv(), { health: 'failed' }).isAbnormal, false);
});
