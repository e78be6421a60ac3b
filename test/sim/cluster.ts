import { audit, unmarked } from '../cluster/audit.ts';
import { Refused } from '../cluster/desk.ts';
import { ourAgent } from '../cluster/our-agent.ts';
import { ourOperator } from '../cluster/our-operator.ts';
import { type ClaimWish, ClusterStage } from '../cluster/stage.ts';
import { volumesOn } from '../cluster/truth.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { Chance } from '../world/chance.ts';
import { Others } from './cluster-others.ts';
import { ClusterRules } from './cluster-rules.ts';
import { type ClusterStory, type Deed, othersEvery } from './cluster-story.ts';
import { causeTrouble, endTroubles } from './troubles.ts';

export type ClusterVerdict = {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly commands: number;
  readonly requests: number;
  readonly claims: number;
  /** What our processes said last, where something went wrong. */
  readonly lines: readonly string[];
};

const settleLimitMs = 90 * 60_000;

/** Lives through a story, lets faults stop, audits, gives everything back, and audits again. */
export async function simulateCluster(story: ClusterStory): Promise<ClusterVerdict> {
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
  readonly #others: Others;
  readonly #story: ClusterStory;
  #claims = 0;

  constructor(story: ClusterStory) {
    this.#story = story;
    const { seed, nodes } = story;
    this.stage = new ClusterStage({ seed, nodes, agent: ourAgent, operator: ourOperator });
    this.rules = new ClusterRules(this.stage);
    this.#others = new Others(this.stage, (text) => this.rules.say(text));
    if (seed % othersEvery === 0) this.#others.meet(new Chance(seed));
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
      lines: this.rules.violations.length === 0 ? [] : this.stage.lines.slice(-400),
    };
  }

  async run(): Promise<void> {
    const { stage } = this;
    await stage.start(this.#story.operators);
    stage.network.rates(this.#story.network);
    stage.api.cacheLag = this.#story.cacheLag;
    for (const { world, kubelet } of stage.machines.values()) {
      world.faults.rates(this.#story.host);
      kubelet?.losesAnswers(this.#story.kubelet);
    }
    const startMs = stage.clock.nowMs();
    for (const { atMs, ...deed } of this.#story.events) {
      const waitMs = startMs + atMs - stage.clock.nowMs();
      if (waitMs > 0) await stage.advance(waitMs);
      this.#happen(deed);
      this.rules.check();
      if (this.rules.violations.length > 0) return;
    }
    await stage.advance(20_000);
    endTroubles(stage);
    this.#others.letGo();
    await this.#settle('after the story');
    if (this.rules.violations.length > 0) return;
    this.#giveBack();
    await this.#settle('after all was given back');
    if (this.rules.violations.length > 0) return;
    if (this.#giveUpWhatIsGone()) await this.#settle('after what is gone was given up');
    if (this.rules.violations.length === 0) this.#checkEmpty();
  }

  /** At rest nothing is wrong, and stays so. */
  async #settle(when: string): Promise<void> {
    const endMs = this.stage.clock.nowMs() + settleLimitMs;
    let sound = 0;
    while (sound < 2) {
      await this.stage.advance(sound === 0 ? 20_000 : 60_000);
      this.rules.check();
      if (this.rules.violations.length > 0) return;
      const findings = audit(this.stage).filter((finding) => !this.#isExcused(finding));
      sound = findings.length === 0 ? sound + 1 : 0;
      if (sound > 0 || this.stage.clock.nowMs() < endMs) continue;
      for (const finding of findings) this.rules.say(`${when}: ${finding}`);
      return;
    }
  }

  /** The one moment in which an operator must not die is rare, and cannot be helped. */
  #isExcused(finding: string): boolean {
    if (!finding.endsWith(unmarked)) return false;
    // Nor can the volume of whoever keeps it and deletes the object that says so.
    const reasons = new Set(['kill-operator', 'hold-operator', 'delete-volume']);
    const hasEnded = ({ kind }: Deed) => reasons.has(kind);
    return this.#story.events.some(hasEnded) || this.#hasBadNetwork();
  }

  #hasBadNetwork(): boolean {
    const isCut = ({ kind }: Deed) => kind === 'away';
    const { lostAnswer = 0, failed = 0, refused = 0 } = this.#story.network;
    return this.#story.events.some(isCut) || lostAnswer + failed + refused > 0;
  }

  #giveBack(): void {
    const { stage } = this;
    for (const { name } of stage.pods.all) stage.pods.delete(name);
    for (const { metadata } of stage.admin.snapshots) stage.deleteSnapshot(metadata.name);
    for (const { metadata } of stage.admin.claims) stage.deleteClaim(metadata.name);
  }

  /** Nothing of a node that never comes back goes without this. */
  #giveUpWhatIsGone(): boolean {
    const { admin, removals } = this.stage;
    const lost = admin.logicalVolumes.filter(({ spec }) => removals.isGone(spec.nodeName));
    for (const { metadata } of lost) removals.giveUp(metadata.name);
    return lost.length > 0;
  }

  /** What is kept is all that is left. */
  #checkEmpty(): void {
    const { admin, machines, removals } = this.stage;
    const excused = audit(this.stage)
      .filter((finding) => this.#isExcused(finding))
      .join();
    const records = admin.logicalVolumes.filter(({ metadata }) => excused.includes(metadata.name));
    const kept = [
      ...admin.volumes.map(({ spec }) => spec.csi?.volumeHandle),
      ...records.map(({ metadata }) => metadata.uid),
    ];
    for (const { metadata } of admin.claims) this.rules.say(`the claim ${metadata.name} stays`);
    for (const machine of machines.values()) {
      if (removals.isGone(machine.name)) continue;
      for (const { name } of volumesOn(machine)) {
        if (kept.includes(name) || removals.isGivenUp(name)) continue;
        this.rules.say(`the LV ${name} is left on ${machine.name}`);
      }
    }
  }

  #happen(deed: Deed): void {
    try {
      this.#do(deed);
    } catch (error) {
      // A person's request may be refused: the object is gone, or the server says no.
      if (!(error instanceof Refused)) throw error;
    }
  }

  #do(deed: Deed): void {
    const { stage } = this;
    switch (deed.kind) {
      case 'claim':
        stage.claim(deed.name, { ...deed, size: `${deed.mib}Mi` });
        this.#claims += 1;
        return;
      case 'restore': {
        const apiGroup = 'snapshot.storage.k8s.io';
        const source = { apiGroup, kind: 'VolumeSnapshot', name: deed.from };
        const { persistentVolumeClaimName = '' } =
          stage.admin.snapshot(deed.from)?.spec.source ?? {};
        this.#copy(deed, source, persistentVolumeClaimName);
        return;
      }
      case 'clone':
        this.#copy(deed, { kind: 'PersistentVolumeClaim', name: deed.from }, deed.from);
        return;
      case 'snapshot':
        stage.snapshot(deed.name, deed.from);
        return;
      case 'pod':
        stage.pod(deed.name, ...deed.claims);
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
      case 'meddle':
        this.#others.note(deed.name);
        return;
      case 'keep':
      case 'delete-volume':
        this.#meddle(deed);
        return;
      case 'remove-node':
        stage.removals.remove(deed.node, deed);
        return;
      case 'give-up':
        this.#giveUp(deed.name);
        return;
      default:
        causeTrouble(stage, deed);
    }
  }

  #giveUp(claim: string): void {
    const { admin, removals } = this.stage;
    const { uid } = admin.claim(claim)?.metadata ?? {};
    const name = `pvc-${uid}`;
    if (admin.logicalVolumes.some(({ metadata }) => metadata.name === name)) removals.giveUp(name);
  }

  /** For the same use as the claim that it comes from, as far as that is still known. */
  #copy(
    { name, mib }: { readonly name: string; readonly mib: number },
    source: NonNullable<ClaimWish['source']>,
    from: string,
  ): void {
    this.#claims += 1;
    const { storageClassName: className = 'thin', volumeMode } =
      this.stage.admin.claim(from)?.spec ?? {};
    const isRaw = volumeMode === 'Block';
    this.stage.claim(name, { className, isRaw, size: `${mib}Mi`, source });
  }

  /** Somebody keeps a volume after all, or deletes it though it is bound. */
  #meddle({ kind, name }: Extract<Deed, { kind: 'keep' | 'delete-volume' }>): void {
    const { admin } = this.stage;
    const claim = admin.claim(name);
    const volume = admin.volume(claim?.spec.volumeName ?? '');
    if (kind === 'keep' && volume !== undefined) {
      const spec = { persistentVolumeReclaimPolicy: 'Retain' };
      admin.patch(collections.volumes, volume.metadata, { spec });
    }
    // It stays as long as it is bound, and goes the usual way then.
    if (kind === 'delete-volume' && volume !== undefined) {
      admin.delete(collections.volumes, volume.metadata);
    }
  }
}
