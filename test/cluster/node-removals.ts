import { discardAnnotation } from '../../src/core/cluster/nodes.ts';
import type { Stored } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import type { Chance } from '../world/chance.ts';
import type { FakeClock } from '../world/clock.ts';
import type { Desk } from './desk.ts';
import type { Machine } from './machine.ts';
import type { Pods } from './pods.ts';

type Parts = {
  readonly admin: Desk;
  readonly clock: FakeClock;
  readonly chance: Chance;
  readonly pods: Pods;
  readonly machines: ReadonlyMap<string, Machine>;
  readonly cutPower: (node: string) => void;
  /** Past all rules, as the garbage collector does with what its owner leaves. */
  readonly collect: (collection: string, name: string) => void;
};

/** Between the look that a word of an administrator needs and what is done by it. */
const wordLastsMs = 60_000;

/**
 * Nodes that an administrator takes out of the cluster, and what Kubernetes does about it: their
 * CSINodes go, and after a while their pods, our agent's among them. The machine knows nothing of
 * it, and is in the cluster again when its kubelet begins anew.
 */
export class NodeRemovals {
  readonly #parts: Parts;
  /** Machines that are thrown away as soon as their Nodes are gone. */
  readonly #forEver = new Set<string>();
  /** Until when there was no such Node. */
  readonly #absentUntilMs = new Map<string, number>();
  /** Ids of volumes that somebody gave up. */
  readonly #givenUp = new Set<string>();
  #areBack = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** A word says that everything on it may go, too. */
  remove(
    name: string,
    how: { readonly isForEver?: boolean; readonly hasWord?: boolean } = {},
  ): void {
    const { admin } = this.#parts;
    if (how.hasWord === true) this.#annotate(collections.nodes, name, 'volumes');
    admin.delete(collections.nodes, { name });
    this.#hear();
    if (how.isForEver === true) this.#forEver.add(name);
  }

  /** A word about one volume, which means something once its Node is gone. */
  giveUp(name: string): void {
    this.#annotate(collections.logicalVolumes, name, 'true');
    this.#hear();
  }

  isGone(node: string): boolean {
    return this.#parts.admin.node(node) === undefined;
  }

  /** Has an administrator said that its data may go? */
  isGivenUp(id: string): boolean {
    this.#hear();
    return this.#givenUp.has(id);
  }

  /** On a node that is not in the cluster, or given up: nobody can do anything about it. */
  isOutOfReach(id: string | undefined): boolean {
    if (id === undefined) return false;
    const record = this.#parts.admin.logicalVolumes.find(({ metadata }) => metadata.uid === id);
    if (record !== undefined && this.isGone(record.spec.nodeName)) return true;
    return this.isGivenUp(id);
  }

  /** A kubelet begins. */
  join(node: string): void {
    const machine = this.#parts.machines.get(node);
    if (machine?.isUp !== true || this.#forEver.has(node) || !this.isGone(node)) return;
    void machine.kubelet?.join();
  }

  /** From now on whoever is not gone for ever is there, and stays. */
  allBack(): void {
    this.#areBack = true;
    for (const node of this.#parts.machines.keys()) this.join(node);
  }

  told(before: Stored | undefined, after: Stored | undefined): void {
    const { clock, chance, collect } = this.#parts;
    const name = before?.metadata.name ?? after?.metadata.name ?? '';
    if (before === undefined) this.#absentUntilMs.set(name, clock.nowMs());
    if (after !== undefined) return;
    this.#hear(before);
    collect(collections.csiNodes, name);
    if (this.#areBack) clock.after(1_000, () => this.join(name), 'kubelet');
    clock.after(chance.between(20_000, 60_000), () => this.#evict(name), 'pods of a gone node');
  }

  /** Its pods leave the cluster; what they had mounted is kubelet's to take away. */
  #evict(name: string): void {
    const { pods, machines, cutPower } = this.#parts;
    const machine = machines.get(name);
    if (machine === undefined || !this.isGone(name)) return;
    if (this.#forEver.has(name)) {
      machine.retire();
      if (machine.isUp) cutPower(name);
    }
    machine.killAgent();
    for (const pod of pods.all.filter(({ node }) => node === name)) {
      pod.isDeleting = true;
      pod.isForgotten = true;
      if (!machine.isUp) pods.gone(pod);
    }
    pods.changed();
  }

  #annotate(collection: string, name: string, word: string): void {
    const annotations = { [discardAnnotation]: word };
    this.#parts.admin.patch(collection, { name }, { metadata: { annotations } });
  }

  /** Words that are heard now are kept in mind: their objects go. */
  #hear(leaving?: Stored): void {
    const { admin, clock } = this.#parts;
    const nodes = [...admin.nodes, ...(leaving === undefined ? [] : [leaving])];
    const isDoomed = (name: string) =>
      nodes.some(({ metadata: { name: own, annotations, deletionTimestamp } }) => {
        const isGoing = deletionTimestamp !== undefined || own === leaving?.metadata.name;
        return own === name && isGoing && annotations?.[discardAnnotation] === 'volumes';
      });
    for (const { metadata, spec } of admin.logicalVolumes) {
      const sinceMs = this.isGone(spec.nodeName)
        ? 0
        : clock.nowMs() - (this.#absentUntilMs.get(spec.nodeName) ?? Number.NEGATIVE_INFINITY);
      const isNamed = metadata.annotations?.[discardAnnotation] === 'true';
      if ((isNamed && sinceMs < wordLastsMs) || isDoomed(spec.nodeName)) {
        this.#givenUp.add(metadata.uid);
      }
    }
  }
}
