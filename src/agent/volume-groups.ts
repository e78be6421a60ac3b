import { isUnmanaged } from '../api/lvm-cluster/check.ts';
import { lvmdTextFor } from '../api/lvm-cluster/lvmd-text.ts';
import { decodeLvmdFile } from '../api/lvmd-file/decode.ts';
import { showFinding } from '../api/lvmd-file/findings.ts';
import type { LvmCluster } from '../api/objects/lvm-cluster.ts';
import type {
  LvmVolumeGroup,
  LvmVolumeGroupNodeStatus,
  LvmVolumeGroupStatus,
} from '../api/objects/lvm-volume-group.ts';
import type { Node } from '../api/objects/storage.ts';
import { isSameJson } from '../api/same.ts';
import { OperationError } from '../base/failures.ts';
import { pathsNamed } from '../core/device/plan.ts';
import { externalReport, type LvmdSight } from '../core/lvm-cluster/external-report.ts';
import type { Inventory } from '../core/lvm-cluster/inventory.ts';
import { reportFor } from '../core/lvm-cluster/node-report.ts';
import { leavingNode, type NodeWish, wishFor } from '../core/lvm-cluster/node-wish.ts';
import { byAge } from '../core/lvm-cluster/objects.ts';
import { noteAfterLook, noteText, releaseNote } from '../core/lvm-cluster/release.ts';
import { permitFor } from '../core/permit.ts';
import { isBlocked } from '../core/usable-vg.ts';
import type { DesiredVg } from '../core/volume-group/desired.ts';
import type { Engine } from '../engine/engine.ts';
import { settled } from '../engine/job.ts';
import { thinPoolTask, volumeGroupTask } from '../engine/tasks.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/errors.ts';
import type { Informer } from '../kube/informer.ts';
import { lvmNodeStatusKind } from '../kube/lvms-kinds.ts';
import { pointer } from '../kube/patch.ts';
import type { Chance, Clock } from '../kube/ports.ts';
import { type Again, WorkQueue } from '../kube/queue.ts';
import { GroupMarks } from './group-marks.ts';
import { agentLimits } from './limits.ts';
import type { Log } from './log.ts';

/** What is kept on the node's own disk. */
export type NodeFiles = {
  /** Undefined where there is none. */
  readLvmd(): Promise<string | undefined>;
  /**
   * Instead of what stood there when it was read; refused when that is another text by now. What
   * it says is in force when this is done, if it can be.
   */
  writeLvmd(text: string, before: string | undefined): Promise<void>;
  readKnown(): Promise<ReadonlyMap<string, string>>;
  writeKnown(known: ReadonlyMap<string, string>): Promise<void>;
  /** Groups that are being removed. */
  readLeaving(): Promise<ReadonlyMap<string, string>>;
  writeLeaving(leaving: ReadonlyMap<string, string>): Promise<void>;
};

export type VolumeGroupsParts = {
  readonly client: KubeClient;
  readonly nodes: Informer<Node>;
  readonly clusters: Informer<LvmCluster>;
  readonly groups: Informer<LvmVolumeGroup>;
  readonly reports: Informer<LvmVolumeGroupNodeStatus>;
  readonly node: string;
  readonly engine: Engine;
  readonly files: NodeFiles;
  /** Hears of the disks with every look at them. */
  readonly tellDisks: (inventory: Inventory) => void;
  readonly lvmd: () => LvmdSight;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly log: Log;
};

const key = 'groups';

/**
 * Volume groups of this node as an LVMCluster asks for them: made, grown, told of, and taken away
 * again. Which classes are served follows from lvmd.yaml, which is written here and read as ever.
 */
export class VolumeGroups {
  readonly #parts: VolumeGroupsParts;
  readonly #queue: WorkQueue;
  readonly #marks: GroupMarks;
  #known: ReadonlyMap<string, string> | undefined;

  constructor(parts: VolumeGroupsParts) {
    this.#parts = parts;
    this.#marks = new GroupMarks(parts);
    this.#queue = new WorkQueue({
      ...{ clock: parts.clock, chance: parts.chance, workers: 1 },
      ...{ firstWaitMs: agentLimits.retryFirstMs, longestWaitMs: agentLimits.retryLongestMs },
      work: (_key, signal) => this.#round(signal),
      trouble: (_key, error, waitMs) => {
        if (!(error instanceof KubeError) && !(error instanceof OperationError)) throw error;
        parts.log({ level: 'warn', message: `volume groups: ${error.message}`, waitMs });
      },
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { nodes, clusters, groups, reports } = this.#parts;
    const changed = () => this.changed();
    const ends = [nodes, clusters, groups, reports].map((store) => store.onChange(changed));
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
    const { nodes, clusters, groups, reports, node: name, files } = this.#parts;
    if (![nodes, clusters, groups, reports].every(({ hasSynced }) => hasSynced)) return undefined;
    const node = nodes.get({ name });
    if (node === undefined) return undefined;
    const report = [...reports.values()].find(({ metadata }) => metadata.name === name);
    const [cluster] = [...clusters.values()].toSorted(byAge);
    if (cluster !== undefined && isUnmanaged(cluster) && groups.size === 0) {
      return this.#tellOfLvmd(report, signal);
    }
    // An administrator may have given a group up.
    this.#known = await files.readKnown();
    const present = new Set((await this.#host()).vgs.map((vg) => vg.name));
    const tolerations = cluster?.spec?.tolerations ?? [];
    const seen = { node, report, known: this.#known, present };
    const wished = () => wishFor({ ...seen, groups: [...groups.values()], tolerations });
    const troubles = await this.#settleNotes(wished(), signal);
    const wish = wished();
    troubles.push(...(await this.#markAll(wish, signal)));
    troubles.push(...(await this.#make(wish)));
    const unserved = await this.#serve(wish);
    if (unserved !== undefined) troubles.push(unserved);
    // What is still served cannot be taken away.
    const leaving = unserved === undefined ? wish.leaving : [];
    const gone: LvmVolumeGroup[] = [];
    for (const group of leaving) {
      const stays = await this.#take(group, seen);
      if (stays.length === 0) gone.push(group);
      troubles.push(...stays);
    }
    const before = report?.spec?.nodeStatus ?? [];
    const told = withServing(await this.#told(wish, before), this.#parts.lvmd(), unserved);
    await this.#noteWipes(wish, told, signal);
    if (report !== undefined) await this.#tell(report, told, signal);
    // Whoever makes it anew must not find it told of.
    for (const group of gone) await this.#marks.unmark(group, signal);
    const isSettled = troubles.length === 0 && told.every(({ status }) => status === 'Ready');
    for (const message of troubles) this.#parts.log({ level: 'warn', message });
    const isOpen = told.some((one) => one.deviceDiscoveryPolicy === 'RuntimeDynamic');
    if (!isSettled || wish.leaving.length > 0) return { afterMs: agentLimits.groupsAgainMs };
    return isOpen ? { afterMs: agentLimits.devicesAgainMs } : undefined;
  }

  /** The file and its groups are the administrator's: nothing is made and nothing written. */
  async #tellOfLvmd(
    report: LvmVolumeGroupNodeStatus | undefined,
    signal: AbortSignal,
  ): Promise<undefined> {
    const told = externalReport(this.#parts.lvmd(), await this.#host());
    if (report !== undefined) await this.#tell(report, told, signal);
    return undefined;
  }

  async #markAll({ unmarked }: NodeWish, signal: AbortSignal): Promise<string[]> {
    const troubles: string[] = [];
    for (const group of unmarked) {
      try {
        await this.#marks.mark(group, signal);
      } catch (error) {
        // One that cannot be marked keeps no other from being made.
        if (!(error instanceof KubeError)) throw error;
        troubles.push(`LVMVolumeGroup ${group.metadata.name}: ${error.message}`);
      }
    }
    return troubles;
  }

  /** Which PVs shall leave is written down before any of them does. */
  async #settleNotes({ served, desired }: NodeWish, signal: AbortSignal): Promise<string[]> {
    const { engine, node: name } = this.#parts;
    const noted = served.filter((group) => noteText(releaseNote(group, name)) !== undefined);
    const [first] = noted;
    if (first === undefined) return [];
    try {
      const left = noted.flatMap((group) => Object.keys(releaseNote(group, name)));
      const paths = [...pathsNamed(desired.volumeGroups), ...left];
      const node = await engine.observeNode(paths);
      for (const group of noted) {
        const vg = desired.volumeGroups.find((each) => each.name === group.metadata.name);
        const before = releaseNote(group, name);
        const after = vg === undefined ? before : noteAfterLook(before, vg, node);
        if (!isSameJson(before, after)) await this.#marks.noteRelease(group, after, signal);
      }
      return [];
    } catch (error) {
      if (error instanceof KubeError) return [error.message];
      return [troubleOf('devices that shall leave', error)];
    }
  }

  async #make({ desired }: NodeWish): Promise<string[]> {
    const { engine } = this.#parts;
    const troubles: string[] = [];
    for (const vg of desired.volumeGroups) {
      try {
        const { uuid } = settled(await engine.submitNode(volumeGroupTask(vg, desired)));
        if (uuid !== undefined) await this.#learn(vg.name, uuid);
        await this.#forgetLeaving(vg.name);
      } catch (error) {
        troubles.push(troubleOf(`volume group ${vg.name}`, error));
      }
    }
    for (const pool of desired.thinPools) {
      if (this.#known?.has(pool.vg) !== true) continue;
      try {
        settled(await engine.submit(thinPoolTask(pool)));
      } catch (error) {
        troubles.push(troubleOf(`thin pool ${pool.vg}/${pool.name}`, error));
      }
    }
    return troubles;
  }

  async #host() {
    const { model } = this.#parts.engine;
    return (model.newest ?? (await model.refresh())).host;
  }

  /** On disk before anybody hears of the group. */
  async #learn(name: string, uuid: string | undefined): Promise<void> {
    const known = new Map(this.#known);
    if (known.get(name) === uuid) return;
    if (uuid === undefined) known.delete(name);
    else known.set(name, uuid);
    await this.#parts.files.writeKnown(known);
    this.#known = known;
  }

  /** Classes whose groups were made here once; what is away today is still theirs. */
  async #serve({ served, leaving }: NodeWish): Promise<string | undefined> {
    const { files, log } = this.#parts;
    const known = this.#known ?? new Map<string, string>();
    const groups = served
      .filter(({ metadata }) => known.has(metadata.name))
      .map(({ metadata, spec = {} }) => ({ name: metadata.name, spec }));
    // What is not asked for today may be tomorrow, and an administrator's words stand with it.
    const owned = leaving.map(({ metadata }) => metadata.name);
    try {
      const before = await files.readLvmd();
      const after = lvmdTextFor(before, groups, owned);
      if (after.kind === 'unreadable') {
        return `lvmd.yaml is left as it is, because it cannot be read: ${after.message}`;
      }
      const { text } = after;
      if (text === undefined || text === before) return undefined;
      const decoded = decodeLvmdFile({ file: 'lvmd.yaml', text, mayBeEmpty: true });
      if (decoded.kind === 'problems') {
        const why = decoded.problems.map(showFinding).join('; ');
        return `lvmd.yaml is left as it is, because with these classes it would be wrong: ${why}`;
      }
      await files.writeLvmd(text, before);
      log({
        level: 'info',
        message: 'lvmd.yaml was written',
        classes: groups.map((one) => one.name),
      });
      return undefined;
    } catch (error) {
      return troubleOf('lvmd.yaml', error);
    }
  }

  /** Nobody is given anything from it any more. It goes when it is empty, and only then. */
  async #take(
    group: LvmVolumeGroup,
    seen: Parameters<typeof leavingNode>[1],
  ): Promise<readonly string[]> {
    const { engine } = this.#parts;
    const { name } = group.metadata;
    const { volumeGroups, thinPools } = leavingNode(group, seen);
    try {
      for (const pool of thinPools) settled(await engine.submit(thinPoolTask(pool)));
      for (const vg of volumeGroups) {
        const all = { volumeGroups, thinPools, deviceClasses: [] };
        await this.#noteLeaving(vg);
        settled(await engine.submitNode(volumeGroupTask(vg, all)));
      }
      await this.#learn(name, undefined);
      await this.#forgetLeaving(name);
      return [];
    } catch (error) {
      return this.#stays(name, error);
    }
  }

  /**
   * One that is not to be seen was removed by us, or its disks are away: only a note that came
   * before its removal tells them apart. It is there only while the removal is under way.
   */
  async #noteLeaving({ name, ownerTag }: DesiredVg): Promise<void> {
    const { files } = this.#parts;
    const uuid = this.#known?.get(name);
    const noted = await files.readLeaving();
    if (uuid === undefined || noted.get(name) === uuid) return;
    const vg = await this.#seen(uuid);
    if (vg === undefined) {
      throw new OperationError('VolumeGroupLost', `no device of ${name} (${uuid}) is here`);
    }
    if (vg.name !== name) {
      const message = `${name} (${uuid}) was renamed to ${vg.name}: give it its name back`;
      throw new OperationError('VolumeGroupRenamed', message);
    }
    const permit = permitFor({ deed: 'remove-vg', vg, tag: ownerTag });
    if (isBlocked(permit)) throw new OperationError(permit.code, permit.message);
    await files.writeLeaving(new Map([...noted, [name, uuid]]));
  }

  async #forgetLeaving(name: string): Promise<void> {
    const { files } = this.#parts;
    const noted = new Map(await files.readLeaving());
    if (noted.delete(name)) await files.writeLeaving(noted);
  }

  async #stays(name: string, error: unknown): Promise<readonly string[]> {
    const trouble = troubleOf(`volume group ${name} stays`, error);
    try {
      const isHere = (await this.#seen(this.#known?.get(name))) !== undefined;
      if (isHere) await this.#forgetLeaving(name);
      return [trouble];
    } catch (second) {
      return [trouble, troubleOf(`volume group ${name}`, second)];
    }
  }

  async #seen(uuid: string | undefined) {
    return (await this.#parts.engine.observe()).host.vgs.find((vg) => vg.uuid === uuid);
  }

  /** Also where nothing is asked for yet: who plans the first LVMCluster wants to see the disks. */
  async #told(
    { served, unmarked, desired }: NodeWish,
    before: readonly LvmVolumeGroupStatus[],
  ): Promise<readonly LvmVolumeGroupStatus[]> {
    const node = await this.#parts.engine.observeNode(pathsNamed(desired.volumeGroups));
    this.#parts.tellDisks({ node, known: this.#known ?? new Map() });
    return reportFor([...served, ...unmarked], desired, node, before);
  }

  /** What was wiped once is never wiped again, whatever becomes of the disk. */
  async #noteWipes(
    { served }: NodeWish,
    told: readonly LvmVolumeGroupStatus[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const group of served) {
      const { metadata, spec } = group;
      const mayWipe = spec?.deviceSelector?.forceWipeDevicesAndDestroyAllData === true;
      const isMade = told.some(
        ({ name, devices }) => name === metadata.name && devices !== undefined,
      );
      if (!mayWipe || this.#marks.isWiped(group) || !isMade) continue;
      await this.#marks.noteWipe(group, signal);
    }
  }

  async #tell(
    report: LvmVolumeGroupNodeStatus,
    nodeStatus: readonly LvmVolumeGroupStatus[],
    signal: AbortSignal,
  ): Promise<void> {
    if (isSameJson(report.spec?.nodeStatus ?? [], nodeStatus)) return;
    const { client, reports } = this.#parts;
    const operations = [
      { op: 'test', path: pointer('metadata', 'uid'), value: report.metadata.uid },
      { op: 'add', path: pointer('spec'), value: { nodeStatus } },
    ] as const;
    const patch = { type: 'json', operations } as const;
    reports.putOwn(await client.patch(lvmNodeStatusKind, report.metadata, patch, { signal }));
  }
}

/** A group is Ready when volumes can be made in it, and not before. */
function withServing(
  told: readonly LvmVolumeGroupStatus[],
  { classes }: LvmdSight,
  unserved: string | undefined,
): readonly LvmVolumeGroupStatus[] {
  const open = classes.filter(({ refusal }) => refusal === undefined).map(({ name }) => name);
  return told.map((one) => {
    if (one.status !== 'Ready' || open.includes(one.name ?? '')) return one;
    const reason =
      unserved ?? `lvmd.yaml does not give the device class ${one.name}, or is refused`;
    return { ...one, status: 'Degraded', reason };
  });
}

function troubleOf(what: string, error: unknown): string {
  if (!(error instanceof OperationError)) throw error;
  return `${what}: ${error.code}: ${error.message}`;
}
