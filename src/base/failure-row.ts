export type GrpcStatus =
  | 'CANCELLED'
  | 'INVALID_ARGUMENT'
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'RESOURCE_EXHAUSTED'
  | 'FAILED_PRECONDITION'
  | 'ABORTED'
  | 'OUT_OF_RANGE'
  | 'INTERNAL'
  | 'UNAVAILABLE';

export type Retry = 'backoff' | 'after-change' | 'never';
export type Fault = 'user' | 'administrator' | 'system';

export type FailureRow = {
  readonly grpc: GrpcStatus;
  readonly retry: Retry;
  readonly fault: Fault;
  readonly hint: string;
};

export function row(grpc: GrpcStatus, retry: Retry, fault: Fault, hint: string): FailureRow {
  return { grpc, retry, fault, hint };
}
