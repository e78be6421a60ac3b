import { oldLeases, ourLease } from '../core/cluster/leases.ts';
import type { ClusterNames } from '../core/cluster/names.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/errors.ts';
import type { ObjectName } from '../kube/kind.ts';
import { leaseKind } from '../kube/lease.ts';
import type { Clock, Trouble } from '../kube/ports.ts';

export type LeaseParts = {
  readonly client: KubeClient;
  readonly names: ClusterNames;
  readonly namespace: string;
  readonly clock: Clock;
  readonly trouble: Trouble;
};

/** How often a leader looks whether one of the old ones has come back. */
const lookMs = 60_000;
/** How long to wait when it is not known which leases there are. */
const retryMs = 5_000;

/** What has to be held before anything is done: ours, then those of the old ones that there are. */
export async function wantedLeases(
  parts: LeaseParts,
  signal: AbortSignal,
): Promise<readonly [ObjectName, ...ObjectName[]] | undefined> {
  const { namespace, names, clock } = parts;
  while (!signal.aborted) {
    const found = await existing(parts, oldLeases(names), signal);
    if (found !== undefined) {
      return [{ namespace, name: ourLease }, ...found.map((name) => ({ namespace, name }))];
    }
    await clock.sleep(retryMs, signal);
  }
  return undefined;
}

/** Answers when there is one of the old leases that is not among those held. */
export async function oldLeaseAppeared(
  parts: LeaseParts,
  held: readonly ObjectName[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const heldNames = new Set(held.map(({ name }) => name));
  const others = oldLeases(parts.names).filter((name) => !heldNames.has(name));
  while (!signal.aborted) {
    await parts.clock.sleep(lookMs, signal);
    const [found] = signal.aborted ? [] : ((await existing(parts, others, signal)) ?? []);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Undefined when the server did not say it of each of them. */
async function existing(
  { client, namespace, trouble }: LeaseParts,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  try {
    const found: string[] = [];
    for (const name of names) {
      const lease = await client.find(leaseKind, { namespace, name }, { signal });
      if (lease !== undefined) found.push(name);
    }
    return found;
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (!signal.aborted) trouble(error, retryMs);
    return undefined;
  }
}
