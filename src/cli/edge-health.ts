import { OperationError } from '../base/failures.ts';
import { ourLease } from '../core/cluster/leases.ts';
import { edgeNames } from '../core/edge/plan.ts';
import { edgeComplaints } from '../core/edge/status.ts';
import { deploymentKind, podKind } from '../kube/edge-kinds.ts';
import { KubeError } from '../kube/errors.ts';
import { csiNodeKind, nodeKind } from '../kube/kinds.ts';
import { type Lease, leaseKind } from '../kube/lease.ts';
import { exitCodes } from './context.ts';
import {
  checksumOf,
  type EdgeDoors,
  type EdgeOptions,
  listed,
  lookAtEdge,
  type Scope,
} from './edge-sight.ts';

const lookAgainMs = 2_000;

const driver = 'topolvm.io';

/** Waits until storage is well, and says what is not when the time is over. */
export async function edgeHealth(
  doors: EdgeDoors,
  options: EdgeOptions & { readonly timeoutMs: number },
): Promise<number> {
  const { clock, print, warn } = doors;
  const over = new AbortController();
  const done = new AbortController();
  void clock.sleep(options.timeoutMs, done.signal).then(() => over.abort());
  const leader = new LeaderWatch();
  let complaints: readonly string[] = [];
  try {
    while (!over.signal.aborted) {
      const found = await complaintsOf({ doors, options, leader, signal: over.signal });
      if (found.length === 0) {
        print('Storage is well.');
        return exitCodes.done;
      }
      // A look that was cut off tells less than the one before it.
      if (!over.signal.aborted || complaints.length === 0) complaints = found;
      await clock.sleep(lookAgainMs, over.signal);
    }
  } finally {
    done.abort();
  }
  for (const complaint of complaints) warn(`quarry: ${complaint}`);
  return exitCodes.failed;
}

type Looking = {
  readonly doors: EdgeDoors;
  readonly options: EdgeOptions;
  readonly leader: LeaderWatch;
  readonly signal: AbortSignal;
};

/** What cannot be asked is not well. */
async function complaintsOf(looking: Looking): Promise<readonly string[]> {
  try {
    return await look(looking);
  } catch (error) {
    if (!(error instanceof KubeError) && !(error instanceof OperationError)) throw error;
    return [`${error.code}: ${error.message}`];
  }
}

async function look({ doors, options, leader, signal }: Looking): Promise<readonly string[]> {
  const { namespace, file } = options;
  const client = await doors.connect();
  const sight = await lookAtEdge(doors, client, options, signal);
  const { desired, daemonSet } = sight;
  const inNamespace = { namespace };
  const name = edgeNames.operator;
  return edgeComplaints({
    ...{ ...sight, namespace, file, names: { domain: driver, driver } },
    checksum: desired.kind === 'lvmd' ? checksumOf(desired.text) : '',
    nodes: await listed(client, nodeKind, {}, signal),
    csiNodes: await listed(client, csiNodeKind, {}, signal),
    pods: await listed(client, podKind, { ...inNamespace, ...selectorOf(daemonSet) }, signal),
    operator: await client.find(deploymentKind, { namespace, name }, { signal }),
    leads: leader.saw(await client.find(leaseKind, { namespace, name: ourLease }, { signal })),
  });
}

/** Times in objects say nothing: the clock of a host may be wrong when it starts. */
class LeaderWatch {
  #version: string | undefined;
  #leads = false;

  /** Somebody holds it, and it was renewed since it was first seen. */
  saw(lease: Lease | undefined): boolean {
    const version = lease?.metadata.resourceVersion;
    const isHeld = (lease?.spec?.holderIdentity ?? '') !== '';
    const isRenewed = this.#version !== undefined && version !== this.#version;
    this.#leads = isHeld && (this.#leads || isRenewed);
    this.#version = version;
    return this.#leads;
  }
}

type Selecting = {
  readonly spec: {
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  };
};

function selectorOf(daemonSet: Selecting | undefined): Pick<Scope, 'labelSelector'> {
  const labels = Object.entries(daemonSet?.spec.selector?.matchLabels ?? {});
  return { labelSelector: labels.map(([key, value]) => `${key}=${value}`).join(',') };
}
