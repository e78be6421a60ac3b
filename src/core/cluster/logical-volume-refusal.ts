import { type Blocked, blocked, type FailureCode, failures } from '../../base/failures.ts';

/** What was tried when a node said no. One code of gRPC means three things to three sidecars. */
export type Purpose = 'create' | 'expand' | 'snapshot';

/** gRPC's numbers, as they stand in the status of a LogicalVolume. */
export const grpcNumbers: Readonly<Record<string, number>> = {
  ...{ CANCELLED: 1, INVALID_ARGUMENT: 3, NOT_FOUND: 5, ALREADY_EXISTS: 6 },
  ...{ RESOURCE_EXHAUSTED: 8, FAILED_PRECONDITION: 9, ABORTED: 10, OUT_OF_RANGE: 11 },
  ...{ INTERNAL: 13, UNAVAILABLE: 14 },
};

/**
 * What to tell whoever asked, once nothing of it is left. So the answer is final: codes that would
 * have him believe that something may still come about are not passed on.
 */
export function refusalOf(
  { code, message }: { readonly code: number; readonly message: string },
  purpose: Purpose,
): Blocked {
  const said = wordIn(message);
  const known = said !== undefined && grpcNumbers[failures[said.code].grpc] === code;
  const text = known ? said.text : message === '' ? `the node answered with code ${code}` : message;
  return blocked(finalCode(known ? said.code : undefined, code, purpose), text);
}

function finalCode(word: FailureCode | undefined, code: number, purpose: Purpose): FailureCode {
  if (code === grpcNumbers['RESOURCE_EXHAUSTED'] && purpose !== 'create') return noRoom[purpose];
  if (word !== undefined && isFinal(word)) return word;
  return byNumber[code] ?? 'CommandFailed';
}

const noRoom = {
  expand: 'InsufficientCapacityToExpand',
  snapshot: 'InsufficientCapacityForSnapshot',
} as const;

function isFinal(word: FailureCode): boolean {
  const { grpc } = failures[word];
  return grpc !== 'UNAVAILABLE' && grpc !== 'ABORTED' && grpc !== 'CANCELLED';
}

/** For nodes that do not speak our words. 12 is UNIMPLEMENTED: no snapshots in this class. */
const byNumber: Readonly<Record<number, FailureCode>> = {
  3: 'InvalidRequest',
  5: 'UnknownDeviceClass',
  6: 'VolumeDiffers',
  8: 'InsufficientCapacity',
  9: 'VolumeInUse',
  11: 'SizeOutOfRange',
  12: 'SnapshotsUnsupported',
};

/** `CODE: What happened. Remedy: What to do.`, as our agents write it. */
export function wordIn(
  message: string,
): { readonly code: FailureCode; readonly text: string } | undefined {
  const [, word = '', text = ''] = /^([A-Za-z]+): (.*?)\.?(?: Remedy: .*)?$/s.exec(message) ?? [];
  return Object.hasOwn(failures, word) ? { code: word as FailureCode, text } : undefined;
}
