import type {
  LvmVolumeGroup,
  LvmVolumeGroupNodeStatus,
  LvmVolumeGroupStatus,
} from '../api/objects/lvm-volume-group.ts';
import type { Node } from '../api/objects/storage.ts';
import { isSameJson } from '../api/same.ts';
import { type Blocked, OperationError } from '../base/failures.ts';
import type { RemovalNotes } from '../core/catalog.ts';
import { awaitsDevices, pathsNamed } from '../core/device/plan.ts';
import { endedWipes } from '../core/device/wipes.ts';
import { clusterNoteOf } from '../core/lvm-cluster/cluster-note.ts';
import { externalReport, type LvmdSight } from '../core/lvm-cluster/external-report.ts';
import type { Inventory } from '../core/lvm-cluster/inventory.ts';
import {
  poolReason,
  reportFor,
  stayReport,
  withMove,
  withSkew,
  withTrouble,
  withWarnings,
} from '../core/lvm-cluster/node-report.ts';
import { groupsHere, isNobodys, type NodeWish, wishFor } from '../core/lvm-cluster/node-wish.ts';
import { permittedWipes } from '../core/lvm-cluster/permitted-wipes.ts';
import { noteAfterLook, noteText, releaseNote } from '../core/lvm-cluster/release.ts';
import { isTooLong, withServing } from '../core/lvm-cluster/serving.ts';
import type { ObservedDevice, ObservedHost, ObservedNode } from '../core/observed.ts';
import type { Engine } from '../engine/engine.ts';
import { settled } from '../engine/job.ts';
import { thinPoolTask, volumeGroupTask } from '../engine/tasks.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/errors.ts';
import type { Informer } from '../kube/informer.ts';
import type { Chance, Clock } from '../kube/ports.ts';
import { type Again, WorkQueue } from '../kube/queue.ts';
import { isNews } from '../kube/store.ts';
import { BegunGroups } from './begun-groups.ts';
import { GroupMarks } from './group-marks.ts';
import { GroupMemory } from './group-memory.ts';
import { GroupRemoval } from './group-removal.ts';
import { GroupReports } from './group-reports.ts';
import { agentLimits } from './limits.ts';
import type { Log } from './log.ts';
import type { NodeFiles } from './node-files.ts';
import { serveClasses, type Unserved } from './served-classes.ts';

export type VolumeGroupsParts = {
  readonly client: KubeClient;
  readonly nodes: Informer<Node>;
  readonly groups: Informer<LvmVolumeGroup>;
  readonly reports: Informer<LvmVolumeGroupNodeStatus>;
  readonly node: string;
  readonly engine: Engine;
  readonly files: NodeFiles;
  readonly removals: Pick<RemovalNotes, 'groupRemoved'>;
  /** Hears of the disks with every look at them. */
  readonly tellDisks: (inventory: Inventory) => void;
  readonly lvmd: () => LvmdSight;
  /** Why nothing is made, changed or taken away. */
  readonly skew: () => Blocked | undefined;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly log: Log;
};

const key = 'groups';
const tellKey = 'tell';

/** What went wrong in a round, by the name of the group; '' for what is of no group. */
type Troubles = Map<string, string>;

type Sight = {
  readonly wish: NodeWish;
  readonly devices: readonly ObservedDevice[];
  readonly troubles: Troubles;
  readonly unserved: Unserved;
  /** Why disks are not wiped, by the name of the group. */
  readonly kept: ReadonlyMap<string, readonly string[]>;
  /** Why nothing is done at all. */
  readonly skew: Blocked | undefined;
};

/**
 * Volume groups of this node as an LVMCluster asks for them: made, grown, told of, and taken away
 * again. Which classes are served follows from lvmd.yaml, which is written here and read as ever.
 */
export class VolumeGroups {
  readonly #parts: VolumeGroupsParts;
  readonly #queue: WorkQueue;
  readonly #marks: GroupMarks;
  readonly #memory: GroupMemory;
  readonly #begun: BegunGroups;
  readonly #removal: GroupRemoval;
  readonly #reports: GroupReports;
  /** What the last round left: with a newer look at LVM it can be told anew. */
  #sight: Sight | undefined;
  /** The troubles that were logged last: each is logged once. */
  #logged = new Set<string>();

  constructor(parts: VolumeGroupsParts) {
    this.#parts = parts;
    this.#marks = new GroupMarks(parts);
    this.#memory = new GroupMemory(parts.files);
    const kept = { engine: parts.engine, memory: this.#memory };
    this.#begun = new BegunGroups(kept);
    const { removals } = parts;
    this.#removal = new GroupRemoval({ ...kept, begun: this.#begun, removals });
    this.#reports = new GroupReports(parts);
    this.#queue = new WorkQueue({
      ...{ clock: parts.clock, chance: parts.chance, workers: 1 },
      ...{ firstWaitMs: agentLimits.retryFirstMs, longestWaitMs: agentLimits.retryLongestMs },
      work: (what, signal) => (what === key ? this.#round(signal) : this.#tellAgain(signal)),
      trouble: (_key, error, waitMs) => {
        if (!(error instanceof KubeError) && !(error instanceof OperationError)) throw error;
        parts.log({ level: 'warn', message: `volume groups: ${error.message}`, waitMs });
      },
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { nodes, groups, reports, engine } = this.#parts;
    const changed = () => this.changed();
    const ends = [
      groups.onChange(changed),
      // All disks are looked at for it.
      nodes.onChange((change) => isNews(change) && changed()),
      reports.onChange(({ type, object }) => {
        if (type === 'deleted' || !this.#reports.isOurs(object)) changed();
      }),
      engine.model.onReport((host) => this.#looked(host)),
      engine.onDevices(changed),
    ];
    try {
      await this.#queue.run(signal);
    } finally {
      for (const end of ends) end();
    }
  }

  /** Objects or disks may be others. */
  changed(): void {
    this.#queue.addAfter(key, agentLimits.groupsSettleMs);
  }

  async #round(signal: AbortSignal): Promise<Again> {
    const { nodes, groups, reports, node: name } = this.#parts;
    if (![nodes, groups, reports].every(({ hasSynced }) => hasSynced)) return undefined;
    const node = nodes.get({ name });
    if (node === undefined) return undefined;
    try {
      return await this.#work(node, signal);
    } catch (error) {
      if (error instanceof OperationError) await this.#tellBlind(error, signal);
      throw error;
    }
  }

  async #work(node: Node, signal: AbortSignal): Promise<Again> {
    const { groups, node: name } = this.#parts;
    const note = clusterNoteOf(this.#reports.look());
    const isAsked = [...groups.values()].some((group) => !isNobodys(group, name));
    if (note?.isUnmanaged === true && !isAsked) return this.#tellOfLvmd(signal);
    const known = new Map([...(await this.#memory.read()), ...(await this.#begun.lost())]);
    const present = new Set((await this.#host()).vgs.map((vg) => vg.name));
    const tolerations = note?.tolerations;
    const { givenUp } = this.#memory;
    const seen = { node, report: this.#reports.object, known, givenUp, present };
    const wished = () => wishFor({ ...seen, groups: [...groups.values()], tolerations });
    const skew = this.#parts.skew();
    if (skew !== undefined) return this.#standStill(wished(), skew, signal);
    const troubles: Troubles = new Map();
    await this.#settleNotes(wished(), troubles, signal);
    const isClosed = await this.#isClosed(wished(), troubles);
    const { wish, kept } = isClosed
      ? { wish: wished(), kept: new Map<string, readonly string[]>() }
      : await this.#permitWipes(wished(), troubles);
    await this.#markAll(wish, troubles, signal);
    if (!isClosed) await this.#make(wish, troubles);
    const unserved = await this.#serve(wish);
    const gone: LvmVolumeGroup[] = [];
    for (const group of wish.leaving) {
      const { name } = group.metadata;
      // What is still served cannot be taken away.
      const why = unserved.get(name) ?? (await this.#take(group, seen));
      if (why === undefined) gone.push(group);
      else troubles.set(name, why);
    }
    // Also where nothing is asked for yet: who plans the first LVMCluster wants to see the disks.
    const looked = await this.#parts.engine.observeNode(pathsNamed(wish.desired.volumeGroups));
    await this.#settleMemory(wish, looked, troubles);
    const sight = { wish, devices: looked.devices, troubles, unserved, kept, skew };
    const told = this.#told(sight, looked);
    this.#sight = sight;
    await this.#noteWipes(sight, told, signal);
    await this.#tellDisks(looked, troubles);
    await this.#reports.tell(told, signal);
    // Whoever makes it anew must not find it told of.
    for (const group of gone) await this.#marks.unmark(group, signal);
    if (unserved.size > 0) troubles.set('lvmd.yaml', [...new Set(unserved.values())].join('; '));
    this.#logOnce(troubles);
    const isSettled = troubles.size === 0 && told.every(({ status }) => status === 'Ready');
    const isOpen =
      told.some((one) => one.deviceDiscoveryPolicy === 'RuntimeDynamic') ||
      wish.desired.volumeGroups.some((vg) => looked !== undefined && awaitsDevices(vg, looked));
    if (!isSettled || wish.leaving.length > 0) return { afterMs: agentLimits.groupsAgainMs };
    // Of what has left the note is struck out.
    if (this.#noted(wish).length > 0) return { afterMs: agentLimits.groupsSettleMs };
    return isOpen ? { afterMs: agentLimits.devicesAgainMs } : undefined;
  }

  /** The operator may mean something else by its groups: what is there is told, and stays. */
  async #standStill(wish: NodeWish, skew: Blocked, signal: AbortSignal): Promise<Again> {
    const troubles: Troubles = new Map(
      wish.leaving.map(({ metadata }) => [metadata.name, `${skew.code}: ${skew.message}`]),
    );
    const node = await this.#parts.engine.observeNode(pathsNamed(wish.desired.volumeGroups));
    const nothing = { unserved: new Map(), kept: new Map() };
    this.#sight = { wish, devices: node.devices, troubles, ...nothing, skew };
    await this.#tellDisks(node, troubles);
    await this.#reports.tell(this.#told(this.#sight, node), signal);
    return { afterMs: agentLimits.groupsAgainMs };
  }

  /** The file and its groups are the administrator's: nothing is made and nothing written. */
  async #tellOfLvmd(signal: AbortSignal): Promise<undefined> {
    // What was wanted before is not told again.
    this.#sight = undefined;
    await this.#reports.tell(externalReport(this.#parts.lvmd(), await this.#host()), signal);
    return undefined;
  }

  async #tellDisks(node: ObservedNode, troubles: Troubles): Promise<void> {
    try {
      const wipes = await this.#memory.wipes();
      const { known, givenUp } = this.#memory;
      this.#parts.tellDisks({ node, known, givenUp, wipes });
    } catch (error) {
      // Whoever plans goes by what was told before.
      troubles.set('', whyOf(error));
    }
  }

  #logOnce(troubles: Troubles): void {
    const messages = [...troubles].map(([name, why]) => (name === '' ? why : `${name}: ${why}`));
    for (const message of messages) {
      if (!this.#logged.has(message)) this.#parts.log({ level: 'warn', message });
    }
    this.#logged = new Set(messages);
  }

  async #markAll(wish: NodeWish, troubles: Troubles, signal: AbortSignal): Promise<void> {
    for (const group of wish.unmarked) {
      try {
        await this.#marks.mark(group, signal);
      } catch (error) {
        // One that cannot be marked keeps no other from being made.
        if (!(error instanceof KubeError)) throw error;
        troubles.set('', `LVMVolumeGroup ${group.metadata.name}: ${error.message}`);
      }
    }
  }

  #noted({ served }: NodeWish): readonly LvmVolumeGroup[] {
    const { node } = this.#parts;
    return served.filter((group) => noteText(releaseNote(group, node)) !== undefined);
  }

  /** No disk is taken for a class that could not be served afterwards. */
  async #isClosed({ desired }: NodeWish, troubles: Troubles): Promise<boolean> {
    if (desired.volumeGroups.length === 0) return false;
    try {
      await this.#parts.files.checkLvmd();
      return false;
    } catch (error) {
      const why = `nothing is made, because it could not be served: ${whyOf(error)}`;
      for (const { name } of desired.volumeGroups) troubles.set(name, why);
      return true;
    }
  }

  /** Which PVs shall leave is written down before any of them does. */
  async #settleNotes(wish: NodeWish, troubles: Troubles, signal: AbortSignal): Promise<void> {
    const { engine, node: name } = this.#parts;
    const { desired } = wish;
    const noted = this.#noted(wish);
    if (noted.length === 0) return;
    try {
      const left = noted.flatMap((group) => Object.keys(releaseNote(group, name)));
      const node = await engine.observeNode([...pathsNamed(desired.volumeGroups), ...left]);
      for (const group of noted) {
        const vg = desired.volumeGroups.find((each) => each.name === group.metadata.name);
        const before = releaseNote(group, name);
        const after = vg === undefined ? before : noteAfterLook(before, vg, node);
        if (isSameJson(before, after)) continue;
        // What has left is bare for good before it is forgotten.
        if (Object.keys(after).length < Object.keys(before).length) {
          await engine.flush(group.metadata.name, node);
        }
        await this.#marks.noteRelease(group, after, signal);
      }
    } catch (error) {
      troubles.set('', `devices that shall leave: ${whyOf(error)}`);
    }
  }

  /** A disk is written down before it is wiped, and never wiped a second time. */
  async #permitWipes(wish: NodeWish, troubles: Troubles): Promise<Pick<Sight, 'wish' | 'kept'>> {
    const { volumeGroups } = wish.desired;
    const wiping = volumeGroups.filter(({ selector }) => selector.forceWipe);
    if (wiping.length === 0) return { wish, kept: new Map() };
    try {
      const before = await this.#memory.wipes();
      const node = await this.#parts.engine.observeNode(pathsNamed(volumeGroups));
      const { desired, wipes, kept } = permittedWipes(wish.desired, node, before);
      await this.#memory.noteWipes(wipes);
      return { wish: { ...wish, desired }, kept };
    } catch (error) {
      const why = `nothing is wiped: ${whyOf(error)}`;
      troubles.set('', why);
      return { wish, kept: new Map(wiping.map(({ name }) => [name, [why]])) };
    }
  }

  async #make({ desired }: NodeWish, troubles: Troubles): Promise<void> {
    const { engine } = this.#parts;
    for (const vg of desired.volumeGroups) {
      try {
        const last = this.#memory.lastOf(vg.name);
        if (last !== undefined) await engine.dropGroup({ name: vg.name, uuid: last });
        const task = this.#begun.noting(volumeGroupTask(vg, desired));
        const { uuid } = settled(await engine.submitNode(task));
        if (uuid !== undefined) await this.#memory.learn(vg.name, uuid);
        await this.#memory.forgetLeaving(vg.name);
      } catch (error) {
        troubles.set(vg.name, whyOf(error));
      }
    }
    for (const pool of desired.thinPools) {
      if (!this.#memory.known.has(pool.vg)) continue;
      try {
        settled(await engine.submit(thinPoolTask(pool)));
      } catch (error) {
        const why = poolReason(`${pool.vg}/${pool.name}`, whyOf(error));
        troubles.set(pool.vg, troubles.get(pool.vg) ?? why);
      }
    }
  }

  async #settleMemory(wish: NodeWish, node: ObservedNode, troubles: Troubles): Promise<void> {
    try {
      await this.#begun.settle(node);
      await this.#begun.settleLabels(node);
      // Also one that lacks a disk, and of which nothing can be learned.
      await this.#memory.keep(groupsHere(wish.desired, node));
    } catch (error) {
      // The next round begins with it.
      troubles.set('', whyOf(error));
    }
  }

  async #host() {
    const { model } = this.#parts.engine;
    return (model.newest ?? (await model.refresh())).host;
  }

  /** Classes whose groups were made here once; what is away today is still theirs. */
  async #serve({ served, leaving }: NodeWish): Promise<Unserved> {
    const { files, log } = this.#parts;
    const groups = served
      .filter(({ metadata: { name } }) => this.#memory.known.has(name) && !isTooLong(name))
      .map(({ metadata, spec = {} }) => ({ name: metadata.name, spec }));
    // What is not asked for today may be tomorrow, and an administrator's words stand with it.
    const owned = leaving.map(({ metadata }) => metadata.name);
    try {
      return await serveClasses(files, { groups, owned }, log);
    } catch (error) {
      const why = `lvmd.yaml: ${whyOf(error)}`;
      // It may be in there, or get there before us.
      return new Map(['', ...owned].map((name) => [name, why]));
    }
  }

  async #take(
    group: LvmVolumeGroup,
    seen: Parameters<GroupRemoval['take']>[1],
  ): Promise<string | undefined> {
    try {
      await this.#removal.take(group, seen);
      return undefined;
    } catch (error) {
      return whyOf(error);
    }
  }

  #told(
    { wish, troubles, unserved, kept, skew }: Sight,
    node: ObservedNode,
  ): readonly LvmVolumeGroupStatus[] {
    const { served, unmarked, leaving, desired } = wish;
    const all = [...served, ...unmarked];
    const { moves } = this.#parts.engine;
    const made = reportFor(all, desired, node, this.#reports.told)
      .map((one) => withTrouble(one, troubles.get(one.name ?? '')))
      .map((one) => withMove(one, moves.in(one.name ?? '')))
      .map((one) => withWarnings(one, kept.get(one.name ?? '') ?? []))
      .map((one) => withSkew(one, skew));
    const staying = leaving.flatMap((group) => {
      const why = troubles.get(group.metadata.name);
      return why === undefined ? [] : [stayReport(group, node, why)];
    });
    return [...withServing(made, this.#parts.lvmd(), unserved), ...staying];
  }

  /** LVM is looked at anyway: what changed by itself is told without another look. */
  #looked(host: ObservedHost): void {
    if (this.#sight === undefined) return;
    const told = this.#told(this.#sight, { ...host, devices: this.#sight.devices });
    if (isSameJson(told, this.#reports.told)) return;
    const isRoom = isSameJson(told.map(withoutRoom), this.#reports.told.map(withoutRoom));
    this.#queue.addAfter(tellKey, isRoom ? agentLimits.groupsRoomMs : agentLimits.groupsLookMs);
  }

  async #tellAgain(signal: AbortSignal): Promise<Again> {
    const sight = this.#sight;
    if (sight === undefined) return undefined;
    const told = this.#told(sight, { ...(await this.#host()), devices: sight.devices });
    await this.#reports.tell(told, signal);
    // There may be something to do about it.
    if (told.some(({ status }) => status !== 'Ready')) this.changed();
    return undefined;
  }

  /** Nothing can be seen of this node: what was told is not known to be so any more. */
  async #tellBlind(error: OperationError, signal: AbortSignal): Promise<void> {
    // Or the next report would be told by what was seen before, and the next round blindly again.
    this.#sight = undefined;
    const told = this.#reports.told.map((one) =>
      withTrouble({ ...one, status: 'Progressing' }, whyOf(error)),
    );
    await this.#reports.tell(told, signal);
  }

  /** What was wiped once is never wiped again, whatever becomes of the disk. */
  async #noteWipes(
    { wish, devices }: Sight,
    told: readonly LvmVolumeGroupStatus[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const group of wish.served) {
      const { metadata, spec } = group;
      const mayWipe = spec?.deviceSelector?.forceWipeDevicesAndDestroyAllData === true;
      const isMade = told.some(
        ({ name, devices }) => name === metadata.name && devices !== undefined,
      );
      if (!mayWipe || this.#marks.isWiped(group) || !isMade) continue;
      const desired = wish.desired.volumeGroups.find(({ name }) => name === metadata.name);
      const before = await this.#memory.wipes();
      if (desired !== undefined) {
        await this.#memory.noteWipes(endedWipes(desired, devices, before));
      }
      await this.#marks.noteWipe(group, signal);
    }
  }
}

function withoutRoom({ size: _size, free: _free, ...rest }: LvmVolumeGroupStatus) {
  return rest;
}

function whyOf(error: unknown): string {
  if (error instanceof KubeError) return error.message;
  if (!(error instanceof OperationError)) throw error;
  return `${error.code}: ${error.message}`;
}
