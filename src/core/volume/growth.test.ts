import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBlocked, assertRest, follow, stepOf } from '../../../test/samples/decisions.ts';
import {
  extents,
  hostOf,
  sampleLv,
  samplePool,
  sampleThin,
  thickClass,
  thinClass,
  vgWithFree,
} from '../../../test/samples/observed.ts';
import { type Bytes, bytes, sum } from '../../base/bytes.ts';
import { limits } from '../../base/limits.ts';
import type { ObservedHost, ObservedLv } from '../observed.ts';
import { copyingTag, ownerTag, pendingTag, rawTag, tagOf } from '../tags.ts';
import { isBlocked } from '../usable-vg.ts';
import { desiredVolume, type PresentVolume } from './desired.ts';
import { planVolume } from './plan.ts';

const slice = bytes(limits.copySliceBytes);
const before = extents(10);
/** Two slices and a bit more than it had. */
const after = sum(before, slice, slice, extents(3));
const grownFrom = (size: bigint) => tagOf('grownFrom', String(size));
const raw = (sizeBytes: Bytes, ...more: readonly string[]) =>
  sampleLv({ sizeBytes, tags: [ownerTag, rawTag, ...more] });

/** As an expansion wants it: whoever asks for one was told of the volume. */
function wanted(sizeBytes: Bytes, given: Partial<PresentVolume> = {}): PresentVolume {
  const request = { name: 'v1', className: '', sizeBytes, uuid: sampleLv().uuid };
  const desired = desiredVolume(request, [{ ...thickClass(), isDefault: true }]);
  assert.ok(!isBlocked(desired));
  return { ...desired, ...given };
}

const hostWith = (...lvs: readonly ObservedLv[]) => hostOf(vgWithFree([900], { lvs }));
const plan = (sizeBytes: Bytes, lv: ObservedLv) => planVolume(wanted(sizeBytes), hostWith(lv));
const tagsIn = (host: ObservedHost) => host.vgs[0]?.lvs[0]?.tags;

test('what a raw volume grows by is noted first, and overwritten in slices', () => {
  const host = hostWith(raw(before));
  const grown = follow(host, (view) => planVolume(wanted(after), view));
  assert.deepEqual(
    grown.steps.map((step) => step.kind),
    ['change-tags', 'extend-lv', 'zero-range', 'zero-range', 'zero-range'],
  );
  const [mark, , ...zeroes] = grown.steps;
  assert.ok(mark?.kind === 'change-tags');
  assert.deepEqual([mark.add, mark.remove], [[grownFrom(before)], []]);
  assert.equal(mark.whileSizeBytes, before);
  const ranges = zeroes.map((step) => step.kind === 'zero-range' && step);
  assert.deepEqual(
    ranges.map((step) => step && [step.offsetBytes, step.lengthBytes, step.isShown]),
    [
      [before, slice, true],
      [sum(before, slice), slice, true],
      [sum(before, slice, slice), extents(3), true],
    ],
  );
  assertRest(grown.end);
  assert.deepEqual(tagsIn(grown.host), [ownerTag, rawTag]);
});

test('a volume that was never shown raw grows in one step', () => {
  for (const tags of [[ownerTag], [ownerTag, pendingTag]]) {
    const { steps, end } = follow(hostWith(sampleLv({ sizeBytes: before, tags })), (view) =>
      planVolume(wanted(after), view),
    );
    assert.deepEqual(
      steps.map((step) => step.kind),
      ['extend-lv'],
    );
    assertRest(end);
  }
});

test('a thin volume grows in one step: its pool zeroes what it gives out', () => {
  const lv = sampleThin({ tags: [ownerTag, rawTag] });
  const vg = vgWithFree([900], { lvs: [samplePool(), lv] });
  const desired = wanted(extents(20), { deviceClass: thinClass() });
  const { steps } = follow(hostOf(vg), (view) => planVolume(desired, view));
  assert.deepEqual(
    steps.map((step) => step.kind),
    ['extend-lv'],
  );
});

test('a repeated create overwrites nothing beside an expansion', () => {
  const host = hostWith(raw(after, grownFrom(before)));
  assertRest(planVolume(wanted(after, { uuid: undefined }), host));
});

test('overwriting goes on where it was cut off, though the volume is as large as wanted', () => {
  const note = grownFrom(sum(before, slice));
  const step = stepOf(plan(after, raw(after, note)), 'zero-range');
  assert.equal(step.offsetBytes, sum(before, slice));
  assert.deepEqual(step.remove, [note]);
  assert.deepEqual(step.add, [grownFrom(sum(before, slice, slice))]);
});

test('a volume that is to grow further has the end of before overwritten first', () => {
  const lv = raw(after, grownFrom(before));
  assert.equal(stepOf(plan(sum(after, slice), lv), 'zero-range').offsetBytes, before);
});

test('a note of growth that did not come about is used, or goes', () => {
  const lv = raw(before, grownFrom(before));
  assert.equal(stepOf(plan(after, lv), 'extend-lv').sizeBytes, after);
  const gone = stepOf(plan(before, lv), 'change-tags');
  assert.deepEqual([gone.add, gone.remove], [[], [grownFrom(before)]]);
});

test('nothing is noted where there is no room to grow', () => {
  assertBlocked(plan(extents(2000), raw(before)), 'InsufficientCapacityToExpand');
});

test('an inactive volume is woken before its end is overwritten', () => {
  const lv = { ...raw(after, grownFrom(before)), isActive: false };
  stepOf(plan(after, lv), 'activate-lv');
});

test('a note that cannot be read lets nothing be overwritten', () => {
  const lv = raw(after, 'quarry.grown-from=much');
  assertRest(plan(after, lv));
  const mark = stepOf(plan(sum(after, slice), lv), 'change-tags');
  assert.deepEqual([mark.add, mark.remove], [[grownFrom(after)], ['quarry.grown-from=much']]);
});

test('a note on what is nobody’s raw volume of ours lets nothing be overwritten', () => {
  const note = grownFrom(before);
  for (const tags of [
    [ownerTag, note],
    [rawTag, note],
    [ownerTag, rawTag, pendingTag, note],
  ]) {
    const desired = wanted(after, { isAdopted: true });
    const decision = planVolume(desired, hostWith(sampleLv({ sizeBytes: after, tags })));
    assertBlocked(decision, 'VolumeHoldsData', /no growth of it is noted/);
  }
  assertBlocked(plan(after, raw(after, note, copyingTag)), 'CopyUnfinished');
});
