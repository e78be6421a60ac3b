import { isUnmanaged } from '../api/lvm-cluster/check.ts';
import type { LvmCluster, LvmClusterStatus } from '../api/objects/lvm-cluster.ts';
import {
  clusterNews,
  type GroupEvent,
  groupEvents,
  groupNews,
} from '../core/lvm-cluster/events.ts';
import type { ClusterPlan, ClusterView } from '../core/lvm-cluster/plan.ts';
import { apiVersionOf, type KubeObject } from '../kube/kind.ts';
import { lvmClusterKind, lvmNodeStatusKind, lvmVolumeGroupKind } from '../kube/lvms-kinds.ts';
import type { EventText, Recorder } from '../kube/recorder.ts';

type Named = typeof lvmClusterKind | typeof lvmVolumeGroupKind | typeof lvmNodeStatusKind;

/** Tells people of an LVMCluster, once for each change. */
export class ClusterEvents {
  readonly #recorder: Recorder;
  /** What was told last, by what it is about; '' for what is well again. */
  readonly #told = new Map<string, string>();
  /** How it was when somebody was told of it last: what is watched may be a moment old. */
  readonly #last = new Map<string, LvmClusterStatus>();

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
    if (message !== '') this.#tell(lvmClusterKind, cluster, ofCluster('Warning', reason, message));
  }

  /** What stands in the status already was told, maybe in an earlier life. */
  ofGroups(status: LvmClusterStatus, view: ClusterView): void {
    const { cluster, groups } = view;
    const isGoing = ({ metadata }: KubeObject) => metadata.deletionTimestamp !== undefined;
    const going = new Set(groups.filter(isGoing).map(({ metadata }) => metadata.name));
    const before = byPlace(groupEvents(cluster.status ?? {}, going), cluster);
    const now = byPlace(groupEvents(status, going), cluster);
    for (const [id, event] of now) {
      const text = textOf(event);
      const known = this.#told.get(id) ?? textOf(before.get(id));
      this.#told.set(id, text);
      if (known === text) continue;
      this.#everywhere('Warning', event, view);
    }
    for (const id of before.keys()) if (!now.has(id)) this.#told.set(id, '');
    for (const id of this.#told.keys()) {
      if (id.startsWith(ofPlace(cluster)) && !now.has(id)) this.#told.set(id, '');
    }
    this.#news(status, view);
  }

  #news(status: LvmClusterStatus, view: ClusterView): void {
    const { cluster } = view;
    const before = this.#last.get(cluster.metadata.uid) ?? cluster.status ?? {};
    this.#last.set(cluster.metadata.uid, status);
    for (const event of groupNews(before, status, isUnmanaged(cluster))) {
      this.#everywhere('Normal', event, view);
    }
    for (const { reason, message } of clusterNews(before, status)) {
      this.#tell(lvmClusterKind, cluster, ofCluster('Normal', reason, message));
    }
  }

  #everywhere(
    type: EventText['type'],
    { reason, message, node, deviceClass }: GroupEvent,
    { cluster, groups, reports }: ClusterView,
  ): void {
    const text = { type, reason, message, action: 'ReconcileVolumeGroup' } as const;
    const report = reports.find(({ metadata }) => metadata.name === node);
    const group = groups.find(({ metadata }) => metadata.name === deviceClass);
    this.#tell(lvmNodeStatusKind, report, text);
    this.#tell(lvmVolumeGroupKind, group, text);
    this.#tell(lvmClusterKind, cluster, text);
  }

  #tell(kind: Named, object: KubeObject | undefined, text: EventText): void {
    if (object === undefined) return;
    const { name, namespace = '', uid } = object.metadata;
    const about = { apiVersion: apiVersionOf(kind), kind: kind.kind, name, namespace, uid };
    this.#recorder.event(about, text);
  }
}

function ofCluster(type: EventText['type'], reason: string, message: string): EventText {
  return { type, reason, message, action: 'ReconcileLVMCluster' };
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
