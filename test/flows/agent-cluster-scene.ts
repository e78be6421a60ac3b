import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Agent, type AgentOptions, startAgent } from '../../src/agent/agent.ts';
import type { LogEvent } from '../../src/agent/log.ts';
import { SocketClient } from '../../src/csi/client.ts';
import {
  VolumeCapability_AccessMode_Mode as Mode,
  NodeDefinition,
} from '../../src/csi/generated/csi.ts';
import { RegistrationDefinition } from '../../src/csi/generated/registration.ts';
import { FakeApi, type Stored } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import type { Json } from '../kube/fake-patch.ts';
import { MemoryTransport } from '../kube/memory-transport.ts';
import { Stage } from './stage.ts';
import { thick, thin } from './standalone-scene.ts';

const patience = { timeoutMs: 10_000 };

/** Agents begin nothing for a group that no LVMCluster has. */
export const ownerReferences = [
  { apiVersion: 'lvm.topolvm.io/v1alpha1', kind: 'LVMCluster', name: 'mine', uid: 'mine' },
];

/** The whole agent, with real files and sockets in a directory of its own, on the stage's node. */
export class AgentClusterScene {
  readonly stage = new Stage();
  readonly api = new FakeApi();
  readonly transport = new MemoryTransport(this.api);
  readonly directory: string;
  readonly log: LogEvent[] = [];
  options: Partial<AgentOptions> = {};
  /** What else lives here, and has to end while time still passes. */
  readonly others: { stop(): Promise<void> }[] = [];
  #agent: Agent | undefined;
  #isOver = false;

  private constructor(directory: string) {
    this.directory = directory;
    this.api.selectable.add('spec.nodeName');
  }

  /** On bare disks nothing is configured but the socket. */
  static async begin(t: TestContext, isBare = false): Promise<AgentClusterScene> {
    const scene = new AgentClusterScene(await mkdtemp(join(tmpdir(), 'quarry-')));
    if (!isBare) await scene.stage.setUp();
    await mkdir(join(scene.directory, 'kubelet', 'plugins_registry'), { recursive: true });
    await scene.configure(...(isBare ? ['  []'] : [thick, thin]));
    scene.api.put(collections.nodes, { metadata: { name: 'n1', annotations: { theirs: 'x' } } });
    scene.storageClass('fast', {});
    t.after(() => scene.#end());
    void scene.#passTime();
    return scene;
  }

  get agent(): Agent {
    if (this.#agent === undefined) throw new Error('it was not started');
    return this.#agent;
  }

  path(...names: readonly string[]): string {
    return join(this.directory, ...names);
  }

  get registration(): string {
    return this.path('kubelet', 'plugins_registry', 'topolvm.io-reg.sock');
  }

  configure(...classes: readonly string[]): Promise<void> {
    const lines = [`socket-name: ${this.path('lvmd.sock')}`, 'device-classes:', ...classes, ''];
    return writeFile(this.path('lvmd.yaml'), lines.join('\n'));
  }

  storageClass(name: string, parameters: Json, provisioner = 'topolvm.io'): void {
    const volumeBindingMode = 'WaitForFirstConsumer';
    this.api.put(collections.classes, {
      ...{ metadata: { name }, provisioner, parameters, volumeBindingMode },
    });
  }

  async start(): Promise<Agent> {
    this.stage.restart();
    const { host, world } = this.stage;
    const names = { domain: 'topolvm.io', driver: 'topolvm.io' };
    const options = {
      ...{ lvmdFile: this.path('lvmd.yaml'), stateDirectory: this.path('state') },
      ...{ csiSocket: this.path('csi.sock'), hostSocket: '/host/csi.sock', metricsAddress: '0' },
      ...{ node: 'n1', names, kubeletRoot: this.path('kubelet'), namespace: 'ns', daemonSet: '' },
      ...{ hasSchedulerExtender: false, version: '0', prefix: [], path: '' },
      ...this.options,
    };
    const { transport } = this;
    const doors = () => ({ host, clock: world.clock, chance: () => 0.5, transport });
    this.#agent = await startAgent(options, (event) => this.log.push(event), doors);
    return this.#agent;
  }

  volume(name: string, spec: Json = {}, node = 'n1'): string {
    const labels = {
      'app.kubernetes.io/created-by': 'topolvm-controller',
      'topolvm.io/node': node,
    };
    const { metadata } = this.api.put(collections.logicalVolumes, {
      metadata: { name, labels, finalizers: ['topolvm.io/logicalvolume'] },
      spec: { name, nodeName: 'n1', size: '100Mi', deviceClass: 'thick', ...spec },
    });
    return metadata.uid;
  }

  status(name: string): Json {
    return (this.api.one(collections.logicalVolumes, name)?.['status'] ?? {}) as Json;
  }

  get node(): Stored {
    const node = this.api.one(collections.nodes, 'n1');
    if (node === undefined) throw new Error('there is no Node');
    return node;
  }

  annotations(): Json {
    return (this.node.metadata as Json)['annotations'] as Json;
  }

  capacities(): readonly (Stored & { readonly capacity?: string })[] {
    return this.api.all(collections.capacities);
  }

  /** As kubelet does when a socket appears in its directory. */
  async register(isTaken = true): Promise<Json> {
    const client = new SocketClient(this.registration);
    try {
      const info = await client.call(RegistrationDefinition, 'getInfo', {}, patience);
      const status = { pluginRegistered: isTaken, error: isTaken ? '' : 'no such topology' };
      const name = 'notifyRegistrationStatus';
      const told = await client.call(RegistrationDefinition, name, status, patience);
      if (info.kind === 'failed' || told.kind === 'failed') throw new Error('it does not answer');
      return info.response as unknown as Json;
    } finally {
      client.close();
    }
  }

  /** NodePublishVolume of a file system. */
  async publish(volumeId: string, targetPath: string): Promise<string> {
    const client = new SocketClient(this.path('csi.sock'));
    const accessType = { $case: 'mount', value: { fsType: 'ext4' } } as const;
    const volumeCapability = { accessType, accessMode: { mode: Mode.SINGLE_NODE_WRITER } };
    const request = { volumeId, targetPath, volumeCapability };
    try {
      const done = await client.call(NodeDefinition, 'nodePublishVolume', request, patience);
      return done.kind === 'response' ? 'published' : `${done.code} ${done.message}`;
    } finally {
      client.close();
    }
  }

  /** Waits for what runs behind real sockets. */
  async until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < 1_000; tries += 1) {
      if (await isSo()) return;
      await sleep(5);
    }
    throw new Error(`waited in vain: ${what}; ${JSON.stringify(this.log.slice(-5))}`);
  }

  async #passTime(): Promise<void> {
    while (!this.#isOver) {
      await this.stage.world.clock.advance(50);
      await sleep(1);
    }
  }

  async #end(): Promise<void> {
    await this.#agent?.stop();
    for (const other of this.others) await other.stop();
    this.#isOver = true;
    await rm(this.directory, { recursive: true, force: true });
  }
}
