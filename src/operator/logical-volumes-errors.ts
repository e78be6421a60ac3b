import { type FailureCode, OperationError } from '../base/failures.ts';
import { type KubeCode, KubeError } from '../kube/errors.ts';

/** What the cluster said, for somebody who asked for a volume. Anything else is passed on. */
export function asOperationError(what: string, error: unknown): unknown {
  if (!(error instanceof KubeError)) return error;
  const message = `${what}: ${error.message}`;
  return new OperationError(codes[error.code] ?? 'ClusterUnavailable', message, { cause: error });
}

export async function told<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw asOperationError(what, error);
  }
}

/** What is not named may come about later: the API server is away, or busy. */
const codes: Partial<Record<KubeCode, FailureCode>> = {
  KindMissing: 'ClusterRefused',
  Forbidden: 'ClusterRefused',
  Invalid: 'ClusterRefused',
  TooLarge: 'ClusterRefused',
  NotFound: 'StaleView',
  AlreadyExists: 'StaleView',
  Conflict: 'StaleView',
  Fenced: 'NotLeading',
  Cancelled: 'Cancelled',
};
