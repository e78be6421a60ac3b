import type { KubeObject } from '../../src/api/objects/metadata.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { Election, type Leadership } from '../../src/kube/election.ts';
import { Informer } from '../../src/kube/informer.ts';
import type { Kind } from '../../src/kube/kind.ts';
import {
  claimKind,
  csiNodeKind,
  csiStorageCapacityKind,
  logicalVolumeKind,
  nodeKind,
  persistentVolumeKind,
  storageClassKind,
} from '../../src/kube/kinds.ts';
import { usualTimes } from '../../src/kube/lease.ts';
import type { Cluster, Duty, Stores } from '../../src/operator/duty.ts';
import { Guards } from '../../src/operator/guards.ts';
import { VolumeHealth } from '../../src/operator/health.ts';
import { LogicalVolumeBook } from '../../src/operator/logical-volumes.ts';
import { Modifier } from '../../src/operator/modifier.ts';
import { Provisioner } from '../../src/operator/provisioner.ts';
import { Reclaimer } from '../../src/operator/reclaimer.ts';
import { Resizer } from '../../src/operator/resizer.ts';
import { LogicalVolumeGroups } from '../../src/operator/snapshot-groups.ts';
import { snapshotter } from '../../src/operator/snapshotter.ts';
import { snapshotKinds } from '../../src/operator/snapshotter-kinds.ts';
import { orphans } from './orphans.ts';
import { driver, namespace, type OperatorProgram, type Surroundings } from './programs.ts';

const names = { domain: driver, driver };

/** The duties of the leader, wired as the role does it. */
export const ourOperator: OperatorProgram = (around) => ({
  run: async (signal) => {
    const { clock, chance, wall, self, log } = around;
    const client = around.client();
    const { stores, informers } = storesFor(client, around);
    const kinds = snapshotKinds({ client, clock, chance });
    const watches = [...informers, kinds.snapshots, kinds.contents, kinds.classes];
    const watching = Promise.all(watches.map((watch) => watch.run(signal)));
    const election = new Election({
      ...{ client: around.client(), names: [{ namespace, name: 'quarry' }], self },
      ...{ times: usualTimes, clock, wall, chance },
    });
    const lead = async (leadership: Leadership) => {
      await Promise.all(informers.map(({ synced }) => synced));
      const fenced = client.fenced(leadership.fence);
      const common = { client: fenced, names, stores, clock, wall, mayChange: leadership.fence };
      const book = new LogicalVolumeBook(common);
      const groups = new LogicalVolumeGroups({
        ...{ book, newId: () => `${self}-${chance()}`, mayChange: leadership.fence },
      });
      const recorder = {
        event: (about: object, what: { readonly message: string }) =>
          log({ level: 'info', ...what, ...about }),
      };
      const cluster: Cluster = { ...common, book, groups, recorder, chance, log };
      await Promise.all(dutiesOf(cluster, kinds).map((duty) => duty.run(leadership.signal)));
    };
    const leading = async () => {
      while (!signal.aborted) await election.run(lead, signal);
    };
    await Promise.all([watching, leading()]);
  },
});

function dutiesOf(cluster: Cluster, kinds: ReturnType<typeof snapshotKinds>): readonly Duty[] {
  return [
    ...[new Provisioner(cluster), new Reclaimer(cluster), new Guards(cluster)],
    snapshotter(cluster, kinds),
    ...[new Resizer(cluster), new Modifier(cluster), new VolumeHealth(cluster)],
    orphans(cluster),
  ];
}

function storesFor(client: KubeClient, { clock, chance }: Surroundings) {
  const informers: Informer<never>[] = [];
  const watch = <T extends KubeObject>(kind: Kind<T>): Informer<T> => {
    const informer = new Informer({ client, kind, scopes: [{}], clock, chance });
    informers.push(informer as unknown as Informer<never>);
    return informer;
  };
  const stores: Stores = {
    claims: watch(claimKind),
    volumes: watch(persistentVolumeKind),
    logicalVolumes: watch(logicalVolumeKind(driver)),
    classes: watch(storageClassKind),
    nodes: watch(nodeKind),
    csiNodes: watch(csiNodeKind),
    capacities: watch(csiStorageCapacityKind),
  };
  return { stores, informers };
}
