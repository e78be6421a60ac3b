import type { TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { LogicalVolume } from '../../src/api/objects/logical-volume.ts';
import { GiB } from '../../src/base/bytes.ts';
import type { ClusterNames } from '../../src/core/cluster/names.ts';
import { ownProtocols } from '../../src/core/cluster/protocol.ts';
import type { VolumeView } from '../../src/csi/book.ts';
import type { CreateVolume } from '../../src/csi/volumes.ts';
import { KubeClient } from '../../src/kube/client.ts';
import type { EventSubject, EventText } from '../../src/kube/recorder.ts';
import type { Cluster, LogLine } from '../../src/operator/duty.ts';
import { type Ended, Endings } from '../../src/operator/endings.ts';
import { LogicalVolumeBook } from '../../src/operator/logical-volumes.ts';
import { LogicalVolumeGroups } from '../../src/operator/snapshot-groups.ts';
import { newStores, runStores, storesSynced } from '../../src/operator/stores.ts';
import { FakeApi } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import type { Json } from '../kube/fake-patch.ts';
import { MemoryTransport } from '../kube/memory-transport.ts';
import { Chance } from '../world/chance.ts';
import { FakeClock } from '../world/clock.ts';

export const names: ClusterNames = { domain: 'topolvm.io', driver: 'topolvm.io' };
export const namespace = 'quarry-system';
const build = { version: '0', protocols: ownProtocols };

export type Told = EventSubject & EventText;

/** An operator that leads, in a cluster in memory. Nodes do what the test has them do. */
export class OperatorScene {
  readonly api = new FakeApi({ nowMs: () => this.clock.nowMs() });
  readonly transport = new MemoryTransport(this.api);
  readonly clock = new FakeClock(new Chance(1));
  readonly events: Told[] = [];
  readonly lines: LogLine[] = [];
  readonly ended: Ended[] = [];
  readonly cluster: Cluster;
  readonly book: LogicalVolumeBook;
  readonly stop = new AbortController();
  isLeading = true;
  readonly #running: Promise<void>[] = [];

  constructor() {
    const { transport, clock } = this;
    const chance = () => 0.5;
    const client = new KubeClient({ transport, clock, chance });
    const parts = { client, names, build, clock, chance, wall: () => clock.nowMs() };
    const stores = newStores({ ...parts, namespace, trouble: () => undefined });
    const mayChange = () => {
      if (!this.isLeading) throw new Error('not leading');
    };
    this.book = new LogicalVolumeBook({ ...parts, stores, mayChange });
    let ids = 0;
    const newId = () => `group-${++ids}`;
    this.cluster = {
      ...{ ...parts, stores, book: this.book },
      groups: new LogicalVolumeGroups({ book: this.book, newId, mayChange }),
      recorder: { event: (about, what) => this.events.push({ ...about, ...what }) },
      endings: new Endings(clock, (one) => this.ended.push(one)),
      log: (line) => this.lines.push(line),
    };
  }

  async start(t: TestContext): Promise<void> {
    this.#running.push(runStores(this.cluster.stores, this.stop.signal));
    t.after(() => this.end());
    await storesSynced(this.cluster.stores);
    await this.settle();
  }

  /** A duty, until the scene ends. */
  run(duty: { run(signal: AbortSignal): Promise<void> }): void {
    this.#running.push(duty.run(this.stop.signal));
  }

  async end(): Promise<void> {
    this.stop.abort();
    await this.settle();
    await Promise.all(this.#running);
  }

  /** Until nobody has anything to do without time passing. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 40; turn += 1) {
      await setImmediate();
      await this.clock.advance(0);
    }
  }

  async pass(ms: number): Promise<void> {
    await this.settle();
    await this.clock.advance(ms);
    await this.settle();
  }

  node(name: string, annotations: Record<string, string> = {}, more: Json = {}): void {
    const labels = { 'topology.topolvm.io/node': name };
    this.api.put(collections.nodes, { metadata: { name, labels, annotations, ...more } });
  }

  class(name: string, parameters: Record<string, string> = {}): void {
    this.api.put(collections.classes, {
      metadata: { name },
      provisioner: names.driver,
      parameters,
    });
  }

  capacity(node: string, storageClassName: string, sizes: Json, more: Json = {}): void {
    this.api.put(collections.capacities, {
      metadata: {
        ...{ name: `csisc-${node}-${storageClassName}`, namespace },
        labels: {
          'csi.storage.k8s.io/drivername': names.driver,
          'csi.storage.k8s.io/managed-by': 'external-provisioner',
        },
        ...more,
      },
      storageClassName,
      nodeTopology: { matchLabels: { 'topology.topolvm.io/node': node } },
      ...sizes,
    });
  }

  volumes(): readonly LogicalVolume[] {
    return this.api.all(collections.logicalVolumes) as unknown as readonly LogicalVolume[];
  }

  volume(name: string): LogicalVolume | undefined {
    return this.volumes().find(({ metadata }) => metadata.name === name);
  }

  /** The agent says what became of it. */
  say(name: string, status: LogicalVolume['status']): void {
    const volume = this.volume(name);
    if (volume === undefined) throw new Error(`there is no ${name}`);
    const merged = { ...volume.status, ...status };
    this.api.put(collections.logicalVolumes, { ...volume, status: merged });
  }

  made(name: string, currentSize?: string): void {
    const { metadata, spec } = this.volume(name) ?? { metadata: { uid: '' }, spec: { size: '' } };
    this.say(name, { volumeID: metadata.uid, currentSize: currentSize ?? spec.size });
  }

  /** The agent has removed the LV and lets the object go. */
  release(name: string): void {
    this.api.delete(collections.logicalVolumes, name);
  }

  /** Agents that do at once what they are told. */
  obedient(): void {
    this.api.listeners.add(({ collection, after }) => {
      if (collection !== collections.logicalVolumes || after === undefined) return;
      const { metadata, spec, status } = after as unknown as LogicalVolume;
      if (metadata.deletionTimestamp !== undefined)
        queueMicrotask(() => this.release(metadata.name));
      else if (status?.currentSize !== spec.size) queueMicrotask(() => this.made(metadata.name));
    });
  }
}

/** How it ended, seen from outside. */
export function outcome<T>(promise: Promise<T>) {
  const seen: { value?: T; error?: Error & { code?: string }; isSettled: boolean } = {
    isSettled: false,
  };
  promise.then(
    (value) => Object.assign(seen, { value, isSettled: true }),
    (error: Error) => Object.assign(seen, { error, isSettled: true }),
  );
  return seen;
}

export const gib = (count: number) => ({ requiredBytes: BigInt(count) * GiB, limitBytes: 0n });

export function request(name: string, more: Partial<CreateVolume> = {}): CreateVolume {
  return {
    ...{ name, className: '', optionClass: '', range: gib(1), source: undefined },
    ...{ uses: [{ fsType: 'ext4' }], ...more },
  };
}

/** Two nodes and nothing else. */
export async function twoNodes(t: TestContext): Promise<OperatorScene> {
  const made = new OperatorScene();
  made.node('n1');
  made.node('n2');
  await made.start(t);
  return made;
}

/** One that is made. */
export async function withVolume(
  at: OperatorScene,
  name: string,
  more: Partial<CreateVolume> = {},
): Promise<VolumeView> {
  const created = at.book.create(request(name, more), ['n1']);
  await at.settle();
  at.made(name);
  return created;
}
