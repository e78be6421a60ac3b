import { setImmediate } from 'node:timers/promises';
import type { LogEvent } from '../../src/agent/log.ts';
import { VolumeGroups } from '../../src/agent/volume-groups.ts';
import { decodeLvmdFile } from '../../src/api/lvmd-file/decode.ts';
import type { LvmCluster } from '../../src/api/objects/lvm-cluster.ts';
import type {
  LvmVolumeGroup,
  LvmVolumeGroupSpec,
  LvmVolumeGroupStatus,
} from '../../src/api/objects/lvm-volume-group.ts';
import type { Metadata } from '../../src/api/objects/metadata.ts';
import { type Blocked, OperationError } from '../../src/base/failures.ts';
import type { Wipes } from '../../src/core/device/wipes.ts';
import { clusterNoteAnnotation, clusterNoteText } from '../../src/core/lvm-cluster/cluster-note.ts';
import type { LvmdSight } from '../../src/core/lvm-cluster/external-report.ts';
import type { Inventory } from '../../src/core/lvm-cluster/inventory.ts';
import { ownerOf } from '../../src/core/lvm-cluster/objects.ts';
import { lvmdDeviceClasses } from '../../src/core/lvmd.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { Informer } from '../../src/kube/informer.ts';
import type { Kind, KubeObject } from '../../src/kube/kind.ts';
import { nodeKind } from '../../src/kube/kinds.ts';
import { lvmNodeStatusKind, lvmVolumeGroupKind } from '../../src/kube/lvms-kinds.ts';
import { FakeApi, type Stored } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { MemoryTransport } from '../kube/memory-transport.ts';
import type { DeviceSpec } from '../world/devices.ts';
import { Stage } from './stage.ts';

const namespace = 'quarry-system';
const owner = { metadata: { name: 'mine', uid: 'mine', resourceVersion: '1' } };

const withClasses = { spec: { storage: { deviceClasses: [{ name: 'vg1' }] } } } as const;

/** A node with bare disks, and the part of its agent that makes volume groups of them. */
export class GroupScene {
  readonly stage: Stage;
  readonly api = new FakeApi();
  transport = new MemoryTransport(this.api);
  readonly log: LogEvent[] = [];
  /** What lies on the node's own disk: it outlives a life of the agent. */
  lvmd: string | undefined;
  known: ReadonlyMap<string, string> = new Map();
  leaving: ReadonlyMap<string, string> = new Map();
  begun: ReadonlyMap<string, string> = new Map();
  labels: ReadonlyMap<string, string> = new Map();
  forgotten: ReadonlyMap<string, string> = new Map();
  /** What was last told of the disks. */
  inventory: Inventory | undefined;
  wipes: Wipes = new Map();
  refusesWipes = false;
  refusesLvmd = false;
  refusesBegun = false;
  /** Why the agent shall do nothing new. */
  skew: Blocked | undefined;
  #stop = new AbortController();
  #bug: unknown;

  constructor(devices?: readonly DeviceSpec[]) {
    this.stage = new Stage(devices === undefined ? {} : { devices });
    this.put(collections.nodes, { metadata: { name: 'n1' } });
    this.report({});
  }

  start(): void {
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    const { clock } = this.stage.world;
    const chance = () => 0.5;
    const client = new KubeClient({ transport: this.transport, clock, chance });
    const informer = <T extends KubeObject>(kind: Kind<T>) =>
      new Informer({ client, kind, scopes: [{}], clock, chance });
    const stores = {
      nodes: informer(nodeKind),
      groups: informer(lvmVolumeGroupKind),
      reports: informer(lvmNodeStatusKind),
    };
    const { engine } = this.stage;
    const agent = new VolumeGroups({
      ...{ ...stores, client, node: 'n1', engine, clock, chance },
      log: (event) => this.log.push(event),
      lvmd: () => this.#sight(),
      skew: () => this.skew,
      removals: { groupRemoved: async () => undefined },
      tellDisks: (inventory) => {
        this.inventory = inventory;
      },
      files: {
        readLvmd: async () => this.lvmd,
        checkLvmd: async () => {
          if (this.refusesLvmd) throw new OperationError('FileFailed', 'lvmd.yaml: read-only');
        },
        writeLvmd: async (text, before) => {
          if (before !== this.lvmd) throw new OperationError('FileFailed', 'it is another one');
          if (!signal.aborted) this.lvmd = text;
        },
        readKnown: async () => this.known,
        writeKnown: async (known) => {
          if (!signal.aborted) this.known = known;
        },
        readWipes: async () => this.wipes,
        writeWipes: async (wipes) => {
          if (this.refusesWipes) throw new OperationError('FileFailed', 'wiped.json: disk full');
          if (!signal.aborted) this.wipes = wipes;
        },
        readLeaving: async () => this.leaving,
        writeLeaving: async (leaving) => {
          if (!signal.aborted) this.leaving = leaving;
        },
        readBegun: async () => this.begun,
        writeBegun: async (begun) => {
          if (this.refusesBegun) throw new OperationError('FileFailed', 'begun.json: disk full');
          if (!signal.aborted) this.begun = begun;
        },
        readLabels: async () => this.labels,
        writeLabels: async (labels) => {
          if (!signal.aborted) this.labels = labels;
        },
        readForgotten: async () => this.forgotten,
        writeForgotten: async (forgotten) => {
          if (!signal.aborted) this.forgotten = forgotten;
        },
      },
    });
    const runs = [
      ...Object.values(stores).map((store) => store.run(signal)),
      ...[agent.run(signal), engine.model.keepFresh(signal)],
    ];
    Promise.all(runs).catch((bug: unknown) => {
      if (!signal.aborted) this.#bug = bug;
    });
  }

  /** The classes that volumes can be made in. */
  served(): LvmdSight['classes'] {
    return this.#sight().classes;
  }

  /** What an agent serves with that file. */
  #sight(): LvmdSight {
    const file = 'lvmd.yaml';
    const text = this.lvmd ?? 'device-classes: []';
    const decoded = decodeLvmdFile({ file, text, mayBeEmpty: true });
    const classes = decoded.kind === 'lvmd' ? lvmdDeviceClasses(decoded.spec) : [];
    const isMissing = this.lvmd === undefined;
    const nothing = { problems: [], refused: [], retired: [] };
    return { file, isMissing, source: 'file', classes, ...nothing };
  }

  /** The process is killed: nothing it had in mind is left. */
  kill(): void {
    this.#stop.abort();
    this.transport.cut();
    this.transport = new MemoryTransport(this.api);
    this.stage.restart();
  }

  /** As `quarry forget` does it, beside an agent that runs. */
  forget(name: string): void {
    const without = (groups: ReadonlyMap<string, string>) =>
      new Map([...groups].filter(([each]) => each !== name));
    this.forgotten = new Map([...this.forgotten, [name, this.known.get(name) ?? '']]);
    this.known = without(this.known);
    this.begun = without(this.begun);
  }

  put(collection: string, object: object): Stored {
    return this.api.put(collection, object as Stored);
  }

  /** As the operator makes it, or one that was told before. */
  report(spec: object, cluster: Pick<LvmCluster, 'spec'> = withClasses): void {
    const note = clusterNoteText({ metadata: {} as Metadata, ...cluster });
    const annotations = { [clusterNoteAnnotation]: note };
    const metadata = { name: 'n1', namespace, annotations };
    this.put(collections.lvmNodeStatuses, { metadata, spec });
  }

  group(name: string, spec: LvmVolumeGroupSpec, changes: Partial<Metadata> = {}): void {
    const metadata = { name, namespace, ownerReferences: [ownerOf(owner)], ...changes };
    this.put(collections.lvmVolumeGroups, { metadata, spec });
  }

  change(name: string, change: { readonly metadata?: object; readonly spec?: object }): void {
    const before = this.object(name) as unknown as Stored;
    const metadata = { ...before.metadata, ...change.metadata };
    const spec = { ...(before['spec'] as object), ...change.spec };
    this.put(collections.lvmVolumeGroups, { ...before, metadata, spec });
  }

  object(name: string): LvmVolumeGroup | undefined {
    return this.api.one(collections.lvmVolumeGroups, name, namespace);
  }

  told(name: string): LvmVolumeGroupStatus | undefined {
    const report = this.api.one(collections.lvmNodeStatuses, 'n1', namespace);
    const { nodeStatus = [] } = (report?.['spec'] ?? {}) as {
      readonly nodeStatus?: readonly LvmVolumeGroupStatus[];
    };
    return nodeStatus.find((one) => one.name === name);
  }

  isReady(name: string): boolean {
    return this.told(name)?.status === 'Ready';
  }

  devicesOf(name: string): readonly string[] {
    return (this.told(name)?.devices ?? []).toSorted();
  }

  ran(): readonly string[] {
    return this.stage.ran.map(({ argv }) => argv.slice(0, 2).join(' '));
  }

  async until(what: string, isSo: () => boolean): Promise<void> {
    for (let turn = 0; turn < 3_000; turn += 1) {
      if (isSo()) return;
      if (this.#bug !== undefined) throw this.#bug;
      await this.pass(turn < 200 ? 5 : 200);
    }
    throw new Error(`waited in vain: ${what}; ${JSON.stringify(this.log.slice(-3))}`);
  }

  async pass(ms: number): Promise<void> {
    await this.stage.world.clock.advance(ms);
    for (let turn = 0; turn < 4; turn += 1) await setImmediate();
  }

  async settle(ms = 3_000): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) await this.pass(50);
    if (this.#bug !== undefined) throw this.#bug;
  }
}
