import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBlocked } from '../../test/samples/decisions.ts';
import {
  extents,
  sampleCow,
  sampleDevice,
  sampleLv,
  samplePool,
  samplePv,
  sampleThin,
  sampleVg,
} from '../../test/samples/observed.ts';
import type { FailureCode } from '../base/failures.ts';
import type { DeviceSelector } from './device/desired.ts';
import type { ObservedDevice, ObservedLv, ObservedVg, Signatures } from './observed.ts';
import { type Deed, permitFor, type Question } from './permit.ts';
import { fileSystemUuid } from './publication/file-systems.ts';
import { copyingTag, ownerTag, pendingTag, rawTag, tagOf } from './tags.ts';
import { isBlocked } from './usable-vg.ts';

type Ask<D extends Deed> = Extract<Question, { deed: D }>;

/** A question without the proof named in the title, and the refusal it must get. */
type Refusal<D extends Deed> = readonly [
  missing: string,
  question: Partial<Ask<D>>,
  code: FailureCode,
  names: RegExp,
];

function granted(title: string, question: Question, target: string): void {
  test(`${question.deed} is permitted for ${title}`, () => {
    const permit = permitFor(question);
    assert.ok(!isBlocked(permit), JSON.stringify(permit));
    assert.deepEqual({ ...permit }, { deed: question.deed, target });
  });
}

function refused<D extends Deed>(good: Ask<D>, rows: readonly Refusal<D>[]): void {
  for (const [missing, change, code, names] of rows) {
    test(`${good.deed} is refused ${missing}`, () => {
      assertBlocked(permitFor({ ...good, ...change }), code, names);
    });
  }
}

const selector = {
  kind: 'paths',
  required: ['/dev/sdb'],
  optional: ['/dev/disk/by-id/c'],
  forceWipe: true,
} as const satisfies DeviceSelector;

const used = sampleDevice({ fileSystem: 'ext4', signatures: { kind: 'found', types: ['ext4'] } });
const wipe = { deed: 'wipe-device', device: used, selector } as const;
const device = (given: Partial<ObservedDevice>) => ({ device: { ...used, ...given } });

granted('a named device with content nobody uses', wipe, '/dev/sdb');
granted(
  'a device named by a link',
  { ...wipe, device: sampleDevice({ path: '/dev/sdc', links: ['/dev/disk/by-id/c'] }) },
  '/dev/sdc',
);
granted(
  'an orphan PV',
  { ...wipe, ...device({ label: { kind: 'orphan', pvUuid: 'u' } }) },
  '/dev/sdb',
);
granted(
  'a disk with partitions nobody uses',
  { ...wipe, ...device({ holders: ['/dev/sdb1'], partitionTable: 'gpt' }) },
  '/dev/sdb',
);
granted(
  'a partition of a named disk',
  {
    ...wipe,
    device: sampleDevice({ path: '/dev/sdb1', type: 'part' }),
    disk: sampleDevice({ holders: ['/dev/sdb1'] }),
  },
  '/dev/sdb1',
);

refused<'wipe-device'>(wipe, [
  [
    'when its path is not named',
    { selector: { ...selector, required: ['/dev/sda'] } },
    'DeviceHoldsData',
    /\/dev\/sdb .*not named/,
  ],
  [
    'when wiping was not allowed',
    { selector: { ...selector, forceWipe: false } },
    'DeviceHoldsData',
    /\/dev\/sdb .*not allowed/,
  ],
  [
    'when any device may be taken',
    { selector: { kind: 'any', forceWipe: false } },
    'DeviceHoldsData',
    /\/dev\/sdb .*not named/,
  ],
  ['while mounted', device({ mountPoints: ['/data'] }), 'DeviceBusy', /\/dev\/sdb .*\/data/],
  ['while used as swap', device({ isSwap: true }), 'DeviceBusy', /\/dev\/sdb .*swap/],
  ['while suspended', device({ isSuspended: true }), 'DeviceBusy', /\/dev\/sdb .*suspended/],
  [
    'while somebody holds it open',
    device({ exclusiveOpen: 'busy' }),
    'DeviceBusy',
    /\/dev\/sdb .*in use/,
  ],
  [
    'while nobody knows who holds it open',
    device({ exclusiveOpen: 'unknown' }),
    'DeviceBusy',
    /\/dev\/sdb .*unknown/,
  ],
  [
    'while an encrypted device stands on it',
    device({ holders: ['/dev/mapper/luks'] }),
    'DeviceBusy',
    /\/dev\/sdb .*luks/,
  ],
  [
    'for a partition that something stands on',
    {
      device: sampleDevice({ path: '/dev/sdb1', type: 'part', holders: ['/dev/mapper/luks'] }),
      disk: sampleDevice({ holders: ['/dev/sdb1'] }),
    },
    'DeviceBusy',
    /\/dev\/sdb1 .*luks/,
  ],
  [
    'for a PV of a group',
    device({ label: { kind: 'member', pvUuid: 'u', vg: 'vg2' } }),
    'DeviceHoldsData',
    /\/dev\/sdb .*LVM label/,
  ],
  [
    'when LVM cannot say what its label is',
    device({ label: { kind: 'unknown', why: 'twins' } }),
    'DeviceHoldsData',
    /\/dev\/sdb .*LVM label/,
  ],
  [
    'for a partition of another disk than the named one',
    { device: sampleDevice({ path: '/dev/sdc1', type: 'part' }), disk: used },
    'DeviceHoldsData',
    /\/dev\/sdc1 .*not a partition of \/dev\/sdb/,
  ],
  [
    'for a partition of a disk that is not named',
    {
      device: sampleDevice({ path: '/dev/sdc1', type: 'part' }),
      disk: sampleDevice({ path: '/dev/sdc', holders: ['/dev/sdc1'] }),
    },
    'DeviceHoldsData',
    /\/dev\/sdc1 .*not named/,
  ],
]);

function removal(lv: ObservedLv, others: readonly ObservedLv[] = []): Ask<'remove-lv'> {
  return { deed: 'remove-lv', lv, vg: sampleVg({ lvs: [lv, ...others] }) };
}

const foreign = sampleLv({ tags: [] });

granted('a volume of ours', removal(sampleLv()), 'uuid-v1');
granted('a volume a record names by UUID', { ...removal(foreign), recorded: 'uuid-v1' }, 'uuid-v1');
granted('a volume a record names', { ...removal(foreign), recorded: 'v1' }, 'uuid-v1');
granted('an empty thin pool', removal(samplePool()), 'uuid-pool0');
granted(
  'a thin volume, whose thin snapshots live on',
  removal(sampleThin(), [sampleThin({ name: 's1', origin: 'v1' })]),
  'uuid-v1',
);
granted(
  'a pool of which only parts are left',
  removal(samplePool(), [sampleLv({ name: 'pool0_tdata', pool: 'pool0', isInternal: true })]),
  'uuid-pool0',
);
granted('a CoW snapshot', removal(sampleCow(), [sampleLv()]), 'uuid-s1');

const dependents: readonly (readonly [ObservedLv, ObservedLv, FailureCode])[] = [
  [sampleLv(), sampleCow(), 'VolumeHasSnapshots'],
  [sampleThin(), sampleCow(), 'VolumeHasSnapshots'],
  [sampleLv(), sampleThin({ name: 's1', origin: 'v1' }), 'VolumeHasSnapshots'],
  [samplePool(), sampleThin({ name: 's1' }), 'VolumeInUse'],
];

refused<'remove-lv'>(removal(sampleLv()), [
  ['when no tag and no record is ours', removal(foreign), 'NotOurs', /vg1\/v1 .*no tag of ours/],
  [
    'when a record names another volume',
    { ...removal(foreign), recorded: 'v2' },
    'NotOurs',
    /vg1\/v1/,
  ],
  [
    'when only marks but not the owner tag are there',
    removal(sampleLv({ tags: [pendingTag, copyingTag, tagOf('class', 'a')] })),
    'NotOurs',
    /vg1\/v1/,
  ],
  [
    'for a part of a pool or RAID',
    removal(sampleLv({ isInternal: true })),
    'NotOurs',
    /vg1\/v1 .*part of another/,
  ],
  [
    'while a device of it is missing',
    removal(sampleLv({ health: 'partial' })),
    'VolumeGroupPartial',
    /vg1\/v1 .*missing/,
  ],
  [
    'while it is copied from',
    removal(sampleLv(), [
      sampleLv({
        name: 'c1',
        uuid: 'uuid-c1',
        tags: [ownerTag, copyingTag, tagOf('source', 'v1')],
      }),
    ]),
    'VolumeInUse',
    /vg1\/v1 .*c1 is copied from it/,
  ],
  ...dependents.map(
    ([lv, other, code]): Refusal<'remove-lv'> => [
      `for a ${lv.kind} that a ${other.kind} needs`,
      removal(lv, [other]),
      code,
      new RegExp(`vg1/${lv.name} .*${other.name} would be lost`),
    ],
  ),
]);

const vgQuestion = (given: Partial<ObservedVg>) => ({ vg: sampleVg(given) });

granted(
  'an empty group with our tag',
  { deed: 'remove-vg', tag: 'lvms', ...vgQuestion({}) },
  'uuid-vg1',
);
granted(
  'a group with nothing but parts left',
  { deed: 'remove-vg', tag: 'lvms', ...vgQuestion({ lvs: [sampleLv({ isInternal: true })] }) },
  'uuid-vg1',
);
refused<'remove-vg'>({ deed: 'remove-vg', tag: 'lvms', ...vgQuestion({}) }, [
  ['without the tag', vgQuestion({ tags: ['lvmsx'] }), 'VolumeGroupForeign', /vg1 .*tag lvms/],
  ['while a device is missing', vgQuestion({ isPartial: true }), 'VolumeGroupPartial', /vg1/],
  ['with a volume of ours', vgQuestion({ lvs: [sampleLv()] }), 'VolumeInUse', /vg1 .*v1/],
  ["with anybody's volume", vgQuestion({ lvs: [foreign] }), 'VolumeInUse', /vg1 .*v1/],
  ['with an empty thin pool', vgQuestion({ lvs: [samplePool()] }), 'VolumeInUse', /vg1 .*pool0/],
]);

const pv = samplePv({ device: '/dev/sdb' });
const twoPvs = sampleVg({ pvs: [samplePv(), pv] });

granted('an empty device', { deed: 'reduce-vg', vg: twoPvs, pv }, 'pv-/dev/sdb');
refused<'reduce-vg'>({ deed: 'reduce-vg', vg: twoPvs, pv }, [
  ['for the last device', { vg: sampleVg({ pvs: [pv] }) }, 'DeviceNotUsable', /\/dev\/sdb/],
  [
    'while extents of volumes are on it',
    { pv: { ...pv, freeBytes: extents(999) } },
    'DeviceHoldsData',
    /\/dev\/sdb .*extents/,
  ],
  [
    'while a device is missing',
    { vg: { ...twoPvs, isPartial: true } },
    'VolumeGroupPartial',
    /vg1/,
  ],
]);

const missing = samplePv({ device: '[unknown]', isMissing: true });
const halfMade = sampleVg({ isPartial: true, pvs: [pv, missing] });
const drop = { deed: 'drop-missing', vg: halfMade, tag: 'lvms', absentPaths: [] } as const;

granted('an empty group of ours, all of whose named devices are here', drop, 'uuid-vg1');
refused<'drop-missing'>(drop, [
  ['without the tag', { vg: { ...halfMade, tags: [] } }, 'VolumeGroupForeign', /vg1/],
  ['with a volume', { vg: { ...halfMade, lvs: [sampleLv()] } }, 'VolumeGroupPartial', /vg1/],
  [
    'with a part of a volume',
    { vg: { ...halfMade, lvs: [sampleLv({ isInternal: true })] } },
    'VolumeGroupPartial',
    /vg1/,
  ],
  [
    'while a named device may come back',
    { absentPaths: ['/dev/sdx'] },
    'VolumeGroupPartial',
    /vg1 .*\/dev\/sdx may come back/,
  ],
]);

const orphan = sampleDevice({ label: { kind: 'orphan', pvUuid: pv.uuid } });

granted('an orphan', { deed: 'remove-pv', pv, device: orphan }, 'pv-/dev/sdb');
refused<'remove-pv'>({ deed: 'remove-pv', pv, device: orphan }, [
  ...(
    [
      ['for a PV of a group', { kind: 'member', pvUuid: pv.uuid, vg: 'vg2' }],
      ['for another PV than the one seen', { kind: 'orphan', pvUuid: 'other' }],
      ['without a label', { kind: 'none' }],
      ['when the label is unclear', { kind: 'unknown', why: 'twins' }],
    ] as const
  ).map(
    ([title, label]): Refusal<'remove-pv'> => [
      title,
      { device: { ...orphan, label } },
      'DeviceHoldsData',
      /\/dev\/sdb .*orphan/,
    ],
  ),
  ['while mounted', { device: { ...orphan, mountPoints: ['/x'] } }, 'DeviceBusy', /\/dev\/sdb/],
  ['while held', { device: { ...orphan, holders: ['/dev/sdb1'] } }, 'DeviceBusy', /\/dev\/sdb/],
]);

const nothing: Signatures = { kind: 'none' };
const unsure: Signatures = { kind: 'unknown', why: 'blkid ended with code 8' };
const xfs: Signatures = { kind: 'found', types: ['xfs'] };
const pending = sampleLv({ tags: [ownerTag, pendingTag] });
const format: Ask<'format-lv'> = {
  deed: 'format-lv',
  lv: pending,
  probes: [nothing, nothing],
  found: undefined,
  wantedType: 'ext4',
  mountPoints: [],
  exclusiveOpen: 'free',
};

granted('a pending volume on which two probes found nothing', format, 'uuid-v1');
refused<'format-lv'>(format, [
  ['without a pending mark', { lv: sampleLv() }, 'VolumeHoldsData', /v1 .*no pending mark/],
  ['without any mark', { lv: foreign }, 'VolumeHoldsData', /v1 .*no pending mark/],
  [
    'when the first probe found something',
    { probes: [xfs, nothing] },
    'VolumeHoldsData',
    /v1.*xfs/,
  ],
  ['when the second probe found something', { probes: [nothing, xfs] }, 'VolumeHoldsData', /xfs/],
  ['when the first probe is unsure', { probes: [unsure, nothing] }, 'VolumeHoldsData', /code 8/],
  ['when the second probe is unsure', { probes: [nothing, unsure] }, 'VolumeHoldsData', /code 8/],
]);

const ext4: Signatures = { kind: 'found', types: ['ext4'] };
const unfinished = { type: 'ext4', uuid: fileSystemUuid('uuid-v1'), isUnfinished: true };
const cutOff: Ask<'format-lv'> = { ...format, probes: [ext4, ext4], found: unfinished };
const unmapped = sampleThin({ tags: [], dataPercent: 0 });

granted('a pending volume with what our own mkfs left on it', cutOff, 'uuid-v1');
granted('a superblock of ours that no probe sees', { ...format, found: unfinished }, 'uuid-v1');
granted('a thin volume without a block, whoever made it', { ...format, lv: unmapped }, 'uuid-v1');
refused<'format-lv'>(cutOff, [
  ['while it is mounted', { mountPoints: ['/m'] }, 'VolumeInUse', /v1 .*\/m/],
  ['while something holds it', { exclusiveOpen: 'busy' }, 'VolumeInUse', /v1 .*us alone/],
  ['when nobody can tell', { exclusiveOpen: 'unknown' }, 'VolumeInUse', /us alone/],
  ['without a pending mark', { lv: sampleLv() }, 'VolumeHoldsData', /no pending mark/],
  ['when another type is wanted', { wantedType: 'xfs' }, 'VolumeHoldsData', /found ext4/],
  [
    'when the UUID is not the one we give this volume',
    { found: { ...unfinished, uuid: fileSystemUuid('uuid-v2') } },
    'VolumeHoldsData',
    /ext4, [0-9a-f-]{36}\), which is not our unfinished work/,
  ],
  [
    'when our mkfs is done',
    { found: { ...unfinished, isUnfinished: false } },
    'VolumeHoldsData',
    /ext4/,
  ],
  ['when a probe finds more', { probes: [ext4, xfs] }, 'VolumeHoldsData', /found xfs/],
  ['when a probe is unsure', { probes: [ext4, unsure] }, 'VolumeHoldsData', /code 8/],
  [
    'when only the superblock shows a foreign file system',
    { probes: [nothing, nothing], found: { ...unfinished, uuid: 'u' } },
    'VolumeHoldsData',
    /superblock of ext4/,
  ],
  [
    'of a thin volume that has one block',
    { lv: sampleThin({ tags: [], dataPercent: 0.01 }), probes: [nothing, nothing] },
    'VolumeHoldsData',
    /no pending mark/,
  ],
  [
    'of a thin volume whose blocks nobody counted',
    { lv: sampleThin({ tags: [], dataPercent: undefined }), probes: [nothing, nothing] },
    'VolumeHoldsData',
    /no pending mark/,
  ],
  [
    'of an unmapped thin volume with a signature all the same',
    { lv: unmapped },
    'VolumeHoldsData',
    /found ext4/,
  ],
]);

const probes = [nothing, nothing] as const;
const zero: Ask<'zero-range'> = { deed: 'zero-range', lv: pending, probes };
granted('a new volume of ours on which two probes found nothing', zero, 'uuid-v1');
refused<'zero-range'>(zero, [
  ['without a pending mark', { lv: sampleLv() }, 'VolumeHoldsData', /no pending mark/],
  ['of somebody else', { lv: sampleLv({ tags: [pendingTag] }) }, 'VolumeHoldsData', /of ours/],
  ['when the first probe found something', { probes: [xfs, nothing] }, 'VolumeHoldsData', /xfs/],
  ['when the second probe found something', { probes: [nothing, xfs] }, 'VolumeHoldsData', /xfs/],
  ['when the first probe is unsure', { probes: [unsure, nothing] }, 'VolumeHoldsData', /code 8/],
  ['when the second probe is unsure', { probes: [nothing, unsure] }, 'VolumeHoldsData', /code 8/],
]);

const from = (fromBytes: bigint) => ({ deed: 'zero-range', target: 'uuid-v1', fromBytes });

test('the end of a copy may be overwritten from where it was copied to', () => {
  const tags = [ownerTag, copyingTag, tagOf('copied', '4096')];
  const ask = (given: readonly string[]) =>
    permitFor({ deed: 'zero-range', lv: sampleLv({ tags: given }), part: 'end-of-copy' });
  assert.deepEqual({ ...ask(tags) }, from(4096n));
  for (const missing of tags) {
    const rest = tags.filter((tag) => tag !== missing);
    assertBlocked(ask(rest), 'VolumeHoldsData', /no mark of a copy of ours/);
  }
});

test('the new end of a raw volume may be overwritten from the size that was noted', () => {
  const tags = [ownerTag, rawTag, tagOf('grownFrom', '4096')];
  const ask = (given: readonly string[]) =>
    permitFor({ deed: 'zero-range', lv: sampleLv({ tags: given }), part: 'growth' });
  assert.deepEqual({ ...ask(tags) }, from(4096n));
  for (const missing of tags) {
    const rest = tags.filter((tag) => tag !== missing);
    assertBlocked(ask(rest), 'VolumeHoldsData', /no growth of it is noted/);
  }
  for (const more of [pendingTag, copyingTag]) {
    assertBlocked(ask([...tags, more]), 'VolumeHoldsData', /no growth of it is noted/);
  }
});
