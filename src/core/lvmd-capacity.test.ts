import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBlocked } from '../../test/samples/decisions.ts';
import {
  extents,
  hostOf,
  samplePool,
  sampleThin,
  sampleVg,
  thickClass,
  thinClass,
  vgWithFree,
} from '../../test/samples/observed.ts';
import type { DeviceClass } from './device-class.ts';
import { lvmdCapacities, lvmdFreeBytes } from './lvmd-capacity.ts';
import type { ObservedVg } from './observed.ts';

const spare = { spareBytes: extents(30) };
const raid1 = { layout: { kind: 'raid1', mirrors: 1 } } as const;

/** A pool of 100 extents that promised 40; 1000 extents are free beside it. */
const pooled = sampleVg({
  lvs: [samplePool({ dataPercent: 12.5 }), sampleThin({ sizeBytes: extents(40) })],
});
const half = { overprovisionRatio: 1.5, ...spare };

type Row = readonly [string, DeviceClass, ObservedVg, answered: number, told: number];

const rows: readonly Row[] = [
  ['a thick class: what is free', thickClass(), vgWithFree([100]), 100, 100],
  ['a thick class: the spare is left out', thickClass(spare), vgWithFree([100]), 70, 70],
  ['a thick class: no debt', thickClass(spare), vgWithFree([20]), 0, 0],
  ['a mirror: half of it', thickClass(raid1), vgWithFree([100, 100]), 100, 100],
  ['options that cost: less', thickClass({ overheadFactor: 2 }), vgWithFree([100]), 50, 50],
  ['a thin class that takes nothing new: nothing', thinClass({ refusal: 'x' }), pooled, 0, 1000],
  ['a class that takes nothing new: nothing', thickClass({ refusal: 'x' }), vgWithFree([9]), 0, 0],
  [
    'a group with a missing device: nothing',
    thickClass(),
    vgWithFree([9], { isPartial: true }),
    0,
    0,
  ],
  [
    'a thin class: what may be promised',
    thinClass({ ...half, ...{ spareBytes: extents(0) } }),
    pooled,
    110,
    1000,
  ],
  ['a thin class: the spare counts only when asked', thinClass(half), pooled, 80, 1000],
  [
    'a full pool: TopoLVM does not look',
    thinClass({ overprovisionRatio: 1 }),
    sampleVg({ lvs: [samplePool({ dataPercent: 99 })] }),
    100,
    1000,
  ],
];

for (const [title, deviceClass, vg, answered, told] of rows) {
  test(`free room of ${title}`, () => {
    assert.equal(lvmdFreeBytes(deviceClass, hostOf(vg)), extents(answered));
    const [capacity] = lvmdCapacities([deviceClass], hostOf(vg));
    assert.equal(capacity?.vgFreeBytes, extents(told));
    assert.equal(capacity?.vgSizeBytes, vg.sizeBytes);
  });
}

test('of a pool its fill and what it may promise are told', () => {
  const [capacity] = lvmdCapacities([thinClass(half)], hostOf(pooled));
  assert.deepEqual(capacity?.thinPool, {
    sizeBytes: extents(100),
    dataPercent: 12.5,
    metadataPercent: 1,
    overprovisionBytes: extents(110),
  });
});

test('where the group or the pool is gone nothing is offered, and who asks is told', () => {
  const classes = [thickClass(), thinClass()];
  const gone = lvmdCapacities(classes, hostOf());
  assert.deepEqual(
    gone.map((one) => [one.vgSizeBytes, one.vgFreeBytes, one.thinPool?.overprovisionBytes]),
    [
      [0n, 0n, undefined],
      [0n, 0n, 0n],
    ],
  );
  const [, poolless] = lvmdCapacities(classes, hostOf(sampleVg()));
  assert.equal(poolless?.thinPool?.overprovisionBytes, 0n);
  for (const deviceClass of classes) {
    assertBlocked(orFail(lvmdFreeBytes(deviceClass, hostOf())), 'VolumeGroupMissing', /vg1/);
  }
  const poolGone = lvmdFreeBytes(thinClass(), hostOf(sampleVg()));
  assertBlocked(orFail(poolGone), 'ThinPoolMissing', /pool0/);
});

function orFail<T>(value: bigint | T): T {
  if (typeof value === 'bigint') return assert.fail(`${value} bytes`);
  return value;
}
