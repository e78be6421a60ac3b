import { CapacityJanitor } from './capacity.ts';
import { Certificates, type RegistrationStores } from './certificates.ts';
import type { Cluster, Duty } from './duty.ts';
import { groupSnapshotter } from './group-snapshotter.ts';
import { Guards } from './guards.ts';
import { VolumeHealth } from './health.ts';
import { runKinds } from './kind-watch.ts';
import { Adoption } from './logical-volumes-adoption.ts';
import { LostVolumes } from './lost-volumes.ts';
import { LvmClusters } from './lvm-clusters.ts';
import type { LvmsKinds } from './lvm-clusters-kinds.ts';
import { Modifier } from './modifier.ts';
import { NodeRemoval } from './nodes.ts';
import { DeadFinalizers } from './nodes-finalizers.ts';
import { PersistentVolumes } from './persistent-volumes.ts';
import { Provisioner } from './provisioner.ts';
import { Reclaimer } from './reclaimer.ts';
import { Resizer } from './resizer.ts';
import { RoomNews } from './room.ts';
import { type SnapshotControllerParts, snapshotController } from './snapshot-controller.ts';
import { snapshotter } from './snapshotter.ts';
import {
  type GroupKinds,
  groupKinds,
  type SnapshotKinds,
  snapshotKinds,
} from './snapshotter-kinds.ts';
import { VersionMarks } from './version-marks.ts';

/** For who does what a cluster needs once for the snapshots of all drivers. */
export type CommonParts = Omit<SnapshotControllerParts, 'cluster' | 'kinds'>;

/** What the operator knows beside its stores, whoever leads. */
export type DutyMeans = {
  readonly common: CommonParts | undefined;
  readonly lvms: LvmsKinds;
  readonly snapshots: SnapshotWatches;
  readonly actsOnLvmClusters: boolean;
  /** Missing where no webhook is served. */
  readonly registration: Registration | undefined;
};

/** A cluster may get these kinds later, or lose them. */
export type SnapshotWatches = { readonly kinds: SnapshotKinds; readonly groups: GroupKinds };

export type Registration = {
  readonly stores: RegistrationStores;
  readonly namespace: string;
  readonly hosts: readonly [string, ...string[]];
};

/** Everything that is done once for a cluster, made anew for each term. */
export function dutiesOf(cluster: Cluster, means: DutyMeans): readonly Duty[] {
  const { registration } = means;
  return [
    new VersionMarks(cluster),
    new Adoption(cluster),
    new Provisioner(cluster),
    new Reclaimer(cluster),
    new PersistentVolumes(cluster),
    new Guards(cluster),
    new Resizer(cluster),
    new Modifier(cluster),
    new VolumeHealth(cluster),
    new LostVolumes(cluster),
    ...snapshotDuties(cluster, means),
    ...(registration === undefined ? [] : [new Certificates({ ...cluster, ...registration })]),
    new CapacityJanitor(cluster),
    new RoomNews(cluster),
    new NodeRemoval(cluster),
    new DeadFinalizers(cluster),
  ];
}

/** Nothing is watched before a duty runs them. */
export function snapshotWatches({
  client,
  clock,
  chance,
  log,
}: Pick<Cluster, 'client' | 'clock' | 'chance' | 'log'>): SnapshotWatches {
  const trouble = (error: Error, waitMs: number) =>
    log({ level: 'warn', message: error.message, waitMs });
  const means = { client, clock, chance, trouble };
  return { kinds: snapshotKinds(means), groups: groupKinds(means) };
}

function snapshotDuties(
  cluster: Cluster,
  { common, lvms, actsOnLvmClusters, snapshots: { kinds, groups } }: DutyMeans,
): readonly Duty[] {
  const watches = [...Object.values(kinds), ...Object.values(groups)];
  return [
    { run: (signal) => runKinds(watches, signal) },
    snapshotter(cluster, kinds),
    groupSnapshotter(cluster, groups),
    ...(actsOnLvmClusters
      ? [new LvmClusters({ cluster, kinds: lvms, snapshotClasses: kinds.classes })]
      : []),
    ...(common === undefined ? [] : [snapshotController({ ...common, cluster, kinds })]),
  ];
}

/** Until the signal fires, and then until all of them have ended. A bug in one ends them all. */
export async function runDuties(duties: readonly Duty[], signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const stop = () => over.abort();
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    const ends = await Promise.allSettled(
      duties.map((duty) => duty.run(over.signal).finally(stop)),
    );
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
