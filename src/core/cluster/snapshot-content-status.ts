import type { SnapshotError, VolumeSnapshotContent } from '../../api/objects/snapshot.ts';
import type { Bytes } from '../../base/bytes.ts';

/** What the driver tells of a snapshot. */
export type TakenSnapshot = {
  readonly id: string;
  readonly groupId: string | undefined;
  readonly createdMs: number | undefined;
  readonly sizeBytes: Bytes;
  readonly isReady: boolean;
};

export type ContentStatus = {
  readonly snapshotHandle: string;
  readonly creationTime: number;
  readonly restoreSize: number;
  readonly readyToUse: boolean;
  /** null takes away what was wrong before. */
  readonly error: SnapshotError | null;
  readonly volumeGroupSnapshotHandle?: string;
};

/** The moment that was told first stays: an old driver tells another one with each answer. */
export function takenStatus(
  before: VolumeSnapshotContent['status'],
  taken: TakenSnapshot,
  nowMs: number,
): ContentStatus {
  const { id, groupId, sizeBytes } = taken;
  return {
    snapshotHandle: id,
    creationTime: before?.creationTime ?? nanoseconds(taken.createdMs ?? nowMs),
    restoreSize: wholeNumber(sizeBytes),
    // Nobody could tell how large a restored volume must be.
    readyToUse: taken.isReady && sizeBytes > 0n,
    error: null,
    ...(groupId === undefined ? {} : { volumeGroupSnapshotHandle: groupId }),
  };
}

/** After the snapshot was removed nothing may point at it. */
export const clearedStatus = {
  snapshotHandle: null,
  creationTime: null,
  restoreSize: null,
  readyToUse: null,
  error: null,
  volumeGroupSnapshotHandle: null,
} as const;

/** Undefined when it says the same already: repeating it would only make noise. */
export function failedStatus(
  before: { readonly error?: SnapshotError; readonly readyToUse?: boolean } | undefined,
  message: string,
  time: string,
): { readonly error: SnapshotError; readonly readyToUse: false } | undefined {
  if (before?.error?.message === message && before.readyToUse !== true) return undefined;
  return { error: { time, message }, readyToUse: false };
}

export function nanoseconds(ms: number): number {
  return Number(BigInt(Math.trunc(ms)) * 1_000_000n);
}

/** A multiple of 512 is exact in JSON far beyond what LVM can hold. */
export function wholeNumber(size: bigint): number {
  return Number(size);
}
