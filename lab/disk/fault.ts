/** What is wrong with a disk. One fault at a time; `none` heals it. */
export type DiskFault =
  | { readonly kind: 'none' }
  /** Every request takes this much longer. */
  | { readonly kind: 'slow'; readonly delayMs: number }
  /** These requests fail with an I/O error, all of them or those that touch a range. */
  | {
      readonly kind: 'failing';
      readonly requests: readonly ('read' | 'write' | 'flush')[];
      readonly fromBytes?: number;
      readonly toBytes?: number;
    }
  /** Writes that need new space are refused, as by an array that promised more than it has. */
  | { readonly kind: 'full' }
  /** Requests are taken and never answered. */
  | { readonly kind: 'stuck' };

export type DiskRequest = {
  readonly kind: 'read' | 'write' | 'zero' | 'flush';
  readonly offset: number;
  readonly length: number;
};

/** Whether a fault makes this request fail, leaving delays and full disks aside. */
export function failsRequest(fault: DiskFault, request: DiskRequest): boolean {
  if (fault.kind !== 'failing') return false;
  const kind = request.kind === 'zero' ? 'write' : request.kind;
  if (!fault.requests.includes(kind)) return false;
  if (kind === 'flush') return true;
  const { fromBytes = 0, toBytes = Number.POSITIVE_INFINITY } = fault;
  return request.offset < toBytes && request.offset + request.length > fromBytes;
}
