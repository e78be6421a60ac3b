import { isAltered } from '../api/lvm-cluster/asked.ts';
import type { LvmCluster, LvmClusterStatus } from '../api/objects/lvm-cluster.ts';
import { isSameJson } from '../api/same.ts';
import { heldBy } from '../core/lvm-cluster/gate.ts';
import { byAge, storageClassName } from '../core/lvm-cluster/objects.ts';
import {
  appliedKey,
  type ClusterView,
  type Deed,
  isWanted,
  planCluster,
} from '../core/lvm-cluster/plan.ts';
import { clusterStatus } from '../core/lvm-cluster/status.ts';
import { KubeError } from '../kube/errors.ts';
import { logicalVolumeKind } from '../kube/kinds.ts';
import { lvmClusterKind } from '../kube/lvms-kinds.ts';
import { type Again, WorkQueue } from '../kube/queue.ts';
import { isNews } from '../kube/store.ts';
import type { Cluster, Duty } from './duty.ts';
import { carryOut } from './lvm-clusters-deeds.ts';
import { ClusterEvents } from './lvm-clusters-events.ts';
import type { LvmsKinds, SnapshotClasses } from './lvm-clusters-kinds.ts';

type Parts = {
  readonly cluster: Cluster;
  readonly kinds: LvmsKinds;
  readonly snapshotClasses: SnapshotClasses;
};

const key = 'lvmcluster';

/** How often somebody is told again what is in the way. */
const waitMs = 10_000;

/**
 * LVMClusters: what follows from one is made, changed and taken away, one write at a time, and what
 * is stands in its status. Nothing is written while everything is as it should be.
 */
export class LvmClusters implements Duty {
  readonly #parts: Parts;
  readonly #events: ClusterEvents;
  #isWaiting = false;
  /** How StorageClasses were when they were applied last. */
  readonly #applied = new Map<string, string>();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#events = new ClusterEvents(parts.cluster.recorder);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, chance, log } = this.#parts.cluster;
    const queue = new WorkQueue({
      ...{ clock, chance, workers: 1, firstWaitMs: 500, longestWaitMs: 60_000 },
      work: (_key, stop) => this.#look(stop),
      trouble: (_key, error, ms) => {
        if (!(error instanceof KubeError)) throw error;
        log({ level: 'warn', message: `LVMCluster: ${error.message}`, waitMs: ms });
      },
    });
    const ends = this.#follow(() => queue.add(key));
    try {
      await queue.run(signal);
    } finally {
      for (const end of ends) end();
    }
  }

  /** Claims and volumes come by the thousand, and count only for who wants to go. */
  #follow(look: () => void): readonly (() => void)[] {
    const { cluster, kinds, snapshotClasses } = this.#parts;
    const { nodes, csiNodes, classes, claims, volumes, logicalVolumes } = cluster.stores;
    const lookIfWaiting = () => {
      if (this.#isWaiting) look();
    };
    const own = ({
      object,
    }: {
      readonly object: { readonly metadata: { readonly name: string } };
    }) => {
      if (object.metadata.name.startsWith(storageClassName(''))) look();
    };
    return [
      ...[kinds.clusters, kinds.groups, kinds.reports].flatMap((kind) => [
        kind.onChange(look),
        kind.onServed(look),
      ]),
      ...[snapshotClasses.onChange(own), snapshotClasses.onServed(look)],
      nodes.onChange((change) => isNews(change) && look()),
      ...[csiNodes.onChange(look), classes.onChange(look)],
      ...[claims, volumes, logicalVolumes].map((store) => store.onChange(lookIfWaiting)),
    ];
  }

  async #look(signal: AbortSignal): Promise<Again> {
    const { kinds, snapshotClasses } = this.#parts;
    const all = [kinds.clusters, kinds.groups, kinds.reports, snapshotClasses];
    if (!all.every((kind) => kind.isKnown)) return undefined;
    const [first, ...others] = [...kinds.clusters.values()].toSorted(byAge);
    for (const other of others) await this.#refuse(other, first, signal).catch(onlyKube);
    if (first === undefined) return undefined;
    return this.#reconcile(first, signal);
  }

  async #reconcile(cluster: LvmCluster, signal: AbortSignal): Promise<Again> {
    const { cluster: means } = this.#parts;
    const { client, log } = means;
    const view = this.#view(cluster);
    const plan = planCluster(view);
    this.#isWaiting = plan.waits.length > 0 || cluster.metadata.deletionTimestamp !== undefined;
    this.#events.ofPlan(cluster, plan);
    const troubles = [...plan.troubles];
    let isLate = false;
    for (const deed of plan.deeds) {
      if (!(await this.#isStillRight(deed, view, signal))) {
        isLate = true;
        continue;
      }
      try {
        await carryOut(deed, cluster, { client, signal });
        this.#remember(deed, view);
        log({ level: 'info', message: `LVMCluster ${cluster.metadata.name}: ${deed.kind}` });
      } catch (error) {
        // One that cannot be written does not keep the others from it.
        if (!(error instanceof KubeError)) throw error;
        troubles.push(`${whatFailed(deed)}: ${error.message}`);
      }
    }
    const isBegun = !plan.deeds.some(({ kind }) => kind === 'mark-cluster');
    const all = isBegun ? [...troubles, ...plan.waits] : undefined;
    this.#events.ofGroups(await this.#writeStatus(cluster, all, signal), view);
    if (troubles.length > plan.troubles.length)
      throw new KubeError('Conflict', troubles.join('; '));
    return this.#isWaiting || isLate ? { afterMs: waitMs } : undefined;
  }

  /**
   * What is known may be a moment old: a group goes only when nobody knows of a volume in it, and
   * nobody has asked for its class again.
   */
  async #isStillRight(deed: Deed, view: ClusterView, signal: AbortSignal): Promise<boolean> {
    if (deed.kind !== 'delete-group') return true;
    const { client, names } = this.#parts.cluster;
    const { name } = deed.group.metadata;
    const age = { kind: 'newest' } as const;
    const { items } = await client.list(logicalVolumeKind(names.domain), {}, age, { signal });
    if (heldBy(name, { ...view, logicalVolumes: items }).length > 0) return false;
    const { uid, namespace } = view.cluster.metadata;
    const clusters = await client.list(lvmClusterKind, { namespace }, age, { signal });
    const now = clusters.items.find(({ metadata }) => metadata.uid === uid);
    return now !== undefined && !isWanted(name, now);
  }

  /** Applying what is so already changes nothing, and a second time would not either. */
  #remember(deed: Deed, { classes }: ClusterView): void {
    if (deed.kind !== 'apply-class') return;
    const { name } = deed.object.metadata;
    const found = classes.find(({ metadata }) => metadata.name === name);
    if (found === undefined) this.#applied.delete(name);
    else this.#applied.set(name, appliedKey(found, deed.object));
  }

  #view(cluster: LvmCluster): ClusterView {
    const { cluster: means, kinds, snapshotClasses } = this.#parts;
    const { stores, names } = means;
    return {
      ...{ cluster, driver: names.driver },
      nodes: [...stores.nodes.values()],
      groups: [...kinds.groups.values()],
      reports: [...kinds.reports.values()],
      classes: [...stores.classes.values()],
      applied: this.#applied,
      snapshotClasses:
        snapshotClasses.current === undefined ? undefined : [...snapshotClasses.values()],
      claims: [...stores.claims.values()],
      volumes: [...stores.volumes.values()],
      logicalVolumes: [...stores.logicalVolumes.values()],
    };
  }

  async #writeStatus(
    cluster: LvmCluster,
    troubles: readonly string[] | undefined,
    signal: AbortSignal,
  ): Promise<LvmClusterStatus> {
    const { cluster: means, kinds } = this.#parts;
    const { stores, names, wall } = means;
    const status = clusterStatus({
      ...{ cluster, driver: names.driver, troubles },
      nodes: [...stores.nodes.values()],
      reports: [...kinds.reports.values()],
      csiNodes: [...stores.csiNodes.values()],
      nowText: new Date(wall()).toISOString().replace(/\.\d+Z$/, 'Z'),
    });
    await this.#put(cluster, status, signal);
    return status;
  }

  async #put(cluster: LvmCluster, status: LvmClusterStatus, signal: AbortSignal): Promise<void> {
    if (isSameJson(status, cluster.status ?? {})) return;
    const { metadata } = cluster;
    const operations = [
      { op: 'test', path: '/metadata/uid', value: metadata.uid },
      { op: 'add', path: '/status', value: status },
    ] as const;
    const patch = { type: 'json', operations } as const;
    const { client } = this.#parts.cluster;
    const options = { signal, subresource: 'status' } as const;
    try {
      await client.patch(lvmClusterKind, metadata, patch, options);
    } catch (error) {
      // The last write may have let it go.
      if (!(error instanceof KubeError) || error.code !== 'NotFound') throw error;
    }
  }

  /** A second one is never acted upon: the webhook was away when it was made. */
  async #refuse(
    cluster: LvmCluster,
    first: LvmCluster | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const text = `${first?.metadata.name} is there already, and there can be one LVMCluster only: \
delete this one`;
    await this.#writeStatus(cluster, [text], signal);
  }
}

/** Who altered a group shall see that it is the group that cannot be set right. */
function whatFailed(deed: Deed): string {
  if (deed.kind !== 'change-group' || !isAltered(deed.group)) return deed.kind;
  return `LVMVolumeGroup ${deed.group.metadata.name} was altered, and is not set right`;
}

/** It is told again with the next look, and keeps nobody else from anything. */
function onlyKube(error: unknown): void {
  if (!(error instanceof KubeError)) throw error;
}
