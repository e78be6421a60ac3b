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
import { bytes, MiB, times } from '../../base/bytes.ts';
import type { FailureCode } from '../../base/failures.ts';
import type { ObservedHost, ObservedLv } from '../observed.ts';
import { predict } from '../predict.ts';
import { copyingTag, ownerTag, pendingTag, tagOf, unusedTag } from '../tags.ts';
import { isBlocked } from '../usable-vg.ts';
import { type DesiredSnapshot, desiredSnapshot, type SnapshotRequest } from './desired.ts';
import { planSnapshot } from './plan.ts';
import { snapshotStatus } from './status.ts';

function wanted(given: Partial<SnapshotRequest> = {}): DesiredSnapshot {
  const desired = desiredSnapshot({
    name: 's1',
    source: 'v1',
    deviceClass: thickClass(),
    ...given,
  });
  assert.ok(!isBlocked(desired));
  return desired;
}

const thinly = (given: Partial<SnapshotRequest> = {}) =>
  wanted({ deviceClass: thinClass({ overprovisionRatio: 1 }), ...given });
const role = tagOf('role', 'snapshot');
const ours = [ownerTag, role, tagOf('class', 'thick'), tagOf('source', 'v1')];
const taken = (given: Partial<ObservedLv> = {}) => sampleCow({ tags: ours, ...given });
const thickHost = (free: number, ...lvs: readonly ObservedLv[]) =>
  hostOf(vgWithFree([free], { lvs }));
const thinHost = (...lvs: readonly ObservedLv[]) =>
  hostOf(sampleVg({ lvs: [samplePool(), ...lvs] }));

test('a thin volume gets a thin snapshot, read-only, of the volume with that UUID', () => {
  const step = stepOf(planSnapshot(thinly(), thinHost(sampleThin())), 'create-thin-snapshot');
  assert.equal(step.originUuid, 'uuid-v1');
  assert.equal(step.isReadOnly, true);
  assert.deepEqual(step.tags, [ownerTag, role, tagOf('class', 'thin'), tagOf('source', 'v1')]);
});

const reserves: readonly (readonly [source: number, reserve: number, asked?: bigint])[] = [
  [1000, 200],
  [100, 20],
  [20, 16],
  [10, 11],
  [1, 2],
  [1000, 30, extents(30)],
  [1000, 31, extents(30) + 1n],
  [10, 11, extents(500)],
];

for (const [source, reserve, asked] of reserves) {
  const how = asked === undefined ? 'by itself' : `when ${asked} bytes are asked for`;
  test(`a CoW snapshot of ${source} extents keeps ${reserve} for changes ${how}`, () => {
    const host = thickHost(1000, sampleLv({ sizeBytes: extents(source) }));
    const reserveBytes = asked === undefined ? {} : { reserveBytes: bytes(asked) };
    const step = stepOf(planSnapshot(wanted(reserveBytes), host), 'create-cow-snapshot');
    assert.equal(step.reserveBytes, extents(reserve));
    assert.equal(step.originUuid, 'uuid-v1');
  });
}

test('a CoW snapshot of what nobody used yet keeps room for all of it: we overwrite it first', () => {
  const source = sampleLv({ sizeBytes: extents(1000), tags: [ownerTag, pendingTag] });
  const step = stepOf(planSnapshot(wanted(), thickHost(1004, source)), 'create-cow-snapshot');
  assert.equal(step.reserveBytes, extents(1004));
  assert.ok(step.tags.includes(unusedTag));
  const refusal = planSnapshot(wanted(), thickHost(1003, source));
  assertBlocked(refusal, 'InsufficientCapacityForSnapshot', /nobody has used v1 yet/);
});

test('no snapshot has a pending mark: it is never formatted', () => {
  assert.ok(!wanted().tags.includes('quarry.pending'));
});

type Row = readonly [
  title: string,
  desired: DesiredSnapshot,
  host: ObservedHost,
  result: FailureCode | 'rest',
  names?: RegExp,
];

const v1 = sampleLv();
const spareClass = thickClass({ spareBytes: extents(5) });

const rows: readonly Row[] = [
  ['a snapshot needs its source', wanted(), thickHost(99), 'SourceNotFound', /vg1\/v1/],
  ['a snapshot needs its group', wanted(), hostOf(), 'VolumeGroupMissing', /vg1/],
  [
    'a volume that took the source’s name is not the source',
    wanted({ sourceUuid: 'u-old' }),
    thickHost(99, v1),
    'SourceNotFound',
    /v1 with UUID u-old/,
  ],
  [
    'a pool has no snapshots',
    wanted({ source: 'pool0' }),
    thinHost(),
    'SnapshotsUnsupported',
    /thin-pool/,
  ],
  [
    'a CoW snapshot has no snapshots',
    wanted({ name: 's2', source: 's1' }),
    thickHost(99, v1, taken()),
    'SnapshotsUnsupported',
    /cow-snapshot/,
  ],
  [
    'a copy under way has no snapshots',
    wanted(),
    thickHost(99, sampleLv({ tags: [ownerTag, copyingTag] })),
    'CopyUnfinished',
    /v1/,
  ],
  [
    'a CoW snapshot needs room for changes',
    wanted(),
    thickHost(10, v1),
    'InsufficientCapacityForSnapshot',
    /v1 needs 44 MiB.*vg1 has 40 MiB/,
  ],
  [
    'a CoW snapshot leaves the spare room alone',
    wanted({ deviceClass: spareClass }),
    thickHost(15, v1),
    'InsufficientCapacityForSnapshot',
    /vg1 has 40 MiB \(20 MiB kept spare\)/,
  ],
  [
    'a thin snapshot promises the size of its source',
    thinly(),
    thinHost(sampleThin({ sizeBytes: extents(51) })),
    'InsufficientCapacityForSnapshot',
    /vg1\/pool0 may promise 196 MiB more/,
  ],
  [
    'a thin snapshot needs a pool with room',
    thinly(),
    hostOf(sampleVg({ lvs: [samplePool({ dataPercent: 95 }), sampleThin()] })),
    'InsufficientCapacityForSnapshot',
    /pool0 is full/,
  ],
  ['a snapshot that is there rests', wanted(), thickHost(0, v1, taken()), 'rest'],
  [
    'a snapshot outlives its source',
    thinly(),
    thinHost(sampleThin({ name: 's1', tags: ours })),
    'rest',
  ],
  [
    'a thin snapshot whose blocks are all mapped does not grow',
    thinly(),
    thinHost(sampleThin(), sampleThin({ name: 's1', tags: ours, dataPercent: 100 })),
    'rest',
  ],
  [
    'a snapshot of another volume is not the one',
    wanted({ source: 'v2' }),
    thickHost(99, v1, taken()),
    'VolumeDiffers',
    /vg1\/s1 .*a snapshot of v1, not of v2/,
  ],
  [
    'a snapshot of what bore the source’s name before is not the one',
    wanted({ sourceUuid: 'uuid-v1' }),
    thickHost(99, v1, taken({ originUuid: 'u-old' })),
    'VolumeDiffers',
    /vg1\/s1/,
  ],
  [
    'a snapshot of the very source rests',
    wanted({ sourceUuid: 'uuid-v1' }),
    thickHost(99, v1, taken({ originUuid: 'uuid-v1' })),
    'rest',
  ],
  [
    'a snapshot of which LVM names no origin rests',
    wanted({ sourceUuid: 'uuid-v1' }),
    thickHost(99, v1, taken({ originUuid: undefined })),
    'rest',
  ],
  [
    'a volume of ours is no snapshot',
    wanted(),
    thickHost(99, v1, sampleLv({ name: 's1' })),
    'VolumeDiffers',
    /vg1\/s1 .*no snapshot/,
  ],
  [
    'a clone of the same source is no snapshot',
    thinly(),
    thinHost(sampleThin(), sampleThin({ name: 's1', tags: [ownerTag, tagOf('source', 'v1')] })),
    'VolumeDiffers',
    /vg1\/s1 exists and is a clone of v1/,
  ],
  [
    'somebody’s snapshot of the volume is not ours to use',
    wanted(),
    thickHost(99, v1, taken({ tags: [], dataPercent: 90 })),
    'VolumeDiffers',
    /vg1\/s1 exists and is not ours/,
  ],
  [
    'a snapshot that a record names is served as it is',
    wanted({ uuid: 'uuid-s1' }),
    thickHost(0, v1, taken({ tags: [] })),
    'rest',
  ],
  [
    'a snapshot that was ready and is gone is not taken anew',
    wanted({ uuid: 'uuid-s1' }),
    thickHost(99, v1),
    'VolumeLost',
    /vg1\/s1/,
  ],
  [
    'a snapshot that overflowed says so',
    wanted(),
    thickHost(99, v1, taken({ isInvalid: true, dataPercent: 100 })),
    'SnapshotOverflowed',
    /vg1\/s1/,
  ],
  [
    'a snapshot with room left does not grow',
    wanted(),
    thickHost(99, v1, taken({ dataPercent: 69.9 })),
    'rest',
  ],
];

for (const [title, desired, host, result, names] of rows) {
  test(title, () => {
    const decision = planSnapshot(desired, host);
    if (result === 'rest') assertRest(decision);
    else assertBlocked(decision, result, names);
  });
}

const filling = (own: number, percent = 70) =>
  taken({
    sizeBytes: extents(1000),
    ownSizeBytes: extents(own),
    dataPercent: percent,
  });
const large = sampleLv({ sizeBytes: extents(1000) });

const growths: readonly (readonly [title: string, own: number, free: number, to: number])[] = [
  ['by a share of its source', 200, 500, 400],
  ['no further than there is room', 200, 30, 230],
  ['no further than it can ever need', 1000, 500, 1004],
];

for (const [title, own, free, to] of growths) {
  test(`a CoW snapshot that fills up grows ${title}`, () => {
    const step = stepOf(planSnapshot(wanted(), thickHost(free, large, filling(own))), 'extend-lv');
    assert.equal(step.sizeBytes, extents(to));
    assert.equal(step.lvUuid, 'uuid-s1');
  });
}

test('a CoW snapshot grows into no spare room, and not beyond all it can need', () => {
  const spare = wanted({ deviceClass: thickClass({ spareBytes: extents(30) }) });
  assertRest(planSnapshot(spare, thickHost(30, large, filling(200))));
  assertRest(planSnapshot(wanted(), thickHost(500, large, filling(1004))));
});

test('what lvcreate leaves of a CoW snapshot when it is cut off is removed, and it is taken', () => {
  const half = sampleLv({ name: 's1', kind: 'linear', tags: ours });
  const { steps, end } = follow(thickHost(99, sampleLv({ name: 'v1' }), half), (view) =>
    planSnapshot(wanted(), view),
  );
  assert.deepEqual(
    steps.map((step) => step.kind),
    ['remove-lv', 'create-cow-snapshot'],
  );
  assertRest(end);
});

test('an inactive snapshot is activated', () => {
  const host = thickHost(0, v1, taken({ isActive: false }));
  assert.equal(stepOf(planSnapshot(wanted(), host), 'activate-lv').lvUuid, 'uuid-s1');
});

test('a snapshot that stays full is grown a few times only', () => {
  const sizes = fc.record({
    source: fc.integer({ min: 1, max: 5000 }),
    own: fc.integer({ min: 1, max: 5000 }),
    free: fc.integer({ min: 0, max: 10_000 }),
  });
  fc.assert(
    fc.property(sizes, ({ source, own, free }) => {
      const sizeBytes = extents(source);
      const snapshot = taken({ sizeBytes, ownSizeBytes: extents(own), dataPercent: 99 });
      let host = thickHost(free, sampleLv({ sizeBytes }), snapshot);
      for (let growth = 0; ; growth += 1) {
        const decision = planSnapshot(wanted(), host);
        if (decision.kind === 'rest') return;
        assert.ok(growth < 8, 'it grows for ever');
        host = refilled(predict(host, stepOf(decision, 'extend-lv')));
      }
    }),
  );
});

/** Whatever room a snapshot is given, its source changes enough to fill it. */
function refilled(host: ObservedHost): ObservedHost {
  const full = (lv: ObservedLv) => (lv.kind === 'cow-snapshot' ? { ...lv, dataPercent: 99 } : lv);
  return { ...host, vgs: host.vgs.map((vg) => ({ ...vg, lvs: vg.lvs.map(full) })) };
}

test('every plan of a snapshot comes to rest, takes no spare and touches only the snapshot', () => {
  const worlds = fc.record({
    isThin: fc.boolean(),
    source: fc.integer({ min: 1, max: 200 }),
    free: fc.integer({ min: 0, max: 300 }),
    spare: fc.integer({ min: 0, max: 50 }),
    existing: fc.option(fc.integer({ min: 1, max: 300 })),
    isForeign: fc.boolean(),
    percent: fc.integer({ min: 0, max: 100 }),
  });
  fc.assert(
    fc.property(worlds, ({ isThin, source, free, spare, existing, isForeign, percent }) => {
      const sizeBytes = extents(source);
      const origin = isThin ? sampleThin({ sizeBytes }) : sampleLv({ sizeBytes, tags: [] });
      const found = taken({
        sizeBytes,
        ownSizeBytes: extents(existing ?? 1),
        tags: isForeign ? [] : ours,
        dataPercent: percent,
      });
      const lvs = [samplePool(), origin, ...(existing === null ? [] : [found])];
      const host = hostOf(vgWithFree([free], { lvs }));
      const deviceClass = thickClass({ spareBytes: extents(spare), overprovisionRatio: 2 });
      const {
        steps,
        end,
        host: after,
      } = follow(host, (view) => planSnapshot(wanted({ deviceClass }), view));
      assert.ok(steps.length <= 2);
      assert.notEqual(end.kind, 'step');
      if (isForeign && existing !== null) assert.deepEqual(steps, []);
      for (const step of steps) assert.equal('lv' in step && step.lv, 's1');
      const left = after.vgs[0]?.freeBytes ?? 0n;
      assert.ok(left >= extents(Math.min(free, spare)), 'the spare room was touched');
    }),
    { numRuns: 300 },
  );
});

test('a status tells what the report shows of a snapshot', () => {
  const status = snapshotStatus(wanted(), thickHost(0, v1, taken()));
  assert.equal(status.state, 'Ready');
  assert.equal(status.kind, 'cow-snapshot');
  assert.equal(status.sizeBytes, times(MiB, 40));
  assert.equal(snapshotStatus(wanted(), thickHost(99, v1)).state, 'Progressing');
  const gone = snapshotStatus(wanted(), thickHost(99));
  assert.deepEqual([gone.state, gone.code], ['Blocked', 'SourceNotFound']);
});

test('a name that LVM would refuse is refused', () => {
  const request = { name: 'snapshot-1', source: 'v1', deviceClass: thickClass() };
  assertBlocked(desiredSnapshot(request), 'InvalidName', /snapshot-1/);
});

test('a snapshot that TopoLVM left writable is made read-only, one of ours never needs it', () => {
  const lv = sampleThin({ name: 's1', uuid: 'S', origin: 'v1', tags: [], isReadOnly: false });
  const vg = sampleVg({ lvs: [samplePool(), sampleThin({ name: 'v1' }), lv] });
  const step = stepOf(planSnapshot(thinly({ uuid: 'S' }), hostOf(vg)), 'change-tags');
  assert.deepEqual([step.add, step.remove, step.isReadOnly], [[], [], true]);
  assertRest(planSnapshot(thinly({ uuid: 'S' }), predict(hostOf(vg), step)));
});
