import test from 'node:test';
import { assertBlocked } from '../../../test/samples/decisions.ts';
import {
  deviceOf,
  fileSystem,
  holds,
  lvUuid,
  mountOf,
  nodeOf,
  none,
  ourFileSystem,
  seen,
  targetPath,
  volumeLv,
  wanted,
} from '../../../test/samples/publications.ts';
import { bytes } from '../../base/bytes.ts';
import type { FailureCode } from '../../base/failures.ts';
import type { ObservedLv, ObservedVg } from '../observed.ts';
import { copyingTag, ownerTag, pendingTag, rawTag, tagOf } from '../tags.ts';
import type { PresentPublication } from './desired.ts';
import type { ObservedPublication, Probes } from './observed.ts';
import { planPublication, rootMode } from './plan.ts';

const pending = { tags: [ownerTag, pendingTag] };
const raw = wanted({ access: { kind: 'block' } });
const readOnly = wanted({ isReadOnly: true });
const as = (fsType: string, ...flags: readonly string[]) =>
  wanted({ access: { kind: 'mount', fsType, flags } });
const directory = {
  path: targetPath,
  kind: 'directory',
  mode: 0o755,
  sizeBytes: bytes(0n),
} as const;
const opened = { ...directory, mode: rootMode };
const used = fileSystem();
const probed = (...signatures: Probes['signatures']): Probes => ({
  signatures,
  exclusiveOpen: 'free',
});

const mounted = { here: [mountOf()], target: opened, fileSystem: used };
const shown = { here: [nodeOf()], target: { ...directory, kind: 'device' } } as const;

type Refusal = readonly [string, PresentPublication, ObservedPublication, FailureCode, RegExp];

const vgIs = (vg: Partial<ObservedVg>) => seen({}, {}, vg);
const lvIs = (lv: Partial<ObservedLv>, given: Partial<ObservedPublication> = {}) => seen(lv, given);
const theirs = { kind: 'other' } as const;

const refusals: readonly Refusal[] = [
  ['without its group', wanted(), vgIs({ name: 'vg2' }), 'VolumeGroupMissing', /vg1/],
  [
    'that is not there',
    wanted(),
    vgIs({ lvs: [] }),
    'VolumeNotFound',
    new RegExp(`vg1/v1 \\(${lvUuid}\\)$`),
  ],
  [
    'whose name has another volume',
    wanted(),
    vgIs({ lvs: [volumeLv({ uuid: 'U2' })] }),
    'VolumeNotFound',
    /U2/,
  ],
  ['that is a pool', wanted(), lvIs({ kind: 'thin-pool' }), 'NotOurs', /v1 is a thin-pool/],
  ['that is being copied', wanted(), lvIs({ tags: [copyingTag] }), 'CopyUnfinished', /v1/],
  [
    'that grew, and whose new end is not overwritten yet',
    raw,
    lvIs({ tags: [ownerTag, rawTag, tagOf('grownFrom', '4096')] }),
    'GrowthUnfinished',
    /--deltag/,
  ],
  [
    'that is to be zeroed for its file system, and has something on it',
    wanted({ access: { kind: 'mount', fsType: 'ext4', flags: [], zeroFirst: true } }),
    seen(pending, { probes: probed(none, holds('swap')) }),
    'VolumeHoldsData',
    /swap/,
  ],
  [
    'that overflowed',
    readOnly,
    lvIs({ kind: 'cow-snapshot', isInvalid: true }),
    'SnapshotOverflowed',
    /v1/,
  ],
  ['that must be checked', wanted(), lvIs({ isInvalid: true }), 'VolumeUnhealthy', /checked/],
  ['that misses a device', wanted(), lvIs({ health: 'partial' }), 'VolumeUnhealthy', /missing/],
  ['that is read-only, writable', wanted(), lvIs({ isReadOnly: true }), 'VolumeReadOnly', /v1/],
  [
    'of a shared group that is inactive',
    wanted(),
    seen({ isActive: false }, {}, { lockType: 'sanlock' }),
    'VolumeInactive',
    /sanlock/,
  ],
  [
    'that an earlier life is about to show here',
    raw,
    lvIs({}, { strays: [`nsenter -- mount --options bind /dev/mapper/vg1-v1 ${targetPath}`] }),
    'CommandTimedOut',
    /mount .* still runs/,
  ],
  [
    'that an earlier life is about to show elsewhere',
    wanted(),
    lvIs({}, { strays: ['mount /dev/mapper/vg1-v1 /elsewhere'] }),
    'CommandTimedOut',
    /mount .* still runs/,
  ],
  [
    'that an earlier life is about to take away here',
    wanted(),
    lvIs({}, { ...mounted, strays: ['lvm vgs', `umount ${targetPath}`] }),
    'CommandTimedOut',
    /umount .* still runs/,
  ],
  [
    'without a device node',
    wanted(),
    lvIs({}, { device: undefined }),
    'VolumeDeviceMissing',
    /\/dev\/mapper\/vg1-v1/,
  ],
  [
    'whose device is another volume',
    wanted(),
    lvIs({}, { device: deviceOf(volumeLv({ uuid: 'U2' })) }),
    'VolumeDeviceMissing',
    /254:3.* is LVM-.*U2, not vg1\/v1/,
  ],
  [
    'that is suspended',
    wanted(),
    lvIs({}, { device: deviceOf(volumeLv(), { isSuspended: true }) }),
    'DeviceSuspended',
    /vg1-v1/,
  ],
  [
    'where something else is mounted',
    wanted(),
    lvIs({}, { here: [mountOf({ owner: theirs, source: 'tmpfs', fsType: 'tmpfs' })] }),
    'TargetTaken',
    /already shows tmpfs \(tmpfs\)/,
  ],
  [
    'under something else',
    wanted(),
    lvIs({}, { here: [mountOf(), mountOf({ owner: theirs })] }),
    'TargetTaken',
    /mount/,
  ],
  [
    'over a dead mount',
    wanted(),
    lvIs({}, { here: [mountOf({ owner: { kind: 'gone' } })] }),
    'TargetTaken',
    /mount/,
  ],
  [
    'where a file is',
    wanted(),
    lvIs({}, { target: { ...directory, kind: 'file' } }),
    'TargetTaken',
    /no directory but a file/,
  ],
  [
    'where a directory is, raw',
    raw,
    lvIs({}, { target: directory }),
    'TargetTaken',
    /no file but a directory/,
  ],
  [
    'that is shown read-only',
    wanted(),
    lvIs({}, { ...mounted, here: [mountOf({ isReadOnly: true })] }),
    'PublishedDifferently',
    /read-only/,
  ],
  ['that is shown writable', readOnly, lvIs({}, mounted), 'PublishedDifferently', /writable/],
  [
    'that is shown as another file system',
    as('xfs'),
    lvIs({}, mounted),
    'PublishedDifferently',
    /as ext4/,
  ],
  ['that is shown raw', wanted(), lvIs({}, shown), 'PublishedDifferently', /raw/],
  ['that is mounted, raw', raw, lvIs({}, mounted), 'PublishedDifferently', /as ext4/],
  [
    'that is shown read-only, raw',
    raw,
    lvIs({}, { ...shown, here: [nodeOf({ isReadOnly: true })] }),
    'PublishedDifferently',
    /read-only/,
  ],
  [
    'whose node hides a directory',
    raw,
    lvIs({}, { here: [nodeOf()], target: directory }),
    'TargetTaken',
    /is a directory/,
  ],
  [
    'that is raw elsewhere',
    wanted(),
    lvIs({}, { elsewhere: [nodeOf({ mountPoint: '/b' })] }),
    'VolumeInUse',
    /raw device at \/b/,
  ],
  [
    'that is wanted alone and shown elsewhere',
    wanted({ isExclusive: true }),
    lvIs({}, { fileSystem: used, elsewhere: [mountOf({ mountPoint: '/b' })] }),
    'VolumeInUse',
    /in use at \/b, and was asked for alone/,
  ],
  [
    'that is mounted elsewhere, raw',
    raw,
    lvIs({}, { elsewhere: [mountOf({ mountPoint: '/b' })] }),
    'VolumeInUse',
    /mounted at \/b/,
  ],
  [
    'that is read-only elsewhere, writable',
    wanted(),
    lvIs(
      {},
      { fileSystem: used, elsewhere: [mountOf({ mountPoint: '/b', isFileSystemReadOnly: true })] },
    ),
    'VolumeInUse',
    /read-only at \/b/,
  ],
  [
    'that holds another file system',
    as('xfs'),
    lvIs({}, { fileSystem: used }),
    'FileSystemDiffers',
    /holds ext4 with UUID 1111.*, not xfs/,
  ],
  [
    'that holds what only probes know',
    wanted(),
    lvIs({}, { probes: probed(holds('crypto_LUKS'), none) }),
    'FileSystemDiffers',
    /holds crypto_LUKS, not ext4/,
  ],
  [
    'that holds data nobody knows',
    wanted(),
    lvIs({}),
    'VolumeHoldsData',
    /no pending mark.*no ext4/,
  ],
  [
    'that cannot be probed',
    wanted(),
    lvIs({}, { probes: probed({ kind: 'unknown', why: 'no answer' }, none) }),
    'VolumeHoldsData',
    /no answer/,
  ],
  [
    'that cannot be read',
    wanted(),
    lvIs({}, { fileSystem: { kind: 'unknown', why: 'EIO' } }),
    'DeviceFailed',
    /EIO; .*`lvchange --refresh vg1\/v1`/,
  ],
  [
    'that is mounted elsewhere as something odd',
    wanted(),
    lvIs({}, { elsewhere: [mountOf({ mountPoint: '/b' })] }),
    'FileSystemDiffers',
    /mounted but/,
  ],
  [
    'that is new and holds a file system',
    wanted(),
    lvIs(pending, { fileSystem: used, probes: probed(holds('ext4'), holds('ext4')) }),
    'VolumeHoldsData',
    /ext4/,
  ],
  [
    'that is new and holds an unfinished file system of somebody',
    as('xfs'),
    lvIs(pending, {
      fileSystem: fileSystem({ type: 'xfs', isUnfinished: true }),
      probes: probed(holds('xfs'), holds('xfs')),
    }),
    'VolumeHoldsData',
    /xfs/,
  ],
  [
    'that is new and holds our file system of another type',
    as('xfs'),
    lvIs(pending, { fileSystem: ourFileSystem(), probes: probed(holds('ext4'), holds('ext4')) }),
    'VolumeHoldsData',
    /ext4/,
  ],
  [
    'that is new and holds something',
    wanted(),
    lvIs(pending, { probes: probed(holds('swap'), none) }),
    'VolumeHoldsData',
    /swap/,
  ],
  [
    'that is new and gives no answer',
    wanted(),
    lvIs(pending, { probes: probed(none, { kind: 'unknown', why: 'hung' }) }),
    'VolumeHoldsData',
    /hung/,
  ],
  [
    'that is new and held by somebody',
    wanted(),
    lvIs(pending, { probes: { signatures: [none, none], exclusiveOpen: 'busy' } }),
    'VolumeInUse',
    /alone/,
  ],
  [
    'that is new and cannot be read',
    wanted(),
    lvIs(pending, {
      fileSystem: { kind: 'unknown', why: 'EIO' },
      probes: probed(none, none),
    }),
    'VolumeHoldsData',
    /EIO/,
  ],
];

for (const [title, desired, observed, code, names] of refusals) {
  test(`refuses a volume ${title}`, () => {
    assertBlocked(planPublication(desired, observed), code, names);
  });
}
