import type { Node } from '../api/objects/storage.ts';
import type { ClusterNames } from '../core/cluster/names.ts';
import { decideNode } from '../core/cluster/node-annotations.ts';
import type { Build } from '../core/cluster/skew.ts';
import type { LvmdCapacity } from '../core/lvmd-capacity.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/errors.ts';
import type { Informer } from '../kube/informer.ts';
import { nodeKind } from '../kube/kinds.ts';
import type { Chance, Clock } from '../kube/ports.ts';
import { type Again, WorkQueue } from '../kube/queue.ts';
import { agentLimits } from './limits.ts';
import type { Log } from './log.ts';
import { nodePatch } from './patches.ts';

export type NodeReportParts = {
  readonly client: KubeClient;
  readonly informer: Informer<Node>;
  readonly names: ClusterNames;
  readonly node: string;
  /** Nothing before the first look at the host. */
  readonly capacities: () => readonly LvmdCapacity[] | undefined;
  readonly build: Build;
  /** What the disks are, where somebody plans by it. */
  readonly inventory: () => string | null | undefined;
  /** LVs that no LogicalVolume names. */
  readonly strays: () => string | null | undefined;
  /** Somebody schedules by the annotations. */
  readonly isEager: boolean;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly log: Log;
};

/** Keeps the annotations and the finalizer of this node's Node as TopoLVM would. */
export class NodeReport {
  readonly #parts: NodeReportParts;
  readonly #queue: WorkQueue;
  #writtenAtMs: number | undefined;

  constructor(parts: NodeReportParts) {
    this.#parts = parts;
    this.#queue = new WorkQueue({
      ...{ clock: parts.clock, chance: parts.chance, workers: 1 },
      ...{ firstWaitMs: agentLimits.retryFirstMs, longestWaitMs: agentLimits.retryLongestMs },
      work: () => this.#work(),
      trouble: (_key, error, waitMs) => {
        if (!(error instanceof KubeError)) throw error;
        const message = `the Node ${parts.node} was not written: ${error.message}`;
        parts.log({ level: 'warn', message, waitMs });
      },
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const left = this.#parts.informer.onChange(() => this.changed());
    await this.#queue.run(signal).finally(left);
  }

  /** The host or the Node may be another one. */
  changed(): void {
    this.#queue.addAfter(this.#parts.node, agentLimits.capacitySettleMs);
  }

  async #work(): Promise<Again> {
    const { client, informer, names, node: name, build, clock, isEager } = this.#parts;
    const node = informer.get({ name });
    const capacities = this.#parts.capacities();
    if (node === undefined || capacities === undefined) return undefined;
    const intervalMs = isEager ? 0 : agentLimits.nodeWriteMs;
    const time = { nowMs: clock.nowMs(), writtenAtMs: this.#writtenAtMs, intervalMs };
    const told = { inventory: this.#parts.inventory(), strays: this.#parts.strays() };
    const decision = decideNode({ names, node, capacities, build, ...told, ...time });
    if (decision.kind === 'later') return decision;
    if (decision.kind === 'rest') return undefined;
    informer.putOwn(await client.patch(nodeKind, { name }, nodePatch(node, decision)));
    this.#writtenAtMs = clock.nowMs();
    return undefined;
  }
}
