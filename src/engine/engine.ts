import { assert } from '../base/assert.ts';
import type { Bytes } from '../base/bytes.ts';
import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { show } from '../base/show.ts';
import { passesMaxOn } from '../core/foresee.ts';
import type { ObservedDevice, ObservedLv, ObservedNode, ObservedVg } from '../core/observed.ts';
import { type CreateVg, type Decision, type ExtendVg, rest, type Step } from '../core/step.ts';
import { allMappedDevices, asOperationError, execute, resumeSuspended } from './execute.ts';
import { Job, type Outcome, type Task } from './job.ts';
import { devicesOf, endless, Lane, type LaneTools } from './lane.ts';
import { dropLeftovers } from './leftovers.ts';
import { observeNode } from './look.ts';
import { PublicationEye } from './look-publication.ts';
import { HostModel, type Report } from './model.ts';
import { Moves } from './moves.ts';
import type { Clock, Host, Signal, Trace } from './ports.ts';
import { Turns } from './turns.ts';
import { kernelWitness } from './witness.ts';

/** Something wanted of a node's devices; it needs the more expensive look at all of them. */
export type NodeTask<Status> = {
  readonly noun: string;
  readonly volume: string;
  readonly vg: string;
  /** By which devices are called in what is wanted. */
  readonly paths: readonly string[];
  plan(node: ObservedNode): Decision;
  /** Comes before disks are taken: whoever dies after it must be able to know of it. */
  begin?(step: CreateVg | ExtendVg, node: ObservedNode): Promise<void>;
  status(node: ObservedNode): Status;
};

/** An LV, and where it is. */
export type PlacedLv = { readonly vg: ObservedVg; readonly lv: ObservedLv };

/** Device-mapper devices that held back their I/O when we started. */
export type Recovered = {
  readonly resumed: readonly string[];
  readonly leftAlone: readonly string[];
};

/** The one loop: observe, plan, one step, observe, status. */
export class Engine {
  readonly model: HostModel;
  /** By names of LVs: what is done with one volume is done in turn, whoever asks for it. */
  readonly turns = new Turns();
  readonly moves: Moves;
  readonly #tools: LaneTools;
  readonly #clock: Clock;
  readonly #eye: PublicationEye;
  readonly #lanes = new Map<string, Lane>();
  /** Two groups must never choose among the same devices at the same time. */
  readonly #devices: Lane;
  /** By group: devices that may forget in a power cut what was done. */
  readonly #touched = new Map<string, ReadonlySet<string>>();
  /** Groups whose devices were flushed in this life. */
  readonly #flushed = new Set<string>();
  /** Did the last look find commands of an earlier life? Nobody starts more of them. */
  #mayHaveStrays = true;

  constructor(doors: { readonly host: Host; readonly clock: Clock; readonly trace: Trace }) {
    this.model = new HostModel(doors.host, doors.clock);
    this.#clock = doors.clock;
    const { host, clock, trace } = doors;
    this.#eye = new PublicationEye(host, clock);
    const witness = kernelWitness(this.#eye);
    this.#tools = { host, model: this.model, witness, trace, strays: () => this.strays() };
    this.#devices = new Lane(this.#tools);
    const suspect = (step: Step & { readonly vg: string }) => this.#lane(step.vg).suspect(step);
    this.moves = new Moves({ host, model: this.model, trace, suspect });
    this.model.onReport(() => {
      for (const lane of this.#lanes.values()) lane.takeUpRescue();
    });
  }

  /** Brings a task about. The answer is what a look at the host showed after the last step. */
  submit<Status>(task: Task<Status>, signal?: Signal): Promise<Outcome<Status>> {
    const job = new Job(task, signal);
    this.#lane(task.vg).add(job as Job);
    return job.outcome;
  }

  /**
   * The same for tasks that choose devices: one at a time on the whole node. A device that has to
   * be emptied first is not waited for: the answer tells that it goes on.
   */
  submitNode<Status>(task: NodeTask<Status>, signal?: Signal): Promise<Outcome<Status>> {
    const alone = () => this.#lane(task.vg).exclusive(() => this.#settle(task, signal));
    return this.#devices.exclusive(alone);
  }

  /**
   * Who finds done what he was asked for tells it only when these groups keep it: an earlier life
   * may have done it, and died before it saw to that.
   */
  async kept(isIn: (vg: ObservedVg) => boolean): Promise<void> {
    const { host } = this.model.newest ?? (await this.observe());
    const groups = new Set(host.vgs.filter(isIn).map(({ name }) => name));
    await Promise.all([...groups].map((vg) => this.submit(keptTask(vg))));
  }

  observe(): Promise<Report> {
    return this.model.refresh();
  }

  /**
   * The kernel shows a volume as large as lvm's books have it. An lvextend that was cut off between
   * the two leaves it smaller, and whoever is told the size would not find it.
   */
  async whole(placed: PlacedLv): Promise<void> {
    const shown = await this.#shown(placed);
    if (shown === undefined) return;
    const { vg, lv } = placed;
    const target = { vg: vg.name, vgUuid: vg.uuid, lv: lv.name, lvUuid: lv.uuid };
    await this.#lane(vg.name).reload(target);
    const still = await this.#shown(placed);
    if (still === undefined) return;
    const has = `${vg.name}/${lv.name} has ${lv.sizeBytes} bytes`;
    throw new OperationError('StaleView', `${has}, and the kernel shows ${still}`);
  }

  /**
   * How large the kernel shows what is larger; a snapshot's own size is no size of its content. A
   * report calls what the kernel has otherwise inactive.
   */
  async #shown({ vg, lv }: PlacedLv): Promise<Bytes | undefined> {
    if (lv.kind === 'cow-snapshot') return undefined;
    const device = await this.#eye.device({ vg: vg.name, name: lv.name });
    return device === undefined || device.sizeBytes >= lv.sizeBytes ? undefined : device.sizeBytes;
  }

  /** Disks came or went, as far as that can be heard. LVM is looked at again, too. */
  onDevices(tell: () => void): () => void {
    return this.#tools.host.onDevices(() => {
      this.model.hint();
      tell();
    });
  }

  /** With every block device, also by these names; it takes longer. */
  observeNode(paths: readonly string[]): Promise<ObservedNode> {
    return observeNode(this.#tools.host, paths);
  }

  /**
   * What was done in a group is kept by its devices, and what it left behind on others is gone for
   * good, or it rises again. An earlier life may have died before it saw to that: the first time
   * whatever may have been touched counts as touched.
   */
  async flush(vg: string, node: ObservedNode): Promise<void> {
    const { host } = this.#tools;
    const isFirst = !this.#flushed.has(vg);
    const touched = new Set([
      ...(this.#touched.get(vg) ?? []),
      ...(isFirst ? devicesOf(node, vg) : []),
    ]);
    const present = node.devices.map(({ path }) => path).filter((path) => touched.has(path));
    if (present.length > 0) await host.flush(present);
    // Nothing is known to have been on them: one that is broken is in nobody's way.
    const bare = isFirst ? node.devices.filter(mayBeBare).map(({ path }) => path) : [];
    await Promise.all(bare.map((path) => host.flush([path]).catch(asOperationError)));
    this.#touched.delete(vg);
    this.#flushed.add(vg);
  }

  /** A group was given up: what the kernel still has of it goes, unless a disk of it is here. */
  dropGroup(group: { readonly name: string; readonly uuid: string }): Promise<void> {
    return this.#lane(group.name).exclusive(async () => {
      const { host } = await this.model.refresh();
      if (host.vgs.some(({ uuid }) => uuid === group.uuid)) return;
      await dropLeftovers(this.#tools, group);
    });
  }

  /** Changes that wait, by volume group. */
  queueLengths(): ReadonlyMap<string, number> {
    return new Map([...this.#lanes].map(([vg, lane]) => [vg, lane.length]));
  }

  /**
   * After a start: what an earlier life left suspended in our groups is resumed before anything
   * else. What hangs elsewhere is told: why it does is not ours to know.
   */
  async recover(groups: readonly string[]): Promise<Recovered> {
    const { host, trace } = this.#tools;
    await this.#waitForStrays();
    if ((await this.#suspended()).length === 0) return { resumed: [], leftAlone: [] };
    // The report waits for lvm's own lock: a command of our earlier life that still runs, and has
    // suspended a device for good reason, is done when it comes.
    const report = await this.model.refresh();
    const ours = report.host.vgs.filter((vg) => groups.includes(vg.name));
    const resumed: string[] = [];
    for (const vg of ours) {
      const subject = { noun: 'recovery', volume: vg.name };
      resumed.push(...(await resumeSuspended(host, vg.uuid, subject, trace)));
    }
    return { resumed, leftAlone: await this.#suspended() };
  }

  /** Changing commands of an earlier life that still run: what they do is yet to come. */
  async strays(): Promise<readonly string[]> {
    if (!this.#mayHaveStrays) return [];
    const all = await this.#tools.host.strays();
    // What empties a device may go on for hours, and stands in nobody's way.
    const strays = all.filter((words) => !/\bpvmove\b/.test(words));
    this.#mayHaveStrays = strays.length > 0;
    return strays;
  }

  /**
   * What an earlier life started may not have got to lvm's lock yet: a look now would miss what it
   * is about to make. It is not ended, but waited for, and not for ever: it may hang.
   */
  async #waitForStrays(): Promise<void> {
    const endMs = this.#clock.nowMs() + limits.changeTimeoutMs;
    while ((await this.strays()).length > 0 && this.#clock.nowMs() < endMs) {
      await this.#clock.sleep(limits.strayLookMs);
    }
  }

  async #suspended(): Promise<readonly string[]> {
    const devices = await allMappedDevices(this.#tools.host);
    return devices.filter(({ isSuspended }) => isSuspended).map(({ name }) => name);
  }

  /** A failed step is judged by the next look: what is true counts, not an exit code. */
  async #settle<Status>(task: NodeTask<Status>, signal?: Signal): Promise<Outcome<Status>> {
    const { noun, volume } = task;
    let failure: OperationError | undefined;
    let last = { step: '', repeats: 0 };
    const wiped = new Set<string>();
    for (let pass = 0; ; pass += 1) {
      await this.#lane(task.vg).rescue();
      const node = await observeNode(this.#tools.host, task.paths, signal);
      assert(pass < passesMaxOn(node), 'a plan must come to rest');
      const decision = task.plan(node);
      if (decision.kind === 'blocked') return decision;
      const isMove = decision.kind === 'step' && decision.step.kind === 'evacuate-pv';
      if (decision.kind === 'rest' || isMove) {
        await this.flush(task.vg, node);
        if (isMove) this.moves.goOn(decision.step, { noun, volume });
        else this.moves.forgive(task.vg);
        return { kind: 'settled', status: task.status(node) };
      }
      // What was moved away from it must be kept by the others before it goes.
      if (decision.step.kind === 'reduce-vg')
        await this.#tools.host.flush(devicesOf(node, task.vg));
      // A group that forgets that it is gone would miss a device that nothing is left of.
      if (decision.step.kind === 'remove-pv') await this.flush(task.vg, node);
      const step = show(decision.step);
      last = { step, repeats: step === last.step ? last.repeats + 1 : 0 };
      if (failure !== undefined && last.repeats > 0) throw failure;
      if (last.repeats > limits.staleRetriesMax) throw endless(task, decision.step, last.repeats);
      failure = undefined;
      if (decision.step.kind === 'wipe-device') wipeOnce(decision.step.device, wiped);
      if (decision.step.kind === 'create-vg' || decision.step.kind === 'extend-vg') {
        await task.begin?.(decision.step, node);
      }
      this.#touch(task.vg, touchedBy(decision.step, node));
      try {
        await execute(this.#tools.host, decision.step, { noun, volume }, this.#tools.trace);
      } catch (error) {
        failure = asOperationError(error);
        this.#lane(task.vg).suspect(decision.step);
      }
      this.model.changed();
    }
  }

  #touch(vg: string, devices: readonly string[]): void {
    this.#touched.set(vg, new Set([...(this.#touched.get(vg) ?? []), ...devices]));
  }

  #lane(vg: string): Lane {
    const known = this.#lanes.get(vg);
    if (known !== undefined) return known;
    const lane = new Lane(this.#tools);
    this.#lanes.set(vg, lane);
    return lane;
  }
}

/** Nothing is done, and like any other it ends when the devices of its group were flushed. */
function keptTask(vg: string): Task<undefined> {
  return { noun: 'volume-group', volume: vg, vg, plan: () => rest, status: () => undefined };
}

/** A look may take long: what is on a device after its wipe came from somebody else. */
function wipeOnce(device: string, wiped: Set<string>): void {
  if (wiped.has(device)) {
    const message = `${device} has just been wiped, and something else is on it by now`;
    throw new OperationError('DeviceNotUsable', message);
  }
  wiped.add(device);
}

function touchedBy(step: Step, node: ObservedNode): readonly string[] {
  const named = 'devices' in step ? step.devices : 'device' in step ? [step.device] : [];
  return 'vg' in step ? [...named, ...devicesOf(node, step.vg)] : named;
}

/** A probe that failed shows nothing: a label may have been cleared there as well. */
function mayBeBare(device: ObservedDevice): boolean {
  const { type, label, signatures, isSuspended, exclusiveOpen } = device;
  const isEmpty = label.kind === 'none' && signatures.kind !== 'found';
  return isEmpty && type !== 'lvm' && !isSuspended && exclusiveOpen === 'free';
}
