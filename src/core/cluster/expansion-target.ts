import type { Bytes } from '../../base/bytes.ts';

/** `status.allocatedResourceStatuses.storage` of a claim. */
export type ResizeStatus =
  | 'ControllerResizeInProgress'
  | 'ControllerResizeInfeasible'
  | 'NodeResizePending'
  | 'NodeResizeInProgress'
  | 'NodeResizeInfeasible';

export type Sizes = {
  readonly volumeBytes: Bytes;
  readonly requestBytes: Bytes;
  readonly allocatedBytes: Bytes | undefined;
  readonly status: ResizeStatus | undefined;
  /** The last try for the allocated size failed, and nothing of it can still happen. */
  readonly hasFailedForGood: boolean;
  /** What kubelet is asked on servers that keep no status of a resize. */
  readonly isFileSystemPending: boolean;
};

/**
 * To which size a volume grows next, or undefined while there is nothing for us to do. A size that
 * the driver was asked for and that may still come about is finished before another one begins.
 */
export function targetSize(sizes: Sizes): Bytes | undefined {
  const { volumeBytes, requestBytes, allocatedBytes, status } = sizes;
  const begunBytes = allocatedBytes ?? requestBytes;
  const isLarger = volumeBytes < requestBytes;
  switch (status) {
    case 'NodeResizePending':
    case 'NodeResizeInProgress':
      return isLarger && volumeBytes < begunBytes ? begunBytes : undefined;
    case 'NodeResizeInfeasible':
      return begunBytes;
    case 'ControllerResizeInProgress':
      return isLarger && sizes.hasFailedForGood ? requestBytes : begunBytes;
    case 'ControllerResizeInfeasible':
      // It failed for good. A request that was lowered to what the volume has can be met at once.
      return requestBytes;
    case undefined:
      if (isLarger) return requestBytes;
      if (allocatedBytes !== undefined) return allocatedBytes;
      return sizes.isFileSystemPending ? undefined : requestBytes;
  }
}
