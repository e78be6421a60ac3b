/** Addresses inside a cluster's private network; every cluster can use the same ones. */
export const network = {
  etcdUrl: 'http://127.0.0.1:2379',
  etcdPort: 2379,
  apiPort: 443,
  serviceRange: '10.96.0.0/24',
  /** The service `kubernetes`: the first address of the range. */
  apiServiceIp: '10.96.0.1',
} as const;

/** The pods of one node, counted from 0. */
export function podRangeOf(nodeIndex: number): string {
  return `10.78.${nodeIndex + 1}.0/24`;
}
