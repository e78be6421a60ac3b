import { setImmediate } from 'node:timers/promises';
import { Ledger } from '../../src/agent/ledger.ts';
import type { LogEvent } from '../../src/agent/log.ts';
import { LogicalVolumes } from '../../src/agent/logical-volumes.ts';
import type { LogicalVolume } from '../../src/api/objects/logical-volume.ts';
import { OperationError } from '../../src/base/failures.ts';
import type { RemovalNotes, SeenIn } from '../../src/core/catalog.ts';
import { groupNotes } from '../../src/core/cluster/logical-volume-group.ts';
import type { DeviceClass } from '../../src/core/device-class.ts';
import { Groups } from '../../src/csi/groups.ts';
import { Volumes } from '../../src/csi/volumes.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { Informer } from '../../src/kube/informer.ts';
import { logicalVolumeKind } from '../../src/kube/kinds.ts';
import { FakeApi, type Stored } from '../kube/fake-api.ts';
import { MemoryTransport } from '../kube/memory-transport.ts';
import type { Lv } from '../world/model.ts';
import { PublishingStage } from './publishing.ts';

export const logicalVolumes = '/apis/topolvm.io/v1/logicalvolumes';
export const names = { domain: 'topolvm.io', driver: 'topolvm.io' };
const kind = logicalVolumeKind('topolvm.io');

export type Draft = Partial<LogicalVolume['spec']> & {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly status?: LogicalVolume['status'];
};

/** The stage's node `n1` in a cluster: an API server in memory and the agent's work with objects. */
export class AgentScene {
  readonly stage: PublishingStage;
  readonly api = new FakeApi();
  readonly transport = new MemoryTransport(this.api);
  readonly log: LogEvent[] = [];
  classes: readonly DeviceClass[];
  volumes!: Volumes;
  informer!: Informer<LogicalVolume>;
  agent!: LogicalVolumes;
  #stop = new AbortController();
  #ended: Promise<unknown> = Promise.resolve();
  #bug: unknown;
  readonly #uids = new Map<string, string>();
  changes = 0;
  /** On the node's own disk: it outlives a life of the agent. */
  readonly noted = new Map<string, SeenIn>();
  readonly removals: RemovalNotes = {
    get: (id) => this.noted.get(id),
    note: async (id, vgUuid) => {
      this.noted.set(id, { vgUuid, isRemoved: false });
    },
    groupRemoved: async (vgUuid) => {
      for (const [id, one] of this.noted) {
        if (one.vgUuid === vgUuid) this.noted.set(id, { vgUuid, isRemoved: true });
      }
    },
  };

  private constructor(seed: number) {
    this.stage = new PublishingStage({ seed });
    this.classes = this.stage.node.deviceClasses;
    this.api.selectable.add('spec.nodeName');
  }

  static async begin(seed = 1): Promise<AgentScene> {
    const scene = new AgentScene(seed);
    await scene.stage.setUp();
    await scene.stage.run(scene.stage.engine.observe());
    scene.stage.ran.length = 0;
    return scene;
  }

  /** One life of the agent. */
  start(): void {
    this.#stop = new AbortController();
    const { engine, publisher } = this.stage;
    const { clock } = this.stage.world;
    const chance = () => 0.5;
    const client = new KubeClient({ transport: this.transport, clock, chance });
    const scopes = [{ fieldSelector: 'spec.nodeName=n1' }] as const;
    this.informer = new Informer({ client, kind, scopes, clock, chance, lists: 'cached' });
    const ledger = new Ledger();
    ledger.follow(this.informer);
    const newId = () => {
      throw new Error('in a cluster every id is given');
    };
    const classes = () => this.classes;
    const common = { engine, publisher, classes, newId, nowMs: () => clock.nowMs() };
    const { removals } = this;
    this.volumes = new Volumes({ ...common, recorded: ledger, removals });
    this.agent = new LogicalVolumes({
      ...{ client, kind, informer: this.informer, names, node: 'n1', engine, classes },
      ...{ volumes: this.volumes, groups: new Groups({ ...common, volumes: this.volumes }) },
      ...{ clock, chance, removals, log: (event) => this.log.push(event) },
      skew: () => undefined,
      changed: () => {
        this.changes += 1;
      },
    });
    const { signal } = this.#stop;
    const runs = [this.informer.run(signal), this.agent.run(signal)];
    this.#ended = Promise.all(runs).catch((bug: unknown) => {
      this.#bug = bug;
    });
  }

  /** The process is killed: nothing it had in mind is left. */
  kill(): void {
    this.#stop.abort();
    this.transport.cut();
    this.stage.restart();
  }

  /** As every life begins: what an earlier one started is waited for. */
  async recover(): Promise<void> {
    let isDone = false;
    const { engine } = this.stage;
    const work = async () => {
      for (;;) {
        try {
          await engine.recover(['data']);
          await engine.observe();
          isDone = true;
          return;
        } catch (error) {
          if (!(error instanceof OperationError)) throw error;
          await this.stage.world.clock.sleep(1_000);
        }
      }
    };
    void work();
    await this.until('recovered', () => isDone);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    let isOver = false;
    void this.#ended.then(() => {
      isOver = true;
    });
    await this.until('it stopped', () => isOver);
  }

  put(name: string, draft: Draft = {}): LogicalVolume {
    const { annotations, finalizers, labels, status, ...spec } = draft;
    const marks = { 'app.kubernetes.io/created-by': 'topolvm-controller', 'topolvm.io/node': 'n1' };
    const object = {
      metadata: {
        name,
        finalizers: finalizers ?? ['topolvm.io/logicalvolume'],
        labels: labels ?? marks,
        ...(annotations === undefined ? {} : { annotations }),
      },
      spec: { name, nodeName: 'n1', size: '100Mi', deviceClass: 'thick', ...spec },
      ...(status === undefined ? {} : { status }),
    };
    const stored = this.api.put(logicalVolumes, object) as unknown as LogicalVolume;
    this.#uids.set(name, stored.metadata.uid);
    return stored;
  }

  member(name: string, source: string, group: Parameters<typeof groupNotes>[0]): LogicalVolume {
    const annotations = groupNotes(group);
    return this.put(name, { source, accessType: 'ro', annotations });
  }

  object(name: string): LogicalVolume {
    const found = this.api.one(logicalVolumes, name);
    if (found === undefined) throw new Error(`there is no ${name}`);
    return found as unknown as LogicalVolume;
  }

  /** Somebody else changes an object. */
  change(name: string, change: { readonly metadata?: object; readonly spec?: object }): void {
    const before = this.object(name) as unknown as Stored;
    const metadata = { ...before.metadata, ...change.metadata };
    const spec = { ...(before['spec'] as object), ...change.spec };
    this.api.put(logicalVolumes, { ...before, metadata, spec });
  }

  delete(name: string): void {
    this.change(name, { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
  }

  /** The LV of an object, also when the object is gone. */
  lv(name: string): Lv | undefined {
    return this.stage.world.lv('data', this.#uids.get(name) ?? '');
  }

  lvcreate(...words: readonly string[]): void {
    this.stage.world.admin.run('lvm', 'lvcreate', '--yes', ...words);
  }

  /** Writes that the API server took for LogicalVolumes. */
  writes(): readonly string[] {
    return this.api.requests
      .filter(({ method, url }) => method !== 'GET' && url.startsWith(logicalVolumes))
      .map(({ method, url }) => `${method} ${url.slice(logicalVolumes.length + 1)}`);
  }

  /** Single LogicalVolumes that the API server was asked for. */
  reads(): readonly string[] {
    return this.api.requests
      .filter(({ method, url }) => method === 'GET' && url.startsWith(`${logicalVolumes}/`))
      .map(({ url }) => url.slice(logicalVolumes.length + 1));
  }

  runs(): readonly string[] {
    return this.stage.ran.map(({ argv }) => argv.slice(0, 2).join(' '));
  }

  async until(what: string, isSo: () => boolean): Promise<void> {
    for (let turn = 0; turn < 5_000; turn += 1) {
      if (isSo()) return;
      if (this.#bug !== undefined) throw this.#bug;
      await this.pass(turn < 200 ? 5 : 200);
    }
    throw new Error(`waited in vain: ${what}; ${JSON.stringify(this.log.slice(-3))}`);
  }

  /** Fake time, and turns enough for whoever talks to the API server meanwhile. */
  async pass(ms: number): Promise<void> {
    await this.stage.world.clock.advance(ms);
    for (let turn = 0; turn < 4; turn += 1) await setImmediate();
  }

  async settle(ms = 3_000): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) await this.pass(50);
  }
}
