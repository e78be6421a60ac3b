import { audit, unmarked } from '../cluster/audit.ts';
import { Refused } from '../cluster/desk.ts';
import { ourLvmsAgent } from '../cluster/our-lvms-agent.ts';
import { ourLvmsOperator } from '../cluster/our-operator.ts';
import { ClusterStage } from '../cluster/stage.ts';
import type { WriteNote } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import type { ClusterVerdict } from './cluster.ts';
import { ClusterRules } from './cluster-rules.ts';
import { byHand, foreignGroup, LvmsAdmin } from './lvms-admin.ts';
import { bareMachine } from './lvms-disks.ts';
import { restFindings } from './lvms-rest.ts';
import { LvmsRules } from './lvms-rules.ts';
import type { LvmsDeed, LvmsStory } from './lvms-story.ts';
import { classesIn, clustersOf, membersOf, ourGroupsOn } from './lvms-truth.ts';
import { causeTrouble, endTroubles, type Trouble } from './troubles.ts';

const settleLimitMs = 30 * 60_000;
/** LVs that people made. */
const theirLvs = ['data', byHand];
/** Every so manieth story ends with idle minutes, and some of these with an hour. */
const idleEvery = 4;
const idleHourEvery = 16;
/** In every other story, and in none that ends idle, others give up their disks in the end. */
const freeEvery = 2;
/** In every so manieth story somebody has an LV in a group when its LVMCluster is deleted. */
const heldEvery = 3;
/** A reason that is none any more when the disks are here. */
const isOfDisksAway =
  /\((DeviceNotFound: |VolumeGroupPartial: |VolumeGroupLost: |DeviceStays: .* while there is no ).*that is not so$/s;
/** What cannot be told any more when a disk is away. */
const isOfDisksHere = / is Ready: (\d+ devices are missing|there is no group)$/;

/**
 * Lives through a story, lets faults stop, and looks at what became of it: at rest, in use, for an
 * idle hour, and when all is given back.
 */
export async function simulateLvms(story: LvmsStory): Promise<ClusterVerdict> {
  const simulation = new Simulation(story);
  try {
    await simulation.run();
  } catch (error) {
    simulation.rules.say(`it broke: ${(error as Error).stack ?? String(error)}`);
  }
  return simulation.verdict();
}

class Simulation {
  readonly stage: ClusterStage;
  readonly rules: ClusterRules;
  readonly #disks: LvmsRules;
  readonly #admin: LvmsAdmin;
  readonly #story: LvmsStory;
  #claims = 0;
  #healedAtMs = 0;

  constructor(story: LvmsStory) {
    this.#story = story;
    const { seed, nodes } = story;
    const machines = new Map(nodes.map((node) => [node.name, bareMachine(node)]));
    this.stage = new ClusterStage({
      ...{ seed, nodes: nodes.length, agent: ourLvmsAgent, operator: ourLvmsOperator },
      bare: (name) => machines.get(name) ?? { devices: [], hasVolatileCaches: false },
    });
    this.rules = new ClusterRules(this.stage);
    this.#disks = new LvmsRules(this.stage, (text) => this.rules.say(text));
    this.#admin = new LvmsAdmin(this.stage, this.#disks);
  }

  verdict(): ClusterVerdict {
    const { machines, api } = this.stage;
    const spawns = [...machines.values()].flatMap(({ world }) => [...world.spawns.values()]);
    return {
      seed: this.#story.seed,
      violations: this.rules.violations,
      commands: spawns.reduce((total, count) => total + count, 0),
      requests: api.requests.length,
      claims: this.#claims,
      lines: this.rules.violations.length === 0 ? [] : this.stage.lines.slice(-4000),
    };
  }

  async run(): Promise<void> {
    await this.#begin();
    const { stage } = this;
    const startMs = stage.clock.nowMs();
    for (const { atMs, ...deed } of this.#story.events) {
      const waitMs = startMs + atMs - stage.clock.nowMs();
      if (waitMs > 0) await stage.advance(waitMs);
      this.#happen(deed);
      if (this.#isBroken()) return;
    }
    await stage.advance(20_000);
    this.#heal();
    const phases = [
      () => this.#settle('with disks away', () => restFindings(stage, this.#disks)),
      () => this.#whole(),
      () => this.#free(),
      () => this.#use(),
      () => this.#idle(),
      () => this.#giveBack(),
      () => this.#leave(),
    ];
    for (const phase of phases) {
      await phase();
      if (this.#isBroken()) return;
    }
  }

  /** Faults begin when the cluster has begun: what was there before was there in peace. */
  async #begin(): Promise<void> {
    const { stage } = this;
    const { nodes, operators, network, host, cacheLag, files, kubelet, udev } = this.#story;
    for (const { name, disks } of nodes) {
      const machine = stage.machine(name);
      const { admin } = machine.world;
      const theirs = disks.filter(({ kind }) => kind === 'foreign-group').map(({ path }) => path);
      if (theirs.length > 0) {
        admin.run('lvm', 'vgcreate', foreignGroup, ...theirs);
        admin.run('lvm', 'lvcreate', '--yes', '--size', '64m', '--name', 'data', foreignGroup);
      }
      for (const { path, isAway } of disks) if (isAway) admin.pull(path);
      this.#disks.trust(machine);
    }
    const [first] = this.#story.events;
    if (this.#story.isEarly && first?.kind === 'make') this.#happen(first);
    this.#admin.guard(this.#story.isGuarded);
    await stage.start(operators);
    stage.network.rates(network);
    stage.api.cacheLag = cacheLag;
    for (const machine of stage.machines.values()) {
      machine.world.faults.rates(host);
      machine.kubelet?.losesAnswers(kubelet);
      machine.disk.failures = files;
      machine.world.machine.udevRate = udev;
    }
  }

  #isBroken(): boolean {
    this.#disks.check();
    this.rules.check();
    return this.rules.violations.length > 0;
  }

  /** At rest nothing is wrong, and stays so. */
  async #settle(when: string, look: () => readonly string[]): Promise<void> {
    const endMs = this.stage.clock.nowMs() + settleLimitMs;
    for (let sound = 0; sound < 2; ) {
      await this.stage.advance(sound === 0 ? 20_000 : 60_000);
      if (this.#isBroken()) return;
      const findings = look().filter((finding) => !finding.endsWith(unmarked));
      sound = findings.length === 0 ? sound + 1 : 0;
      if (sound > 0 || this.stage.clock.nowMs() < endMs) continue;
      for (const finding of findings) this.rules.say(`${when}: ${finding}`);
      return;
    }
  }

  #heal(): void {
    endTroubles(this.stage);
    this.#healedAtMs = this.stage.clock.nowMs();
    this.#admin.guard(true);
    for (const { name, disk, world } of this.stage.machines.values()) {
      disk.failures = 0;
      world.machine.udevRate = 0;
      this.#admin.lvmd({ kind: 'lvmd', node: name, how: 'mended' });
    }
  }

  #findings(): readonly string[] {
    const isTheirs = (finding: string) =>
      theirLvs.some((lv) => finding.startsWith(`the LV ${lv} `));
    return [
      ...restFindings(this.stage, this.#disks),
      ...audit(this.stage).filter((one) => !isTheirs(one)),
    ];
  }

  /**
   * What was slow when faults stopped is slow to its end. An agent that begins with such a command
   * hears nothing of its disks until then, and what it told before is all that there is.
   */
  async #awake(): Promise<void> {
    const { machines, clock } = this.stage;
    const endMs = clock.nowMs() + settleLimitMs;
    const isBusy = () =>
      [...machines.values()].some(({ world }) => world.processes.isBusySince(this.#healedAtMs));
    while (isBusy() && clock.nowMs() < endMs) await this.stage.advance(5_000);
  }

  async #whole(): Promise<void> {
    await this.#awake();
    await this.#pull();
    for (const machine of this.stage.machines.values()) this.#admin.bringDisks(machine);
    await this.#atOnce('all disks are here', isOfDisksAway);
    await this.#settle('with all disks', () => this.#findings());
  }

  /** One disk is torn out on one node, where nothing else happens. */
  async #pull(): Promise<void> {
    const machines = [...this.stage.machines.values()];
    const machine = machines[this.#story.seed % machines.length];
    if (machine === undefined) return;
    const [disk] = ourGroupsOn(machine).flatMap((vg) => membersOf(machine, vg));
    if (disk === undefined) return;
    const { path } = disk;
    this.#admin.disk({ kind: 'pull', node: machine.name, path });
    await this.#atOnce(`${path} on ${machine.name} is away`, isOfDisksHere);
  }

  /** udev tells of it, and nobody waits for a timer. */
  async #atOnce(what: string, isLate: RegExp): Promise<void> {
    await this.stage.advance(15_000);
    for (const late of restFindings(this.stage, this.#disks).filter((one) => isLate.test(one))) {
      this.rules.say(`${what} for some time: ${late}`);
    }
  }

  /**
   * A disk is named that somebody uses, and goes on to be used. When it is given up udev, which
   * knows of disks only, says nothing: who waits for it has to look.
   */
  async #free(): Promise<void> {
    if (this.#story.seed % freeEvery === 0) return;
    const naming = this.#admin.namingOfUsed();
    if (naming !== undefined) {
      this.#happen(naming);
      await this.#settle('with a disk named that is in use', () => this.#findings());
    }
    for (const machine of this.stage.machines.values()) this.#admin.freeDisks(machine);
    await this.#settle('with disks that came free', () => this.#findings());
  }

  /** What is Ready can be used. */
  async #use(): Promise<void> {
    const { stage } = this;
    const [cluster] = clustersOf(stage);
    if (cluster === undefined || cluster.metadata.deletionTimestamp !== undefined) return;
    for (const { name } of classesIn(cluster)) {
      const claim = `use-${name}`;
      stage.claim(claim, { className: `lvms-${name}`, size: '300Mi' });
      stage.pod(claim, claim);
    }
    await this.#settle('in use', () => this.#findings());
  }

  /** Nothing is written while nothing changes. */
  async #idle(): Promise<void> {
    const { stage } = this;
    const { seed } = this.#story;
    if (seed % idleEvery !== 0) return;
    // A Node is written once a minute at most: what changed last is told a few minutes later.
    await stage.advance(240_000);
    const before = stage.api.writes.length;
    await stage.advance(seed % idleHourEvery === 0 ? 3_600_000 : 300_000);
    const own = stage.api.writes
      .slice(before)
      .filter(({ who, collection }) => /^(operator|agent) /.test(who) && !isLease(collection))
      .filter((note) => !this.#isRetry(note));
    for (const { who, verb, collection, name } of own) {
      this.rules.say(`nothing changes, and ${who} writes: ${verb} ${collection} ${name}`);
    }
  }

  /**
   * A claim that cannot be had, and a volume that cannot go or grow while it has snapshots, are
   * tried for again and told of each time, as everywhere.
   */
  #isRetry({ collection, name, verb }: WriteNote): boolean {
    const object = this.stage.api.all(collection).find(({ metadata }) => metadata.name === name);
    const isGoing = object?.metadata.deletionTimestamp !== undefined;
    if (collection === collections.logicalVolumes) {
      return verb === 'delete' ? isGoing : this.#isGrowing(name);
    }
    const about = object?.['involvedObject'] as { readonly kind?: string } | undefined;
    return collection === collections.events && /^PersistentVolume/.test(about?.kind ?? '');
  }

  #isGrowing(volume: string): boolean {
    const claim = this.stage.admin.claims.find(({ spec }) => spec.volumeName === volume);
    const { storage: asked } = claim?.spec.resources?.requests ?? {};
    return asked !== claim?.status?.capacity?.['storage'];
  }

  async #giveBack(): Promise<void> {
    const { stage } = this;
    for (const { name } of stage.pods.all) stage.pods.delete(name);
    for (const { metadata } of stage.admin.snapshots) stage.deleteSnapshot(metadata.name);
    for (const { metadata } of stage.admin.claims) stage.deleteClaim(metadata.name);
    for (const machine of stage.machines.values()) {
      for (const vg of machine.world.machine.vgs) {
        if (!vg.lvs.some(({ name }) => name === byHand)) continue;
        this.#admin.lv({ kind: 'lv-gone', node: machine.name, vg: vg.name });
      }
    }
    await this.#settle('given back', () => this.#findings());
    if (this.rules.violations.length > 0) return;
    // What was kept goes only when somebody says so, object by object.
    const { admin } = stage;
    for (const { metadata } of admin.volumes) admin.delete(collections.volumes, metadata);
    await this.#settle('kept volumes', () => admin.volumes.map(({ metadata }) => metadata.name));
    for (const one of admin.logicalVolumes) {
      admin.delete(collections.logicalVolumes, one.metadata);
    }
    await this.#settle('kept LVs', () => this.#findings());
  }

  /** An LVMCluster without volumes leaves bare disks, once nobody has anything in its groups. */
  async #leave(): Promise<void> {
    const { stage } = this;
    const held = this.#held();
    if (held !== undefined) this.#admin.lv({ kind: 'lv', ...held });
    for (const { metadata } of clustersOf(stage)) {
      try {
        this.#admin.unmake(metadata.name);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        this.rules.say(`the LVMCluster ${metadata.name} may not go: ${error.message}`);
      }
    }
    if (held !== undefined) {
      await this.#settle('held by an LV', () => restFindings(stage, this.#disks));
      this.#admin.lv({ kind: 'lv-gone', ...held });
    }
    await this.#settle('gone', () => [
      ...clustersOf(stage).map(({ metadata }) => `the LVMCluster ${metadata.name} does not go`),
      ...this.#findings(),
      ...this.#labels(),
    ]);
  }

  /** In some stories somebody has an LV in a group that shall go. */
  #held(): { readonly node: string; readonly vg: string } | undefined {
    if (this.#story.seed % heldEvery !== 0) return undefined;
    for (const machine of this.stage.machines.values()) {
      const vg = ourGroupsOn(machine).at(-1);
      if (vg !== undefined) return { node: machine.name, vg: vg.name };
    }
    return undefined;
  }

  #labels(): readonly string[] {
    return [...this.stage.machines.values()].flatMap(({ name, world }) => {
      const { machine } = world;
      const groups = machine.vgs.filter((vg) => vg.name !== foreignGroup);
      const labelled = machine.devices.filter(({ label }) => {
        const isTheirs = machine.vgOfPv(label?.pvUuid ?? '')?.name === foreignGroup;
        return label !== undefined && !isTheirs && !this.#disks.excused.has(label.pvUuid);
      });
      return [
        ...groups.map((vg) => `the group ${vg.name} is left on ${name}`),
        ...labelled.map(({ path }) => `${path} on ${name} is not bare`),
      ];
    });
  }

  #happen(deed: LvmsDeed): void {
    try {
      this.#do(deed);
    } catch (error) {
      // A person's request may be refused: the object is gone, or the server says no.
      if (!(error instanceof Refused)) throw error;
      this.stage.lines.push(`refused ${JSON.stringify(deed)}: ${error.message}`);
    }
  }

  #do(deed: LvmsDeed): void {
    const admin = this.#admin;
    switch (deed.kind) {
      case 'make':
        admin.make(deed);
        return;
      case 'edit':
        admin.edit(deed);
        return;
      case 'unmake':
        admin.unmake(deed.name);
        return;
      case 'pull':
      case 'insert':
      case 'mkfs':
      case 'mount':
      case 'unmount':
      case 'blank':
        admin.disk(deed);
        return;
      case 'lv':
      case 'lv-gone':
        admin.lv(deed);
        return;
      case 'lvmd':
        admin.lvmd(deed);
        return;
      case 'meddle':
        admin.meddle(deed);
        return;
      case 'taint':
      case 'taint-not':
      case 'label':
      case 'label-not':
        admin.node(deed);
        return;
      case 'kill-move':
        this.stage.machine(deed.node).world.processes.killMoves();
        return;
      case 'guard':
      case 'guard-not':
        admin.guard(deed.kind === 'guard');
        return;
      default:
        this.#useOrTrouble(deed);
    }
  }

  #useOrTrouble(deed: Use | Trouble): void {
    const { stage } = this;
    switch (deed.kind) {
      case 'claim':
        this.#claims += 1;
        stage.claim(deed.name, {
          ...{ className: `lvms-${deed.of}`, size: `${deed.mib}Mi`, isRaw: deed.isRaw },
        });
        return;
      case 'pod':
        stage.pod(deed.name, ...deed.claims);
        return;
      case 'snapshot':
        stage.snapshot(deed.name, deed.from);
        return;
      case 'resize':
        stage.resize(deed.name, `${deed.mib}Mi`);
        return;
      case 'write':
        this.rules.write(deed.name, deed.at, deed.mib);
        return;
      case 'delete-claim':
        stage.deleteClaim(deed.name);
        return;
      case 'delete-pod':
        stage.pods.delete(deed.name);
        return;
      case 'delete-snapshot':
        stage.deleteSnapshot(deed.name);
        return;
      default:
        causeTrouble(stage, deed);
    }
  }
}

type Use = Extract<
  LvmsDeed,
  {
    kind:
      | ('claim' | 'pod' | 'snapshot' | 'resize' | 'write')
      | ('delete-claim' | 'delete-pod' | 'delete-snapshot');
  }
>;

function isLease(collection: string): boolean {
  return collection === collections.leases;
}
