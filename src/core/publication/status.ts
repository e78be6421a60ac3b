import type { Bytes } from '../../base/bytes.ts';
import type { ObservedPath } from './observed.ts';

/** What is shown at a path, as the last look found it. */
export type PublicationStatus = {
  readonly state: 'Published' | 'Absent';
  readonly path: string;
  readonly access: 'block' | 'mount' | undefined;
  readonly fsType: string;
  readonly isReadOnly: boolean;
  /** What did not work out and keeps nobody from using the volume. */
  readonly notes: readonly string[];
};

export function publicationStatus(
  { target, here }: ObservedPath,
  notes: readonly string[],
): PublicationStatus {
  const top = here.at(-1);
  if (top === undefined) {
    const nothing = { access: undefined, fsType: '', isReadOnly: false } as const;
    return { state: 'Absent', path: target.path, ...nothing, notes };
  }
  return {
    state: 'Published',
    path: target.path,
    access: top.isNode ? 'block' : 'mount',
    fsType: top.isNode ? '' : top.fsType,
    isReadOnly: top.isReadOnly,
    notes,
  };
}

/** Room in a file system, as statfs has it. `available`: for users who are not root. */
export type FsSpace = {
  readonly totalBytes: Bytes;
  readonly freeBytes: Bytes;
  readonly availableBytes: Bytes;
  /** 0 where a file system counts no inodes. */
  readonly inodes: bigint;
  readonly freeInodes: bigint;
};

export type PublicationStats = {
  readonly usage:
    | { readonly kind: 'block'; readonly sizeBytes: Bytes }
    | ({ readonly kind: 'mount' } & FsSpace);
  readonly condition: VolumeCondition;
};

export type VolumeCondition = { readonly isAbnormal: boolean; readonly message: string };
