import { decodeNodeFile } from '../../src/api/node-file/decode.ts';
import { type DesiredNode, desiredNode } from '../../src/core/node.ts';
import { pendingTag } from '../../src/core/tags.ts';
import type { Command } from '../../src/lvm/command.ts';
import { cowSnapshotsOf, type Lv, sizeBytes } from '../world/model.ts';
import { FakeWorld } from '../world/world.ts';
import { Agent } from './agent.ts';
import { checkEnd, unproven } from './liveness.ts';
import { Rules } from './rules.ts';
import { Store, type Volume } from './store.ts';
import type { Story, StoryEvent } from './story.ts';

export type Verdict = {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly commands: number;
  readonly lives: number;
  readonly volumes: number;
};

const settleLimitMs = 4 * 3_600_000;
const restartMs = 2_000;

/** Lives through a story, then lets faults stop and the world settle, and tells what was wrong. */
export async function simulate(story: Story): Promise<Verdict> {
  const simulation = new Simulation(story);
  try {
    await simulation.run();
  } catch (error) {
    simulation.rules.say(`it broke: ${(error as Error).stack ?? String(error)}`);
  }
  return simulation.verdict();
}

class Simulation {
  readonly #story: Story;
  readonly #world: FakeWorld;
  readonly #store = new Store();
  readonly #node: DesiredNode;
  readonly rules: Rules;
  #agent: Agent | undefined;
  #lives = 0;
  #isOver = false;

  constructor(story: Story) {
    this.#story = story;
    this.#world = new FakeWorld({ seed: story.seed, devices: story.devices });
    const decoded = decodeNodeFile(story.node);
    if (decoded.kind !== 'node') throw new Error(`bad story: ${JSON.stringify(decoded.problems)}`);
    this.#node = desiredNode(decoded.spec);
    const [, , , disk = ''] = story.foreign;
    this.#world.admin.run('lvm', 'vgcreate', 'foreign', disk);
    this.#world.admin.run(
      'lvm',
      'lvcreate',
      '--yes',
      '--size',
      '100m',
      '--name',
      'theirs',
      'foreign',
    );
    const foreignLv = this.#world.lv('foreign', 'theirs');
    if (foreignLv === undefined) throw new Error('the foreign volume was not made');
    this.#world.write(foreignLv, 0, 1024 ** 2);
    this.rules = new Rules({
      world: this.#world,
      store: this.#store,
      node: this.#node,
      foreign: story.foreign,
      foreignLv,
    });
  }

  verdict(): Verdict {
    const { unknown, spawns } = this.#world;
    if (unknown.length > 0) this.rules.say(`the fake did not understand ${unknown.join('; ')}`);
    return {
      seed: this.#story.seed,
      violations: this.rules.violations,
      commands: [...spawns.values()].reduce((total, count) => total + count, 0),
      lives: this.#lives,
      volumes: this.#store.everything.size,
    };
  }

  async run(): Promise<void> {
    const startMs = this.#world.clock.nowMs();
    this.#world.faults.rates(this.#story.rates);
    this.#begin();
    for (const event of this.#story.events) {
      const waitMs = startMs + event.atMs - this.#world.clock.nowMs();
      if (waitMs > 0) await this.#world.clock.advance(waitMs);
      this.#happen(event);
      this.rules.check();
      if (this.rules.violations.length > 0) return;
    }
    await this.#world.clock.advance(60_000);
    this.#heal();
    await this.#settle();
    if (this.rules.violations.length > 0) return;
    checkEnd({ world: this.#world, store: this.#store, node: this.#node, rules: this.rules });
  }

  /** A new life of our process; when it ends, the next begins by itself. */
  #begin(): void {
    this.#lives += 1;
    const agent = new Agent({
      world: this.#world,
      store: this.#store,
      node: this.#node,
      eyes: {
        reported: (volume, status, askedMiB) => this.rules.reported(volume, status, askedMiB),
        refused: (volume, why) => this.#checkRefusal(volume, why),
        bug: (error) => this.rules.say(`a bug: ${(error as Error).stack ?? String(error)}`),
      },
    });
    this.#agent = agent;
    agent.host.onDeath(() => {
      if (!this.#isOver) this.#world.clock.after(restartMs, () => this.#begin(), 'restart');
    });
    agent.start();
  }

  /** Whose a volume is does not change by itself: such a refusal is true at once or wrong. */
  #checkRefusal(volume: Volume, { code, message }: { code: string; message: string }): void {
    if (!['VolumeDiffers', 'VolumeLost', 'NotOurs'].includes(code)) return;
    const [world, store, node, rules] = [this.#world, this.#store, this.#node, this.rules];
    const objection = unproven(volume, code, undefined, { world, store, node, rules });
    if (objection !== undefined)
      rules.say(`${volume.name} was refused (${message}) but ${objection}`);
  }

  #heal(): void {
    this.#world.faults.stop();
    for (const device of this.#world.machine.devices) {
      this.rules.excuse(() => this.#world.admin.insert(device.path));
    }
    this.#renameTwins();
    for (const vg of this.#world.machine.vgs) {
      for (const pv of vg.pvs) pv.isFlaggedMissing = false;
      for (const lv of vg.lvs) {
        lv.users.clear();
        // The administrator's `lvchange --refresh`, after a device came back.
        if (lv.body.kind === 'raid') lv.body.failed.clear();
      }
    }
  }

  /**
   * A group that nobody was told of may lose all its disks; then another is made. When the disks
   * come back two have the name, and the administrator sets aside the one that never held anything.
   */
  #renameTwins(): void {
    const { vgs } = this.#world.machine;
    for (const { name } of this.#node.volumeGroups) {
      const known = this.#store.groups.get(name);
      const twins = vgs.filter((vg) => vg.name === name && vg.uuid !== known);
      const hasVolumes = twins.some((vg) => vg.lvs.some((lv) => lv.tags.includes('quarry')));
      if (known !== undefined && hasVolumes) this.rules.say(`a second group ${name} has volumes`);
      const elders = this.#store.elders.get(name) ?? new Set();
      if (known !== undefined && twins.some(({ uuid }) => !elders.has(uuid))) {
        this.rules.say(`a second group ${name} was made when one was known`);
      }
      for (const vg of known === undefined ? twins.slice(1) : twins) vg.name = `${name}-aside`;
    }
  }

  /** Quiet means: for a while every wish is fulfilled or refused. */
  async #settle(): Promise<void> {
    let quietRounds = 0;
    const endMs = this.#world.clock.nowMs() + settleLimitMs;
    while (quietRounds < 3) {
      for (const volume of this.#store.volumes.values()) volume.blocked = undefined;
      await this.#world.clock.advance(180_000);
      this.rules.check();
      if (this.rules.violations.length > 0) return;
      const isQuiet = [...this.#store.volumes.values()].every(isQuietVolume);
      quietRounds = isQuiet ? quietRounds + 1 : 0;
      if (this.#world.clock.nowMs() > endMs) {
        const loud = [...this.#store.volumes.values()].filter((one) => !isQuietVolume(one));
        const { nodeBlocks } = this.#agent ?? { nodeBlocks: [] };
        const what = loud.map((one) => `${one.name} (${one.failure})`).join(', ');
        this.rules.say(`does not settle: ${what}; node: ${nodeBlocks.join('; ')}`);
        return;
      }
    }
    this.#isOver = true;
  }

  #happen(event: StoryEvent): void {
    switch (event.kind) {
      case 'create':
        this.#add(event.name, {
          kind: 'volume',
          className: event.className,
          mib: event.mib,
        });
        break;
      case 'snapshot':
      case 'clone':
        this.#derive(event);
        break;
      case 'expand':
        this.#wish(event.name, (volume) => {
          if (volume.kind === 'snapshot' || event.mib <= volume.sizeMiB) return;
          this.#store.wish(volume, { sizeMiB: event.mib });
        });
        break;
      case 'delete':
        this.#wish(event.name, (volume) => this.#store.wish(volume, { wanted: 'absent' }));
        break;
      case 'write':
        this.#wish(event.name, (volume) => this.#write(volume, event));
        break;
      case 'cancel':
        this.#wish(event.name, (volume) => volume.cancel?.());
        break;
      case 'crash':
        this.#agent?.host.die();
        break;
      case 'death':
        this.#dieSuspended();
        break;
      case 'power':
        this.rules.excuse(() => this.#world.cutPower(event));
        break;
      case 'pull':
        this.rules.excuse(() => this.#world.admin.pull(event.device));
        break;
      case 'insert':
        this.rules.excuse(() => this.#world.admin.insert(event.device));
        break;
      default:
        this.#meddle(event);
        break;
    }
  }

  #dieSuspended(): void {
    let isSuspended = false;
    const { faults } = this.#world;
    const grows = ({ argv }: Command) => {
      const isGrowth = argv.includes('lvextend');
      isSuspended ||= isGrowth;
      return isGrowth;
    };
    const isRescue = ({ argv }: Command) => isSuspended && argv.includes('dmsetup');
    faults.next(grows, { kind: 'mishap', mishap: 'left-suspended' });
    faults.next(isRescue, { kind: 'crash', when: 'before' });
  }

  #add(
    name: string,
    spec: { kind: Volume['kind']; className: string; mib: number; source?: string },
  ): void {
    const entry = this.#node.deviceClasses.find((one) => one.name === spec.className);
    const source = spec.source === undefined ? undefined : this.#store.everything.get(spec.source);
    this.#store.add({
      name,
      kind: spec.kind,
      className: spec.className,
      vg: entry?.vg ?? 'va',
      source: spec.source,
      sizeMiB: spec.mib,
      wanted: 'present',
      generation: 1,
      settled: 0,
      uuid: undefined,
      blocked: undefined,
      failure: undefined,
      history: [],
      sourceHistoryFrom: Math.max(0, (source?.history.length ?? 0) - 1),
      isLost: false,
      cancel: undefined,
    });
  }

  #derive(event: Extract<StoryEvent, { kind: 'snapshot' | 'clone' }>): void {
    const source = this.#store.everything.get(event.source);
    if (source === undefined) return;
    const { kind, name } = event;
    const mib = kind === 'clone' ? Math.max(event.mib, source.sizeMiB) : source.sizeMiB;
    this.#add(name, { kind, className: source.className, mib, source: source.name });
  }

  #wish(name: string, work: (volume: Volume) => void): void {
    const volume = this.#store.volumes.get(name);
    if (volume !== undefined && volume.wanted === 'present') work(volume);
  }

  /** A user writes to a volume that was reported ready, as a pod would. */
  #write(volume: Volume, event: { readonly mib: number; readonly at: number }): void {
    const lv = this.#world.lv(volume.vg, volume.name);
    const isTheirs = lv !== undefined && lv.uuid === volume.uuid && volume.kind !== 'snapshot';
    if (!isTheirs || volume.history.length === 0 || lv.isSuspended) return;
    if (!this.#show(lv)) return;
    const offset = Math.floor(sizeBytes(lv) * event.at);
    this.#world.write(lv, offset, Math.min(event.mib * 1024 ** 2, sizeBytes(lv) - offset));
    volume.history.push(lv.content);
    this.rules.wrote(lv);
  }

  /** Whoever writes was shown it before, and the first time takes the mark off. */
  #show({ name, vg, tags }: Lv): boolean {
    if (!tags.includes(pendingTag)) return true;
    try {
      this.#world.admin.run('lvm', 'lvchange', '--deltag', pendingTag, `${vg.name}/${name}`);
      return true;
    } catch {
      return false;
    }
  }

  #meddle(event: Extract<StoryEvent, { kind: `admin-${string}` }>): void {
    const { admin } = this.#world;
    const volume = this.#store.volumes.get(event.name);
    const vg = 'vg' in event ? event.vg : (volume?.vg ?? '');
    this.rules.meddled.add(vg);
    this.rules.excuse(() => {
      try {
        if (event.kind === 'admin-create') {
          const size = `${event.mib}m`;
          admin.run('lvm', 'lvcreate', '--yes', '--size', size, '--name', event.name, vg);
        } else if (volume !== undefined) this.#meddleWith(event.kind, volume);
      } catch {
        // What the administrator wanted did not work in this world: nothing happened.
      }
    });
  }

  #meddleWith(kind: string, volume: Volume): void {
    const { admin } = this.#world;
    const lv = this.#world.lv(volume.vg, volume.name);
    if (lv === undefined) return;
    const target = `${volume.vg}/${volume.name}`;
    const victims = [lv, ...cowSnapshotsOf(lv)];
    try {
      if (kind === 'admin-mount') admin.mount(`/dev/${target}`, `/mnt/${lv.uuid}`);
      if (kind === 'admin-remove') admin.run('lvm', 'lvremove', '--yes', target);
      if (kind === 'admin-replace') admin.replaceLv(volume.vg, volume.name);
      if (kind === 'admin-snapshot') {
        const name = `${volume.name}-admins`;
        admin.run('lvm', 'lvcreate', '--yes', '--snapshot', '--size', '8m', '--name', name, target);
      }
    } finally {
      for (const victim of victims) {
        if (victim.vg.lvs.includes(victim)) continue;
        const lost = this.#store.volumes.get(victim.name.replace(/\.copy$/, ''));
        if (lost !== undefined) lost.isLost = true;
      }
    }
  }
}

function isQuietVolume(volume: Volume): boolean {
  if (volume.blocked !== undefined) return true;
  return (
    volume.wanted === 'present' && (volume.settled === volume.generation || volume.settled === -1)
  );
}
