import { setImmediate } from 'node:timers/promises';
import type { LvmCluster, LvmDeviceClass } from '../../src/api/objects/lvm-cluster.ts';
import type { LvmVolumeGroup } from '../../src/api/objects/lvm-volume-group.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { Informer } from '../../src/kube/informer.ts';
import type { Kind, KubeObject } from '../../src/kube/kind.ts';
import {
  claimKind,
  csiNodeKind,
  logicalVolumeKind,
  nodeKind,
  persistentVolumeKind,
  storageClassKind,
} from '../../src/kube/kinds.ts';
import type { EventSubject, EventText } from '../../src/kube/recorder.ts';
import type { Call } from '../../src/kube/transport.ts';
import type { Cluster, LogLine } from '../../src/operator/duty.ts';
import { runKinds } from '../../src/operator/kind-watch.ts';
import { LvmClusters } from '../../src/operator/lvm-clusters.ts';
import { lvmsKinds } from '../../src/operator/lvm-clusters-kinds.ts';
import { snapshotKinds } from '../../src/operator/snapshotter-kinds.ts';
import { FakeApi, type Stored } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { MemoryTransport } from '../kube/memory-transport.ts';
import { Chance } from '../world/chance.ts';
import { FakeClock } from '../world/clock.ts';
import { Life, mortalTransport, pathOf } from './snapshots-world.ts';

export const namespace = 'quarry-system';

/** A cluster with LVMS' kinds, and an operator that may die after any write. */
export class LvmWorld {
  readonly chance = new Chance(7);
  readonly clock = new FakeClock(this.chance);
  readonly api = new FakeApi({ nowMs: () => this.clock.nowMs() });
  readonly events: (EventText & { readonly about: string })[] = [];
  /** Somebody is faster than the operator: told of each of its requests before it arrives. */
  meanwhile: (call: Call) => void = () => undefined;
  life = new Life();
  failed: unknown;
  #stop = new AbortController();

  constructor(nodes: readonly string[] = ['n1', 'n2']) {
    for (const name of ['lvmclusters', 'lvmvolumegroups', 'lvmvolumegroupnodestatuses']) {
      this.install(`${name}.lvm.topolvm.io`, 'v1alpha1');
    }
    for (const name of nodes) this.addNode(name);
  }

  install(name: string, version: string): void {
    const spec = { versions: [{ name: version, served: true }] };
    this.put(collections.definitions, { metadata: { name }, spec });
  }

  addNode(name: string): void {
    this.put(collections.nodes, { metadata: { name } });
    const spec = { drivers: [{ name: 'topolvm.io', nodeID: name }] };
    this.put(collections.csiNodes, { metadata: { name }, spec });
  }

  start(effects = Number.POSITIVE_INFINITY): void {
    const life = new Life(effects);
    this.life = life;
    const stop = new AbortController();
    this.#stop = stop;
    const { signal } = stop;
    life.onDeath = () => stop.abort();
    const chance = () => this.chance.fraction();
    const { clock } = this;
    const mortal = mortalTransport(new MemoryTransport(this.api), life);
    const send = (call: Call) => {
      this.meanwhile(call);
      return mortal.send(call);
    };
    const transport = { ...mortal, send };
    const client = new KubeClient({ transport, clock, chance });
    const informerOf = <T extends KubeObject>(kind: Kind<T>) =>
      new Informer({ client, clock, chance, kind, scopes: [{}] });
    const stores = {
      ...{ claims: informerOf(claimKind), volumes: informerOf(persistentVolumeKind) },
      logicalVolumes: informerOf(logicalVolumeKind('topolvm.io')),
      ...{ nodes: informerOf(nodeKind), csiNodes: informerOf(csiNodeKind) },
      classes: informerOf(storageClassKind),
    };
    const cluster = {
      ...{ client, clock, chance, stores, wall: () => clock.nowMs() },
      names: { domain: 'topolvm.io', driver: 'topolvm.io' },
      recorder: {
        event: ({ kind, name }: EventSubject, what: EventText) => {
          if (!life.isDead) this.events.push({ ...what, about: `${kind}/${name}` });
        },
      },
      log: (_line: LogLine) => undefined,
    } as unknown as Cluster;
    const kinds = lvmsKinds({ client, clock, chance }, namespace);
    const { classes: snapshotClasses } = snapshotKinds({ client, clock, chance });
    const fail = (error: unknown) => {
      if (!life.isDead && !signal.aborted) this.failed ??= error;
    };
    for (const store of Object.values(stores)) store.run(signal).catch(fail);
    runKinds([...Object.values(kinds), snapshotClasses], signal).catch(fail);
    const lead = async () => {
      await Promise.all(Object.values(stores).map(({ synced }) => synced));
      await new LvmClusters({ cluster, kinds, snapshotClasses }).run(signal);
    };
    lead().catch(fail);
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Lets everything happen that happens in so much time. */
  async pass(ms: number): Promise<void> {
    const sliceMs = 250;
    for (let left = ms; left > 0; left -= sliceMs) {
      for (let turn = 0; turn < 40; turn += 1) await setImmediate();
      await this.clock.advance(Math.min(left, sliceMs));
    }
    if (this.failed !== undefined) throw this.failed;
  }

  put(collection: string, object: object): Stored {
    return this.api.put(collection, object as Stored);
  }

  /** An administrator applies it. */
  apply(...deviceClasses: readonly LvmDeviceClass[]): void {
    const metadata = { name: 'mine', namespace };
    this.put(collections.lvmClusters, { metadata, spec: { storage: { deviceClasses } } });
  }

  /** As kubectl does it. */
  async edit(collection: string, name: string, body: object, within?: string): Promise<void> {
    await this.#send('PATCH', pathOf(collection, name, within), body);
  }

  async remove(collection: string, name: string, within?: string): Promise<void> {
    await this.#send('DELETE', pathOf(collection, name, within), {});
  }

  get cluster(): LvmCluster | undefined {
    return this.api.one(collections.lvmClusters, 'mine', namespace);
  }

  get groups(): readonly LvmVolumeGroup[] {
    return this.api.all(collections.lvmVolumeGroups);
  }

  names(collection: string): readonly string[] {
    return this.api
      .all(collection)
      .map(({ metadata }) => metadata.name)
      .toSorted();
  }

  /** Agents of all nodes: they mark groups, make them, and let go of what is to go. */
  async playAgents(): Promise<void> {
    for (const node of this.names(collections.nodes)) {
      const finalizer = `cleanup.vgmanager.node.topolvm.io/${node}`;
      for (const { metadata } of this.groups) {
        const { name, finalizers = [], deletionTimestamp } = metadata;
        const isGoing = deletionTimestamp !== undefined;
        const others = finalizers.filter((one) => one !== finalizer);
        const wanted = isGoing ? others : [...others, finalizer];
        if (finalizers.includes(finalizer) !== isGoing) continue;
        const body = { metadata: { finalizers: wanted } };
        await this.edit(collections.lvmVolumeGroups, name, body, namespace);
      }
      const nodeStatus = this.groups.map(({ metadata: { name } }) => ({
        ...{ name, status: 'Ready', deviceDiscoveryPolicy: 'Preconfigured' },
      }));
      if (!this.names(collections.lvmNodeStatuses).includes(node)) continue;
      await this.edit(collections.lvmNodeStatuses, node, { spec: { nodeStatus } }, namespace);
    }
  }

  async #send(method: string, url: string, body: object): Promise<void> {
    const contentType = 'application/merge-patch+json';
    let status = 0;
    this.api.handle(
      { method, url, contentType, body: JSON.stringify(body) },
      {
        head: (code) => {
          status = code;
        },
        ...{ write: () => undefined, end: () => undefined },
      },
    );
    if (status >= 300) throw new Error(`${method} ${url}: ${status}`);
    await setImmediate();
  }
}
