import { clusterFailures } from './cluster-failures.ts';
import { type FailureRow, row } from './failure-row.ts';

export type { FailureRow, Fault, GrpcStatus, Retry } from './failure-row.ts';

/**
 * Every way something can be refused or fail, in one closed table.
 *
 * A code becomes a gRPC status in `csi/`, a condition in `status.ts` and an exit code in `cli/`.
 * `retry` says when trying again makes sense: by itself later (`backoff`), once somebody changed
 * something (`after-change`), or `never` for this very request.
 */
export const failures = {
  // What was asked for cannot be read or makes no sense.
  InvalidSize: row('INVALID_ARGUMENT', 'never', 'user', 'Write a size such as 10Gi or 500M.'),
  InvalidName: row('INVALID_ARGUMENT', 'never', 'user', 'Use letters, digits and . _ + - only.'),
  InvalidConfiguration: row(
    'INVALID_ARGUMENT',
    'after-change',
    'user',
    'Correct what is named and try again.',
  ),
  InvalidLayout: row(
    'INVALID_ARGUMENT',
    'never',
    'user',
    'Choose a layout and counts from the layouts table.',
  ),
  SizeOutOfRange: row('OUT_OF_RANGE', 'never', 'user', 'Ask for a size within the limits named.'),
  InvalidRequest: row('INVALID_ARGUMENT', 'never', 'user', 'Correct the named field of the call.'),
  AccessUnsupported: row(
    'INVALID_ARGUMENT',
    'never',
    'user',
    'A volume is on one node: use ReadWriteOnce or ReadWriteOncePod.',
  ),
  TopologyElsewhere: row(
    'RESOURCE_EXHAUSTED',
    'never',
    'user',
    'Ask the driver of the node that was named.',
  ),
  UnknownDeviceClass: row(
    'RESOURCE_EXHAUSTED',
    'after-change',
    'user',
    'Use a device class that the node has.',
  ),
  DeviceClassRefused: row(
    'RESOURCE_EXHAUSTED',
    'after-change',
    'administrator',
    'Use another device class, or put this one back into the configuration.',
  ),
  UnknownOptionClass: row(
    'RESOURCE_EXHAUSTED',
    'after-change',
    'user',
    'Use an lvcreate option class that this node has.',
  ),
  AttributesUnsupported: row(
    'INVALID_ARGUMENT',
    'after-change',
    'user',
    'Name a VolumeAttributesClass of this driver without parameters, or none.',
  ),
  VolumeDiffers: row(
    'ALREADY_EXISTS',
    'never',
    'user',
    'Delete the existing volume or use another name.',
  ),
  VolumeNotFound: row('NOT_FOUND', 'never', 'user', 'Check the volume id and the node.'),
  SourceNotFound: row('NOT_FOUND', 'never', 'user', 'Check the source volume or snapshot id.'),
  SourceLarger: row('OUT_OF_RANGE', 'never', 'user', 'Ask for at least the size of the source.'),
  SourceElsewhere: row('INVALID_ARGUMENT', 'never', 'user', 'Use the device class of the source.'),
  ShrinkRefused: row('OUT_OF_RANGE', 'never', 'user', 'Volumes only grow; ask for more.'),

  // There is no room.
  InsufficientCapacity: row(
    'RESOURCE_EXHAUSTED',
    'after-change',
    'administrator',
    'Add a device to the volume group, delete volumes, or ask for less.',
  ),
  InsufficientCapacityToExpand: row(
    'OUT_OF_RANGE',
    'after-change',
    'administrator',
    'Add a device to the volume group, or delete volumes.',
  ),
  InsufficientCapacityForSnapshot: row(
    'OUT_OF_RANGE',
    'after-change',
    'administrator',
    'Add a device to the volume group, or delete old snapshots.',
  ),
  ThinPoolFull: row(
    'RESOURCE_EXHAUSTED',
    'after-change',
    'administrator',
    'Grow the thin pool or its metadata, or delete thin volumes.',
  ),
  VolumeGroupMetadataFull: row(
    'RESOURCE_EXHAUSTED',
    'after-change',
    'administrator',
    'Delete volumes: the metadata area of this volume group holds no more.',
  ),
  LayoutNeedsDevices: row(
    'RESOURCE_EXHAUSTED',
    'after-change',
    'administrator',
    'Add devices to the volume group, or use fewer stripes or mirrors.',
  ),

  // The volume group, pool or device is not as it must be.
  VolumeGroupMissing: row(
    'UNAVAILABLE',
    'after-change',
    'administrator',
    'Bring its disks back, create it, or correct its name.',
  ),
  VolumeGroupForeign: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'A volume group of this name belongs to somebody else: use another name, or adopt it by name.',
  ),
  VolumeGroupAmbiguous: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Two volume groups have this name: rename one by its UUID with vgrename.',
  ),
  VolumeGroupPartial: row(
    'UNAVAILABLE',
    'after-change',
    'administrator',
    'A device of the volume group is missing: bring it back, or repair the volume group.',
  ),
  VolumeGroupLost: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Bring its devices back. `quarry forget GROUP` gives it up: a new one is made then.',
  ),
  VolumeGroupRenamed: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Give it its old name back with vgrename, or write its new name in the configuration.',
  ),
  VolumeGroupNotServed: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Give the volume group a device class again, or remove the volume by hand.',
  ),
  VolumeGroupNotUsable: row(
    'UNAVAILABLE',
    'after-change',
    'administrator',
    'The volume group is exported, read-only or owned by another host.',
  ),
  ThinPoolMissing: row(
    'UNAVAILABLE',
    'after-change',
    'administrator',
    'Create the thin pool or correct its name.',
  ),
  ThinPoolForeign: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'The name of the thin pool is taken by a volume that is no thin pool.',
  ),
  ThinPoolUnhealthy: row(
    'UNAVAILABLE',
    'after-change',
    'administrator',
    'Look at `lvs -a -o +lv_health_status` and repair the thin pool.',
  ),
  NoUsableDevices: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Every device was left alone; the reasons stand beside each of them.',
  ),
  DeviceNotUsable: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'A device that must be used cannot be; the reasons stand beside it.',
  ),
  DeviceNotFound: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Check the path and the cabling.',
  ),
  DeviceStays: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Add a device to its group, make room on the others, or put its path back.',
  ),
  DeviceBusy: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Something else holds the device open or mounted.',
  ),
  DeviceFailed: row('UNAVAILABLE', 'after-change', 'administrator', 'Replace the device.'),
  DuplicateDevice: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Two devices carry one LVM identity (a copy or a path): take one away or set up multipath.',
  ),
  DeviceHoldsData: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Clear the device yourself after checking that nobody needs what is on it.',
  ),
  DeviceSuspended: row(
    'UNAVAILABLE',
    'backoff',
    'system',
    'Run `dmsetup resume` on the named device.',
  ),

  // The volume is not as it must be.
  VolumeLost: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Restore it from a backup under its name, or delete the object.',
  ),
  ThinVolumeUnknown: row(
    'UNAVAILABLE',
    'after-change',
    'administrator',
    'The thin pool does not know the volume: restore it from a backup, or delete it.',
  ),
  ThinSnapshotHalfMade: row(
    'UNAVAILABLE',
    'backoff',
    'administrator',
    'The pool has a device that lvm wants to make: compare `thin_ls` with `lvs -o thin_id`.',
  ),
  VolumePartsActive: row(
    'UNAVAILABLE',
    'after-change',
    'administrator',
    'Somebody has a part of the volume open: find out who with `dmsetup ls --tree`, and end it.',
  ),
  VolumeHasSnapshots: row(
    'FAILED_PRECONDITION',
    'after-change',
    'user',
    'Delete its snapshots first.',
  ),
  VolumeInUse: row(
    'FAILED_PRECONDITION',
    'after-change',
    'user',
    'Stop what uses the volume first.',
  ),
  VolumeAmbiguous: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Rename one of the volumes with lvrename.',
  ),
  CannotHoldStill: row(
    'FAILED_PRECONDITION',
    'after-change',
    'user',
    'Stop what writes to the volume, or take snapshots one by one.',
  ),
  FreezeBroken: row(
    'ABORTED',
    'backoff',
    'system',
    'The snapshots were not of one moment and are taken again.',
  ),
  GroupSnapshotFailed: row(
    'FAILED_PRECONDITION',
    'never',
    'user',
    'Delete the group snapshot and take it again; another member of it says what went wrong.',
  ),
  SnapshotInGroup: row(
    'FAILED_PRECONDITION',
    'never',
    'user',
    'Delete the group snapshot that it belongs to.',
  ),
  VolumeUnhealthy: row(
    'UNAVAILABLE',
    'after-change',
    'administrator',
    'Look at `lvs -a -o +lv_health_status` and repair the volume.',
  ),
  VolumeHoldsData: row(
    'FAILED_PRECONDITION',
    'never',
    'administrator',
    'Without a pending mark of ours a volume holds data: it is neither wiped nor formatted.',
  ),
  NotOurs: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'The volume was made by somebody else and is not touched.',
  ),
  SnapshotsUnsupported: row(
    'INVALID_ARGUMENT',
    'never',
    'user',
    'Use a device class whose layout supports snapshots.',
  ),
  SnapshotOverflowed: row(
    'FAILED_PRECONDITION',
    'never',
    'administrator',
    'The snapshot ran out of room and holds nothing any more: delete it.',
  ),
  GrowUnsupported: row(
    'FAILED_PRECONDITION',
    'after-change',
    'user',
    'LVM cannot grow an active volume that has copy-on-write snapshots: delete them first.',
  ),
  VolumeInactive: row(
    'UNAVAILABLE',
    'backoff',
    'administrator',
    'Activate the volume on this node.',
  ),
  VolumeReadOnly: row(
    'FAILED_PRECONDITION',
    'after-change',
    'user',
    'Publish it read-only, or make a clone of it.',
  ),
  VolumeDeviceMissing: row(
    'UNAVAILABLE',
    'backoff',
    'system',
    'Run `dmsetup mknodes` if udev has not made the device node by now.',
  ),
  GrowthUnfinished: row(
    'UNAVAILABLE',
    'backoff',
    'system',
    'Wait: the expansion is still under way. If it is not, ask for it again.',
  ),
  CopyUnfinished: row('UNAVAILABLE', 'backoff', 'system', 'Wait: the copy is still under way.'),

  // A volume cannot be shown at a path, or what is shown cannot go.
  InvalidTargetPath: row('INVALID_ARGUMENT', 'never', 'user', 'Name an absolute path.'),
  InvalidMountOptions: row('INVALID_ARGUMENT', 'never', 'user', 'Leave the mount flag out.'),
  UnknownFileSystem: row('INVALID_ARGUMENT', 'never', 'user', 'Use ext4, xfs or btrfs.'),
  PublishedDifferently: row(
    'ALREADY_EXISTS',
    'never',
    'user',
    'Unpublish the path first, or use another one.',
  ),
  NotPublished: row('NOT_FOUND', 'never', 'user', 'Check the volume id and the path.'),
  TargetTaken: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Something else is at the path: look at it and take it away yourself.',
  ),
  PublicationInUse: row(
    'UNAVAILABLE',
    'backoff',
    'user',
    'Something still uses files below the path: `fuser --mount PATH` tells what.',
  ),
  FileSystemDiffers: row(
    'FAILED_PRECONDITION',
    'never',
    'user',
    'Ask for the file system that is on the volume, or use another volume.',
  ),
  FileSystemDamaged: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Check the file system with the fsck of its type while it is not mounted.',
  ),
  FileSystemTooSmall: row(
    'FAILED_PRECONDITION',
    'after-change',
    'user',
    'Make the volume larger, or use another file system.',
  ),
  MountFailed: row(
    'INTERNAL',
    'backoff',
    'administrator',
    'Look at the kernel log of the node: options or file system may be wrong.',
  ),
  FileFailed: row('INTERNAL', 'backoff', 'system', 'Look at the file system of the node.'),

  // The host or LVM answered no.
  LvmLocked: row('UNAVAILABLE', 'backoff', 'system', 'Another LVM command is running; wait.'),
  LvmRejectedOption: row(
    'INVALID_ARGUMENT',
    'never',
    'administrator',
    'This lvm2 does not take the option.',
  ),
  CommandNotFound: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Install the named program.',
  ),
  DeviceMapperMissing: row(
    'UNAVAILABLE',
    'backoff',
    'administrator',
    'Load it with `modprobe dm_mod`; a container needs the /dev of its host, and to be privileged.',
  ),
  CommandFailed: row('INTERNAL', 'backoff', 'system', 'Read the message and the node log.'),
  CommandTimedOut: row('UNAVAILABLE', 'backoff', 'system', 'The disk may be slow or hung.'),
  CommandKilled: row('UNAVAILABLE', 'backoff', 'system', 'Somebody or the kernel ended it.'),
  OutputTooLarge: row('INTERNAL', 'never', 'system', 'Report this with the command.'),
  UnreadableReport: row('INTERNAL', 'backoff', 'system', 'Report this with the lvm2 version.'),
  StaleView: row('ABORTED', 'backoff', 'system', 'Something changed meanwhile; it is tried again.'),
  QueueFull: row('UNAVAILABLE', 'backoff', 'system', 'Too many changes wait; try again later.'),
  SocketInUse: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Stop the other instance, or give this one another socket.',
  ),
  SocketUnusable: row(
    'INVALID_ARGUMENT',
    'after-change',
    'administrator',
    'Name a short path in a directory that only root can write.',
  ),
  Cancelled: row('CANCELLED', 'backoff', 'user', 'The caller went away; ask again.'),

  ...clusterFailures,
} as const satisfies Record<string, FailureRow>;

export type FailureCode = keyof typeof failures;

/** A decision against doing something: a normal answer, returned by pure code, never thrown. */
export type Blocked = {
  readonly kind: 'blocked';
  readonly code: FailureCode;
  readonly message: string;
};

export function blocked(code: FailureCode, message: string): Blocked {
  return { kind: 'blocked', code, message };
}

/** The world said no. Thrown by the doors only; the cause is kept. */
export class OperationError extends Error {
  override readonly name = 'OperationError';
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
