import { type Bytes, bytes } from '../../base/bytes.ts';
import { type FailureCode, failures } from '../../base/failures.ts';
import { limits } from '../../base/limits.ts';
import { showBytes } from '../../base/show.ts';

/**
 * How a try ended. `uncertain`: it may still come about, so no other size may be tried before.
 * `infeasible`: as long as nobody changes anything it will fail again. `node`: kubelet cannot.
 */
export type Ending = 'uncertain' | 'final' | 'infeasible' | 'node';

/** What a process remembers of a claim that did not grow. After a start nothing is known. */
export type Attempt = {
  readonly targetBytes: Bytes;
  readonly ending: Ending;
  readonly attempts: number;
  readonly notBeforeMs: number;
};

/** What the driver said. Without a status it is not known whether it was reached at all. */
export type DriverFailure = {
  readonly status: string | undefined;
  readonly code?: FailureCode | undefined;
  readonly message: string;
};

export function endingOfFailure({ status, code }: DriverFailure): Ending {
  if (code !== undefined && refusals.has(code)) return 'infeasible';
  switch (status) {
    case undefined:
    case 'CANCELLED':
    case 'DEADLINE_EXCEEDED':
    case 'UNAVAILABLE':
    case 'RESOURCE_EXHAUSTED':
    case 'ABORTED':
      return 'uncertain';
    case 'INVALID_ARGUMENT':
    case 'OUT_OF_RANGE':
    case 'NOT_FOUND':
      return 'infeasible';
    default:
      return 'final';
  }
}

/**
 * Their status would be uncertain from a driver that we do not know. Ours refuses them before
 * anything runs, and a user who cannot have the size must be able to ask for less.
 */
const refusals: ReadonlySet<FailureCode> = new Set<FailureCode>([
  ...(['InsufficientCapacity', 'ThinPoolFull', 'VolumeGroupMetadataFull'] as const),
  ...(['LayoutNeedsDevices', 'UnknownDeviceClass', 'DeviceClassRefused'] as const),
]);

/** `draw` is at least 0 and below 1. */
export function nextAttempt(
  before: Attempt | undefined,
  {
    targetBytes,
    ending,
  }: {
    readonly targetBytes: Bytes;
    readonly ending: Ending;
  },
  { nowMs, draw }: { readonly nowMs: number; readonly draw: number },
): Attempt {
  const isSame = before?.targetBytes === targetBytes;
  const attempts = isSame ? before.attempts + 1 : 1;
  const doubled = limits.expandRetryMs * 2 ** Math.min(attempts - 1, 30);
  const isSlow = ending === 'infeasible' || ending === 'node';
  const longestMs = isSlow ? limits.infeasibleRetryMs : Math.min(doubled, limits.infeasibleRetryMs);
  const waitMs = isSlow ? longestMs : Math.round(longestMs * (0.5 + draw / 2));
  return { targetBytes, ending, attempts, notBeforeMs: nowMs + waitMs };
}

/** Nothing is called a success before it is true. */
export function tooSmall(sizeBytes: bigint, targetBytes: Bytes): DriverFailure | undefined {
  if (sizeBytes >= targetBytes) return undefined;
  const has = `it has ${showBytes(bytes(sizeBytes))}`;
  const message = `The volume was asked to grow to ${showBytes(targetBytes)}, and ${has}.`;
  return { status: failures.StaleView.grpc, message };
}
