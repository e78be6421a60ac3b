import assert from 'node:assert/strict';
import test from 'node:test';
import { sampleLv, samplePv, sampleVg } from '../../test/samples/observed.ts';
import type { ObservedLv } from './observed.ts';
import { type RaidHealth, raidHealth } from './raid-health.ts';

const raid = (given: Partial<ObservedLv> = {}) =>
  sampleLv({ kind: 'raid1', syncPercent: 100, ...given });
const present = samplePv();
const missing = samplePv({ device: '[unknown]', isMissing: true });

type Row = readonly [string, readonly ObservedLv[], Partial<RaidHealth> | undefined];

const rows: readonly Row[] = [
  ['a group without RAID', [sampleLv()], undefined],
  ['parts of a RAID alone', [raid({ isInternal: true })], undefined],
  ['a RAID in step', [raid()], { status: 'healthy', members: 2, syncPercent: 100 }],
  ['the one furthest behind', [raid(), raid({ syncPercent: 12 })], { syncPercent: 12 }],
  ['one that LVM cannot tell of', [raid({ syncPercent: undefined })], { syncPercent: undefined }],
  ['a partial volume', [raid(), raid({ health: 'partial' })], { status: 'degraded' }],
  ['some of them failed', [raid(), raid({ health: 'refresh needed' })], { status: 'degraded' }],
  ['all of them failed', [raid({ health: 'refresh needed' })], { status: 'failed' }],
];

for (const [title, lvs, expected] of rows) {
  test(`RAID health: ${title}`, () => {
    const health = raidHealth(sampleVg({ pvs: [present, samplePv({ device: '/dev/b' })], lvs }));
    if (expected === undefined || health === undefined) assert.equal(health, expected);
    else assert.deepEqual({ ...health, ...expected }, health);
  });
}

test('a missing device degrades every RAID of its group', () => {
  const health = raidHealth(sampleVg({ pvs: [present, missing], lvs: [raid()] }));
  assert.deepEqual([health?.status, health?.members, health?.missingMembers], ['degraded', 2, 1]);
});
