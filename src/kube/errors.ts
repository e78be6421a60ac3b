import type { Retry } from '../base/failures.ts';
import { kubeLimits } from './limits.ts';

/** Every way in which the cluster says no, and when asking again makes sense. */
export const kubeCodes = {
  NotFound: 'after-change',
  /** The kind itself is not served: its CRD is not installed, or the server is too old. */
  KindMissing: 'after-change',
  AlreadyExists: 'after-change',
  /** Somebody else wrote first, or a test of a patch failed: look and decide again. */
  Conflict: 'after-change',
  /** The version that was asked for is no longer kept: list again. */
  Gone: 'backoff',
  Invalid: 'never',
  TooLarge: 'never',
  Unauthorized: 'backoff',
  Forbidden: 'after-change',
  TooManyRequests: 'backoff',
  ServerFailed: 'backoff',
  /** No answer in time. */
  Timeout: 'backoff',
  Unreachable: 'backoff',
  /** Its certificate is not signed by whom we trust, or ours is refused. */
  Untrusted: 'after-change',
  /** An answer that is no answer of an API server. */
  Unreadable: 'backoff',
  /** The lease was lost before the request went out. */
  Fenced: 'never',
  Cancelled: 'backoff',
  /** Files or programs that hold our credentials are missing or wrong. */
  NoCredentials: 'after-change',
} as const satisfies Record<string, Retry>;

export type KubeCode = keyof typeof kubeCodes;

export type KubeErrorParts = {
  readonly httpStatus?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  /** The object that the server's words are about, where they are about one. */
  readonly subject?: string | undefined;
  /** It may have been carried out although no answer says so. */
  readonly isUncertain?: boolean;
  readonly cause?: unknown;
};

export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly code: KubeCode;
  readonly httpStatus: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly subject: string | undefined;
  readonly isUncertain: boolean;

  constructor(code: KubeCode, message: string, parts: KubeErrorParts = {}) {
    super(message, { cause: parts.cause });
    this.code = code;
    this.httpStatus = parts.httpStatus;
    this.retryAfterMs = parts.retryAfterMs;
    this.subject = parts.subject;
    this.isUncertain = parts.isUncertain ?? false;
  }
}

export function isKubeError(error: unknown, code: KubeCode): boolean {
  return error instanceof KubeError && error.code === code;
}

/** Kubernetes' answer when it does not do what was asked; every field may be missing. */
export type StatusObject = {
  readonly kind?: unknown;
  readonly code?: unknown;
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly details?: {
    readonly name?: unknown;
    readonly retryAfterSeconds?: unknown;
    readonly causes?: readonly { readonly reason?: unknown }[];
  };
};

export function errorOfStatus(
  what: string,
  answer: { readonly httpStatus: number; readonly retryAfterMs?: number | undefined },
  status: StatusObject | undefined,
): KubeError {
  const { httpStatus } = answer;
  const said = typeof status?.message === 'string' ? status.message : `HTTP ${httpStatus}`;
  const seconds = status?.details?.retryAfterSeconds;
  const retryAfterMs =
    answer.retryAfterMs ?? (typeof seconds === 'number' ? seconds * 1000 : undefined);
  return new KubeError(codeOf(httpStatus, status), `${what}: ${said}`, {
    httpStatus,
    retryAfterMs,
    subject: nameIn(status),
    // A server that broke down, or a proxy that lost it, may have written before.
    isUncertain: httpStatus >= 500,
  });
}

function codeOf(httpStatus: number, status: StatusObject | undefined): KubeCode {
  if (isVersionTooLarge(status)) return 'Gone';
  switch (httpStatus) {
    case 401:
      return 'Unauthorized';
    case 403:
      return 'Forbidden';
    case 404:
      return nameIn(status) === undefined ? 'KindMissing' : 'NotFound';
    case 405:
      return 'KindMissing';
    case 409:
      return status?.reason === 'AlreadyExists' ? 'AlreadyExists' : 'Conflict';
    case 410:
      return 'Gone';
    case 413:
      return 'TooLarge';
    case 429:
      return 'TooManyRequests';
    case 504:
      return 'Timeout';
    default:
      return httpStatus >= 500 || httpStatus < 400 ? 'ServerFailed' : 'Invalid';
  }
}

function nameIn(status: StatusObject | undefined): string | undefined {
  const name = status?.details?.name;
  return typeof name === 'string' && name !== '' ? name : undefined;
}

/** After etcd was restored from a backup our version lies in its future, and never comes. */
function isVersionTooLarge(status: StatusObject | undefined): boolean {
  const causes = status?.details?.causes;
  return Array.isArray(causes) && causes.some(({ reason }) => reason === 'ResourceVersionTooLarge');
}

const trustCodes = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** What the network or TLS said. `isSent`: the request had gone out. */
export function errorOfConnection(what: string, cause: unknown, isSent: boolean): KubeError {
  if (cause instanceof KubeError) return cause;
  const code = (cause as { readonly code?: unknown }).code;
  const isTrust = typeof code === 'string' && (trustCodes.has(code) || /^ERR_SSL_/.test(code));
  const message = `${what}: ${cause instanceof Error ? cause.message : String(cause)}`;
  return new KubeError(isTrust ? 'Untrusted' : 'Unreachable', message, {
    cause,
    isUncertain: isSent,
  });
}

/** Seconds, as API servers write it. A date is what proxies write: then our own back-off is used. */
export function retryAfterMsOf(header: string | undefined): number | undefined {
  if (header === undefined || !/^\d{1,6}$/.test(header.trim())) return undefined;
  return Math.min(Number(header) * 1000, kubeLimits.retryAfterMsMax);
}
