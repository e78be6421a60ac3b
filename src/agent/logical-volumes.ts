import type { LogicalVolume, LogicalVolumeStatus } from '../api/objects/logical-volume.ts';
import { showQuantity } from '../api/quantity.ts';
import type { Bytes } from '../base/bytes.ts';
import { type Blocked, failures, OperationError } from '../base/failures.ts';
import type { RemovalNotes } from '../core/catalog.ts';
import { groupIn } from '../core/cluster/agent-group.ts';
import {
  type AgentDecision,
  type AgentMember,
  type AgentView,
  decideLogicalVolume,
  type Failure,
  type Verdict,
  verdictOnCreation,
  verdictOnGrowth,
  type WantedGroup,
  type WantedVolume,
} from '../core/cluster/agent-volume.ts';
import type { ClusterNames } from '../core/cluster/names.ts';
import type { DeviceClass } from '../core/device-class.ts';
import type { ObservedHost } from '../core/observed.ts';
import { awayGroups } from '../core/own-group.ts';
import type { SnapshotGroup } from '../core/snapshot-group/catalog.ts';
import { isBlocked } from '../core/usable-vg.ts';
import type { Groups } from '../csi/groups.ts';
import { failureMessage, numberOf } from '../csi/status.ts';
import type { Volumes } from '../csi/volumes.ts';
import type { Engine } from '../engine/engine.ts';
import type { KubeClient } from '../kube/client.ts';
import { isKubeError, KubeError } from '../kube/errors.ts';
import type { Informer } from '../kube/informer.ts';
import type { Kind } from '../kube/kind.ts';
import type { Patch } from '../kube/patch.ts';
import type { Chance, Clock } from '../kube/ports.ts';
import { type Again, WorkQueue } from '../kube/queue.ts';
import type { Change } from '../kube/store.ts';
import { agentLimits } from './limits.ts';
import type { Log } from './log.ts';
import { conditionPatch, markPatch, releasePatch, statusPatch } from './patches.ts';

export type LogicalVolumesParts = {
  readonly client: KubeClient;
  readonly kind: Kind<LogicalVolume>;
  readonly informer: Informer<LogicalVolume>;
  readonly names: ClusterNames;
  readonly node: string;
  readonly engine: Engine;
  readonly volumes: Volumes;
  readonly groups: Groups;
  readonly removals: Pick<RemovalNotes, 'get'>;
  readonly classes: () => readonly DeviceClass[];
  readonly clock: Clock;
  readonly chance: Chance;
  readonly log: Log;
  /** Why nothing new is done. */
  readonly skew: () => Blocked | undefined;
  /** Told after each change of LVM. */
  readonly changed: () => void;
};

/**
 * Brings about what the LogicalVolumes of this node ask for. The object is the intent and LVM the
 * truth: whatever was cut off is found again by the UID, which is the name of the LV.
 */
export class LogicalVolumes {
  readonly #parts: LogicalVolumesParts;
  readonly #queue: WorkQueue;
  readonly #leave = new AbortController();
  /** Requests to grow that were refused for good, by UID. */
  readonly #refused = new Map<string, string>();
  /** Names of those that look at another one: copies and members of groups. */
  readonly #linked = new Set<string>();
  /** UIDs of what was made in this life, until their objects say so. */
  readonly #untold = new Set<string>();
  /** Groups that are being taken, and those that failed for good: all members hear the same. */
  readonly #groupRuns = new Map<string, Promise<SnapshotGroup>>();
  /** Groups of which the server is being asked whether all members are still wanted. */
  readonly #groupAsks = new Map<string, Promise<boolean>>();

  constructor(parts: LogicalVolumesParts) {
    this.#parts = parts;
    this.#queue = new WorkQueue({
      ...{ clock: parts.clock, chance: parts.chance, workers: agentLimits.volumesAtOnce },
      ...{ firstWaitMs: agentLimits.retryFirstMs, longestWaitMs: agentLimits.retryLongestMs },
      work: (name, signal) => this.#work(name, signal),
      trouble: (name, error, waitMs) => this.#trouble(name, error, waitMs),
    });
  }

  /** Until the signal fires and what is under way has ended, or was given up after a while. */
  async run(signal: AbortSignal): Promise<void> {
    const { informer, clock } = this.#parts;
    const left = informer.onChange((change) => this.#changed(change));
    const ended = new AbortController();
    const giveUp = async () => {
      await clock.sleep(agentLimits.stopGraceMs, ended.signal);
      this.#leave.abort();
    };
    const stop = () => void giveUp();
    signal.addEventListener('abort', stop, { once: true });
    try {
      await this.#queue.run(signal);
    } finally {
      signal.removeEventListener('abort', stop);
      ended.abort();
      left();
    }
  }

  /** Classes, groups or versions came or went: what was refused may work now. */
  lookAgain(): void {
    for (const { metadata } of this.#parts.informer.values()) this.#queue.add(metadata.name);
  }

  /** A look at the host may show that something is wrong with a volume, or well again. */
  looked(host: ObservedHost): void {
    const { names, node, classes, informer, skew } = this.#parts;
    const world = {
      skew: skew(),
      names,
      node,
      classes: classes(),
      host,
      source: undefined,
      members: [],
    };
    for (const object of informer.values()) {
      const view = { ...world, object, refusedRequest: undefined, seenIn: undefined };
      const isMade = (object.status?.volumeID ?? '') !== '';
      if (isMade && decideLogicalVolume(view).kind === 'condition') {
        this.#queue.add(object.metadata.name);
      }
    }
  }

  #changed({ type, object }: Change<LogicalVolume>): void {
    const { name, uid } = object.metadata;
    this.#queue.add(name);
    const group = groupIdOf(object);
    if (type === 'deleted') this.#linked.delete(name);
    else if ((object.spec.source ?? '') !== '' || group !== undefined) this.#linked.add(name);
    for (const linked of this.#linked) {
      const other = this.#parts.informer.get({ name: linked });
      if (other === undefined) continue;
      const isMember = group !== undefined && groupIdOf(other) === group;
      if (other.spec.source === name || isMember) this.#queue.add(linked);
    }
    if (object.metadata.deletionTimestamp === undefined) return;
    this.#refused.delete(uid);
    if (group !== undefined) this.#groupRuns.delete(group);
  }

  async #work(name: string, signal: AbortSignal): Promise<Again> {
    let object = this.#parts.informer.get({ name });
    while (object !== undefined && !signal.aborted) {
      const decision = decideLogicalVolume(await this.#view(object));
      if (decision.kind !== 'mark') return this.#carryOut(object, decision);
      object = await this.#write(object, markPatch(object, decision));
    }
    return undefined;
  }

  async #view(object: LogicalVolume): Promise<AgentView> {
    const { names, node, classes, volumes, informer } = this.#parts;
    const group = groupIdOf(object);
    const others = group === undefined ? [] : [...informer.values()];
    const members: AgentMember[] = [];
    for (const other of others.filter((one) => groupIdOf(one) === group)) {
      members.push({ object: other, source: await this.#sourceOf(other) });
    }
    return {
      ...{ names, node, object, members, classes: classes(), host: await volumes.host() },
      source: await this.#sourceOf(object),
      seenIn: this.#parts.removals.get(object.metadata.uid),
      refusedRequest: this.#refused.get(object.metadata.uid),
      skew: this.#parts.skew(),
    };
  }

  /** One without our label is in no store of ours on older clusters: then the server is asked. */
  async #sourceOf({ spec, metadata, status }: LogicalVolume): Promise<LogicalVolume | undefined> {
    const { client, kind, informer, node } = this.#parts;
    const isNeeded = metadata.deletionTimestamp === undefined && (status?.volumeID ?? '') === '';
    if (!isNeeded || spec.source === undefined || spec.source === '') return undefined;
    const known = informer.get({ name: spec.source });
    if (known !== undefined) return known;
    const found = await client.find(kind, { name: spec.source });
    return found?.spec.nodeName === node ? found : undefined;
  }

  async #carryOut(object: LogicalVolume, decision: AgentDecision): Promise<Again> {
    const { volumes } = this.#parts;
    const { signal } = this.#leave;
    switch (decision.kind) {
      case 'rest':
      case 'mark':
        return undefined;
      case 'wait':
        // Its source may be one that no watch of ours shows.
        return { afterMs: agentLimits.waitLookMs };
      case 'create':
        return this.#make(object, () => this.#create(decision.volume));
      case 'snapshot':
        return this.#make(object, () => volumes.snapshot(decision.snapshot, signal));
      case 'group':
        return this.#make(
          object,
          () => this.#takeGroup(object, decision.group),
          () => this.#areWanted(decision.group),
        );
      case 'expand':
        return this.#expand(object, decision);
      case 'fill':
        return this.#tell(object, told(object.metadata.uid, decision.sizeBytes));
      case 'remove':
        await volumes.removeRecorded(decision.id, decision.volume, signal);
        this.#parts.changed();
        await this.#release(object, decision.finalizers);
        return undefined;
      case 'condition':
        await this.#write(object, conditionPatch(object, decision.value));
        return undefined;
      case 'fail':
        return this.#fail(object, decision);
      case 'refuse':
        throw new OperationError(decision.code, decision.message);
    }
  }

  #create({ sizeBytes, ...volume }: WantedVolume) {
    const range = { requiredBytes: sizeBytes, limitBytes: 0n };
    return this.#parts.volumes.create({ ...volume, range, uses: [] }, this.#leave.signal);
  }

  /** Each member asks for the group; the first one has it taken, and all get their own of it. */
  async #takeGroup(object: LogicalVolume, { id, name, members }: WantedGroup) {
    const known = this.#groupRuns.get(id);
    const run =
      known ??
      this.#parts.groups.create(name, [...members.keys()], this.#leave.signal, { id, members });
    if (known === undefined) this.#groupRuns.set(id, run);
    try {
      const group = await run;
      this.#groupRuns.delete(id);
      const own = group.members.find((member) => member.id === object.metadata.uid);
      if (own !== undefined) return own;
    } catch (error) {
      const isKept = error instanceof OperationError && verdictOnGrowth(error).kind === 'final';
      if (!isKept) this.#groupRuns.delete(id);
      throw error;
    }
    const message = `the group snapshot ${name} was taken without ${object.spec.name}`;
    throw new OperationError('VolumeLost', message);
  }

  async #make(
    object: LogicalVolume,
    work: () => Promise<{ readonly id: string; readonly sizeBytes: Bytes }>,
    isWanted = () => this.#isWanted(object),
  ): Promise<Again> {
    const { uid } = object.metadata;
    const wasThere = await this.#isThere(uid);
    if (!wasThere && !(await isWanted())) return undefined;
    try {
      const { id, sizeBytes } = await work();
      if (!wasThere) this.#untold.add(uid);
      this.#parts.changed();
      await this.#tell(object, told(id, sizeBytes));
      this.#untold.delete(uid);
      return undefined;
    } catch (error) {
      if (error instanceof OperationError) return this.#fail(object, error);
      if (error instanceof KubeError) await this.#takeBack(object, error);
      throw error;
    }
  }

  /**
   * A list may be older than the object's end, which an earlier life of ours brought about. What
   * was made for it would be nobody's if we died before that is told, and as long as the object is
   * here it does not end without us. It may also be older than what was told of the object: what
   * was made once is lost by now, and an empty one must not stand in its place.
   */
  async #isWanted({ metadata: { name, uid } }: LogicalVolume): Promise<boolean> {
    const { client, kind } = this.#parts;
    const live = await client.find(kind, { name });
    if (live?.metadata.uid !== uid || live.metadata.deletionTimestamp !== undefined) return false;
    const { volumeID = '', code = 0 } = live.status ?? {};
    return volumeID === '' && code === 0;
  }

  /** Whoever takes a group takes what is for the others, too, and asks for them all. */
  async #areWanted(group: WantedGroup): Promise<boolean> {
    const { id } = group;
    if (this.#groupRuns.has(id)) return true;
    const asked =
      this.#groupAsks.get(id) ??
      this.#askForAll(group).finally(() => void this.#groupAsks.delete(id));
    this.#groupAsks.set(id, asked);
    return asked;
  }

  async #askForAll({ members }: WantedGroup): Promise<boolean> {
    const ids = new Set(members.values());
    for (const one of this.#parts.informer.values()) {
      const { uid } = one.metadata;
      if (!ids.has(uid) || (await this.#isThere(uid))) continue;
      if (!(await this.#isWanted(one))) return false;
    }
    return true;
  }

  async #isThere(id: string): Promise<boolean> {
    const { vgs } = await this.#parts.volumes.host();
    return vgs.some(({ lvs }) => lvs.some(({ name }) => name === id));
  }

  /**
   * Somebody let the object go by hand meanwhile. What was made in this life for one that is gone
   * was told to nobody, and nobody would ever remove it.
   */
  async #takeBack(object: LogicalVolume, { code }: KubeError): Promise<void> {
    const { client, kind, volumes, log } = this.#parts;
    const { name, uid } = object.metadata;
    if (!this.#untold.has(uid) || (code !== 'NotFound' && code !== 'Conflict')) return;
    const live = await client.find(kind, { name });
    if (live?.metadata.uid === uid) return;
    log({ level: 'warn', message: 'made for an object that is gone: removed', volume: uid, name });
    await volumes.removeRecorded(uid, 'volume', this.#leave.signal);
    this.#untold.delete(uid);
  }

  async #expand(
    object: LogicalVolume,
    wanted: Extract<AgentDecision, { kind: 'expand' }>,
  ): Promise<Again> {
    const { volumes } = this.#parts;
    const range = { requiredBytes: wanted.sizeBytes, limitBytes: 0n };
    try {
      const { id, sizeBytes } = await volumes.expand(wanted.id, range, this.#leave.signal);
      this.#parts.changed();
      return await this.#tell(object, told(id, sizeBytes));
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      const verdict = verdictOnGrowth(error);
      if (verdict.kind === 'again') throw error;
      await this.#tell(object, refusal(verdict));
      this.#refused.set(object.metadata.uid, wanted.request);
      return undefined;
    }
  }

  /** Nobody hears of a failure before a look showed that nothing came of it. */
  async #fail(object: LogicalVolume, failure: Failure): Promise<Again> {
    const { engine, classes } = this.#parts;
    const { host } = await engine.observe();
    const away = awayGroups(classes(), host);
    const verdict = verdictOnCreation(failure, object.metadata.uid, host, away);
    if (verdict.kind === 'again') throw asError(failure);
    return this.#tell(object, refusal(verdict));
  }

  async #tell(object: LogicalVolume, status: LogicalVolumeStatus): Promise<undefined> {
    await this.#write(object, statusPatch(object, status), { subresource: 'status' });
    const { uid: volume, name } = object.metadata;
    const level = (status.code ?? 0) === 0 ? 'info' : 'warn';
    this.#parts.log({ level, message: status.message || 'told', volume, name, status });
    return undefined;
  }

  async #write(
    object: LogicalVolume,
    patch: Patch,
    options: { readonly subresource?: string } = {},
  ): Promise<LogicalVolume> {
    const { client, kind, informer } = this.#parts;
    const written = await client.patch(kind, { name: object.metadata.name }, patch, options);
    // What was deleted is gone with its last finalizer, and only the watch tells.
    if ((written.metadata.finalizers ?? []).length > 0) informer.putOwn(written);
    return written;
  }

  /** With its last finalizer the object itself is gone. */
  async #release(object: LogicalVolume, finalizers: readonly string[]): Promise<void> {
    try {
      await this.#write(object, releasePatch(object, finalizers));
    } catch (error) {
      if (!isKubeError(error, 'NotFound')) throw error;
    }
  }

  #trouble(name: string, error: unknown, waitMs: number): void {
    if (!(error instanceof OperationError) && !(error instanceof KubeError)) throw error;
    const { code, message } = error;
    const volume = this.#parts.informer.get({ name })?.metadata.uid;
    this.#parts.log({ level: 'warn', message: `${code}: ${message}`, volume, name, waitMs });
  }
}

function groupIdOf(object: LogicalVolume): string | undefined {
  const group = groupIn(object);
  return group === undefined || isBlocked(group) ? undefined : group.id;
}

function told(volumeID: string, sizeBytes: Bytes): LogicalVolumeStatus {
  return { volumeID, currentSize: showQuantity(sizeBytes), code: 0, message: '' };
}

function refusal({ code, message }: Extract<Verdict, { kind: 'final' }>): LogicalVolumeStatus {
  return { code: numberOf(failures[code].grpc), message: failureMessage(code, message) };
}

function asError(failure: Failure): OperationError {
  if (failure instanceof OperationError) return failure;
  return new OperationError(failure.code, failure.message);
}
