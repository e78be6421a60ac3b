import { ownProtocols } from '../../src/core/cluster/protocol.ts';
import type { Build } from '../../src/core/cluster/skew.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { JudgedApi } from '../kube/judged-api.ts';
import { Chance } from '../world/chance.ts';
import { FakeClock } from '../world/clock.ts';
import { Desk } from './desk.ts';
import { Kubelet, newNode } from './kubelet.ts';
import { Life } from './life.ts';
import { Link } from './link.ts';
import { type BareMachine, Machine } from './machine.ts';
import { Network, Nudge } from './network.ts';
import { NodeRemovals } from './node-removals.ts';
import { Pods } from './pods.ts';
import {
  type AgentProgram,
  driver,
  namespace,
  type OperatorProgram,
  type Surroundings,
} from './programs.ts';
import { Scheduler } from './scheduler.ts';
import { SnapshotController } from './snapshot-controller.ts';
import { VolumeController } from './volume-controller.ts';
import { WebhookService } from './webhook-service.ts';

export type StageSpec = {
  readonly seed?: number;
  readonly nodes?: number;
  /** For machines of which LVMClusters make what there is. */
  readonly bare?: (node: string) => BareMachine;
  readonly agent: AgentProgram;
  readonly operator: OperatorProgram;
};

/** A whole cluster in made-up time: nodes, control plane, and our processes in it. */
export class ClusterStage {
  readonly clock: FakeClock;
  readonly api: JudgedApi;
  readonly webhook: WebhookService;
  readonly network: Network;
  readonly pods = new Pods();
  readonly machines = new Map<string, Machine>();
  readonly operators = new Map<string, Life>();
  readonly removals: NodeRemovals;
  /** A person with kubectl. */
  readonly admin: Desk;
  /** What our processes said, the newest last. */
  readonly lines: string[] = [];
  readonly bugs: string[] = [];
  /** What the next life on a machine is, if not the program of this tree. */
  readonly builds = new Map<string, Build>();
  readonly #spec: StageSpec;
  readonly #chance: Chance;
  readonly #wake: (() => void)[] = [];
  #lives = 0;

  constructor(spec: StageSpec) {
    const chance = new Chance(spec.seed ?? 1);
    const ids = chance.fork();
    this.#spec = spec;
    this.#chance = chance;
    this.clock = new FakeClock(chance.fork());
    this.network = new Network(chance.fork());
    this.api = new JudgedApi({
      ...{ nowMs: () => this.clock.nowMs(), newUid: () => ids.uuid() },
      newSuffix: () => ids.uuid().slice(0, 5),
    });
    this.webhook = new WebhookService(this.network, new Chance(chance.seed));
    this.api.selectable.add('spec.nodeName');
    this.admin = new Desk(this.api, 'admin');
    for (let index = 1; index <= (spec.nodes ?? 2); index += 1) this.#addMachine(`n${index}`);
    this.removals = this.#removals(new Chance(chance.seed));
    this.#startControllers(chance.fork());
    this.api.listeners.add(() => this.#wakeAll());
    this.api.listeners.add(({ collection, after }) => {
      if (collection !== collections.events || after === undefined) return;
      const { involvedObject, type, reason, message } = after;
      this.lines.push(`event ${JSON.stringify({ reason, type, message, involvedObject })}`);
    });
    this.pods.listeners.add(() => this.#wakeAll());
  }

  /** Everything is set up, and our processes begin: the operators a little before the agents. */
  async start(operators: readonly string[] = ['o1']): Promise<void> {
    for (const machine of this.machines.values()) {
      this.admin.create(collections.nodes, newNode(machine.name));
      await this.clock.run(machine.setUp());
    }
    if (this.#spec.bare === undefined) this.#classes();
    this.#kinds();
    for (const name of operators) this.startOperator(name);
    for (const machine of this.machines.values()) machine.startAgent();
    this.#bookmarks();
    await this.clock.advance(5_000);
  }

  machine(name: string): Machine {
    const machine = this.machines.get(name);
    if (machine === undefined) throw new Error(`there is no machine ${name}`);
    return machine;
  }

  startOperator(name: string): void {
    const life = new Life(this.clock);
    this.operators.set(name, life);
    life.onDeath(() => {
      const again = () => {
        if (this.operators.get(name) === life) this.startOperator(name);
      };
      this.clock.after(3_000, again, 'operator');
    });
    const program = this.#spec.operator(this.#surround(name, 'operator', life));
    program.run(new AbortController().signal).catch((error: unknown) => this.#bug(error));
  }

  killOperator(name: string): void {
    this.operators.get(name)?.die();
  }

  /** The machine is off, with everything on it. */
  cutPower(name: string): void {
    this.machine(name).powerOff();
    for (const pod of this.pods.all) {
      if (pod.node !== name) continue;
      pod.shown.clear();
      pod.isRunning = false;
    }
    this.pods.changed();
  }

  powerOn(name: string): void {
    this.machine(name).powerOn();
    this.removals.join(name);
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  /** Lets time pass until it is so; what takes longer does not come. */
  async until(what: string, isSo: () => boolean, limitMs = 600_000): Promise<void> {
    const endMs = this.clock.nowMs() + limitMs;
    while (!isSo()) {
      if (this.bugs.length > 0) throw new Error(this.bugs.join('\n'));
      if (this.clock.nowMs() > endMs) {
        const pods = this.pods.all.map(({ name, why }) => `${name}: ${why}`);
        const told = [...pods, ...this.lines.slice(-8)].join('\n  ');
        throw new Error(`it did not come about: ${what}\n  ${told}`);
      }
      await this.clock.advance(100);
    }
  }

  claim(name: string, wish: ClaimWish = {}): void {
    const { className = 'thin', size = '1Gi', source, isRaw = false } = wish;
    this.admin.create(collections.claims, {
      metadata: { name, namespace: 'ns' },
      spec: {
        ...{ accessModes: ['ReadWriteOnce'], storageClassName: className },
        ...{ resources: { requests: { storage: size } }, volumeMode: isRaw ? 'Block' : undefined },
        ...(source === undefined ? {} : { dataSource: source }),
      },
    });
  }

  pod(name: string, ...claims: readonly string[]): void {
    this.pods.add(name, this.#chance.uuid(), claims);
  }

  snapshot(name: string, claim: string): void {
    const source = { persistentVolumeClaimName: claim };
    const spec = { source, volumeSnapshotClassName: 'snap' };
    this.admin.create(collections.snapshots, { metadata: { name, namespace: 'ns' }, spec });
  }

  resize(claim: string, storage: string): void {
    const spec = { resources: { requests: { storage } } };
    this.admin.patch(collections.claims, { name: claim, namespace: 'ns' }, { spec });
  }

  deleteClaim(name: string): void {
    this.admin.delete(collections.claims, { name, namespace: 'ns' });
  }

  deleteSnapshot(name: string): void {
    this.admin.delete(collections.snapshots, { name, namespace: 'ns' });
  }

  #addMachine(name: string): void {
    const { agent } = this.#spec;
    const machine = new Machine({
      ...{ name, agent, clock: this.clock, chance: this.#chance.fork() },
      bare: this.#spec.bare?.(name),
      surround: (where, role, life) => this.#surround(where, role, life),
      isNode: () => this.admin.node(name) !== undefined,
      bug: (error) => this.#bug(error),
    });
    machine.kubelet = new Kubelet({
      ...{ node: name, driver, desk: new Desk(this.api, `kubelet ${name}`), pods: this.pods },
      ...{ clock: this.clock, chance: this.#chance.fork(), served: () => machine.served() },
      isOnline: () => !this.network.isAway && !this.network.isCut(name),
    });
    this.#onChange(() => {
      if (machine.isUp) machine.kubelet?.round();
    });
    this.machines.set(name, machine);
  }

  #removals(chance: Chance): NodeRemovals {
    const { admin, clock, pods, machines } = this;
    const removals = new NodeRemovals({
      ...{ admin, clock, chance, pods, machines },
      cutPower: (name) => this.cutPower(name),
      collect: (collection, name) => this.api.delete(collection, name),
    });
    this.api.listeners.add(({ collection, before, after }) => {
      if (collection === collections.nodes) removals.told(before, after);
    });
    return removals;
  }

  #startControllers(chance: Chance): void {
    const manager = new VolumeController(new Desk(this.api, 'controller-manager'), this.pods);
    const snapshots = new SnapshotController(new Desk(this.api, 'snapshot-controller'));
    const scheduler = new Scheduler({
      ...{ desk: new Desk(this.api, 'scheduler'), pods: this.pods, clock: this.clock, chance },
      isReady: (node) => this.machines.get(node)?.isUp === true && !this.network.isCut(node),
    });
    this.#onChange(() => this.#whileUp(() => manager.round()));
    this.#onChange(() => this.#whileUp(() => snapshots.round()));
    this.#onChange((again) =>
      this.#whileUp(() => {
        const laterMs = scheduler.round();
        if (laterMs !== undefined) again(laterMs);
      }),
    );
  }

  #whileUp(round: () => void): void {
    if (!this.network.isAway) round();
  }

  /** Called a while after each change, once for many. */
  #onChange(work: (again: (ms: number) => void) => void): void {
    const nudge: Nudge = new Nudge(this.clock, this.#chance.fork(), () =>
      work((ms) => nudge.soon(ms)),
    );
    this.#wake.push(() => nudge.soon());
  }

  #wakeAll(): void {
    for (const wake of this.#wake) wake();
  }

  /** Servers send one every minute, so that nobody takes silence for a dead connection. */
  #bookmarks(): void {
    if (!this.network.isAway) this.api.bookmark();
    this.#wakeAll();
    this.clock.after(60_000, () => this.#bookmarks(), 'bookmark');
  }

  #surround(machine: string, role: string, life: Life): Surroundings {
    this.#lives += 1;
    const { api, clock, network } = this;
    const self = `${machine}-${role}-${this.#lives}`;
    const chance = this.#chance.fork();
    const fraction = () => chance.fraction();
    const who = `${role} ${machine}`;
    const link = () => new Link({ api, clock, network, life, machine, who, self });
    return {
      transport: link,
      client: () => new KubeClient({ transport: link(), clock: life.clock, chance: fraction }),
      ...{ clock: life.clock, chance: fraction, wall: () => clock.nowMs(), life, self },
      build: this.builds.get(machine) ?? { version: '0', protocols: ownProtocols },
      stored: (collection) => api.all(collection),
      judge: (judges) => this.webhook.serve({ life, machine, judges }),
      log: ({ level, message, ...rest }) => {
        this.lines.push(`${machine} ${role} ${level} ${message} ${JSON.stringify(rest)}`);
      },
    };
  }

  #bug(error: unknown): void {
    this.bugs.push((error as Error).stack ?? String(error));
  }

  #classes(): void {
    const common = { provisioner: driver, allowVolumeExpansion: true };
    const waiting = { volumeBindingMode: 'WaitForFirstConsumer' };
    const make = (name: string, deviceClass: string, more: object, fileSystem: object = {}) =>
      this.admin.create(collections.classes, {
        metadata: { name },
        ...{ ...common, ...more },
        parameters: { [`${driver}/device-class`]: deviceClass, ...fileSystem },
      });
    make('thin', 'thin', waiting);
    make('thick', 'thick', waiting);
    make('kept', 'thin', { ...waiting, reclaimPolicy: 'Retain' });
    make('at-once', 'thin', {});
    make('xfs', 'thick', waiting, { 'csi.storage.k8s.io/fstype': 'xfs' });
  }

  #kinds(): void {
    this.admin.create(collections.csiDrivers, { metadata: { name: driver } });
    this.admin.create(collections.snapshotClasses, {
      metadata: { name: 'snap' },
      ...{ driver, deletionPolicy: 'Delete' },
    });
    const define = (version: string, group: string, kinds: readonly string[]) => {
      for (const kind of kinds) {
        const metadata = { name: `${kind}.${group}` };
        const spec = { versions: [{ name: version, served: true }] };
        this.admin.create(collections.definitions, { metadata, spec });
      }
    };
    const snapshots = ['volumesnapshots', 'volumesnapshotcontents', 'volumesnapshotclasses'];
    define('v1', 'snapshot.storage.k8s.io', snapshots);
    if (this.#spec.bare === undefined) return;
    const lvms = ['lvmclusters', 'lvmvolumegroups', 'lvmvolumegroupnodestatuses'];
    define('v1alpha1', 'lvm.topolvm.io', lvms);
  }
}

export type ClaimWish = {
  readonly className?: string;
  readonly size?: string;
  readonly isRaw?: boolean;
  readonly source?: { readonly apiGroup?: string; readonly kind: string; readonly name: string };
};

export { namespace };
