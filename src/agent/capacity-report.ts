import type { OwnerReference } from '../api/objects/metadata.ts';
import type { CsiStorageCapacity, StorageClass } from '../api/objects/storage.ts';
import { OperationError } from '../base/failures.ts';
import type { Capacity } from '../core/capacity.ts';
import {
  adoptableSelector,
  type CapacityAction,
  decideCapacity,
  isOfNode,
  type NewCapacity,
} from '../core/cluster/capacity-objects.ts';
import { type ClusterNames, clusterNames } from '../core/cluster/names.ts';
import type { KubeClient } from '../kube/client.ts';
import { isKubeError, KubeError } from '../kube/errors.ts';
import type { Informer } from '../kube/informer.ts';
import { csiStorageCapacityKind as kind } from '../kube/kinds.ts';
import type { Chance, Clock } from '../kube/ports.ts';
import { type Again, WorkQueue } from '../kube/queue.ts';
import { agentLimits } from './limits.ts';
import type { Log } from './log.ts';

export type CapacityReportParts = {
  readonly client: KubeClient;
  readonly classes: Informer<StorageClass>;
  /** Those of this node only. */
  readonly capacities: Informer<CsiStorageCapacity>;
  readonly names: ClusterNames;
  readonly node: string;
  readonly namespace: string;
  readonly owner: () => Promise<OwnerReference | undefined>;
  readonly room: (className: string, optionClass: string) => Promise<Capacity | undefined>;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly log: Log;
};

/**
 * Tells the scheduler what each StorageClass can have here, whenever a volume group changes. What a
 * provisioner before us left for this node is taken over first, or it would be believed beside it.
 */
export class CapacityReport {
  readonly #parts: CapacityReportParts;
  readonly #queue: WorkQueue;
  readonly #writtenAtMs = new Map<string, number>();
  /** Of a provisioner before us; nothing is written before it is known. */
  #left: readonly CsiStorageCapacity[] | undefined;
  #owner: OwnerReference | undefined;

  constructor(parts: CapacityReportParts) {
    this.#parts = parts;
    this.#queue = new WorkQueue({
      ...{ clock: parts.clock, chance: parts.chance, workers: 1 },
      ...{ firstWaitMs: agentLimits.retryFirstMs, longestWaitMs: agentLimits.retryLongestMs },
      work: (className) => this.#work(className),
      trouble: (className, error, waitMs) => {
        if (!(error instanceof KubeError || error instanceof OperationError)) throw error;
        const message = `the capacity of ${className} was not told: ${error.message}`;
        parts.log({ level: 'warn', message, waitMs });
      },
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { classes, capacities } = this.#parts;
    const leaves = [
      classes.onChange(({ object }) => this.#add(object.metadata.name)),
      capacities.onChange(({ object }) => this.#add(object.storageClassName)),
    ];
    // What is missing from a list means something only when the list is whole.
    await Promise.race([Promise.all([classes.synced, capacities.synced]), aborted(signal)]);
    await this.#queue.run(signal).finally(() => {
      for (const leave of leaves) leave();
    });
  }

  /** A volume group may have more or less to give. */
  changed(): void {
    const { classes, names } = this.#parts;
    for (const { metadata, provisioner } of classes.values()) {
      if (provisioner === names.driver) this.#add(metadata.name);
    }
  }

  #add(className: string): void {
    this.#queue.addAfter(className, agentLimits.capacitySettleMs);
  }

  async #work(className: string): Promise<Again> {
    const { names, node, namespace, classes, capacities, room, clock } = this.#parts;
    const sinceMs = clock.nowMs() - (this.#writtenAtMs.get(className) ?? Number.NEGATIVE_INFINITY);
    const waitMs = agentLimits.capacityWriteMs - sinceMs;
    if (waitMs > 0) return { afterMs: waitMs };
    const left = await this.#takeStock();
    const storageClass = classes.get({ name: className });
    const { deviceClassParameter, optionClassParameter } = clusterNames(names);
    const parameters = storageClass?.parameters ?? {};
    const existing = [...capacities.values(), ...left].filter(
      (object) => object.storageClassName === className && isOfNode(object, names, node),
    );
    const actions = decideCapacity({
      ...{ names, node, namespace, className, storageClass, existing, owner: this.#owner },
      room: await room(
        parameters[deviceClassParameter] ?? '',
        parameters[optionClassParameter] ?? '',
      ),
    });
    if (actions.length > 0) this.#writtenAtMs.set(className, clock.nowMs());
    for (const action of actions) await this.#carryOut(action);
    return undefined;
  }

  async #takeStock(): Promise<readonly CsiStorageCapacity[]> {
    if (this.#left !== undefined) return this.#left;
    const { client, names, node, namespace } = this.#parts;
    this.#owner = await this.#parts.owner();
    const scope = { namespace, labelSelector: adoptableSelector(names, node) };
    const { items } = await client.list(kind, scope);
    this.#left = items.filter((object) => isOfNode(object, names, node));
    return this.#left;
  }

  async #carryOut(action: CapacityAction): Promise<void> {
    const { client, capacities, namespace } = this.#parts;
    if (action.kind === 'create') {
      await this.#create(action.object);
      return;
    }
    const { uid, name } = action.object.metadata;
    if (action.kind === 'delete') {
      await client.delete(kind, { namespace, name }, { uid });
    } else {
      const patch = { type: 'merge', body: action.body } as const;
      const written = await client.patch(kind, { namespace, name }, patch).catch(goneIsFine);
      if (written !== undefined) capacities.putOwn(written);
    }
    this.#left = this.#left?.filter((object) => object.metadata.uid !== uid);
  }

  /** One with our name and without our labels is adopted like any other. */
  async #create(object: NewCapacity): Promise<void> {
    const { client, capacities } = this.#parts;
    try {
      capacities.putOwn(await client.create(kind, object));
    } catch (error) {
      if (!isKubeError(error, 'AlreadyExists')) throw error;
      const found = await client.find(kind, object.metadata);
      if (found !== undefined) this.#left = [...(this.#left ?? []), found];
      throw error;
    }
  }
}

/** Somebody deleted it: the watch tells, and it is made anew. */
function goneIsFine(error: unknown): undefined {
  if (isKubeError(error, 'NotFound')) return undefined;
  throw error;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
