import type { ClusterNames } from '../core/cluster/names.ts';
import type { KubeClient } from '../kube/client.ts';
import { Informer } from '../kube/informer.ts';
import type { Kind, KubeObject } from '../kube/kind.ts';
import {
  claimKind,
  csiNodeKind,
  csiStorageCapacityKind,
  logicalVolumeKind,
  nodeKind,
  persistentVolumeKind,
  storageClassKind,
} from '../kube/kinds.ts';
import type { Chance, Clock } from '../kube/ports.ts';
import type { Scope } from '../kube/wire.ts';
import type { Stores } from './duty.ts';

export const driverNameLabel = 'csi.storage.k8s.io/drivername';

export type StoresParts = {
  readonly client: KubeClient;
  readonly names: ClusterNames;
  /** Where we run, and where the capacity objects are. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly trouble: (kind: string, error: Error, waitMs: number) => void;
};

/** What the operator knows of the cluster, each kind watched once. */
export function newStores(parts: StoresParts): Stores {
  const { client, names, namespace, clock, chance } = parts;
  const informer = <T extends KubeObject>(kind: Kind<T>, scope: Scope = {}) =>
    new Informer<T>({
      ...{ client, kind, scopes: [scope], clock, chance },
      trouble: (error, waitMs) => parts.trouble(kind.plural, error, waitMs),
    });
  const labelSelector = `${driverNameLabel}=${names.driver}`;
  return {
    claims: informer(claimKind),
    volumes: informer(persistentVolumeKind),
    logicalVolumes: informer(logicalVolumeKind(names.domain)),
    classes: informer(storageClassKind),
    nodes: informer(nodeKind),
    csiNodes: informer(csiNodeKind),
    capacities: informer(csiStorageCapacityKind, { namespace, labelSelector }),
  };
}

/** Runs until the signal fires. Only a bug of ours rejects, and ends the others. */
export async function runStores(stores: Stores, signal: AbortSignal): Promise<void> {
  await Promise.all(Object.values(stores).map((store) => store.run(signal)));
}

export async function storesSynced(stores: Stores): Promise<void> {
  await Promise.all(Object.values(stores).map((store) => store.synced));
}

/** Kinds that have not been listed yet: nothing may be concluded from what is missing. */
export function unsynced(stores: Stores): readonly string[] {
  return Object.entries(stores).flatMap(([name, { hasSynced }]) => (hasSynced ? [] : [name]));
}
