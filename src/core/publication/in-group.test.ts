import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBlocked, assertRest, follow, stepOf } from '../../../test/samples/decisions.ts';
import { hostOf, sampleVg } from '../../../test/samples/observed.ts';
import { holds, none, published, volumeLv } from '../../../test/samples/publications.ts';
import { GiB, times } from '../../base/bytes.ts';
import { limits } from '../../base/limits.ts';
import type { ObservedLv, ObservedVg } from '../observed.ts';
import { ownerTag, pendingTag, rawTag, tagOf } from '../tags.ts';
import { planInGroup } from './in-group.ts';
import type { GroupWant } from './step.ts';

const hostWith = (lv: Partial<ObservedLv>) => hostOf(sampleVg({ lvs: [volumeLv(lv)] }));
const wants = {
  activate: { want: 'activate' },
  'clear-marks': { want: 'clear-marks' },
  zero: { want: 'zero', probes: [none, none] },
} as const satisfies Record<GroupWant['want'], GroupWant>;
const plan = (want: GroupWant['want'], lv: Partial<ObservedLv>) =>
  planInGroup(wants[want], published, hostWith(lv));
const marked = [ownerTag, pendingTag];
const large = times(GiB, 160);

test('the mark goes with whatever zeroing noted', () => {
  const note = tagOf('zeroed', '4096');
  const step = stepOf(plan('clear-marks', { tags: [...marked, note] }), 'change-tags');
  assert.deepEqual([step.add, step.remove], [[], [pendingTag, note]]);
  assertRest(plan('clear-marks', { tags: [ownerTag] }));
});

test('and with the note of whom a file system on a copy was made for', () => {
  const note = tagOf('madeFor', 'uuid-v1');
  const step = stepOf(plan('clear-marks', { tags: [...marked, note] }), 'change-tags');
  assert.deepEqual(step.remove, [pendingTag, note]);
});

test('an inactive volume is activated', () => {
  stepOf(plan('activate', { isActive: false }), 'activate-lv');
  assertRest(plan('activate', {}));
});

test('a new volume is zeroed in slices, and the last one takes the mark away', () => {
  const host = hostWith({ tags: marked, sizeBytes: large });
  const {
    steps,
    end,
    host: left,
  } = follow(host, (view) => planInGroup(wants.zero, published, view));
  const slice = limits.zeroSliceBytes;
  assert.deepEqual(
    steps.map((step) => step.kind === 'zero-range' && [step.offsetBytes, step.lengthBytes]),
    [
      [0n, slice],
      [slice, slice],
      [2n * slice, 32n * GiB],
    ],
  );
  assertRest(end);
  assert.deepEqual(left.vgs[0]?.lvs[0]?.tags, [ownerTag, rawTag]);
});

test('before a file system is made all is zeroed, and the mark stays beside the note', () => {
  const want = { ...wants.zero, isForFormat: true } as const;
  const host = hostWith({ tags: marked, sizeBytes: large });
  const { steps, end, host: left } = follow(host, (view) => planInGroup(want, published, view));
  assert.equal(steps.length, 3);
  assertRest(end);
  const note = tagOf('zeroed', String(large));
  assert.deepEqual(left.vgs[0]?.lvs[0]?.tags, [...marked, note]);
  const grown = hostWith({ tags: [...marked, note], sizeBytes: times(large, 2) });
  const more = stepOf(planInGroup(want, published, grown), 'zero-range');
  assert.equal(more.offsetBytes, large);
});

test('that a thick volume is shown raw is noted with the mark that goes', () => {
  const want = { want: 'clear-marks', isRaw: true } as const;
  const ask = (lv: Partial<ObservedLv>, vg: Partial<ObservedVg> = {}) =>
    planInGroup(want, published, hostOf(sampleVg({ lvs: [volumeLv(lv)], ...vg })));
  const first = stepOf(ask({ tags: marked }), 'change-tags');
  assert.deepEqual([first.add, first.remove], [[rawTag], [pendingTag]]);
  const copy = stepOf(ask({ tags: [ownerTag] }), 'change-tags');
  assert.deepEqual([copy.add, copy.remove], [[rawTag], []]);
  assertRest(ask({ tags: [ownerTag, rawTag] }));
  assertRest(ask({ tags: [ownerTag], kind: 'thin', pool: 'pool0' }));
  assertRest(ask({ tags: [] }));
  // Nothing can be noted while a device is missing, and a mirror is for that day.
  assertRest(ask({ tags: [ownerTag], kind: 'raid1', stripes: 2 }, { isPartial: true }));
});

test('zeroing goes on where it was cut off', () => {
  const note = tagOf('zeroed', String(limits.zeroSliceBytes));
  const step = stepOf(plan('zero', { tags: [...marked, note], sizeBytes: large }), 'zero-range');
  assert.equal(step.offsetBytes, limits.zeroSliceBytes);
  assert.deepEqual(step.remove, [note]);
  assert.deepEqual(step.add, [tagOf('zeroed', String(2n * limits.zeroSliceBytes))]);
});

for (const note of ['much', String(large), '-1']) {
  test(`zeroing begins again when its note says ${note}`, () => {
    const tags = [...marked, tagOf('zeroed', note)];
    assert.equal(stepOf(plan('zero', { tags, sizeBytes: large }), 'zero-range').offsetBytes, 0n);
  });
}

test('a volume without the mark is never zeroed', () => {
  assertRest(plan('zero', { tags: [ownerTag] }));
  assertBlocked(plan('zero', { tags: [pendingTag] }), 'VolumeHoldsData', /of ours/);
});

test('what a probe found is never zeroed, however far zeroing came', () => {
  const tags = [...marked, tagOf('zeroed', String(limits.zeroSliceBytes))];
  for (const held of [[...marked], tags]) {
    const host = hostWith({ tags: held, sizeBytes: large });
    const decision = planInGroup({ want: 'zero', probes: [none, holds('swap')] }, published, host);
    assertBlocked(decision, 'VolumeHoldsData', /swap/);
  }
});

test('another volume of the name is left alone', () => {
  for (const want of ['activate', 'zero', 'clear-marks'] as const) {
    assertBlocked(plan(want, { uuid: 'U2', tags: marked }), 'VolumeNotFound', /U2/);
  }
});
