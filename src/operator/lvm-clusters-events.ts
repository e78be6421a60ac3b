import type { LvmCluster, LvmClusterStatus } from '../api/objects/lvm-cluster.ts';
import { type GroupEvent, groupEvents } from '../core/lvm-cluster/events.ts';
import type { ClusterPlan, ClusterView } from '../core/lvm-cluster/plan.ts';
import { apiVersionOf, type KubeObject } from '../kube/kind.ts';
import { lvmClusterKind, lvmNodeStatusKind, lvmVolumeGroupKind } from '../kube/lvms-kinds.ts';
import type { Recorder } from '../kube/recorder.ts';

type Named = typeof lvmClusterKind | typeof lvmVolumeGroupKind | typeof lvmNodeStatusKind;

/** Tells people of an LVMCluster, once for each change. */
export class ClusterEvents {
  readonly #recorder: Recorder;
  /** What was told last, by what it is about; '' for what is well again. */
  readonly #told = new Map<string, string>();

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
  }

  ofPlan(cluster: LvmCluster, { waits, troubles }: ClusterPlan): void {
    const isGoing = cluster.metadata.deletionTimestamp !== undefined;
    const pending = isGoing || waits.length > 0 ? waits.join('; ') : '';
    this.#ofCluster(cluster, 'DeletionPending', pending);
    this.#ofCluster(cluster, 'ResourceReconciliationIncomplete', troubles.join('; '));
  }

  #ofCluster(cluster: LvmCluster, reason: string, message: string): void {
    const id = `${cluster.metadata.uid} ${reason}`;
    if ((this.#told.get(id) ?? '') === message) return;
    this.#told.set(id, message);
    if (message !== '') this.#warn(lvmClusterKind, cluster, { reason, message });
  }

  /** What stands in the status already was told, maybe in an earlier life. */
  ofGroups(status: LvmClusterStatus, view: ClusterView): void {
    const { cluster, groups, reports } = view;
    const isGoing = ({ metadata }: KubeObject) => metadata.deletionTimestamp !== undefined;
    const going = new Set(groups.filter(isGoing).map(({ metadata }) => metadata.name));
    const before = byPlace(groupEvents(cluster.status ?? {}, going), cluster);
    const now = byPlace(groupEvents(status, going), cluster);
    for (const [id, event] of now) {
      const text = textOf(event);
      const known = this.#told.get(id) ?? textOf(before.get(id));
      this.#told.set(id, text);
      if (known === text) continue;
      const { node, deviceClass } = event;
      const report = reports.find(({ metadata }) => metadata.name === node);
      const group = groups.find(({ metadata }) => metadata.name === deviceClass);
      this.#warn(lvmNodeStatusKind, report, event);
      this.#warn(lvmVolumeGroupKind, group, event);
      this.#warn(lvmClusterKind, cluster, event);
    }
    for (const id of before.keys()) if (!now.has(id)) this.#told.set(id, '');
    for (const id of this.#told.keys()) {
      if (id.startsWith(ofPlace(cluster)) && !now.has(id)) this.#told.set(id, '');
    }
  }

  #warn(
    kind: Named,
    object: KubeObject | undefined,
    { reason, message }: Pick<GroupEvent, 'reason' | 'message'>,
  ): void {
    if (object === undefined) return;
    const { name, namespace = '', uid } = object.metadata;
    const about = { apiVersion: apiVersionOf(kind), kind: kind.kind, name, namespace, uid };
    this.#recorder.event(about, { type: 'Warning', reason, message });
  }
}

function ofPlace({ metadata }: LvmCluster): string {
  return `${metadata.uid} group `;
}

function byPlace(events: readonly GroupEvent[], cluster: LvmCluster) {
  return new Map(
    events.map((event) => [`${ofPlace(cluster)}${event.node} ${event.deviceClass}`, event]),
  );
}

function textOf(event: GroupEvent | undefined): string {
  return event === undefined ? '' : `${event.reason} ${event.message}`;
}
