import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
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
import { bytes } from '../../base/bytes.ts';
import type { FailureCode } from '../../base/failures.ts';
import type { ObservedLv, ObservedVg } from '../observed.ts';
import { copyingTag, copySourceRole, ownerTag, tagOf } from '../tags.ts';
import { isBlocked } from '../usable-vg.ts';
import { type AbsentVolume, absentVolume, type DesiredVolume, desiredVolume } from './desired.ts';
import { planVolume } from './plan.ts';

const gone = absentVolume('vg1', 'v1');
const vgOf = (lvs: readonly ObservedLv[], given: Partial<ObservedVg> = {}) =>
  hostOf(sampleVg({ lvs, ...given }));

const helper = sampleCow({
  name: 'v1.copy',
  origin: 'source',
  tags: [ownerTag, tagOf('role', copySourceRole), tagOf('source', 'source')],
});

test('a volume is removed by its UUID, with a permit for just that', () => {
  const step = stepOf(planVolume(gone, vgOf([sampleLv()])), 'remove-lv');
  assert.equal(step.lvUuid, 'uuid-v1');
  assert.equal(step.permit.target, 'uuid-v1');
  assert.equal(step.dependents, 'cow-snapshots');
});

test('blocks are passed on where the class says so, and a thin volume has none of its own', () => {
  const step = (discards: boolean, lv: ObservedLv) =>
    stepOf(planVolume({ ...gone, discards }, vgOf([lv])), 'remove-lv');
  assert.equal(step(true, sampleLv()).discards, true);
  assert.equal(step(false, sampleLv()).discards, undefined);
  assert.equal(step(true, sampleThin()).discards, undefined);
});

const removable: readonly (readonly [string, AbsentVolume, readonly ObservedLv[], string])[] = [
  ['a CoW snapshot', absentVolume('vg1', 's1'), [sampleLv(), sampleCow()], 'uuid-s1'],
  [
    'an overflowed snapshot',
    absentVolume('vg1', 's1'),
    [sampleCow({ isInvalid: true })],
    'uuid-s1',
  ],
  [
    'a thin volume with thin snapshots',
    gone,
    [sampleThin(), sampleThin({ name: 's', origin: 'v1' })],
    'uuid-v1',
  ],
  [
    'a volume that a record names',
    { ...gone, isAdopted: true },
    [sampleLv({ tags: [] })],
    'uuid-v1',
  ],
  ['the volume of the known UUID', absentVolume('vg1', 'v1', 'uuid-v1'), [sampleLv()], 'uuid-v1'],
  [
    'the helper of a copy before the clone',
    gone,
    [sampleLv({ tags: [ownerTag, copyingTag] }), helper],
    helper.uuid,
  ],
  ['a helper whose clone is gone', gone, [helper], helper.uuid],
];

for (const [title, desired, lvs, uuid] of removable) {
  test(`${title} is removed`, () => {
    assert.equal(stepOf(planVolume(desired, vgOf(lvs)), 'remove-lv').lvUuid, uuid);
  });
}

type Refusal = readonly [string, readonly ObservedLv[], FailureCode, Partial<ObservedVg>?];

const refusals: readonly Refusal[] = [
  ["somebody's volume", [sampleLv({ tags: [] })], 'NotOurs'],
  ['a volume with a CoW snapshot', [sampleLv(), sampleCow()], 'VolumeHasSnapshots'],
  [
    "a volume with somebody's CoW snapshot",
    [sampleLv(), sampleCow({ tags: [] })],
    'VolumeHasSnapshots',
  ],
  [
    'an origin that a thin volume reads from',
    [sampleLv(), sampleThin({ name: 't', origin: 'v1' })],
    'VolumeHasSnapshots',
  ],
  [
    'a volume on a missing device',
    [sampleLv({ health: 'partial' })],
    'VolumeGroupPartial',
    { isPartial: true },
  ],
  ['a thin pool that bears the name', [samplePool({ name: 'v1' })], 'NotOurs'],
  ['a volume in a read-only group', [sampleLv()], 'VolumeGroupNotUsable', { isWritable: false }],
  ['a volume in an exported group', [sampleLv()], 'VolumeGroupNotUsable', { isExported: true }],
];

for (const [title, lvs, code, vg] of refusals) {
  test(`${title} is not removed: ${code}`, () => {
    assertBlocked(planVolume(gone, vgOf(lvs, vg)), code, /vg1/);
  });
}

test('a volume is removed from a group that misses a device it does not lie on', () => {
  const host = vgOf([sampleLv()], { isPartial: true });
  assert.equal(stepOf(planVolume(gone, host), 'remove-lv').lvUuid, 'uuid-v1');
});

test('a volume in a group that is away is not called gone', () => {
  assertBlocked(planVolume(gone, hostOf()), 'VolumeGroupMissing', /vg1/);
});

const old = absentVolume('vg1', 'v1', 'u-old');

test('a new volume that took the name is left alone, with its helper', () => {
  assertRest(planVolume(old, vgOf([sampleLv()])));
  assertRest(planVolume(old, vgOf([sampleLv({ tags: [ownerTag, copyingTag] }), helper])));
});

test('a volume that is gone stays gone, and a user’s volume with a helper’s name stays', () => {
  assertRest(planVolume(gone, vgOf([])));
  assertRest(planVolume(gone, vgOf([sampleLv({ name: 'v1.copy' })])));
});

/** Volumes of every layout, asked for in groups with anything in them. */
const world = fc.record({
  free: fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 4 }),
  size: fc.bigInt({ min: 1n, max: extents(80) }),
  spare: fc.bigInt({ min: 0n, max: extents(20) }),
  layout: fc.constantFrom(
    ...([
      { kind: 'linear' },
      { kind: 'striped', stripes: 2 },
      { kind: 'raid1', mirrors: 1 },
      { kind: 'raid5', stripes: 2 },
      { kind: 'thin', pool: 'pool0' },
    ] as const),
  ),
  present: fc.option(fc.integer({ min: 1, max: 40 })),
  isForeign: fc.boolean(),
  isActive: fc.boolean(),
  hasSnapshot: fc.boolean(),
  presence: fc.constantFrom('present', 'absent'),
});

test('every plan of a volume comes to rest and touches nothing that is not ours', () => {
  let made = 0;
  fc.assert(
    fc.property(world, (given) => {
      const { layout } = given;
      const lvs: ObservedLv[] = [samplePool({ tags: [] }), sampleLv({ name: 'other', tags: [] })];
      if (given.present !== null) {
        const own = layout.kind === 'thin' ? sampleThin() : sampleLv({ kind: layout.kind });
        const sizeBytes = extents(given.present);
        const tags = given.isForeign ? [] : [ownerTag];
        lvs.push({ ...own, sizeBytes, ownSizeBytes: sizeBytes, tags, isActive: given.isActive });
      }
      if (given.hasSnapshot && given.present !== null) lvs.push(sampleCow({ tags: [] }));
      const host = hostOf(vgWithFree(given.free, { lvs }));
      const foreign = new Set(lvs.filter((lv) => !lv.tags.includes(ownerTag)).map((lv) => lv.uuid));
      const desired = desiredOf(given);
      const { steps, end } = follow(host, (view) => planVolume(desired, view));
      made += steps.length;
      assert.ok(steps.length <= 2, steps.map((step) => step.kind).join());
      assert.notEqual(end.kind, 'step');
      for (const step of steps) assert.ok(!('lvUuid' in step) || !foreign.has(step.lvUuid));
    }),
    { numRuns: 500 },
  );
  assert.ok(made > 30, `the worlds were hopeless: ${made} steps`);
});

type World = Parameters<Parameters<typeof world.map>[0]>[0];

function desiredOf({ layout, presence, size, spare }: World): DesiredVolume {
  if (presence === 'absent') return gone;
  const spareBytes = bytes(spare);
  const deviceClass = layout.kind === 'thin' ? thinClass() : thickClass({ layout, spareBytes });
  const request = { name: 'v1', className: deviceClass.name, sizeBytes: bytes(size) };
  const desired = desiredVolume(request, [deviceClass]);
  assert.ok(!isBlocked(desired));
  return desired;
}
