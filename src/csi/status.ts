import { randomBytes } from 'node:crypto';
import { status as numbers } from '@grpc/grpc-js';
import { type FailureCode, failures, OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';

/** The words of gRPC's status codes. */
export type Status = keyof typeof numbers;

/** An answer that has no row in the failures: what the protocol itself asks of a service. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: Status;

  constructor(status: Status, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.status = status;
  }
}

/** How a call ended, if not well. */
export type Ending = {
  readonly status: Status;
  readonly message: string;
  /** Of an error nobody expected: stands in the message and in the log. */
  readonly errorId?: string;
  /** For the log alone. */
  readonly detail?: string;
};

/** Failures by their row, protocol answers as they are; of anything else the caller gets an id. */
export function endingOf(error: unknown): Ending {
  if (error instanceof OperationError) {
    const status = failures[error.code].grpc;
    return { status, message: failureMessage(error.code, error.message) };
  }
  if (error instanceof StatusError)
    return { status: error.status, message: oneLine(error.message) };
  const errorId = randomBytes(4).toString('hex');
  const message = `Unexpected: look for ${errorId} in the log of this node.`;
  return { status: 'INTERNAL', message, errorId, detail: detailOf(error) };
}

/** `CODE: What happened. Remedy: What to do.` */
export function failureMessage(code: FailureCode, message: string): string {
  const sentence = oneLine(message).replace(/\.+$/, '');
  return `${code}: ${cut(`${sentence}.`)} Remedy: ${failures[code].hint}`;
}

export function numberOf(status: Status): number {
  return numbers[status];
}

export function statusOf(number: number): Status {
  return (numbers[number] ?? 'UNKNOWN') as Status;
}

/** Through bytes and back, because half of a surrogate pair cannot be sent. */
function oneLine(text: string): string {
  return Buffer.from(text).toString().replace(/\s+/g, ' ').trim();
}

/** Messages travel in a header, and clients limit headers. */
function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limits.messageBytesMax) return text;
  const kept = bytes.subarray(0, limits.messageBytesMax).toString();
  return `${kept.replace(/\uFFFD+$/, '')}...`;
}

function detailOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
