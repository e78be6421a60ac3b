import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { sourceOf } from '../core/cluster/snapshot-common-guard.ts';
import type { KubeClient } from '../kube/client.ts';
import { isKubeError, KubeError } from '../kube/errors.ts';
import { type Again, WorkQueue } from '../kube/queue.ts';
import type { Cluster, Duty } from './duty.ts';
import { SnapshotLease, type SnapshotLeaseParts } from './snapshot-controller-lease.ts';
import { NotYet, SnapshotWork } from './snapshot-controller-work.ts';
import type { SnapshotKinds } from './snapshotter-kinds.ts';

export type SnapshotControllerParts = {
  readonly cluster: Cluster;
  readonly kinds: SnapshotKinds;
  readonly lease: SnapshotLeaseParts;
  /** Not fenced; we fence it ourselves, by both leases. */
  readonly client: KubeClient;
  /** Of the lead that this duty runs under. */
  readonly fence: () => void;
};

/**
 * The half of snapshots that a cluster needs once, for all drivers: who has none may ask us. It
 * never runs beside another one.
 */
export function snapshotController(parts: SnapshotControllerParts): Duty {
  const lease = new SnapshotLease(parts.lease);
  return {
    run: (signal) =>
      lease.run((leadership) => {
        const client = parts.client.fenced(() => {
          parts.fence();
          leadership.fence();
        });
        const cluster = { ...parts.cluster, client };
        return control(cluster, parts.kinds, leadership.signal);
      }, signal),
  };
}

async function control(cluster: Cluster, kinds: SnapshotKinds, signal: AbortSignal): Promise<void> {
  const { clock, chance, log } = cluster;
  const work = new SnapshotWork(cluster, kinds);
  const queue = new WorkQueue({
    ...{ clock, chance, workers: limits.clusterWorkers },
    ...{ firstWaitMs: limits.clusterRetryMs, longestWaitMs: limits.clusterRetryMsMax },
    work: async (key, stop): Promise<Again> => {
      try {
        return await work.on(key, stop);
      } catch (error) {
        if (!stop.aborted) throw error;
        return undefined;
      }
    },
    trouble: (key, error, waitMs) => {
      if (error instanceof NotYet || isKubeError(error, 'Conflict')) return;
      if (!(error instanceof KubeError || error instanceof OperationError)) throw error;
      log({ level: 'warn', message: error.message, noun: 'snapshot', object: key, waitMs });
    },
  });
  const ends = wake(cluster, kinds, (key) => queue.add(key));
  try {
    await queue.run(signal);
  } finally {
    for (const end of ends) end();
  }
}

/** Which keys a change concerns. */
function wake(
  { stores }: Cluster,
  { snapshots, contents, classes }: SnapshotKinds,
  add: (key: string) => void,
): readonly (() => void)[] {
  const addUnready = () => {
    for (const { metadata, status } of snapshots.values()) {
      if (status?.readyToUse !== true) add(`snapshot ${metadata.namespace}/${metadata.name}`);
    }
  };
  const addAll = () => {
    for (const { metadata } of snapshots.values()) {
      add(`snapshot ${metadata.namespace}/${metadata.name}`);
    }
    for (const { metadata } of contents.values()) add(`content ${metadata.name}`);
    for (const { metadata } of stores.claims.values()) {
      add(`claim ${metadata.namespace}/${metadata.name}`);
    }
  };
  return [
    snapshots.onChange(({ object: { metadata, spec } }) => {
      add(`snapshot ${metadata.namespace}/${metadata.name}`);
      const claim = spec.source.persistentVolumeClaimName;
      if (claim !== undefined) add(`claim ${metadata.namespace}/${claim}`);
    }),
    contents.onChange(({ object: { metadata, spec } }) => {
      add(`content ${metadata.name}`);
      add(`snapshot ${spec.volumeSnapshotRef.namespace}/${spec.volumeSnapshotRef.name}`);
      for (const snapshot of snapshots.values()) {
        const wanted = snapshot.spec.source.volumeSnapshotContentName;
        if (wanted !== metadata.name) continue;
        add(`snapshot ${snapshot.metadata.namespace}/${snapshot.metadata.name}`);
      }
    }),
    classes.onChange(addUnready),
    ...[snapshots, contents, classes].map((watch) => watch.onServed(addAll)),
    stores.claims.onChange(({ object: claim }) => {
      const { namespace, name } = claim.metadata;
      add(`claim ${namespace}/${name}`);
      const source = sourceOf(claim);
      if (source !== undefined) add(`snapshot ${source}`);
      for (const { metadata, spec, status } of snapshots.values()) {
        const isOfIt =
          spec.source.persistentVolumeClaimName === name && metadata.namespace === namespace;
        if (isOfIt && status?.readyToUse !== true) add(`snapshot ${namespace}/${metadata.name}`);
      }
    }),
  ];
}
