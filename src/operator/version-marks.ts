import type { Node } from '../api/objects/storage.ts';
import { clusterNames } from '../core/cluster/names.ts';
import {
  agentBuildAnnotation,
  buildText,
  operatorBuildAnnotation,
  skewOfOperator,
} from '../core/cluster/skew.ts';
import { isKubeError, KubeError } from '../kube/errors.ts';
import { nodeKind } from '../kube/kinds.ts';
import { type Again, WorkQueue } from '../kube/queue.ts';
import type { Cluster, Duty } from './duty.ts';

/** Tells each agent which version leads, and people where an agent does not go with it. */
export class VersionMarks implements Duty {
  readonly #cluster: Cluster;
  /** What was said last of each Node. */
  readonly #said = new Map<string, string>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { stores, clock, chance, log } = this.#cluster;
    const queue = new WorkQueue({
      ...{ clock, chance, workers: 4, firstWaitMs: 500, longestWaitMs: 60_000 },
      work: (name, stop) => this.#mark(name, stop),
      trouble: (name, error, waitMs) => {
        if (!(error instanceof KubeError)) throw error;
        log({ level: 'warn', message: `the Node ${name}: ${error.message}`, waitMs });
      },
    });
    const leave = stores.nodes.onChange(({ object }) => queue.add(object.metadata.name));
    await queue.run(signal).finally(leave);
  }

  async #mark(name: string, signal: AbortSignal): Promise<Again> {
    const { stores, client, build, names } = this.#cluster;
    const node = stores.nodes.get({ name });
    if (node === undefined || node.metadata.deletionTimestamp !== undefined) return undefined;
    const { uid, annotations: told = {}, finalizers = [] } = node.metadata;
    const hasAgent =
      agentBuildAnnotation in told || finalizers.includes(clusterNames(names).nodeFinalizer);
    if (!hasAgent) return undefined;
    this.#say(node);
    const text = buildText(build);
    if (told[operatorBuildAnnotation] === text) return undefined;
    const annotations = { [operatorBuildAnnotation]: text };
    const patch = { type: 'merge', body: { metadata: { uid, annotations } } } as const;
    try {
      stores.nodes.putOwn(await client.patch(nodeKind, { name }, patch, { signal }));
    } catch (error) {
      if (!isKubeError(error, 'NotFound')) throw error;
    }
    return undefined;
  }

  #say(node: Node): void {
    const { build, recorder, log } = this.#cluster;
    const { name, uid } = node.metadata;
    const { code: reason, message = '' } = skewOfOperator(node, build) ?? {};
    if ((this.#said.get(name) ?? '') === message) return;
    this.#said.set(name, message);
    if (reason === undefined) return;
    recorder.event(
      { apiVersion: 'v1', kind: 'Node', name, uid },
      { type: 'Warning', reason, message },
    );
    log({ level: 'warn', message, node: name });
  }
}
