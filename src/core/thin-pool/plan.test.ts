import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  assertBlocked,
  assertRest,
  follow,
  stepOf,
  text,
} from '../../../test/samples/decisions.ts';
import {
  extents,
  hostOf,
  sampleLv,
  samplePool,
  samplePv,
  sampleThin,
  sampleVg,
  vgWithFree,
} from '../../../test/samples/observed.ts';
import { bytes, GiB, KiB, MiB, TiB, times } from '../../base/bytes.ts';
import type { FailureCode } from '../../base/failures.ts';
import { limits } from '../../base/limits.ts';
import type { ObservedHost, ObservedLv, ObservedVg } from '../observed.ts';
import type { DesiredThinPool } from './desired.ts';
import { shapeOfPool } from './desired.ts';
import { planThinPool } from './plan.ts';
import { thinPoolStatus } from './status.ts';

function wanted(given: Partial<DesiredThinPool> = {}): DesiredThinPool {
  return {
    vg: 'vg1',
    vgUuid: undefined,
    name: 'pool0',
    presence: 'present',
    sizePercent: 90,
    chunkSizeBytes: undefined,
    metadataBytes: undefined,
    vgOwnerTag: 'lvms',
    ...given,
  };
}

/** A group of 1,000 extents whose pool has the given ones. */
function grown(pool: number, given: Partial<ObservedLv> = {}, others: readonly ObservedLv[] = []) {
  const lvs = [samplePool({ sizeBytes: extents(pool), ...given }), ...others];
  return hostOf(vgWithFree([1000 - pool - 2], { lvs }));
}

test('a pool takes its share of what is free, in whole extents, and our tag', () => {
  const step = stepOf(planThinPool(wanted(), hostOf(vgWithFree([999]))), 'create-thin-pool');
  assert.equal(step.sizeBytes, extents(899));
  assert.equal(step.chunkSizeBytes, limits.thinPoolChunkBytes);
  assert.equal(step.metadataBytes, extents(1));
  assert.deepEqual(step.tags, ['quarry', 'quarry.role=thin-pool']);
  assert.equal(step.vgUuid, 'uuid-vg1');
});

test('a pool of everything leaves room for its metadata, twice', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 3, max: 100_000 }),
      fc.integer({ min: 10, max: 100 }),
      (n, pct) => {
        const vg = vgWithFree([n]);
        const { sizeBytes, metadataBytes } = shapeOfPool(wanted({ sizePercent: pct }), vg);
        assert.ok(sizeBytes + 2n * metadataBytes <= vg.freeBytes);
        assert.ok(sizeBytes * 100n <= vg.freeBytes * BigInt(pct));
        assert.equal(sizeBytes % vg.extentSizeBytes, 0n);
        assert.equal(metadataBytes % vg.extentSizeBytes, 0n);
        assert.ok(metadataBytes >= limits.thinPoolMetadataBytesMin);
      },
    ),
  );
});

test('metadata is always able to address every chunk of the pool', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 2n ** 50n / 2n ** 22n }), (count) => {
      const vg = sampleVg({ pvs: [samplePv({ sizeBytes: extents(count) })] });
      const shape = shapeOfPool(wanted(), vg);
      const needed = (shape.sizeBytes / shape.chunkSizeBytes) * 64n;
      assert.ok(needed <= shape.metadataBytes, `${shape.sizeBytes}`);
    }),
  );
});

const chunks: readonly (readonly [bigint, bigint])[] = [
  [31n * TiB, 128n * KiB],
  [36n * TiB, 256n * KiB],
  [300n * TiB, 2048n * KiB],
];

for (const [sizeBytes, chunk] of chunks) {
  test(`a pool of 90 % of ${sizeBytes / TiB} TiB has chunks of ${chunk / KiB} KiB`, () => {
    const vg = sampleVg({ pvs: [samplePv({ sizeBytes: bytes(sizeBytes) })] });
    assert.equal(shapeOfPool(wanted(), vg).chunkSizeBytes, chunk);
  });
}

test('a chunk size that somebody chose is used as it is', () => {
  const host = hostOf(vgWithFree([999]));
  for (const chunkSizeBytes of [times(KiB, 64), times(KiB, 192), times(MiB, 1)]) {
    const step = stepOf(planThinPool(wanted({ chunkSizeBytes }), host), 'create-thin-pool');
    assert.equal(step.chunkSizeBytes, chunkSizeBytes);
  }
});

test('a chunk size that cannot address the pool is doubled until it can', () => {
  const host = hostOf(sampleVg({ pvs: [samplePv({ sizeBytes: times(TiB, 100) })] }));
  for (const [asked, made] of [
    [times(KiB, 128), 512n * KiB],
    [times(KiB, 192), 384n * KiB],
    [times(MiB, 1), MiB],
  ] as const) {
    const step = stepOf(planThinPool(wanted({ chunkSizeBytes: asked }), host), 'create-thin-pool');
    assert.equal(step.chunkSizeBytes, made);
  }
});

test('metadata is chosen by size, too, where the chunks had to be', () => {
  const host = hostOf(sampleVg({ pvs: [samplePv({ sizeBytes: times(TiB, 100) })] }));
  for (const chunkSizeBytes of [times(KiB, 128), undefined]) {
    const given = wanted({ chunkSizeBytes, metadataBytes: GiB });
    const step = stepOf(planThinPool(given, host), 'create-thin-pool');
    assert.ok((step.sizeBytes / step.chunkSizeBytes) * 64n <= step.metadataBytes);
  }
});

type Row = readonly [
  title: string,
  desired: DesiredThinPool,
  host: ObservedHost,
  result: FailureCode | 'rest',
  names?: RegExp,
];

const gone = wanted({ presence: 'absent' });

const rows: readonly Row[] = [
  ['a pool of its share rests', wanted(), grown(900), 'rest'],
  ['a pool within one percent of its share rests', wanted(), grown(890), 'rest'],
  ['a pool larger than its share is never shrunk', wanted(), grown(950), 'rest'],
  [
    'a pool beside other volumes does not grow over them',
    wanted(),
    grown(100, {}, [sampleLv()]),
    'rest',
  ],
  [
    'a pool is not made where nothing is free',
    wanted(),
    hostOf(vgWithFree([2])),
    'InsufficientCapacity',
    /vg1 has 8 MiB free.*pool0/,
  ],
  [
    'a pool is not made on a device that gives nothing away',
    wanted(),
    hostOf(sampleVg({ pvs: [samplePv({ isAllocatable: false })] })),
    'InsufficientCapacity',
    /vg1 has 0 B free/,
  ],
  [
    'no pool is made of somebody’s volume',
    wanted(),
    hostOf(sampleVg({ lvs: [sampleLv({ name: 'pool0' })] })),
    'ThinPoolForeign',
    /vg1\/pool0 is a linear volume/,
  ],
  [
    'a volume of ours that only has the name of the pool is left alone',
    wanted(),
    hostOf(sampleVg({ lvs: [sampleLv({ name: 'pool0', tags: ['quarry', 'quarry.class=a'] })] })),
    'ThinPoolForeign',
    /vg1\/pool0 is a linear volume/,
  ],
  [
    'no pool is made in somebody’s group',
    wanted(),
    hostOf(sampleVg({ tags: [] })),
    'VolumeGroupForeign',
    /vg1 .*lvms/,
  ],
  [
    'no pool is made in a group that took the name of ours',
    wanted({ vgUuid: 'uuid-before' }),
    hostOf(vgWithFree([999])),
    'VolumeGroupLost',
    /vg1 was uuid-before and is another volume group now: uuid-vg1/,
  ],
  [
    'a pool in somebody’s group does not grow',
    wanted(),
    hostOf(sampleVg({ tags: [], lvs: [samplePool({ tags: [] })] })),
    'VolumeGroupForeign',
    /vg1/,
  ],
  [
    'a pool that must be checked is left alone',
    wanted(),
    grown(100, { isInvalid: true, health: 'failed' }),
    'ThinPoolUnhealthy',
    /vg1\/pool0: failed/,
  ],
  [
    'a pool gets no name that LVM keeps for itself',
    wanted({ name: 'snapshots' }),
    hostOf(sampleVg()),
    'InvalidName',
    /snapshots/,
  ],
  ['a pool needs its group', wanted(), hostOf(), 'VolumeGroupMissing', /vg1/],
  ['a pool that is gone stays gone', gone, hostOf(sampleVg()), 'rest'],
  ['a pool goes with its group', gone, hostOf(), 'rest'],
  [
    'a pool with volumes is not removed',
    gone,
    grown(900, {}, [sampleThin({ tags: [] })]),
    'VolumeInUse',
    /vg1\/pool0 .*v1/,
  ],
  [
    'somebody’s volume with the name of a pool is not removed',
    gone,
    hostOf(sampleVg({ lvs: [sampleLv({ name: 'pool0', tags: [] })] })),
    'ThinPoolForeign',
    /vg1\/pool0/,
  ],
  [
    'somebody’s pool in somebody’s group is not removed',
    gone,
    hostOf(sampleVg({ tags: [], lvs: [samplePool({ tags: [] })] })),
    'NotOurs',
    /vg1\/pool0/,
  ],
];

for (const [title, desired, host, result, names] of rows) {
  test(title, () => {
    const decision = planThinPool(desired, host);
    if (result === 'rest') assertRest(decision);
    else assertBlocked(decision, result, names);
  });
}

test('a pool follows its group when devices were added', () => {
  const step = stepOf(planThinPool(wanted(), grown(500)), 'extend-thin-pool');
  assert.equal(step.sizeBytes, extents(900));
  assert.equal(step.lvUuid, 'uuid-pool0');
});

test('a pool grows no further than there is room', () => {
  const vg = vgWithFree([100], { lvs: [samplePool({ sizeBytes: extents(500) })] });
  assert.equal(
    stepOf(planThinPool(wanted(), hostOf(vg)), 'extend-thin-pool').sizeBytes,
    extents(600),
  );
});

test('metadata grows to what is wanted, and only where its spare copy fits too', () => {
  const desired = wanted({ metadataBytes: times(MiB, 100) });
  const step = stepOf(planThinPool(desired, grown(900)), 'extend-thin-pool-metadata');
  assert.equal(step.metadataBytes, 100n * MiB);
  const vg = vgWithFree([47], { lvs: [samplePool({ sizeBytes: extents(951) })] });
  assertRest(planThinPool(desired, hostOf(vg)));
});

test('metadata at the most that dm-thin can use is not grown for ever', () => {
  const desired = wanted({ metadataBytes: times(GiB, 16) });
  const most = bytes((16n * GiB * 127n) / 128n);
  const vg = sampleVg({
    pvs: [samplePv({ sizeBytes: times(TiB, 20), freeBytes: times(TiB, 1) })],
    lvs: [samplePool({ sizeBytes: times(TiB, 19), metadataSizeBytes: most })],
  });
  assertRest(planThinPool(desired, hostOf(vg)));
  const fresh = sampleVg({ pvs: [samplePv({ sizeBytes: times(TiB, 20) })] });
  assert.equal(shapeOfPool(desired, fresh).metadataBytes, most);
});

test('what lvcreate leaves of a pool when it is cut off is removed, and the pool made', () => {
  const tags = ['quarry', 'quarry.role=thin-pool'];
  const metadata = sampleLv({ name: 'pool0', tags, sizeBytes: extents(1) });
  const host = hostOf({ ...vgWithFree([999]), lvs: [metadata] });
  const { steps, end } = follow(host, (view) => planThinPool(wanted(), view));
  assert.deepEqual(
    steps.map((step) => step.kind),
    ['remove-lv', 'create-thin-pool', 'activate-lv'],
  );
  assertRest(end);
});

test('an inactive pool is activated', () => {
  const host = grown(900, { isActive: false });
  assert.equal(stepOf(planThinPool(wanted(), host), 'activate-lv').lvUuid, 'uuid-pool0');
});

test('an empty pool in a group of ours is removed though another system made it', () => {
  const host = hostOf(sampleVg({ lvs: [samplePool({ tags: [] })] }));
  const step = stepOf(planThinPool(gone, host), 'remove-lv');
  assert.equal(step.lvUuid, 'uuid-pool0');
  assert.equal(step.dependents, 'thin-volumes');
});

test('every plan of a pool comes to rest and touches nothing but the pool', () => {
  const worlds = fc.record({
    free: fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 3 }),
    pool: fc.option(fc.integer({ min: 1, max: 2000 })),
    hasOther: fc.boolean(),
    percent: fc.integer({ min: 10, max: 100 }),
    metadata: fc.option(fc.bigInt({ min: 2n * MiB, max: 16n * GiB })),
    presence: fc.constantFrom('present' as const, 'absent' as const),
  });
  fc.assert(
    fc.property(worlds, ({ free, pool, hasOther, percent, metadata, presence }) => {
      const lvs: ObservedLv[] = [];
      if (pool !== null) lvs.push(samplePool({ sizeBytes: extents(pool), isActive: false }));
      if (hasOther) lvs.push(sampleLv({ tags: [] }));
      const desired = wanted({
        presence,
        sizePercent: percent,
        metadataBytes: metadata === null ? undefined : bytes(metadata),
      });
      const host = hostOf(vgWithFree(free, { lvs }));
      const { steps, end } = follow(host, (view) => planThinPool(desired, view));
      assert.ok(steps.length <= 4, steps.map((step) => step.kind).join());
      assert.notEqual(end.kind, 'step');
      for (const step of steps) assert.ok(!('lv' in step) || step.lv === 'pool0');
    }),
    { numRuns: 300 },
  );
});

const states: readonly (readonly [string, DesiredThinPool, ObservedVg[], string, RegExp])[] = [
  [
    'a pool',
    wanted(),
    [vgWithFree([98], { lvs: [samplePool({ sizeBytes: extents(900) })] })],
    'Ready',
    /^$/,
  ],
  ['a pool to be made', wanted(), [sampleVg()], 'Progressing', /create-thin-pool/],
  ['a pool without a group', wanted(), [], 'Failed', /^VolumeGroupMissing: /],
  ['a pool that is gone', gone, [sampleVg()], 'Absent', /^$/],
  [
    'a pool that fills up',
    wanted(),
    [vgWithFree([98], { lvs: [samplePool({ sizeBytes: extents(900), dataPercent: 94.9 })] })],
    'Ready',
    /^$/,
  ],
  [
    'a pool that is full',
    wanted(),
    [vgWithFree([98], { lvs: [samplePool({ sizeBytes: extents(900), dataPercent: 95 })] })],
    'Degraded',
    /^ThinPoolFull: data 95 %/,
  ],
  [
    'a pool LVM complains of',
    wanted(),
    [vgWithFree([98], { lvs: [samplePool({ sizeBytes: extents(900), health: 'out_of_data' })] })],
    'Degraded',
    /out_of_data/,
  ],
  [
    'a pool that must be checked',
    wanted(),
    [sampleVg({ lvs: [samplePool({ isInvalid: true })] })],
    'Degraded',
    /^ThinPoolUnhealthy: /,
  ],
];

for (const [title, desired, vgs, state, reason] of states) {
  test(`${title} is ${state}`, () => {
    const status = thinPoolStatus(desired, hostOf(...vgs));
    assert.equal(status.state, state, text(planThinPool(desired, hostOf(...vgs))));
    assert.match(status.reason, reason);
    assert.equal(status.name, 'vg1/pool0');
  });
}

test('a pool of a group whose name another one has is gone with it', () => {
  const host = hostOf(sampleVg({ lvs: [samplePool({})] }));
  assertRest(planThinPool(wanted({ vgUuid: 'uuid-before', presence: 'absent' }), host));
});
