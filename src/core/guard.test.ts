import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBlocked, assertRest, follow, stepOf } from '../../test/samples/decisions.ts';
import {
  extents,
  hostOf,
  sampleCow,
  sampleLv,
  samplePool,
  thickClass,
  thinClass,
  vgWithFree,
} from '../../test/samples/observed.ts';
import { type GuardedPool, guardedPools, isFilling, planPoolGrowth } from './guard.ts';
import type { ObservedLv } from './observed.ts';

const guarded = { vg: 'vg1', pool: 'pool0', spareBytes: extents(10) };
const plan = (free: number, pool: Partial<ObservedLv>, given: GuardedPool = guarded) =>
  planPoolGrowth(given, hostOf(vgWithFree([free], { lvs: [samplePool(pool)] })));

test('a pool that fills up grows by a share of its size', () => {
  const step = stepOf(plan(100, { dataPercent: 75 }), 'extend-thin-pool');
  assert.equal(step.sizeBytes, extents(120));
  assert.equal(step.lvUuid, 'uuid-pool0');
});

test('a pool with room left stays as it is', () => {
  assertRest(plan(100, { dataPercent: 74.9, metadataPercent: 74.9 }));
});

test('a pool in a group that took the name of ours stays as it is', () => {
  const full = { dataPercent: 90 };
  assertRest(plan(100, full, { ...guarded, vgUuid: 'another' }));
  const vgUuid = vgWithFree([100]).uuid;
  stepOf(plan(100, full, { ...guarded, vgUuid }), 'extend-thin-pool');
});

test('a pool takes nothing of the spare', () => {
  assert.equal(stepOf(plan(13, { dataPercent: 99 }), 'extend-thin-pool').sizeBytes, extents(103));
  assertRest(plan(10, { dataPercent: 99 }));
});

test('metadata grows first, to twice as much, and leaves room for its spare copy', () => {
  const full = { dataPercent: 99, metadataPercent: 80, metadataSizeBytes: extents(4) };
  const step = stepOf(plan(100, full), 'extend-thin-pool-metadata');
  assert.equal(step.metadataBytes, extents(8));
  const tight = stepOf(plan(14, full), 'extend-thin-pool-metadata');
  assert.equal(tight.metadataBytes, extents(6));
});

test('metadata at the most that dm-thin can use is not grown', () => {
  const most = { metadataPercent: 99, metadataSizeBytes: extents(4096), dataPercent: 10 };
  assertRest(plan(9999, most));
});

test('growing comes to rest', () => {
  const vg = vgWithFree([500], { lvs: [samplePool({ dataPercent: 90, metadataPercent: 90 })] });
  const { end } = follow(hostOf(vg), (view) => planPoolGrowth(guarded, view));
  assertRest(end);
});

test('a pool that grew is less full, and leaves the rest of its group to others', () => {
  const full = { dataPercent: 90, metadataPercent: 90, metadataSizeBytes: extents(2) };
  const vg = vgWithFree([500], { lvs: [samplePool(full)] });
  const { steps } = follow(hostOf(vg), (view) => planPoolGrowth(guarded, view));
  assert.deepEqual(
    steps.map((step) => ('sizeBytes' in step ? step.sizeBytes : step.kind)),
    ['extend-thin-pool-metadata', extents(120), extents(144)],
  );
});

test('a pool that must be checked, or is none, is left alone', () => {
  assertRest(plan(100, { dataPercent: 99, isInvalid: true }));
  assertRest(plan(100, { dataPercent: 99, name: 'other' }));
  const linear = hostOf(vgWithFree([100], { lvs: [sampleLv({ name: 'pool0' })] }));
  assertRest(planPoolGrowth(guarded, linear));
  assertBlocked(planPoolGrowth(guarded, hostOf()), 'VolumeGroupMissing', /vg1/);
});

test('only pools that may grow are guarded', () => {
  const classes = [thinClass(), thickClass(), { ...thinClass(), growsPool: true }];
  assert.deepEqual(
    guardedPools(classes).map(({ pool }) => pool),
    ['pool0'],
  );
  assert.deepEqual(guardedPools([{ ...thickClass(), growsPool: true }]), []);
});

test('a CoW snapshot is filling from the mark on, and no more when it overflowed', () => {
  assert.ok(isFilling(sampleCow({ dataPercent: 70 })));
  assert.ok(!isFilling(sampleCow({ dataPercent: 69.9 })));
  assert.ok(!isFilling(sampleCow({ dataPercent: 100, isInvalid: true })));
  assert.ok(!isFilling(sampleLv({ dataPercent: 99 })));
});
