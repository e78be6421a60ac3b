import type { PersistentVolumeClaim } from '../../src/api/objects/claim.ts';
import type { PersistentVolume } from '../../src/api/objects/persistent-volume.ts';
import type { Node } from '../../src/api/objects/storage.ts';
import { collections, sizeAt } from '../kube/fake-api-rules.ts';
import type { Chance } from '../world/chance.ts';
import type { FakeClock } from '../world/clock.ts';
import type { Desk } from './desk.ts';
import type { Pod, Pods } from './pods.ts';
import { selectedNode } from './volume-controller.ts';

type Parts = {
  readonly desk: Desk;
  readonly pods: Pods;
  readonly clock: FakeClock;
  readonly chance: Chance;
  /** Machines that are up, as the cluster knows it. */
  readonly isReady: (node: string) => boolean;
};

/** kube-scheduler, as far as volumes are concerned. */
export class Scheduler {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** When to look again though nothing has changed. */
  round(): number | undefined {
    const { pods, clock } = this.#parts;
    const waiting = pods.all.filter((pod) => pod.node === undefined);
    for (const pod of waiting) {
      if (pod.notBeforeMs > clock.nowMs()) continue;
      if (pod.assumed === undefined) this.#choose(pod);
      else this.#checkBindings(pod, pod.assumed);
    }
    const times = waiting.map(({ notBeforeMs }) => notBeforeMs - clock.nowMs());
    const later = times.filter((ms) => ms > 0);
    return later.length === 0 ? undefined : Math.min(...later);
  }

  #choose(pod: Pod): void {
    const { desk, chance } = this.#parts;
    const claims = pod.claims.map((name) => desk.claim(name));
    const missing = pod.claims.find((_, index) => !isUsable(claims[index]));
    const known = claims.filter((claim) => claim !== undefined);
    const unbound = known.filter((claim) => !isBound(claim));
    const early = unbound.find((claim) => !this.#waitsForConsumer(claim));
    if (missing !== undefined || early !== undefined) {
      this.#wait(pod, `${missing ?? early?.metadata.name} is missing or not bound`);
      return;
    }
    const reasons = new Map<string, string>();
    const fitting = desk.nodes.filter((node) => {
      const objection = this.#objection(node, known);
      if (objection !== undefined) reasons.set(node.metadata.name, objection);
      return objection === undefined;
    });
    const node = chance.pick(fitting);
    if (node === undefined) {
      const told = [...reasons].map(([name, why]) => `${name}: ${why}`).join('; ');
      this.#wait(pod, `no node fits (${told})`);
      return;
    }
    pod.assumed = node.metadata.name;
    pod.notBeforeMs = 0;
    for (const claim of unbound) this.#select(claim, node.metadata.name);
    this.#checkBindings(pod, node.metadata.name);
  }

  #select({ metadata }: PersistentVolumeClaim, node: string): void {
    if (metadata.annotations?.[selectedNode] === node) return;
    const annotations = { [selectedNode]: node };
    this.#parts.desk.patch(collections.claims, metadata, { metadata: { annotations } });
  }

  #objection(node: Node, claims: readonly PersistentVolumeClaim[]): string | undefined {
    const { name } = node.metadata;
    if (!this.#parts.isReady(name)) return 'it is not ready';
    for (const claim of claims) {
      if (isBound(claim)) {
        const volume = this.#parts.desk.volume(claim.spec.volumeName ?? '');
        if (volume === undefined || !isReachable(volume, node)) return 'the volume is elsewhere';
        continue;
      }
      const selected = claim.metadata.annotations?.[selectedNode] ?? name;
      if (selected !== name) return `${claim.metadata.name} belongs to ${selected}`;
      if (!this.#hasRoom(node, claim)) return 'it has not enough free storage';
    }
    return undefined;
  }

  /** No object means no room. */
  #hasRoom(node: Node, claim: PersistentVolumeClaim): boolean {
    const wanted = sizeAt(claim, 'spec.resources.requests.storage');
    return this.#parts.desk.capacities.some((capacity) => {
      const isOf = capacity.storageClassName === claim.spec.storageClassName;
      const labels = Object.entries(capacity.nodeTopology?.matchLabels ?? {});
      const isHere = labels.every(([key, value]) => node.metadata.labels?.[key] === value);
      const field = capacity.maximumVolumeSize === undefined ? 'capacity' : 'maximumVolumeSize';
      return isOf && isHere && sizeAt(capacity, field) >= wanted;
    });
  }

  #checkBindings(pod: Pod, node: string): void {
    if (this.#parts.desk.node(node) === undefined) {
      this.#wait(pod, `the node ${node} is gone`);
      return;
    }
    for (const name of pod.claims) {
      const verdict = this.#binding(name, node);
      if (verdict === 'bound') continue;
      if (verdict === 'waits') pod.why = `waits for ${name} to be provisioned on ${node}`;
      else this.#wait(pod, verdict);
      return;
    }
    pod.node = node;
    pod.why = `is scheduled to ${node}`;
    this.#parts.pods.changed();
  }

  /** A claim that lost its node, or got a volume elsewhere, sends the pod back. */
  #binding(name: string, node: string): string {
    const { desk } = this.#parts;
    const claim = desk.claim(name);
    if (claim === undefined || !isUsable(claim)) return `the claim ${name} is gone`;
    if (!isBound(claim)) {
      const selected = claim.metadata.annotations?.[selectedNode];
      return selected === node ? 'waits' : `${name} lost its node ${node}`;
    }
    const volume = desk.volume(claim.spec.volumeName ?? '');
    const where = desk.node(node);
    const isHere = volume !== undefined && where !== undefined && isReachable(volume, where);
    return isHere ? 'bound' : `the volume of ${name} is not on ${node}`;
  }

  #wait(pod: Pod, why: string): void {
    const { clock, chance } = this.#parts;
    pod.why = why;
    pod.assumed = undefined;
    pod.tries += 1;
    const mostMs = Math.min(1_000 * 2 ** pod.tries, 10_000);
    pod.notBeforeMs = clock.nowMs() + chance.between(mostMs / 2, mostMs);
  }

  #waitsForConsumer({ spec }: PersistentVolumeClaim): boolean {
    const storageClass = this.#parts.desk.storageClass(spec.storageClassName);
    return storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
  }
}

function isUsable(claim: PersistentVolumeClaim | undefined): boolean {
  return claim !== undefined && claim.metadata.deletionTimestamp === undefined;
}

export function isBound(claim: PersistentVolumeClaim): boolean {
  return claim.status?.phase === 'Bound' && (claim.spec.volumeName ?? '') !== '';
}

/** One term is enough, and all of it must be true. */
export function isReachable({ spec }: PersistentVolume, { metadata }: Node): boolean {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms;
  if (terms === undefined) return true;
  return terms.some(({ matchExpressions = [] }) =>
    matchExpressions.every(({ key, operator, values = [] }) => {
      const label = metadata.labels?.[key];
      return operator === 'In' && label !== undefined && values.includes(label);
    }),
  );
}
