import type { Bytes } from '../../base/bytes.ts';
import type { ObservedDevice, ObservedHost, Signatures } from '../observed.ts';

/** What is at a path and on top of it. No program is run to see this. */
export type ObservedPath = {
  readonly target: ObservedTarget;
  /** Everything shown at the path, the lowest first: mounts can be stacked. */
  readonly here: readonly ObservedMount[];
};

export type ObservedRemoval = ObservedPath & {
  /** A device node that old TopoLVM made for this volume. */
  readonly legacyNode: string | undefined;
};

export type ObservedPublication = ObservedPath & {
  readonly host: ObservedHost;
  /** Was the report begun after the request came? */
  readonly isReportFresh: boolean;
  /** Changing commands of an earlier life that still run, each in its words. */
  readonly strays: readonly string[];
  /** What the kernel has under the volume's name. */
  readonly device: VolumeDevice | undefined;
  /** Other places where this very device is mounted or bound. */
  readonly elsewhere: readonly ObservedMount[];
  /** What the superblocks say; `undefined` until somebody looked. */
  readonly fileSystem: FoundFileSystem | undefined;
  /** `undefined` until somebody looked. */
  readonly probes: Probes | undefined;
  readonly done: Done;
};

/** Two programs that look for anything at all, and the kernel's word on who holds the device. */
export type Probes = {
  readonly signatures: readonly [Signatures, Signatures];
  readonly exclusiveOpen: ObservedDevice['exclusiveOpen'];
};

/** What this very request has done: a look alone cannot tell it from what was cut off. */
export type Done = {
  readonly isFormatted: boolean;
  readonly hasTriedToGrow: boolean;
};

export const nothingDone: Done = { isFormatted: false, hasTriedToGrow: false };

export type ObservedTarget = {
  /** Links of its parents resolved, as the kernel's table of mounts has it. */
  readonly path: string;
  readonly kind: 'absent' | 'directory' | 'file' | 'device' | 'other' | 'unreadable';
  /** Permission bits of what is on top. */
  readonly mode: number;
  readonly sizeBytes: Bytes;
};

export type VolumeDevice = {
  readonly path: string;
  /** `major:minor`. */
  readonly number: string;
  /** What the kernel gives out, which may be behind what LVM has written down. */
  readonly sizeBytes: Bytes;
  readonly dmUuid: string;
  readonly isSuspended: boolean;
};

export type ObservedMount = {
  readonly mountPoint: string;
  readonly fsType: string;
  readonly source: string;
  /** Only a mount of the root of a file system can be bound elsewhere. */
  readonly isWhole: boolean;
  /** The mount itself or all of the file system. */
  readonly isReadOnly: boolean;
  readonly isFileSystemReadOnly: boolean;
  /** A device node bound over a file: the raw device is shown. */
  readonly isNode: boolean;
  /** The node was made at the path itself, as TopoLVM does: nothing is mounted there. */
  readonly isBare?: true;
  readonly owner: MountOwner;
};

/** Whose device is mounted. Paths in the table of mounts prove nothing: they are reused. */
export type MountOwner =
  | { readonly kind: 'lv'; readonly dmUuid: string; readonly dmName: string }
  /** The device under the mount is no longer there: nobody's data is behind it. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'other' };

export type FoundFileSystem =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'found';
      readonly type: string;
      readonly uuid: string;
      /** Its mkfs has not come to its end: the superblock itself says so. */
      readonly isUnfinished: boolean;
      readonly sizeBytes: Bytes;
      /** What it can grow to on its device: it may leave the very end unused for ever. */
      readonly growsToBytes: Bytes;
    }
  | { readonly kind: 'unknown'; readonly why: string };
