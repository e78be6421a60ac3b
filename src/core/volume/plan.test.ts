import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBlocked, assertRest, stepOf } from '../../../test/samples/decisions.ts';
import {
  extentBytes,
  extents,
  hostOf,
  sampleCow,
  sampleLv,
  samplePool,
  samplePv,
  sampleThin,
  sampleVg,
  thickClass,
  thinClass,
  vgWithFree,
} from '../../../test/samples/observed.ts';
import { bytes } from '../../base/bytes.ts';
import type { FailureCode } from '../../base/failures.ts';
import type { DeviceClass } from '../device-class.ts';
import type { Layout } from '../layouts.ts';
import type { ObservedHost, ObservedLv } from '../observed.ts';
import { copyingTag, makingTag, ownerTag, pendingTag, tagOf } from '../tags.ts';
import { isBlocked } from '../usable-vg.ts';
import { absentVolume, desiredVolume, type PresentVolume } from './desired.ts';
import { planVolume } from './plan.ts';
import { volumeStatus } from './status.ts';

function wanted(size: bigint, given: Partial<DeviceClass> = {}): PresentVolume {
  const base = given.layout?.kind === 'thin' ? thinClass(given) : thickClass(given);
  const request = { name: 'v1', className: '', sizeBytes: bytes(size) };
  const desired = desiredVolume(request, [{ ...base, isDefault: true }]);
  assert.ok(!isBlocked(desired));
  return desired;
}

const thin: Layout = { kind: 'thin', pool: 'pool0' };
const thinVg = (lvs: readonly ObservedLv[] = [], pool: Partial<ObservedLv> = {}) =>
  hostOf(sampleVg({ lvs: [samplePool(pool), ...lvs] }));

test('a volume is made with its layout, options and marks by one command', () => {
  const desired = wanted(extents(10), {
    layout: { kind: 'striped', stripes: 2 },
    lvcreateOptions: ['--addtag=x'],
  });
  const step = stepOf(planVolume(desired, hostOf(vgWithFree([20, 20]))), 'create-lv');
  assert.deepEqual(step.layout, { kind: 'striped', stripes: 2 });
  assert.deepEqual(step.options, ['--addtag=x']);
  assert.deepEqual(step.tags, [ownerTag, pendingTag, tagOf('class', 'thick')]);
  assert.equal(step.vgUuid, 'uuid-vg1');
});

const rounded: readonly (readonly [layout: Layout, asked: bigint, made: bigint])[] = [
  [{ kind: 'linear' }, 1n, 1n],
  [{ kind: 'linear' }, extentBytes, 1n],
  [{ kind: 'linear' }, extentBytes + 1n, 2n],
  [{ kind: 'striped', stripes: 3 }, extentBytes, 3n],
  [{ kind: 'raid5', stripes: 2 }, 3n * extentBytes, 4n],
  [{ kind: 'raid1', mirrors: 1 }, 3n * extentBytes, 3n],
  [{ kind: 'raid10', stripes: 2, mirrors: 1 }, 3n * extentBytes, 4n],
  [thin, extentBytes + 1n, 2n],
];

for (const [layout, asked, made] of rounded) {
  test(`a ${layout.kind} volume of ${asked} bytes gets ${made} extents, and then rests`, () => {
    const pools = layout.kind === 'thin' ? [samplePool()] : [];
    const vg = vgWithFree([20, 20, 20, 20, 20], { lvs: pools });
    const desired = wanted(asked, { layout });
    const step = stepOf(planVolume(desired, hostOf(vg)), 'create-lv');
    assert.equal(step.sizeBytes, extents(made));
    const lv = sampleLv({ kind: layout.kind, sizeBytes: step.sizeBytes });
    assertRest(planVolume(desired, hostOf({ ...vg, lvs: [...pools, lv] })));
  });
}

type Row = readonly [
  title: string,
  desired: PresentVolume,
  host: ObservedHost,
  result: FailureCode | 'rest',
  names?: RegExp,
];
type Refusal = readonly [string, PresentVolume, ObservedHost, FailureCode, RegExp];

const raid1: Layout = { kind: 'raid1', mirrors: 1 };
const spare = { spareBytes: extents(3) };
const promised = [
  sampleThin({ name: 'a', sizeBytes: extents(30) }),
  sampleThin({ name: 'b', tags: [] }),
];

const creations: readonly Refusal[] = [
  ['no volume without its group', wanted(1n), hostOf(), 'VolumeGroupMissing', /vg1/],
  [
    'no volume in a class that is kept for old ones only',
    wanted(1n, { refusal: 'it is gone' }),
    hostOf(vgWithFree([10])),
    'DeviceClassRefused',
    /in the class thick: it is gone/,
  ],
  [
    'no volume in a group that misses a device',
    wanted(1n),
    hostOf(sampleVg({ isPartial: true, pvs: [samplePv(), samplePv({ isMissing: true })] })),
    'VolumeGroupPartial',
    /vg1 misses/,
  ],
  [
    'no volume larger than what is free',
    wanted(extents(11)),
    hostOf(vgWithFree([10])),
    'InsufficientCapacity',
    /vg1 .*at most 40 MiB.*not 44 MiB/,
  ],
  [
    'no volume out of the spare room',
    wanted(extents(8), spare),
    hostOf(vgWithFree([10])),
    'InsufficientCapacity',
    /at most 28 MiB \(12 MiB kept spare\)/,
  ],
  [
    'no volume on a device that gives nothing away',
    wanted(1n),
    hostOf(sampleVg({ pvs: [samplePv({ isAllocatable: false })] })),
    'LayoutNeedsDevices',
    /linear needs 1 devices but vg1 has 0/,
  ],
  [
    'no mirror on one device',
    wanted(1n, { layout: raid1 }),
    hostOf(vgWithFree([10])),
    'LayoutNeedsDevices',
    /raid1 needs 2 devices but vg1 has 1/,
  ],
  [
    'no mirror where only one device has room',
    wanted(1n, { layout: raid1 }),
    hostOf(vgWithFree([10, 0])),
    'InsufficientCapacity',
    /raid1/,
  ],
  [
    'no mirror where its metadata does not fit',
    wanted(extents(10), { layout: raid1 }),
    hostOf(vgWithFree([10, 10])),
    'InsufficientCapacity',
    /at most 36 MiB/,
  ],
  [
    'no thin volume without its pool',
    wanted(1n, { layout: thin }),
    hostOf(sampleVg()),
    'ThinPoolMissing',
    /vg1\/pool0/,
  ],
  [
    'no thin volume in what is no pool',
    wanted(1n, { layout: thin }),
    hostOf(sampleVg({ lvs: [sampleLv({ name: 'pool0' })] })),
    'ThinPoolForeign',
    /vg1\/pool0 is a linear/,
  ],
  [
    'no thin volume beyond what may be promised',
    wanted(extents(151), { layout: thin, overprovisionRatio: 1.5 }),
    thinVg(),
    'InsufficientCapacity',
    /pool0 may promise 600 MiB more at ratio 1.5, not 604 MiB/,
  ],
  [
    'no thin volume beyond what is left of what others were promised',
    wanted(extents(111), { layout: thin, overprovisionRatio: 1.5 }),
    thinVg(promised),
    'InsufficientCapacity',
    /may promise 440 MiB more/,
  ],
  [
    'no thin volume in a pool whose data is full',
    wanted(1n, { layout: thin }),
    thinVg([], { dataPercent: 95 }),
    'ThinPoolFull',
    /data 95 %/,
  ],
  [
    'no thin volume in a pool whose metadata is full',
    wanted(1n, { layout: thin }),
    thinVg([], { metadataPercent: 99 }),
    'ThinPoolFull',
    /metadata 99 %/,
  ],
  [
    'no thin volume in a pool that failed',
    wanted(1n, { layout: thin }),
    thinVg([], { health: 'failed' }),
    'ThinPoolUnhealthy',
    /failed/,
  ],
  [
    'no thin volume in a pool that must be checked',
    wanted(1n, { layout: thin }),
    thinVg([], { isInvalid: true }),
    'ThinPoolUnhealthy',
    /vg1\/pool0: .+/,
  ],
];

for (const [title, desired, host, code, names] of creations) {
  test(title, () => assertBlocked(planVolume(desired, host), code, names));
}

const fitting: readonly (readonly [string, PresentVolume, ObservedHost])[] = [
  ['the spare room', wanted(extents(7), spare), hostOf(vgWithFree([10]))],
  [
    'what may not be promised',
    wanted(extents(150), { layout: thin, overprovisionRatio: 1.5 }),
    thinVg(),
  ],
  [
    'what was promised already',
    wanted(extents(110), { layout: thin, overprovisionRatio: 1.5 }),
    thinVg(promised),
  ],
];

for (const [title, desired, host] of fitting) {
  test(`all but ${title} can be given out`, () => {
    assert.equal(stepOf(planVolume(desired, host), 'create-lv').sizeBytes, desired.sizeBytes);
  });
}

/** One volume of ours in a group with so many free extents. */
const one = (
  given: Partial<ObservedLv> = {},
  free: readonly number[] = [10],
  more: ObservedLv[] = [],
) => hostOf(vgWithFree(free, { lvs: [sampleLv(given), ...more] }));

const existing: readonly Row[] = [
  ['a volume that is there rests', wanted(extents(10)), one(), 'rest'],
  ['a volume larger than asked for is not shrunk', wanted(extents(5)), one(), 'rest'],
  ['a size within its last extent is large enough', wanted(extents(10) - 4096n), one(), 'rest'],
  [
    'a volume another system made is not taken over by its name',
    wanted(extents(10)),
    one({ tags: [] }),
    'VolumeDiffers',
    /vg1\/v1 exists and is not ours/,
  ],
  [
    'a volume that a record names is served as it is',
    { ...wanted(extents(10)), isAdopted: true },
    one({ tags: [] }),
    'rest',
  ],
  ['a pool is no volume', wanted(1n), one({ kind: 'thin-pool' }), 'VolumeDiffers', /thin-pool/],
  [
    'a CoW snapshot is no volume',
    wanted(1n),
    one({ kind: 'cow-snapshot' }),
    'VolumeDiffers',
    /cow/,
  ],
  [
    'a copy under way is no volume yet',
    wanted(extents(10)),
    one({ tags: [ownerTag, copyingTag] }),
    'CopyUnfinished',
    /vg1\/v1/,
  ],
  [
    'a volume that was ready and is gone is not made anew',
    { ...wanted(1n), uuid: 'u1' },
    hostOf(sampleVg()),
    'VolumeLost',
    /vg1\/v1 was u1 and is gone/,
  ],
  [
    'a volume that bears the name of one that was ready is not used for it',
    { ...wanted(1n), uuid: 'u1' },
    one(),
    'VolumeLost',
    /vg1\/v1 was u1 .*uuid-v1/,
  ],
  [
    'a volume with CoW snapshots cannot grow',
    wanted(extents(11)),
    one({}, [10], [sampleCow()]),
    'GrowUnsupported',
    /vg1\/v1 .*s1/,
  ],
  [
    'an unhealthy volume does not grow',
    wanted(extents(11)),
    one({ health: 'refresh needed' }),
    'VolumeUnhealthy',
    /refresh needed/,
  ],
  [
    'a volume does not grow beyond what is free',
    wanted(extents(21)),
    one(),
    'InsufficientCapacityToExpand',
    /vg1\/v1 needs 11 more extents.*vg1 has 10/,
  ],
  [
    'a volume does not grow out of the spare room',
    wanted(extents(18), spare),
    one(),
    'InsufficientCapacityToExpand',
    /vg1 has 7 \(12 MiB kept spare\)/,
  ],
  [
    'a mirror does not grow where one device has no room',
    wanted(extents(12)),
    one({ kind: 'raid1', stripes: 2 }, [10, 1]),
    'InsufficientCapacityToExpand',
    /on 2 device/,
  ],
  [
    'a thin volume does not grow beyond what may be promised',
    wanted(extents(101), { layout: thin, overprovisionRatio: 1 }),
    thinVg([sampleThin()]),
    'InsufficientCapacityToExpand',
    /pool0/,
  ],
  [
    'a thin volume does not grow unchecked when its class is no longer thin',
    wanted(extents(101)),
    thinVg([sampleThin()]),
    'InsufficientCapacityToExpand',
    /pool0/,
  ],
  [
    'a thin volume does not grow in a full pool',
    wanted(extents(11), { layout: thin }),
    thinVg([sampleThin()], { dataPercent: 96 }),
    'InsufficientCapacityToExpand',
    /pool0 is full/,
  ],
];

for (const [title, desired, host, result, names] of existing) {
  test(title, () => {
    const decision = planVolume(desired, host);
    if (result === 'rest') assertRest(decision);
    else assertBlocked(decision, result, names);
  });
}

const growths: readonly (readonly [Partial<ObservedLv>, readonly number[], bigint, bigint])[] = [
  [{}, [10], extents(20), 20n],
  [{}, [10], extents(10) + 4096n, 11n],
  [{ kind: 'striped', stripes: 2, dataColumns: 2 }, [5, 5], extents(11), 12n],
  [{ kind: 'raid1', stripes: 2 }, [5, 5], extents(15), 15n],
  [{ kind: 'raid5', stripes: 3, dataColumns: 2 }, [5, 5, 5], extents(20), 20n],
];

for (const [lv, free, size, made] of growths) {
  test(`a ${lv.kind ?? 'linear'} volume grows to ${made} extents in its own shape`, () => {
    const desired = wanted(size, { layout: { kind: 'linear' } });
    const step = stepOf(planVolume(desired, one(lv, free)), 'extend-lv');
    assert.equal(step.sizeBytes, extents(made));
    assert.equal(step.lvUuid, 'uuid-v1');
    assertRest(planVolume(desired, one({ ...lv, sizeBytes: step.sizeBytes }, free)));
  });
}

test('the snapshots of another volume keep nobody from growing', () => {
  const host = one({}, [10], [sampleLv({ name: 'v2' }), sampleCow({ origin: 'v2' })]);
  assert.equal(stepOf(planVolume(wanted(extents(11)), host), 'extend-lv').lvUuid, 'uuid-v1');
});

test('a thin volume with thin snapshots grows', () => {
  const lvs = [sampleThin(), sampleThin({ name: 's1', origin: 'v1' })];
  const desired = wanted(extents(20), { layout: thin });
  assert.equal(stepOf(planVolume(desired, thinVg(lvs)), 'extend-lv').sizeBytes, extents(20));
});

test('an inactive volume is activated, after it has grown', () => {
  const host = one({ isActive: false });
  assert.equal(stepOf(planVolume(wanted(extents(10)), host), 'activate-lv').lvUuid, 'uuid-v1');
  assert.equal(stepOf(planVolume(wanted(extents(11)), host), 'extend-lv').lvUuid, 'uuid-v1');
});

const states: readonly (readonly [string, PresentVolume, ObservedHost, string, RegExp])[] = [
  ['a volume', wanted(extents(10)), one(), 'Ready', /^$/],
  ['a volume to be made', wanted(1n), hostOf(sampleVg()), 'Progressing', /^next: create-lv$/],
  ['a volume to grow', wanted(extents(11)), one(), 'Progressing', /^next: extend-lv$/],
  ['a volume without room', wanted(extents(99)), hostOf(vgWithFree([9])), 'Blocked', /at most/],
];

for (const [title, desired, host, state, reason] of states) {
  test(`${title} is ${state}`, () => {
    const status = volumeStatus(desired, host);
    assert.equal(status.state, state);
    assert.match(status.reason, reason);
    assert.equal(status.code !== undefined, state === 'Blocked');
  });
}

test('a status tells what the report shows', () => {
  const tags = [ownerTag, pendingTag];
  const host = one({ kind: 'raid1', tags, syncPercent: 50, health: 'refresh needed' });
  const { uuid, kind, sizeBytes, health, syncPercent, isPending } = volumeStatus(wanted(1n), host);
  assert.deepEqual(
    { uuid, kind, sizeBytes, health, syncPercent, isPending },
    {
      uuid: 'uuid-v1',
      kind: 'raid1',
      sizeBytes: extents(10),
      health: 'refresh needed',
      syncPercent: 50,
      isPending: true,
    },
  );
});

test('a volume that is to go is Absent once it is gone, whoever bears its name then', () => {
  const gone = absentVolume('vg1', 'v1', 'u-old');
  assert.equal(volumeStatus(gone, hostOf(sampleVg())).state, 'Absent');
  const status = volumeStatus(gone, one());
  assert.equal(status.state, 'Absent');
  assert.equal(status.uuid, undefined);
  assert.equal(volumeStatus(gone, hostOf(sampleVg())).isPending, false);
});

test('a RAID that was cut off in the making is removed and made anew, if nobody used it', () => {
  const raid = { kind: 'raid1', stripes: 2 } as const;
  const half = sampleLv({ name: 'v1', ...raid, tags: ['quarry', 'quarry.pending'] });
  const part = sampleLv({ name: 'v1_rmeta_0', tags: [] });
  const desired = wanted(extents(1), { layout: { kind: 'raid1', mirrors: 1 } });
  const step = stepOf(planVolume(desired, hostOf(sampleVg({ lvs: [half, part] }))), 'remove-lv');
  assert.equal(step.lv, 'v1');
  const used = sampleLv({ ...half, tags: ['quarry'] });
  const decision = planVolume(desired, hostOf(sampleVg({ lvs: [used, part] })));
  assert.ok(decision.kind !== 'step' || decision.step.kind !== 'remove-lv');
});

test('the mark of a RAID in the making goes last, and it goes by nothing but a plain plan', () => {
  const layout = { kind: 'raid1', mirrors: 1 } as const;
  const request = { name: 'v1', className: '', sizeBytes: bytes(extents(1)) };
  const desired = desiredVolume({ ...request, preparedBy: 'caller' }, [thickClass({ layout })]);
  assert.ok(!isBlocked(desired));
  const made = { name: 'v1', kind: 'raid1', stripes: 2, tags: [ownerTag, makingTag] } as const;
  const planOf = (...lvs: readonly ObservedLv[]) => planVolume(desired, hostOf(sampleVg({ lvs })));
  const step = stepOf(planOf(sampleLv(made)), 'change-tags');
  assert.deepEqual([step.lv, step.add, step.remove], ['v1', [], [makingTag]]);
  assertRest(planOf(sampleLv({ ...made, tags: [ownerTag] })));
  const half = sampleLv({ ...made, isActive: false });
  stepOf(planOf(half, sampleLv({ name: 'v1_rmeta_0', tags: [] })), 'activate-lv');
});

test('a RAID with the pending mark that is not active is activated: older metadata may be back', () => {
  const raid = { kind: 'raid1', stripes: 2, isActive: false, sizeBytes: extents(1) } as const;
  const cut = sampleLv({ name: 'v1', ...raid, tags: ['quarry', 'quarry.pending'] });
  const desired = wanted(extents(1), { layout: { kind: 'raid1', mirrors: 1 } });
  stepOf(planVolume(desired, hostOf(sampleVg({ lvs: [cut] }))), 'activate-lv');
});
