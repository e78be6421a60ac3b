import type { PersistentVolumeClaim } from '../api/objects/claim.ts';
import type { KubeObject } from '../api/objects/metadata.ts';
import type { PersistentVolume } from '../api/objects/persistent-volume.ts';
import { type FailureCode, OperationError } from '../base/failures.ts';
import { failureMessage } from '../csi/status.ts';
import { KubeError } from '../kube/errors.ts';
import type { EventSubject, EventText } from '../kube/recorder.ts';
import { asOperationError } from './logical-volumes-errors.ts';

export function aboutClaim(claim: PersistentVolumeClaim): EventSubject {
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...subject(claim) };
}

export function aboutVolume(volume: PersistentVolume): EventSubject {
  return { apiVersion: 'v1', kind: 'PersistentVolume', ...subject(volume) };
}

function subject({ metadata }: KubeObject) {
  const { namespace, name, uid } = metadata;
  return { ...(namespace === undefined ? {} : { namespace }), name, uid };
}

/** What happened and what to do about it, as it stands in every other answer of ours. */
export function failed(
  reason: string,
  failure: { readonly code: FailureCode; readonly message: string },
): EventText {
  return { type: 'Warning', reason, message: failureMessage(failure.code, failure.message) };
}

/** What the cluster said no to, in our words. */
export function asFailure(error: KubeError): OperationError {
  return asOperationError('the cluster', error) as OperationError;
}

/** What is tried again. Anything else is a bug of ours. */
export function isTrouble(error: unknown): error is Error {
  if (error instanceof OperationError || error instanceof KubeError) return true;
  return error instanceof Error && error.name === 'AbortError';
}
