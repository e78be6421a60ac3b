import type { LvmCluster } from '../../src/api/objects/lvm-cluster.ts';
import type { LvmVolumeGroup } from '../../src/api/objects/lvm-volume-group.ts';
import type { ClusterStage } from '../cluster/stage.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { classesIn, groupsOf } from './lvms-truth.ts';

/**
 * Which classes were the default. Where nobody judges objects, the default class may be left out of
 * an LVMCluster: then nothing is begun by it, and the administrator is told which class is missing.
 */
export class LvmsDefaults {
  readonly #stage: ClusterStage;
  /** By LVMCluster: the classes that it named as the default at any time. */
  readonly #named = new Map<string, Set<string>>();
  /** LVMVolumeGroups that are the default as the operator wrote them last, whoever altered them. */
  readonly #written = new Set<string>();

  constructor(stage: ClusterStage) {
    this.#stage = stage;
    stage.api.listeners.add(({ collection, after }) => {
      if (after === undefined) return;
      if (collection === collections.lvmClusters) this.#cluster(after);
      if (collection === collections.lvmVolumeGroups) {
        this.#group(after);
      }
    });
  }

  /** Was it the default, and is it left out, with no other class in its place? */
  isLost(name: string, cluster: LvmCluster): boolean {
    const classes = classesIn(cluster);
    const isThere = classes.some((one) => one.name === name);
    if (isThere || classes.some((one) => one.default === true)) return false;
    const { uid } = cluster.metadata;
    const group = groupsOf(this.#stage).find(({ metadata }) => metadata.name === name);
    if (group === undefined || group.metadata.deletionTimestamp !== undefined) return false;
    const isOwn = group.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
    const wasNamed = this.#named.get(uid)?.has(name) === true;
    return isOwn && wasNamed && this.#written.has(group.metadata.uid);
  }

  #cluster(cluster: LvmCluster): void {
    const { uid } = cluster.metadata;
    const named = this.#named.get(uid) ?? new Set();
    this.#named.set(uid, named);
    const classes = classesIn(cluster);
    // One that is alone is the default without saying so.
    const isAlone = classes.length === 1;
    for (const one of classes) if (isAlone || one.default === true) named.add(one.name);
  }

  #group({ metadata: { uid }, spec }: LvmVolumeGroup): void {
    const { who } = this.#stage.api.writes.at(-1) ?? {};
    if (who?.startsWith('operator ') !== true) return;
    if (spec?.default === true) this.#written.add(uid);
    else this.#written.delete(uid);
  }
}
