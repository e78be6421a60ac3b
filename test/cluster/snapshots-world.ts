import { setImmediate } from 'node:timers/promises';
import { type Bytes, bytes, GiB } from '../../src/base/bytes.ts';
import { type FailureCode, OperationError } from '../../src/base/failures.ts';
import type { GroupBook, GroupView, VolumeBook, VolumeView } from '../../src/csi/book.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { KubeError } from '../../src/kube/errors.ts';
import { Informer } from '../../src/kube/informer.ts';
import type { Kind, KubeObject } from '../../src/kube/kind.ts';
import { claimKind, logicalVolumeKind, persistentVolumeKind } from '../../src/kube/kinds.ts';
import type { EventText } from '../../src/kube/recorder.ts';
import type { Answer, Call, Transport } from '../../src/kube/transport.ts';
import type { Cluster, Duty, LogLine } from '../../src/operator/duty.ts';
import { Endings } from '../../src/operator/endings.ts';
import { runKinds } from '../../src/operator/kind-watch.ts';
import { groupKinds, snapshotKinds } from '../../src/operator/snapshotter-kinds.ts';
import { FakeApi, type Stored } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { MemoryTransport } from '../kube/memory-transport.ts';
import { Chance } from '../world/chance.ts';
import { FakeClock } from '../world/clock.ts';

/** A cluster with snapshots, a book in memory, and a process that may die after any effect. */
export class SnapshotWorld {
  readonly chance = new Chance(7);
  readonly clock = new FakeClock(this.chance);
  readonly api = new FakeApi({ nowMs: () => this.clock.nowMs() });
  readonly book = new MemoryBook(() => this.clock.nowMs());
  readonly events: (EventText & { readonly about: string })[] = [];
  readonly logs: LogLine[] = [];
  life = new Life();
  transport = new MemoryTransport(this.api);
  #stop = new AbortController();
  failed: unknown;

  constructor() {
    for (const name of ['volumesnapshots', 'volumesnapshotcontents', 'volumesnapshotclasses']) {
      this.install(`${name}.snapshot.storage.k8s.io`, ['v1']);
    }
    this.put(collections.snapshotClasses, {
      metadata: { name: 'fast' },
      ...{ driver: 'topolvm.io', deletionPolicy: 'Delete' },
    });
  }

  install(name: string, versions: readonly string[]): void {
    const spec = { versions: versions.map((version) => ({ name: version, served: true })) };
    this.put(definitions, { metadata: { name }, spec });
  }

  /** A process starts; the one before is dead or was stopped. */
  start(dutyOf: (parts: Parts) => readonly Duty[], effects = Number.POSITIVE_INFINITY): void {
    const life = new Life(effects);
    this.life = life;
    this.transport = new MemoryTransport(this.api);
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    life.onDeath = () => this.#stop.abort();
    const chance = () => this.chance.fraction();
    const transport = mortalTransport(this.transport, life);
    const { clock } = this;
    const client = new KubeClient({ transport, clock, chance });
    const informerOf = <T extends KubeObject>(kind: Kind<T>) =>
      new Informer({ client, clock, chance, kind, scopes: [{}] });
    const stores = {
      ...{ claims: informerOf(claimKind), volumes: informerOf(persistentVolumeKind) },
      logicalVolumes: informerOf(logicalVolumeKind('topolvm.io')),
    };
    const cluster = {
      ...{ client, clock, chance, stores },
      names: { domain: 'topolvm.io', driver: 'topolvm.io' },
      book: mortal(this.book, life),
      groups: mortal(this.book.groups, life),
      recorder: {
        event: (about: { readonly name: string }, what: EventText) => {
          if (!life.isDead) this.events.push({ ...what, about: about.name });
        },
      },
      wall: () => clock.nowMs(),
      log: (line: LogLine) => this.logs.push(line),
      endings: new Endings(clock, () => undefined),
    } as unknown as Cluster;
    const parts = { cluster, client, kinds: snapshotKinds({ client, clock, chance }) };
    const groups = groupKinds({ client, clock, chance });
    const { snapshots, contents, classes } = parts.kinds;
    const watches = [snapshots, contents, classes, groups.contents, groups.classes];
    const fail = (error: unknown) => {
      if (!life.isDead && !signal.aborted) this.failed ??= error;
    };
    for (const store of Object.values(stores)) store.run(signal).catch(fail);
    runKinds(watches, signal).catch(fail);
    const lead = async () => {
      await Promise.all(Object.values(stores).map(({ synced }) => synced));
      await Promise.all(dutyOf({ ...parts, groups }).map((duty) => duty.run(signal)));
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

  content(name: string): Content | undefined {
    return this.api.one(collections.contents, name) as Content | undefined;
  }

  snapshot(name: string): Snapshot | undefined {
    return this.api.one(collections.snapshots, name, 'app') as Snapshot | undefined;
  }

  /** Somebody changes an object as kubectl would. */
  async edit(collection: string, name: string, body: object, namespace?: string): Promise<void> {
    await this.#send('PATCH', pathOf(collection, name, namespace), body);
  }

  async remove(collection: string, name: string, namespace?: string): Promise<void> {
    await this.#send('DELETE', pathOf(collection, name, namespace), {});
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

export type Parts = {
  readonly cluster: Cluster;
  /** Not fenced. */
  readonly client: KubeClient;
  readonly kinds: ReturnType<typeof snapshotKinds>;
  readonly groups: ReturnType<typeof groupKinds>;
};

export type Content = Stored & {
  readonly spec: { readonly volumeSnapshotRef: { readonly uid?: string } };
  readonly status?: {
    readonly snapshotHandle?: string;
    readonly readyToUse?: boolean;
    readonly restoreSize?: number;
    readonly creationTime?: number;
    readonly error?: { readonly message: string };
  };
};

export type Snapshot = Stored & {
  readonly spec: { readonly volumeSnapshotClassName?: string };
  readonly status?: {
    readonly boundVolumeSnapshotContentName?: string;
    readonly readyToUse?: boolean;
    readonly restoreSize?: string;
    readonly creationTime?: string;
    readonly error?: { readonly message: string };
  };
};

export const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

export function annotationsOf(object: Stored | undefined): Readonly<Record<string, string>> {
  return object?.metadata.annotations ?? {};
}

export function pathOf(collection: string, name: string, namespace: string | undefined): string {
  if (namespace === undefined) return `${collection}/${name}`;
  const at = collection.lastIndexOf('/');
  return `${collection.slice(0, at)}/namespaces/${namespace}${collection.slice(at)}/${name}`;
}

/** So many effects, and then nothing: the last one is carried out, and nobody learns of it. */
export class Life {
  #left: number;
  #spent = 0;
  /** Which effect is carried out without an answer. */
  loses = 0;
  onDeath: () => void = () => undefined;

  constructor(left = Number.POSITIVE_INFINITY) {
    this.#left = left;
  }

  get isDead(): boolean {
    return this.#left <= 0;
  }

  get isLost(): boolean {
    return this.#spent === this.loses;
  }

  spend(): void {
    this.#spent += 1;
    this.#left -= 1;
    if (this.isDead) this.onDeath();
  }
}

const never = new Promise<never>(() => undefined);

export function mortalTransport(inner: MemoryTransport, life: Life): Transport {
  return {
    send: async (call: Call): Promise<Answer> => {
      if (life.isDead) return never;
      const answer = await inner.send(call);
      if (call.method === 'GET') return life.isDead ? never : answer;
      if (!life.isDead) life.spend();
      if (life.isLost) throw new KubeError('Unreachable', 'reset', { isUncertain: true });
      return life.isDead ? never : answer;
    },
    open: (call) => inner.open(call),
    refuseCredentials: () => undefined,
    close: () => undefined,
  };
}

const effects = new Set(['create', 'snapshot', 'remove', 'expand']);

/** A book that is asked by a process that may die. */
function mortal<T extends object>(book: T, life: Life): T {
  return new Proxy(book, {
    get: (target, key) => {
      const method = Reflect.get(target, key) as (...given: unknown[]) => Promise<unknown>;
      return async (...given: unknown[]) => {
        if (life.isDead) return never;
        let answer: unknown;
        try {
          answer = await method.apply(target, given);
        } finally {
          if (effects.has(String(key)) && !life.isDead) life.spend();
        }
        return life.isDead ? never : answer;
      };
    },
  });
}

/** What goes wrong with the next request that makes something. */
export type BookFault = { readonly code: FailureCode; readonly isMade?: boolean };

/** A book in memory: what was asked for twice is there once. */
export class MemoryBook implements VolumeBook {
  readonly views = new Map<string, VolumeView>();
  readonly faults: BookFault[] = [];
  /** For every request from now on. */
  fault: BookFault | undefined;
  isReady = true;
  sizeBytes: Bytes = bytes(GiB);
  /** How often somebody asked for a snapshot. */
  asked = 0;
  /** How often somebody looked at one. */
  looked = 0;
  readonly #nowMs: () => number;
  #ids = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  async snapshot({ name, sourceId }: { name: string; sourceId: string }): Promise<VolumeView> {
    this.asked += 1;
    const fault = this.faults.shift() ?? this.fault;
    if (fault === undefined || fault.isMade === true) this.#make(name, sourceId, undefined);
    if (fault !== undefined) throw new OperationError(fault.code, `no snapshot of ${sourceId}`);
    const view = this.named(name);
    if (view === undefined) throw new Error('it was made');
    return { ...view, isReady: this.isReady, sizeBytes: this.sizeBytes };
  }

  async remove(_kind: string, id: string): Promise<void> {
    const fault = this.faults.shift() ?? this.fault;
    if (fault?.isMade !== false) this.views.delete(id);
    if (fault !== undefined) throw new OperationError(fault.code, `${id} cannot be removed`);
  }

  async get(_kind: string, id: string): Promise<VolumeView> {
    this.looked += 1;
    const view = this.views.get(id);
    if (view === undefined)
      throw new OperationError('VolumeNotFound', `there is no snapshot ${id}`);
    return { ...view, isReady: this.isReady, sizeBytes: this.sizeBytes };
  }

  async list(): Promise<readonly VolumeView[]> {
    return [...this.views.values()];
  }

  async checkSeen(): Promise<void> {}

  create(): Promise<VolumeView> {
    throw new Error('nobody makes volumes here');
  }

  expand(): Promise<VolumeView> {
    throw new Error('nobody grows volumes here');
  }

  capacity(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  named(name: string): VolumeView | undefined {
    return [...this.views.values()].find((view) => view.name === name);
  }

  readonly groups: GroupBook = {
    create: async (name, sourceIds) => {
      this.asked += 1;
      const fault = this.faults.shift() ?? this.fault;
      const id = `group-of-${name}`;
      if (fault === undefined || fault.isMade === true) {
        for (const sourceId of sourceIds) this.#make(`${name} ${sourceId}`, sourceId, id);
      }
      if (fault !== undefined) throw new OperationError(fault.code, `no group ${name}`);
      return this.#group(id);
    },
    get: async (id) => this.#group(id),
    remove: async (id) => {
      for (const view of this.views.values()) if (view.groupId === id) this.views.delete(view.id);
    },
  };

  #group(id: string): GroupView {
    const members = [...this.views.values()].filter(({ groupId }) => groupId === id);
    if (members.length === 0) throw new OperationError('VolumeNotFound', `there is no group ${id}`);
    return { id, members, isReady: this.isReady, createdMs: members[0]?.createdMs ?? 0 };
  }

  #make(name: string, sourceId: string, groupId: string | undefined): void {
    if (this.named(name) !== undefined) return;
    this.#ids += 1;
    const id = `lv-${this.#ids}`;
    this.views.set(id, {
      ...{ id, name, sourceId, groupId, kind: 'snapshot', sourceKind: 'volume', node: 'n1' },
      ...{ className: 'thin', createdMs: this.#nowMs(), sizeBytes: this.sizeBytes, isReady: true },
      condition: { isAbnormal: false, message: '' },
    });
  }
}
