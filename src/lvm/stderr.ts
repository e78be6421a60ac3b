import type { FailureCode } from '../base/failures.ts';
import { limits } from '../base/limits.ts';

/**
 * What lvm2 and its companions say when they fail, as codes. This is the only place that reads
 * their texts. The order matters: the first pattern that is found counts, so the cause stands
 * before its consequences. `test/fixtures` holds a recorded sample for each.
 */
export const patterns: readonly (readonly [RegExp, FailureCode])[] = [
  // The words of the command, before lvm looked at anything.
  [/Error during parsing of command line/, 'LvmRejectedOption'],
  [/Command does not accept option/, 'LvmRejectedOption'],
  [/Logical volume name "\S+" is invalid/, 'InvalidName'],
  [/Names including "\S+" are reserved/, 'InvalidName'],

  // Who holds what we want.
  [/flock failed: Resource temporarily unavailable/, 'LvmLocked'],
  [/Can't (?:resize|remove) locked logical volume/, 'LvmLocked'],
  [/Snapshots of locked volumes are not supported/, 'LvmLocked'],
  [/Logical volume \S+ contains a filesystem in use/, 'VolumeInUse'],
  [/Logical volume \S+ is used by another device/, 'VolumeInUse'],
  [/Logical volume \S+ in use/, 'VolumeInUse'],
  [/Can't open \S+ exclusively/, 'DeviceBusy'],
  [/probing initialization failed: Device or resource busy/, 'DeviceBusy'],
  [/Physical volume "\S+" still in use/, 'DeviceBusy'],
  [/PV \S+ is used by VG/, 'DeviceBusy'],
  [/create ioctl on \S+ \S+ failed: Device or resource busy/, 'VolumeInUse'],

  // The volume group as a whole. lvm adds "Cannot process volume group" to most of these.
  [/with duplicate PV devices/, 'DuplicateDevice'],
  [/while PVs are missing/, 'VolumeGroupPartial'],
  [/Refusing activation of partial LV/, 'VolumeGroupPartial'],
  [/There are still partial LVs in VG/, 'VolumeGroupPartial'],
  [/Multiple VGs found with the same name/, 'VolumeGroupAmbiguous'],
  [/Volume group \S+ is exported/, 'VolumeGroupNotUsable'],
  [/Volume group \S+ is read-only/, 'VolumeGroupNotUsable'],
  [/Cannot access VG \S+ with (?:system ID|lock type)/, 'VolumeGroupNotUsable'],
  [/Volume group "\S+" not found/, 'VolumeGroupMissing'],
  [/A volume group called \S+ already exists/, 'VolumeGroupForeign'],
  [/already exists in filesystem/, 'VolumeGroupForeign'],
  [/exceeds maximum metadata size/, 'VolumeGroupMetadataFull'],

  // Room.
  [/insufficient free space/i, 'InsufficientCapacity'],
  [/Insufficient suitable allocatable extents/, 'InsufficientCapacity'],
  [/Number of stripes \S+ must not exceed number of physical volumes/, 'LayoutNeedsDevices'],
  [/free space in thin pool \S+ reached threshold/, 'ThinPoolFull'],

  // Volumes.
  [/Pool \S+ not found in Volume group/, 'ThinPoolMissing'],
  [/Logical volume \S+ is not a thin pool/, 'ThinPoolForeign'],
  [/Check of pool \S+ failed/, 'ThinPoolUnhealthy'],
  // dm-thin was never told to make it, or lost it.
  [/reload ioctl on \S* ?\(\S+\) failed: No data available/, 'ThinVolumeUnknown'],
  // dm-thin made a snapshot, and lvm was cut off before it heard of it.
  [/already contain thin device with device_id/, 'ThinSnapshotHalfMade'],
  // A RAID whose lvcreate was killed: only removing it helps.
  [/Refusing activation of RAID LV \S+ with visible SubLVs/, 'VolumeUnhealthy'],
  [/Activation of logical volume \S+ is prohibited while/, 'VolumePartsActive'],
  [/Snapshot origin LV \S+ not found/, 'SourceNotFound'],
  [/Snapshot origin volumes can be resized only while inactive/, 'GrowUnsupported'],
  [/already exists in volume group/i, 'VolumeDiffers'],
  [/Failed to find logical volume/, 'VolumeNotFound'],
  // lvm2 2.03.16 (Debian 12) in lvextend; 2.03.31 says it in the words above.
  [/Logical volume \S+ not found in volume group/, 'VolumeNotFound'],

  // Devices.
  [/No device found for/, 'DeviceNotFound'],
  [/probing initialization failed: No such file or directory/, 'DeviceNotFound'],
  [/Error (?:reading|writing) device/, 'DeviceFailed'],
  [/dd: error (?:reading|writing)/, 'DeviceFailed'],
  [/is already in volume group/, 'DeviceNotUsable'],
  [/Cannot use \S+: device is/, 'DeviceNotUsable'],
  [/Can't remove final physical volume/, 'DeviceNotUsable'],
  [/existing signatures? left on the device/, 'DeviceHoldsData'],

  // File systems: mkfs, mount, umount, and blkdiscard on what is mounted.
  [/is mounted; will not make a filesystem here/, 'VolumeInUse'],
  [/contains a mounted filesystem/, 'VolumeInUse'],
  [/ERROR: \S+ is mounted/, 'VolumeInUse'],
  // btrfs-progs 6.2 (Debian 12) looks at UUIDs before it looks at mounts.
  [/ERROR: non-unique UUID/, 'VolumeInUse'],
  [/blkdiscard: cannot open \S+: Device or resource busy/, 'VolumeInUse'],
  [/^mount: .* already mounted on /m, 'VolumeInUse'],
  [/umount: .*: target is busy/, 'PublicationInUse'],
  [/Filesystem must be larger than/, 'FileSystemTooSmall'],
  [/is too small to make a usable filesystem/, 'FileSystemTooSmall'],
  [/Structure needs cleaning/, 'FileSystemDamaged'],
  [/is write-protected but explicit read-write mode requested/, 'VolumeReadOnly'],
  [/mount: .*: special device \S+ does not exist/, 'VolumeDeviceMissing'],
  [/fsconfig\(\) failed: .*: Can't lookup blockdev/, 'VolumeDeviceMissing'],
  [/mount: .*: mount point does not exist/, 'StaleView'],
  [/mount: .*: wrong fs type, bad option, bad superblock/, 'MountFailed'],
  [/mount: .*: fsconfig\(\) failed/, 'MountFailed'],

  // There was nothing left to do, or nothing to do it to: somebody was faster.
  [/New size .* matches existing size|No size change/, 'StaleView'],
  [/not larger than existing size/, 'StaleView'],
  [/No data to move for/, 'StaleView'],
  [/No PV found on device/, 'StaleView'],
  [/dd: failed to open .*: No such file or directory/, 'StaleView'],
  [/blkdiscard: cannot open .*: No such file or directory/, 'StaleView'],
  [/umount: .*: (?:not mounted|no mount point specified)/, 'StaleView'],
  [/resume ioctl on \S+ +failed: No such device or address/, 'StaleView'],

  [/Run `\S+ --help' for more information/, 'LvmRejectedOption'],
];

export function codeOf(stderr: string): FailureCode {
  const told = telling(stderr).join('\n');
  const found = patterns.find(([pattern]) => pattern.test(told));
  return found?.[1] ?? 'CommandFailed';
}

/** What a person needs of stderr, and no flood. */
export function gist(stderr: string): string {
  const told = telling(stderr);
  const causes = told.filter((line) => !chatter.test(line));
  const lines = causes.length > 0 ? causes : told;
  return [...new Set(lines)].join('; ').slice(0, limits.messageBytesMax);
}

/** Lines that tell no cause: missing daemons, plain consequences, and advice to use more force. */
const chatter = new RegExp(
  [
    'lvmpolld\\.socket: connect failed',
    '^dmesg\\(1\\) may have more information',
    '^Run `\\S+ --help',
    '^See vgreduce --removemissing',
    '^To remove them unconditionally',
    '^\\(If you are certain',
    '^Cannot process volume group',
    '^Manual intervention may be required',
    '^Optionally new thin volume',
    '^Command (?:failed|requires all devices)',
  ].join('|'),
);

/** lvm prints warnings on success too: they count only when there is nothing else. */
function telling(stderr: string): readonly string[] {
  // mkfs.xfs adds a page of all its options to whatever it says.
  const lines = stderr
    .split(/^Usage: /m, 1)
    .join('')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const errors = lines.filter((line) => !line.startsWith('WARNING:'));
  return errors.length > 0 ? errors : lines;
}
