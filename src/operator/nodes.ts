import type { LogicalVolume } from '../api/objects/logical-volume.ts';
import type { Node } from '../api/objects/storage.ts';
import { clusterNames } from '../core/cluster/names.ts';
import { decideNode, decideStranded } from '../core/cluster/nodes.ts';
import { isKubeError, KubeError } from '../kube/errors.ts';
import { guardOff } from '../kube/finalizers.ts';
import { apiVersionOf } from '../kube/kind.ts';
import { logicalVolumeKind, nodeKind } from '../kube/kinds.ts';
import { type Patch, pointer } from '../kube/patch.ts';
import { type Again, WorkQueue } from '../kube/queue.ts';
import type { Cluster, Duty } from './duty.ts';
import { sweep } from './orphans-sweep.ts';

/** How often volumes of nodes that are gone are looked at. */
export const strandedMs = 60_000;

/** Nodes that leave. What they hold is kept, until an administrator says otherwise. */
export class NodeRemoval implements Duty {
  readonly #cluster: Cluster;
  /** UIDs of volumes that were told of in this term. */
  readonly #told = new Set<string>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { stores, clock, chance, log } = this.#cluster;
    const queue = new WorkQueue({
      ...{ clock, chance, workers: 1, firstWaitMs: 1_000, longestWaitMs: 60_000 },
      work: (name, stop) => this.#look(name, stop),
      trouble: (name, error, waitMs) => {
        if (!(error instanceof KubeError)) throw error;
        log({ level: 'warn', message: `the node ${name}: ${error.message}`, waitMs });
      },
    });
    const leave = stores.nodes.onChange(({ type, object }) => {
      const { name, deletionTimestamp } = object.metadata;
      if (type !== 'deleted' && deletionTimestamp !== undefined) queue.add(name);
    });
    try {
      const look = (stop: AbortSignal) => this.#stranded(stop);
      await Promise.all([queue.run(signal), sweep(this.#cluster, strandedMs, look, signal)]);
    } finally {
      leave();
    }
  }

  async #look(name: string, signal: AbortSignal): Promise<Again> {
    const { stores, names, recorder } = this.#cluster;
    const node = stores.nodes.get({ name });
    if (node === undefined) return undefined;
    const decision = decideNode(node, this.#volumesOn(name), names);
    switch (decision.kind) {
      case 'leave':
        return undefined;
      case 'discard': {
        // Another Node of the name may be there by now, with volumes that nobody gave up.
        const now = await this.#nodeNow(name, signal);
        if (now === undefined || now.metadata.uid !== node.metadata.uid) return undefined;
        if (decideNode(now, decision.volumes, names).kind !== 'discard') return undefined;
        for (const volume of decision.volumes) await this.#discard(volume, signal);
        return { afterMs: 1_000 };
      }
      case 'release':
        if (decision.message !== undefined) {
          const about = { apiVersion: 'v1', kind: 'Node', name, uid: node.metadata.uid };
          const { message } = decision;
          recorder.event(about, { type: 'Warning', reason: 'VolumesLeftBehind', message });
        }
        await this.#release(node, signal);
        return undefined;
    }
  }

  async #release(node: Node, signal: AbortSignal): Promise<void> {
    const { client, stores, names } = this.#cluster;
    const patch = guardOff(node, clusterNames(names).nodeFinalizer);
    if (patch === undefined) return;
    try {
      stores.nodes.putOwn(await client.patch(nodeKind, node.metadata, patch, { signal }));
    } catch (error) {
      if (!isKubeError(error, 'NotFound')) throw error;
    }
  }

  async #stranded(signal: AbortSignal): Promise<void> {
    const { stores, names, recorder, client } = this.#cluster;
    const kind = logicalVolumeKind(names.domain);
    for (const volume of stores.logicalVolumes.values()) {
      if (signal.aborted) return;
      const { nodeName } = volume.spec;
      const decision = decideStranded(volume, stores.nodes.get({ name: nodeName }), names);
      if (decision.kind === 'leave') continue;
      const { name, uid } = volume.metadata;
      const about = { apiVersion: apiVersionOf(kind), kind: 'LogicalVolume', name, uid };
      if (decision.kind === 'tell') {
        const { message } = decision;
        const what = { type: 'Warning', reason: 'NodeGone', message } as const;
        if (!this.#told.has(uid)) recorder.event(about, what);
        this.#told.add(uid);
        continue;
      }
      const now = await client.find(kind, { name }, { signal });
      const node = await this.#nodeNow(nodeName, signal);
      const isMeant = now !== undefined && now.metadata.uid === uid;
      if (isMeant && decideStranded(now, node, names).kind === 'discard') {
        await this.#discard(now, signal);
      }
    }
  }

  async #nodeNow(name: string, signal: AbortSignal): Promise<Node | undefined> {
    const { client } = this.#cluster;
    const isIt = { fieldSelector: `metadata.name=${name}` };
    const { items } = await client.list(nodeKind, isIt, { kind: 'newest' }, { signal });
    return items.find(({ metadata }) => metadata.name === name);
  }

  /** The object goes without its node being asked: an administrator said that the data may go. */
  async #discard(volume: LogicalVolume, signal: AbortSignal): Promise<void> {
    const { client, names, log } = this.#cluster;
    const kind = logicalVolumeKind(names.domain);
    const { name, uid } = volume.metadata;
    const { volumeFinalizer, pendingDeletionAnnotation } = clusterNames(names);
    try {
      await client.delete(kind, { name }, { uid, signal });
      const going = await client.find(kind, { name }, { signal });
      if (going === undefined || going.metadata.uid !== uid) return;
      const off = guardOff(going, volumeFinalizer);
      if (off === undefined) return;
      // An agent that comes back meanwhile leaves the LV alone.
      const mark = markOn(going, pendingDeletionAnnotation);
      await client.patch(kind, { name }, mark, { signal });
      await client.patch(kind, { name }, off, { signal });
    } catch (error) {
      if (!isKubeError(error, 'Conflict') && !isKubeError(error, 'NotFound')) throw error;
    }
    log({ level: 'warn', message: `${name} is given up, as an administrator said`, volume: uid });
  }

  #volumesOn(node: string): readonly LogicalVolume[] {
    const all = [...this.#cluster.stores.logicalVolumes.values()];
    return all.filter(({ spec }) => spec.nodeName === node);
  }
}

function markOn({ metadata }: LogicalVolume, annotation: string): Patch {
  const test = { op: 'test', path: pointer('metadata', 'uid'), value: metadata.uid } as const;
  const path = pointer('metadata', 'annotations');
  const whole = { ...metadata.annotations, [annotation]: 'true' };
  const add =
    metadata.annotations === undefined
      ? { op: 'add' as const, path, value: whole }
      : {
          op: 'add' as const,
          path: pointer('metadata', 'annotations', annotation),
          value: 'true',
        };
  return { type: 'json', operations: [test, add] };
}
