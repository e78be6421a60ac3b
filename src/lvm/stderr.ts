import type { FailureCode } from '../base/failures.ts';
import { limits } from '../base/limits.ts';

/**
 * What lvm2 says when it fails, as codes. This is the only place that reads its texts. The order
 * matters: the first pattern that is found counts, so the cause stands before its consequences.
 * `test/fixtures` holds a recorded sample for each, from every lvm2 we support.
 */
const patterns: readonly (readonly [RegExp, FailureCode])[] = [
  [/unrecognized option|Error during parsing of command line/, 'LvmRejectedOption'],
  [/is unsupported with|Invalid argument for|Unknown segment type/, 'LvmRejectedOption'],
  [/Can't get lock for|Resource temporarily unavailable|VG lock failed/, 'LvmLocked'],
  [/with duplicate PV devices|duplicate PVs? (were|was) found/i, 'DuplicateDevice'],
  [/while PVs are missing|is missing PV/, 'VolumeGroupPartial'],
  [/Snapshot origin volumes can be resized only while inactive/, 'GrowUnsupported'],
  [
    /contains a filesystem in use|is used by another device|Logical volume \S+ in use/,
    'VolumeInUse',
  ],
  [/insufficient free space|Insufficient free space/, 'InsufficientCapacity'],
  [/Insufficient suitable (allocatable|contiguous)/, 'InsufficientCapacity'],
  [/free space in thin pool \S+ reached threshold/, 'ThinPoolFull'],
  [/Pool \S+ not found in Volume group/, 'ThinPoolMissing'],
  [/Snapshot origin LV \S+ not found/, 'SourceNotFound'],
  [/already exists in volume group/, 'VolumeDiffers'],
  [/already exists in filesystem|A volume group called \S+ already exists/, 'VolumeGroupForeign'],
  [/is already in volume group/, 'DeviceNotUsable'],
  [/No device found for|Device \S+ not found|Failed to find device/, 'DeviceNotFound'],
  [/existing signatures? left on the device|Aborted wiping of/, 'DeviceHoldsData'],
  [/Can't open \S+ exclusively|Physical volume "\S+" still in use/, 'DeviceBusy'],
  [/PV \S+ is used by VG/, 'DeviceBusy'],
  [/Volume group "?\S+?"? not found|Cannot process volume group/, 'VolumeGroupMissing'],
  [/Failed to find logical volume/, 'VolumeNotFound'],
  [/metadata .*too large|VG \S+ metadata on .* exceeds/i, 'VolumeGroupMetadataFull'],
  [/exported volume group|Volume group "?\S+?"? is exported/, 'VolumeGroupNotUsable'],
  [/Input\/output error|[Rr]ead failed|[Ww]rite failed/, 'DeviceFailed'],
];

export function codeOf(stderr: string): FailureCode {
  const told = telling(stderr).join('\n');
  const found = patterns.find(([pattern]) => pattern.test(told));
  return found?.[1] ?? 'CommandFailed';
}

/** What a person needs of stderr, and no flood. */
export function gist(stderr: string): string {
  return telling(stderr).join('; ').slice(0, limits.messageBytesMax);
}

/** lvm prints warnings on success too: they count only when there is nothing else. */
function telling(stderr: string): readonly string[] {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const errors = lines.filter((line) => !line.startsWith('WARNING:'));
  return errors.length > 0 ? errors : lines;
}
