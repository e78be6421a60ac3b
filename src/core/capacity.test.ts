import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { stepOf } from '../../test/samples/decisions.ts';
import {
  extents,
  hostOf,
  sampleLv,
  samplePool,
  samplePv,
  sampleThin,
  sampleVg,
  thickClass,
  thinClass,
  vgWithFree,
} from '../../test/samples/observed.ts';
import { type Bytes, bytes, noBytes } from '../base/bytes.ts';
import { capacityOf, costExtents, mostExtents, parallelExtents } from './capacity.ts';
import type { DeviceClass } from './device-class.ts';
import { checkLayout, geometryOf, type Layout } from './layouts.ts';
import type { ObservedLv, ObservedVg } from './observed.ts';
import { predict } from './predict.ts';
import { isBlocked } from './usable-vg.ts';
import { desiredVolume } from './volume/desired.ts';
import { planVolume } from './volume/plan.ts';

type Row = readonly [
  title: string,
  given: Partial<DeviceClass>,
  free: readonly number[],
  available: number,
  largest: number,
];

const rows: readonly Row[] = [
  ['one device', {}, [100], 100, 100],
  ['several devices together', {}, [100, 50], 150, 150],
  ['all but the spare room', { spareBytes: extents(30) }, [100], 70, 70],
  ['all but a spare rounded up', { spareBytes: bytes(extents(30) + 1n) }, [100], 69, 69],
  ['nothing beyond the spare room', { spareBytes: extents(101) }, [100], 0, 0],
  ['two equal stripes', { layout: { kind: 'striped', stripes: 2 } }, [100, 100], 200, 200],
  ['what two stripes share', { layout: { kind: 'striped', stripes: 2 } }, [100, 40], 80, 80],
  ['no stripes on one device', { layout: { kind: 'striped', stripes: 2 } }, [100], 0, 0],
  [
    'nothing on one device that shall mirror',
    { layout: { kind: 'raid1', mirrors: 1 } },
    [100],
    0,
    0,
  ],
  ['nothing of a RAID that lacks one', { layout: { kind: 'raid5', stripes: 2 } }, [9, 9], 0, 0],
  ['half of two mirrors', { layout: { kind: 'raid1', mirrors: 1 } }, [100, 100], 100, 99],
  ['two of three devices', { layout: { kind: 'raid5', stripes: 2 } }, [100, 100, 100], 200, 198],
  ['three of five', { layout: { kind: 'raid6', stripes: 3 } }, [9, 9, 9, 9, 9], 27, 24],
  ['half of four', { layout: { kind: 'raid10', stripes: 2, mirrors: 1 } }, [9, 9, 9, 9], 18, 16],
];

for (const [title, given, free, available, largest] of rows) {
  test(`a thick class can give ${title}`, () => {
    const capacity = capacityOf(thickClass(given), vgWithFree(free));
    assert.equal(capacity.availableBytes, extents(available));
    assert.equal(capacity.largestBytes, extents(largest));
  });
}

const factors: readonly Row[] = [
  ['a half at factor 2', { overheadFactor: 2 }, [100, 50], 75, 75],
  ['whole extents only', { overheadFactor: 1.5 }, [100], 66, 66],
  ['a half of what is not spare', { overheadFactor: 2, spareBytes: extents(30) }, [100], 35, 35],
  [
    'whole rows of stripes',
    { overheadFactor: 1.5, layout: { kind: 'striped', stripes: 3 } },
    [10, 10, 10],
    20,
    18,
  ],
  [
    'a half of two mirrors, not a quarter',
    { overheadFactor: 2, layout: { kind: 'raid1', mirrors: 1 } },
    [100, 100],
    100,
    99,
  ],
  [
    'the less of mirrors and factor',
    { overheadFactor: 4, layout: { kind: 'raid1', mirrors: 1 } },
    [100, 100],
    50,
    50,
  ],
];

for (const [title, given, free, available, largest] of factors) {
  test(`a thick class with an overhead factor can give ${title}`, () => {
    const capacity = capacityOf(thickClass(given), vgWithFree(free));
    assert.equal(capacity.availableBytes, extents(available));
    assert.equal(capacity.largestBytes, extents(largest));
  });
}

test('a factor counts for the size of a thick class, and not for a thin one', () => {
  const vg = vgWithFree([1, 2, 3]);
  assert.equal(capacityOf(thickClass({ overheadFactor: 3 }), vg).sizeBytes, extents(1000));
  const pool = sampleVg({ lvs: [samplePool()] });
  const plain = capacityOf(thinClass(), pool);
  assert.deepEqual(capacityOf(thinClass({ overheadFactor: 3 }), pool), plain);
});

test('the size of a thick class is its share of the whole group, free or not', () => {
  const vg = vgWithFree([1, 2, 3]);
  assert.equal(capacityOf(thickClass(), vg).sizeBytes, extents(3000));
  const raid5: Layout = { kind: 'raid5', stripes: 2 };
  assert.equal(capacityOf(thickClass({ layout: raid5 }), vg).sizeBytes, extents(2000));
});

test('a device that gives nothing away adds nothing', () => {
  const pvs = [samplePv(), samplePv({ device: '/dev/sdb', isAllocatable: false })];
  assert.equal(capacityOf(thickClass(), sampleVg({ pvs })).availableBytes, extents(1000));
});

const thinGroup = (pool: Partial<ObservedLv>, ...lvs: readonly ObservedLv[]) =>
  sampleVg({ lvs: [samplePool(pool), ...lvs] });

test('a thin class promises its pool many times over, less what it promised', () => {
  const lvs = [sampleThin(), sampleThin({ name: 's1', sizeBytes: extents(20) }), sampleLv()];
  const capacity = capacityOf(thinClass({ overprovisionRatio: 2.5 }), thinGroup({}, ...lvs));
  assert.equal(capacity.sizeBytes, extents(250));
  assert.equal(capacity.availableBytes, extents(220));
  assert.equal(capacity.largestBytes, extents(220));
});

test('a thin class that promised too much has nothing left, not less', () => {
  const lv = sampleThin({ sizeBytes: extents(1001) });
  assert.equal(capacityOf(thinClass(), thinGroup({}, lv)).availableBytes, 0n);
});

const closed: readonly (readonly [string, DeviceClass, ObservedVg])[] = [
  ['a group that misses a device', thickClass(), sampleVg({ isPartial: true })],
  ['an exported group', thickClass(), sampleVg({ isExported: true })],
  ['a read-only group', thickClass(), sampleVg({ isWritable: false })],
  ['a pool that is not there', thinClass(), sampleVg()],
  ['a full pool', thinClass(), thinGroup({ dataPercent: 95 })],
  ['a pool that failed', thinClass(), thinGroup({ health: 'failed' })],
  ['what is no pool', thinClass(), thinGroup({ kind: 'linear' })],
];

for (const [title, deviceClass, vg] of closed) {
  test(`${title} offers nothing, because nothing may be made in it`, () => {
    const { availableBytes, largestBytes } = capacityOf(deviceClass, vg);
    assert.deepEqual([availableBytes, largestBytes], [noBytes, noBytes]);
  });
}

const layout: fc.Arbitrary<Layout> = fc.oneof(
  fc.constant<Layout>({ kind: 'linear' }),
  fc.record({ kind: fc.constant('striped' as const), stripes: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant('raid1' as const), mirrors: fc.integer({ min: 1, max: 3 }) }),
  fc.record({
    kind: fc.constantFrom('raid4' as const, 'raid5' as const),
    stripes: fc.integer({ min: 2, max: 4 }),
  }),
  fc.record({ kind: fc.constant('raid6' as const), stripes: fc.integer({ min: 3, max: 4 }) }),
  fc.record({
    kind: fc.constant('raid10' as const),
    stripes: fc.integer({ min: 2, max: 3 }),
    mirrors: fc.constant(1),
  }),
  fc.constant<Layout>({ kind: 'thin', pool: 'pool0' }),
);

const world = fc
  .record({
    layout,
    pvs: fc.array(
      fc.record({
        free: fc.integer({ min: 0, max: 60 }),
        isAllocatable: fc.integer({ min: 0, max: 9 }).map((dice) => dice > 0),
      }),
      { minLength: 1, maxLength: 6 },
    ),
    spare: fc.bigInt({ min: 0n, max: extents(30) }),
    ratio: fc.integer({ min: 10, max: 30 }).map((tenth) => tenth / 10),
    pool: fc.integer({ min: 1, max: 50 }),
    promised: fc.integer({ min: 0, max: 60 }),
  })
  .map((given) => {
    const pvs = given.pvs.map(({ free, isAllocatable }, index) =>
      samplePv({ device: `/dev/d${index}`, freeBytes: extents(free), isAllocatable }),
    );
    const lvs = [
      samplePool({ sizeBytes: extents(given.pool) }),
      sampleThin({ name: 'old', sizeBytes: extents(given.promised) }),
    ];
    const deviceClass = thickClass({
      layout: given.layout,
      spareBytes: bytes(given.spare),
      overprovisionRatio: given.ratio,
    });
    return { deviceClass, vg: sampleVg({ pvs, lvs }) };
  });

function planOf(deviceClass: DeviceClass, vg: ObservedVg, sizeBytes: Bytes) {
  const desired = desiredVolume({ name: 'v1', className: '', sizeBytes }, [deviceClass]);
  assert.ok(!isBlocked(desired));
  return planVolume(desired, hostOf(vg));
}

/**
 * What must hold, whatever the group looks like: the largest volume can be made and more than the
 * most cannot; nobody is offered more in one piece than there is in all, or more than the whole.
 */
test('the largest volume can always be planned, and more than the most never', () => {
  let made = 0;
  fc.assert(
    fc.property(world, ({ deviceClass, vg }) => {
      assert.equal(checkLayout(deviceClass.layout), undefined);
      const { sizeBytes, availableBytes, largestBytes } = capacityOf(deviceClass, vg);
      assert.ok(largestBytes <= availableBytes && availableBytes <= sizeBytes);
      assert.equal(largestBytes % vg.extentSizeBytes, 0n);
      if (largestBytes > 0n) {
        const step = stepOf(planOf(deviceClass, vg, largestBytes), 'create-lv');
        assert.equal(step.sizeBytes, largestBytes);
        made += 1;
      }
      const geometry = geometryOf(deviceClass.layout);
      const spare = deviceClass.spareBytes;
      const most = geometry === undefined ? undefined : mostExtents(geometry, vg, spare);
      const mostBytes = most === undefined ? largestBytes : extents(most);
      assert.ok(mostBytes >= largestBytes);
      if (deviceClass.layout.kind === 'linear') assert.equal(mostBytes, largestBytes);
      assert.equal(planOf(deviceClass, vg, bytes(mostBytes + 1n)).kind, 'blocked');
    }),
    { numRuns: 500 },
  );
  assert.ok(made > 30, `the groups were hopeless: ${made}`);
});

test('a volume takes exactly its cost from the group, and never the spare room', () => {
  fc.assert(
    fc.property(world, fc.integer({ min: 1, max: 100 }), ({ deviceClass, vg }, share) => {
      const { largestBytes } = capacityOf(deviceClass, vg);
      const sizeBytes = bytes((largestBytes * BigInt(share)) / 100n);
      if (sizeBytes === 0n) return;
      const step = stepOf(planOf(deviceClass, vg, sizeBytes), 'create-lv');
      const [after] = predict(hostOf(vg), step).vgs;
      assert.ok(after !== undefined);
      const cost = costExtents(deviceClass.layout, step.sizeBytes, vg);
      assert.equal(vg.freeBytes - after.freeBytes, extents(cost));
      assert.ok(after.pvs.every((pv) => pv.freeBytes >= 0n));
      assert.equal(capacityOf(deviceClass, after).sizeBytes, capacityOf(deviceClass, vg).sizeBytes);
      if (deviceClass.layout.kind === 'thin') return;
      const usable = after.pvs.filter((pv) => pv.isAllocatable);
      const left = usable.reduce((sum, pv) => sum + pv.freeBytes, 0n);
      assert.ok(left >= deviceClass.spareBytes);
    }),
    { numRuns: 500 },
  );
});

test('with one area or in a pool, a volume leaves exactly the rest to others', () => {
  const simple = world.filter(({ deviceClass }) =>
    ['linear', 'thin'].includes(deviceClass.layout.kind),
  );
  fc.assert(
    fc.property(simple, fc.integer({ min: 1, max: 100 }), ({ deviceClass, vg }, share) => {
      const before = capacityOf(deviceClass, vg);
      const sizeBytes = bytes((before.largestBytes * BigInt(share)) / 100n);
      if (sizeBytes === 0n) return;
      const step = stepOf(planOf(deviceClass, vg, sizeBytes), 'create-lv');
      const [after] = predict(hostOf(vg), step).vgs;
      assert.ok(after !== undefined);
      const left = capacityOf(deviceClass, after).availableBytes;
      assert.equal(left, before.availableBytes - step.sizeBytes);
    }),
    { numRuns: 300 },
  );
});

const parallel: readonly (readonly [free: readonly bigint[], areas: number, run: bigint])[] = [
  [[], 1, 0n],
  [[5n, 3n], 1, 8n],
  [[5n, 3n], 2, 3n],
  [[5n, 3n], 3, 0n],
  [[5n, 3n, 2n], 2, 5n],
  [[10n, 2n, 2n], 2, 4n],
  [[0n, 0n, 7n], 2, 0n],
];

for (const [free, areas, run] of parallel) {
  test(`${areas} areas side by side on ${free.join(', ') || 'nothing'} have ${run} extents each`, () => {
    assert.equal(parallelExtents(free, areas), run);
  });
}

test('areas side by side never take more than there is', () => {
  const free = fc.array(fc.bigInt({ min: 0n, max: 100n }), { maxLength: 8 });
  fc.assert(
    fc.property(free, fc.integer({ min: 1, max: 6 }), (counts, areas) => {
      const run = parallelExtents(counts, areas);
      assert.ok(run * BigInt(areas) <= counts.reduce((sum, count) => sum + count, 0n));
      // Each area lies on one device at a time: no device gives more than one area's share.
      const usable = counts.reduce((sum, count) => sum + (count < run ? count : run), 0n);
      assert.ok(usable >= run * BigInt(areas));
    }),
  );
});
