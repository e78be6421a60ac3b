import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBlocked, assertRest, follow, stepOf } from '../../../test/samples/decisions.ts';
import {
  extents,
  hostOf,
  sampleCow,
  sampleLv,
  samplePool,
  sampleThin,
  sampleVg,
  thickClass,
  thinClass,
  vgWithFree,
} from '../../../test/samples/observed.ts';
import { bytes, sum, times } from '../../base/bytes.ts';
import type { FailureCode } from '../../base/failures.ts';
import { limits } from '../../base/limits.ts';
import type { DeviceClass } from '../device-class.ts';
import type { ObservedHost, ObservedLv } from '../observed.ts';
import type { Step } from '../step.ts';
import {
  copyingTag,
  copySourceRole,
  ownerTag,
  pendingTag,
  rawTag,
  tagOf,
  unusedTag,
} from '../tags.ts';
import { isBlocked } from '../usable-vg.ts';
import { absentVolume } from '../volume/desired.ts';
import { planVolume } from '../volume/plan.ts';
import { type CloneRequest, type DesiredClone, desiredClone } from './desired.ts';
import { planClone } from './plan.ts';
import { cloneStatus } from './status.ts';

/** Two and a half slices: a copy that needs three steps. */
const slice = bytes(limits.copySliceBytes);
const size = times(slice, 5n) / 2n;
const sizeBytes = bytes(size);

function wanted(
  given: Partial<CloneRequest> = {},
  deviceClass: DeviceClass = thickClass(),
): DesiredClone {
  const request = { name: 'c1', source: 'v1', className: '', sizeBytes, ...given };
  const desired = desiredClone(request, [{ ...deviceClass, isDefault: true }]);
  assert.ok(!isBlocked(desired));
  return desired;
}

const thinly = (given: Partial<CloneRequest> = {}, ratio = 100) =>
  wanted(given, thinClass({ overprovisionRatio: ratio }));

const ours = [ownerTag, tagOf('class', 'thick'), tagOf('source', 'v1')];
const source = sampleLv({ sizeBytes, ownSizeBytes: sizeBytes });
const copied = (count: bigint) => tagOf('copied', String(count));
const half = (...more: readonly string[]) =>
  sampleLv({ name: 'c1', sizeBytes, tags: [...ours, copyingTag, ...more] });
const helperTags = [ownerTag, tagOf('role', copySourceRole), tagOf('source', 'v1')];
const helper = (given: Partial<ObservedLv> = {}) =>
  sampleCow({ name: 'c1.copy', origin: 'v1', sizeBytes, tags: helperTags, ...given });
const thick = (...lvs: readonly ObservedLv[]) => hostOf(vgWithFree([1000], { lvs }));
const thinHost = (...lvs: readonly ObservedLv[]) =>
  hostOf(sampleVg({ lvs: [samplePool(), ...lvs] }));
const plan = (desired: DesiredClone, host: ObservedHost) => planClone(desired, host);
const kinds = (steps: readonly Step[]) => steps.map((step) => step.kind);

test('a thin clone is there at once: one writable snapshot', () => {
  const v1 = sampleThin();
  const desired = thinly({ sizeBytes: extents(10) });
  const { steps, end } = follow(thinHost(v1), (host) => plan(desired, host));
  assert.deepEqual(kinds(steps), ['create-thin-snapshot']);
  const [step] = steps;
  assert.ok(step?.kind === 'create-thin-snapshot');
  assert.equal(step.isReadOnly, false);
  assert.equal(step.originUuid, 'uuid-v1');
  assertRest(end);
});

test('a larger thin clone grows after it was made', () => {
  const desired = thinly({ sizeBytes: extents(25) });
  const { steps, end } = follow(thinHost(sampleThin()), (host) => plan(desired, host));
  assert.deepEqual(kinds(steps), ['create-thin-snapshot', 'extend-lv']);
  assertRest(end);
});

test('what a thick clone is larger than its source is overwritten before it is complete', () => {
  const larger = wanted({ sizeBytes: sum(size, extents(7)) });
  const { steps, end, host } = follow(thick(source), (view) => plan(larger, view));
  assert.deepEqual(kinds(steps), [
    ...['create-lv', 'create-cow-snapshot', 'copy-range', 'copy-range', 'copy-range'],
    ...['zero-range', 'remove-lv'],
  ]);
  assertRest(end);
  const zero = steps.find((step) => step.kind === 'zero-range');
  assert.deepEqual([zero?.offsetBytes, zero?.lengthBytes], [size, extents(7)]);
  assert.equal(zero?.isShown, undefined);
  const clone = host.vgs[0]?.lvs.find(({ name }) => name === 'c1');
  assert.deepEqual(clone?.tags, ours);
});

test('the end of a clone is overwritten in slices, and goes on where it was cut off', () => {
  const whole = sum(size, limits.zeroSliceBytes, extents(1));
  const larger = wanted({ sizeBytes: whole });
  const at = (...more: readonly string[]) =>
    plan(larger, thick(source, { ...half(...more), sizeBytes: whole }, helper()));
  const first = stepOf(at(copied(size)), 'zero-range');
  assert.equal(first.lengthBytes, limits.zeroSliceBytes);
  assert.deepEqual(first.add, [copied(size + limits.zeroSliceBytes)]);
  assert.deepEqual(first.remove, [copied(size)]);
  const last = stepOf(at(copied(size + limits.zeroSliceBytes)), 'zero-range');
  assert.equal(last.lengthBytes, extents(1));
  assert.deepEqual(last.add, []);
  assert.ok(last.remove.includes(copyingTag));
});

test('a raw volume whose new end is not overwritten yet is not cloned', () => {
  const tags = [ownerTag, rawTag, tagOf('grownFrom', '4096')];
  assertBlocked(plan(wanted(), thick({ ...source, tags })), 'GrowthUnfinished', /--deltag/);
});

test('a thin clone is made of a thin snapshot too', () => {
  const s1 = sampleThin({ name: 's1', isReadOnly: true });
  const desired = thinly({ source: 's1', sizeBytes: extents(10) });
  const step = stepOf(plan(desired, thinHost(s1)), 'create-thin-snapshot');
  assert.equal(step.originUuid, 'uuid-s1');
});

test('a thick clone is copied in slices from a snapshot, and the snapshot goes', () => {
  const { steps, end, host } = follow(thick(source), (view) => plan(wanted(), view));
  assert.deepEqual(kinds(steps), [
    'create-lv',
    'create-cow-snapshot',
    'copy-range',
    'copy-range',
    'copy-range',
    'change-tags',
    'remove-lv',
  ]);
  assertRest(end);
  const ranges = steps.filter((step) => step.kind === 'copy-range');
  assert.deepEqual(
    ranges.map(({ offsetBytes, lengthBytes }) => [offsetBytes, lengthBytes]),
    [
      [0n, slice],
      [slice, slice],
      [2n * slice, slice / 2n],
    ],
  );
  assert.ok(ranges.every((step) => step.from === 'c1.copy' && step.lv === 'c1'));
  const lvs = host.vgs[0]?.lvs ?? [];
  assert.deepEqual(
    lvs.map((lv) => [lv.name, lv.tags]),
    [
      ['v1', [ownerTag]],
      ['c1', ours],
    ],
  );
});

test('a clone is unfinished from the very command that makes it, and never to be formatted', () => {
  const step = stepOf(plan(wanted(), thick(source)), 'create-lv');
  assert.deepEqual(step.tags, [...ours, copyingTag]);
});

test('a source that came into use before it was frozen makes a copy that holds data', () => {
  const done = half(copied(size), pendingTag);
  const used = stepOf(plan(wanted(), thick(source, done, helper())), 'change-tags');
  assert.deepEqual(used.remove, [copyingTag, copied(size), pendingTag]);
  const noted = half(copied(size), pendingTag, tagOf('madeFor', 'uuid-v1'));
  const both = stepOf(plan(wanted(), thick(source, noted, helper())), 'change-tags');
  assert.deepEqual(both.remove, [
    copyingTag,
    copied(size),
    pendingTag,
    tagOf('madeFor', 'uuid-v1'),
  ]);
  const unused = helper({ tags: [...helperTags, unusedTag] });
  const kept = stepOf(plan(wanted(), thick(source, done, unused)), 'change-tags');
  assert.deepEqual(kept.remove, [copyingTag, copied(size)]);
});

test('a clone of a CoW snapshot is copied from it directly, and the snapshot stays', () => {
  const s1 = sampleCow({ sizeBytes });
  const { steps, end } = follow(thick(source, s1), (host) => plan(wanted({ source: 's1' }), host));
  assert.deepEqual(kinds(steps), [
    'create-lv',
    'copy-range',
    'copy-range',
    'copy-range',
    'change-tags',
  ]);
  assertRest(end);
});

test('a larger thick clone holds its source and is not copied beyond it', () => {
  const desired = wanted({ sizeBytes: times(slice, 3) });
  const { steps, end } = follow(thick(source), (host) => plan(desired, host));
  const ranges = steps.filter((step) => step.kind === 'copy-range');
  const total = ranges.reduce((sum, step) => sum + step.lengthBytes, 0n);
  assert.equal(total, size);
  assertRest(end);
});

type Progress = readonly [title: string, lvs: readonly ObservedLv[], check: (step: Step) => void];

const progress: readonly Progress[] = [
  [
    'goes on where it was cut off',
    [source, half(copied(slice)), helper()],
    (step) => {
      assert.ok(step.kind === 'copy-range');
      assert.equal(step.offsetBytes, slice);
      assert.deepEqual(step.add, [copied(2n * slice)]);
      assert.deepEqual(step.remove, [copied(slice)]);
    },
  ],
  [
    'starts again when its snapshot is gone: what was copied may be older than the rest',
    [source, half(copied(slice))],
    (step) => {
      assert.ok(step.kind === 'change-tags');
      assert.deepEqual([step.add, step.remove], [[], [copied(slice)]]);
    },
  ],
  [
    'removes its snapshot when that overflowed',
    [source, half(copied(slice)), helper({ isInvalid: true })],
    (step) => assert.ok(step.kind === 'remove-lv' && step.lv === 'c1.copy'),
  ],
  [
    'starts again when the note of how far it came cannot be read',
    [source, half('quarry.copied=much'), helper()],
    (step) => {
      assert.ok(step.kind === 'copy-range');
      assert.equal(step.offsetBytes, 0n);
      assert.deepEqual(step.remove, ['quarry.copied=much']);
    },
  ],
  [
    'gives its snapshot more room before that overflows',
    [source, half(copied(slice)), helper({ dataPercent: 75 })],
    (step) => assert.ok(step.kind === 'extend-lv' && step.lvUuid === 'uuid-c1.copy'),
  ],
  [
    'does not read the snapshot that an earlier copy of another source left behind',
    [source, half(), helper({ origin: 'v9' })],
    (step) => assert.ok(step.kind === 'remove-lv' && step.lvUuid === 'uuid-c1.copy'),
  ],
  [
    'activates the clone before it is written',
    [source, { ...half(), isActive: false }, helper()],
    (step) => assert.ok(step.kind === 'activate-lv' && step.lvUuid === 'uuid-c1'),
  ],
  [
    'activates its snapshot before it is read',
    [source, half(), helper({ isActive: false })],
    (step) => assert.ok(step.kind === 'activate-lv' && step.lvUuid === 'uuid-c1.copy'),
  ],
  [
    'takes the mark away when all is copied',
    [source, half(copied(size)), helper()],
    (step) => {
      assert.ok(step.kind === 'change-tags');
      assert.deepEqual([step.add, step.remove], [[], [copyingTag, copied(size)]]);
    },
  ],
  [
    'removes its snapshot once it is complete',
    [source, { ...half(), tags: ours }, helper()],
    (step) => assert.ok(step.kind === 'remove-lv' && step.lvUuid === 'uuid-c1.copy'),
  ],
];

for (const [title, lvs, check] of progress) {
  test(`a copy ${title}`, () => {
    const decision = plan(wanted(), thick(...lvs));
    assert.ok(decision.kind === 'step', decision.kind);
    check(decision.step);
    const { end } = follow(thick(...lvs), (host) => plan(wanted(), host));
    assertRest(end);
  });
}

test('a copy that starts again copies every byte from a new snapshot', () => {
  for (const lvs of [
    [source, half(copied(slice))],
    [source, half(copied(slice)), helper({ isInvalid: true })],
  ]) {
    const { steps } = follow(thick(...lvs), (host) => plan(wanted(), host));
    const made = steps.findIndex((step) => step.kind === 'create-cow-snapshot');
    const ranges = steps.filter((step) => step.kind === 'copy-range');
    assert.ok(made >= 0 && steps.findIndex((step) => step.kind === 'copy-range') > made);
    assert.equal(
      ranges.reduce((sum, step) => sum + step.lengthBytes, 0n),
      size,
    );
  }
});

type Row = readonly [string, DesiredClone, ObservedHost, FailureCode, RegExp];

const pool2 = samplePool({ name: 'pool2' });
const small = extents(10);

const refusals: readonly Row[] = [
  ['needs its source', wanted(), thick(), 'SourceNotFound', /vg1\/v1/],
  [
    'is not made of a volume that took the source’s name',
    wanted({ sourceUuid: 'u-old' }),
    thick(source),
    'SourceNotFound',
    /u-old/,
  ],
  [
    'is not smaller than its source',
    wanted({ sizeBytes: slice }),
    thick(source),
    'SourceLarger',
    /c1 of .* is smaller than its source v1 of/,
  ],
  [
    'is not made of an unfinished copy',
    wanted(),
    thick({ ...source, tags: [ownerTag, copyingTag] }),
    'CopyUnfinished',
    /v1/,
  ],
  [
    'is not made of an overflowed snapshot',
    wanted({ source: 's1' }),
    thick(source, sampleCow({ sizeBytes, isInvalid: true })),
    'SnapshotOverflowed',
    /s1/,
  ],
  [
    'does not go on from a source snapshot that overflowed, and never removes it',
    wanted({ source: 's1' }),
    thick(
      source,
      sampleCow({ sizeBytes, isInvalid: true }),
      sampleLv({ name: 'c1', sizeBytes, tags: [tagOf('source', 's1'), copyingTag, copied(slice)] }),
    ),
    'SnapshotOverflowed',
    /s1/,
  ],
  [
    'is not made of a pool',
    wanted({ source: 'pool0' }),
    hostOf(vgWithFree([1000], { lvs: [samplePool()] })),
    'SnapshotsUnsupported',
    /pool0 is a thin-pool/,
  ],
  [
    'stays in the pool of its source',
    thinly({ sizeBytes: small }),
    thinHost(pool2, sampleThin({ pool: 'pool2' })),
    'SourceElsewhere',
    /v1 is in pool2/,
  ],
  [
    'stays out of pools when its source is in none',
    thinly({ sizeBytes: small }),
    thinHost(sampleLv()),
    'SourceElsewhere',
    /v1 is in no thin pool/,
  ],
  [
    'needs room for all of it before it begins',
    wanted(),
    hostOf(vgWithFree([100], { lvs: [source] })),
    'InsufficientCapacity',
    /vg1/,
  ],
  [
    'needs room for the snapshot it is read from before it begins',
    wanted(),
    hostOf(vgWithFree([Number(sizeBytes / extents(1)) + 1], { lvs: [source] })),
    'InsufficientCapacity',
    /more for the snapshot it is read from; vg1 has/,
  ],
  [
    'needs a promise for all of it before it begins',
    thinly({ sizeBytes: extents(95) }, 1),
    thinHost(sampleThin()),
    'InsufficientCapacity',
    /pool0/,
  ],
  [
    'is not what somebody else made under its name',
    wanted(),
    thick(source, sampleLv({ name: 'c1', sizeBytes, tags: [] })),
    'VolumeDiffers',
    /c1 exists and is no clone of v1/,
  ],
  [
    'is not a clone of another source',
    wanted(),
    thick(source, sampleLv({ name: 'c1', sizeBytes, tags: [ownerTag, tagOf('source', 'v2')] })),
    'VolumeDiffers',
    /no clone of v1/,
  ],
  [
    'that was ready and is gone is not made anew',
    wanted({ uuid: 'u1' }),
    thick(source),
    'VolumeLost',
    /c1 was u1/,
  ],
  ['needs its group', wanted(), hostOf(), 'VolumeGroupMissing', /vg1/],
  [
    'in a pool that was ready and is gone is not made anew either',
    thinly({ uuid: 'u1', sizeBytes: small }),
    thinHost(sampleThin()),
    'VolumeLost',
    /c1 was u1/,
  ],
  [
    'is not complete because a user’s snapshot has the name its copy needs',
    wanted(),
    thick(source, half(), sampleCow({ name: 'c1.copy', sizeBytes, tags: ours })),
    'VolumeDiffers',
    /c1\.copy/,
  ],
];

for (const [title, desired, host, code, names] of refusals) {
  test(`a clone ${title}`, () => assertBlocked(plan(desired, host), code, names));
}

test('a clone asked for with the size of its source is no smaller after rounding', () => {
  for (const asked of [1_000_000_000n, 1n, 4_194_305n]) {
    const request = { sizeBytes: bytes(asked) };
    const made = stepOf(plan(wanted(request), thick(source0(asked))), 'create-lv');
    assert.equal(made.sizeBytes, source0(asked).sizeBytes);
    const v1 = sampleThin({ sizeBytes: source0(asked).sizeBytes });
    const { end } = follow(thinHost(v1), (host) => plan(thinly(request), host));
    assertRest(end);
  }
});

/** A volume made for that size: rounded up to whole extents. */
function source0(asked: bigint): ObservedLv {
  return sampleLv({ sizeBytes: extents((asked + 4_194_303n) / 4_194_304n) });
}

test('a clone never rests while it is being copied', () => {
  const worlds = [
    [source, half()],
    [source, half(copied(slice)), helper()],
    [source, half(copied(size)), helper()],
    [source, half(), helper({ dataPercent: 99 })],
    [half(copied(slice))],
  ];
  for (const lvs of worlds) {
    assert.notEqual(plan(wanted(), thick(...lvs)).kind, 'rest');
    assert.notEqual(cloneStatus(wanted(), thick(...lvs)).state, 'Ready');
  }
});

test('a clone that is deleted half-way takes its snapshot along', () => {
  const gone = absentVolume('vg1', 'c1');
  const { steps, end } = follow(thick(source, half(copied(slice)), helper()), (host) =>
    planVolume(gone, host),
  );
  assert.deepEqual(
    steps.map((step) => (step.kind === 'remove-lv' ? step.lv : step.kind)),
    ['c1.copy', 'c1'],
  );
  assertRest(end);
});

test('a status tells how far a copy came, and nothing once it is complete', () => {
  const copying = cloneStatus(wanted(), thick(source, half(copied(slice)), helper()));
  assert.deepEqual([copying.state, copying.copiedBytes], ['Progressing', slice]);
  const unread = cloneStatus(wanted(), thick(source, half('quarry.copied=much'), helper()));
  assert.equal(unread.copiedBytes, 0n);
  const done = cloneStatus(wanted(), thick(source, { ...half(), tags: ours }));
  assert.deepEqual([done.state, done.copiedBytes], ['Ready', undefined]);
});

test('a clone that makes no sense is refused like a volume that makes none', () => {
  const request = { name: 'c1', source: 'v1', className: 'fast', sizeBytes };
  assertBlocked(desiredClone(request, [thickClass()]), 'UnknownDeviceClass', /fast/);
});

test('a name that leaves no room for the name of its copy is refused at once', () => {
  const name = 'c'.repeat(limits.dmNameLengthMax - 'vg1-'.length - 2);
  const request = { name, source: 'v1', className: '', sizeBytes };
  assertBlocked(desiredClone(request, [thickClass()]), 'InvalidName', /\.copy/);
  assert.ok(!isBlocked(desiredClone(request, [thinClass()])));
});
