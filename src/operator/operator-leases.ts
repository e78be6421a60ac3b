import { ourLease, rivalLeases } from '../core/cluster/leases.ts';
import type { ClusterNames } from '../core/cluster/names.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/errors.ts';
import { keyOf, type ObjectName } from '../kube/kind.ts';
import { leaseKind } from '../kube/lease.ts';
import type { Clock, Trouble } from '../kube/ports.ts';

export type LeaseParts = {
  readonly client: KubeClient;
  readonly names: ClusterNames;
  readonly namespace: string;
  readonly clock: Clock;
  readonly trouble: Trouble;
};

/** How often is looked whether one of the old ones has come, or gone. */
const lookMs = 60_000;
/** How long to wait when it is not known which leases there are. */
const retryMs = 5_000;

/**
 * What has to be held before anything is done: ours, and those of the old ones that there are, in
 * whatever namespace. Everybody takes them in one order: so no two wait for each other.
 */
export async function wantedLeases(
  parts: LeaseParts,
  signal: AbortSignal,
): Promise<readonly [ObjectName, ...ObjectName[]] | undefined> {
  const ours = { namespace: parts.namespace, name: ourLease };
  while (!signal.aborted) {
    const found = await existing(parts, signal);
    if (found !== undefined) {
      const wanted = isAmong(found, ours) ? found : [...found, ours];
      const [first = ours, ...rest] = wanted.toSorted(inOrder);
      return [first, ...rest];
    }
    await parts.clock.sleep(retryMs, signal);
  }
  return undefined;
}

/** Answers when there are others than those wanted. */
export async function leasesChanged(
  parts: LeaseParts,
  wanted: readonly ObjectName[],
  signal: AbortSignal,
): Promise<string | undefined> {
  while (!signal.aborted) {
    await parts.clock.sleep(lookMs, signal);
    const change = signal.aborted ? undefined : await changeOf(parts, wanted, signal);
    if (change !== undefined) return change;
  }
  return undefined;
}

/** What is not as it was wanted, in words. What the server does not say has not changed. */
export async function changeOf(
  parts: LeaseParts,
  wanted: readonly ObjectName[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const found = await existing(parts, signal);
  if (found === undefined) return undefined;
  const come = found.find((one) => !isAmong(wanted, one));
  if (come !== undefined) return `${keyOf(come)} is there: we wait until nobody holds it`;
  // One beside ours is made again by who holds it. Elsewhere nobody may do that.
  const gone = wanted.find((one) => one.namespace !== parts.namespace && !isAmong(found, one));
  return gone === undefined ? undefined : `${keyOf(gone)} is gone: nobody waits for it`;
}

/** Undefined when the server did not say it of each of them. */
async function existing(
  parts: LeaseParts,
  signal: AbortSignal,
): Promise<readonly ObjectName[] | undefined> {
  let refused: KubeError | undefined;
  const found: ObjectName[] = [];
  try {
    for (const name of rivalLeases(parts.names)) {
      const everywhere = await inAllNamespaces(parts, name, signal);
      if (everywhere instanceof KubeError) refused = everywhere;
      const own = { namespace: parts.namespace, name };
      found.push(
        ...(everywhere instanceof KubeError ? await ifThere(parts, own, signal) : everywhere),
      );
    }
    if (refused !== undefined) parts.trouble(refused, lookMs);
    return found;
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (!signal.aborted) parts.trouble(error, retryMs);
    return undefined;
  }
}

/** Roles of an older version forbid it: what is beside ours can be told all the same. */
async function inAllNamespaces(
  { client }: LeaseParts,
  name: string,
  signal: AbortSignal,
): Promise<readonly ObjectName[] | KubeError> {
  try {
    const scope = { fieldSelector: `metadata.name=${name}` };
    const { items } = await client.list(leaseKind, scope, { kind: 'newest' }, { signal });
    return items.map(({ metadata: { namespace } }) => ({ namespace, name }));
  } catch (error) {
    if (error instanceof KubeError && error.code === 'Forbidden') return error;
    throw error;
  }
}

async function ifThere(
  { client }: LeaseParts,
  name: ObjectName,
  signal: AbortSignal,
): Promise<readonly ObjectName[]> {
  const lease = await client.find(leaseKind, name, { signal });
  return lease === undefined ? [] : [name];
}

function isAmong(names: readonly ObjectName[], { name, namespace }: ObjectName): boolean {
  return names.some((one) => one.name === name && one.namespace === namespace);
}

/** Those of our name first. */
function inOrder(a: ObjectName, b: ObjectName): number {
  const textOf = ({ namespace = '', name }: ObjectName) =>
    `${name === ourLease ? 0 : 1} ${name} ${namespace}`;
  return textOf(a) < textOf(b) ? -1 : 1;
}
