import type { Bytes } from '../base/bytes.ts';
import { type Blocked, failures, OperationError } from '../base/failures.ts';
import { showList } from '../base/show.ts';
import { type Capacity, capacityOf } from '../core/capacity.ts';
import {
  isAccountedFor,
  type RecordedVolumes,
  type RemovalNotes,
  recordsIn,
  type SeenIn,
  type VolumeRecord,
} from '../core/catalog.ts';
import { desiredClone } from '../core/clone/desired.ts';
import type { ClaimMark } from '../core/cluster/logical-volume.ts';
import { type DeviceClass, findDeviceClass, withOptionClass } from '../core/device-class.ts';
import { guardedPools, isFilling } from '../core/guard.ts';
import { findVg, type ObservedHost, type ObservedLv, type ObservedVg } from '../core/observed.ts';
import { awayGroups } from '../core/own-group.ts';
import type { PublishedVolume } from '../core/publication/desired.ts';
import { type DesiredSnapshot, desiredSnapshot } from '../core/snapshot/desired.ts';
import { copyingTag, isOurs, readBytes, tagOf } from '../core/tags.ts';
import { isBlocked, usableVg } from '../core/usable-vg.ts';
import { absentVolume, desiredVolume } from '../core/volume/desired.ts';
import { sizeInGroup } from '../core/volume/plan.ts';
import type { VolumeStatus } from '../core/volume/status.ts';
import { type Access, type SizeRange, sizeFor, withinLimit } from '../core/volume-size.ts';
import type { Engine } from '../engine/engine.ts';
import { asOperationError } from '../engine/execute.ts';
import type { Guarded } from '../engine/guard.ts';
import { settled, type Task } from '../engine/job.ts';
import type { Signal } from '../engine/ports.ts';
import type { Publisher } from '../engine/publisher.ts';
import { cloneTask, snapshotTask, volumeTask } from '../engine/tasks.ts';
import { expand } from './expansion.ts';
import { orThrow, overtaken } from './outcome.ts';
import { adoptedUuid, checkSame, isCut, onlyOne, poolIn } from './same-volume.ts';

export type VolumesParts = {
  readonly engine: Engine;
  readonly publisher: Pick<Publisher, 'unseen'>;
  /** The classes as they are configured now; an edit of the file changes them. */
  readonly classes: () => readonly DeviceClass[];
  /** A name that no volume ever had. */
  readonly newId: () => string;
  readonly nowMs: () => number;
  /** In a cluster its objects name volumes that others made: those are grown and removed, too. */
  readonly recorded?: RecordedVolumes;
  readonly removals?: RemovalNotes;
};

export type CreateVolume = {
  readonly name: string;
  /** Chosen by who keeps the record of it; it is found by it again. */
  readonly id?: string;
  readonly className: string;
  readonly optionClass: string;
  readonly range: SizeRange;
  readonly uses: readonly Access[];
  readonly source: { readonly kind: 'volume' | 'snapshot'; readonly id: string } | undefined;
  /** In a cluster: the claim it is for. It is marked until a PersistentVolume takes its place. */
  readonly claim?: ClaimMark | undefined;
};

export type LocatedVolume = { readonly volume: PublishedVolume; readonly lv: ObservedLv };

export type CreateSnapshot = {
  readonly name: string;
  readonly id?: string;
  readonly sourceId: string;
};

/**
 * Volumes and snapshots of a host without a cluster. LVM's names and tags are all that is
 * remembered, so a restart at any point loses nothing and the same request finds its result.
 */
export class Volumes {
  readonly #parts: VolumesParts;
  /** Requests that failed without telling what became of them, and how many a look came after. */
  #failures = 0;
  #failuresSeen = 0;

  constructor(parts: VolumesParts) {
    this.#parts = parts;
  }

  get #turns() {
    return this.#parts.engine.turns;
  }

  /** The newest report; it has everything that was ever answered. No lvm run, but the first. */
  async host(): Promise<ObservedHost> {
    const { model } = this.#parts.engine;
    return (model.newest ?? (await model.refresh())).host;
  }

  async records(): Promise<readonly VolumeRecord[]> {
    return recordsIn(await this.host(), this.#groups(), this.#parts.recorded);
  }

  /** With what was made when the look after it failed: it is in no report that we have. */
  async recordsMade(): Promise<readonly VolumeRecord[]> {
    const count = this.#failures;
    if (this.#failuresSeen < count) {
      await this.#parts.engine.observe();
      this.#failuresSeen = Math.max(this.#failuresSeen, count);
    }
    return this.records();
  }

  async find(kind: VolumeRecord['kind'], id: string): Promise<VolumeRecord | undefined> {
    return (await this.records()).find((record) => record.id === id && record.kind === kind);
  }

  /** A volume to be shown, whoever made it: what other systems made is served as it is. */
  async locate(id: string): Promise<LocatedVolume> {
    return (await this.known(id)) ?? located(await this.get('volume', id));
  }

  /** The same, where nobody has to wait for a look. */
  async known(id: string): Promise<LocatedVolume | undefined> {
    const groups = this.#groups();
    const found = (await this.host()).vgs
      .filter(({ name }) => groups.has(name))
      .flatMap((vg) => vg.lvs.filter(({ name }) => name === id).map((lv) => ({ vg, lv })))
      .filter(({ lv }) => lv.kind !== 'thin-pool');
    const [first, second] = found;
    if (first !== undefined && second !== undefined) {
      const where = `${first.vg.name} and ${second.vg.name}`;
      throw new OperationError('VolumeAmbiguous', `${id} is in ${where}`);
    }
    return first === undefined ? undefined : located(first);
  }

  /** One that must be there. */
  async get(
    kind: VolumeRecord['kind'],
    id: string,
    code: 'VolumeNotFound' | 'SourceNotFound' = 'VolumeNotFound',
  ): Promise<VolumeRecord> {
    const record = await this.#lookFor(id);
    if (record?.kind === kind) return record;
    await this.checkSeen(`the ${kind} ${id}`);
    throw new OperationError(code, `there is no ${kind} ${id}`);
  }

  create(request: CreateVolume, signal?: Signal): Promise<VolumeRecord> {
    const key = request.id ?? `volume ${request.name}`;
    return this.#turns.run(key, () => overtaken(() => this.#create(request), signal), signal);
  }

  expand(id: string, range: SizeRange, signal?: Signal): Promise<VolumeRecord> {
    return this.#turns.run(id, () => this.#expand(id, range), signal);
  }

  snapshot(request: CreateSnapshot, signal?: Signal): Promise<VolumeRecord> {
    const key = request.id ?? `snapshot ${request.name}`;
    return this.#turns.run(key, () => overtaken(() => this.#snapshot(request), signal), signal);
  }

  async remove(kind: VolumeRecord['kind'], id: string, signal?: Signal): Promise<void> {
    const groupId = (await this.find(kind, id))?.groupId;
    if (groupId !== undefined) {
      const message = `the snapshot ${id} is part of the group snapshot ${groupId}`;
      throw new OperationError('SnapshotInGroup', message);
    }
    return this.#turns.run(id, () => this.#remove(kind, id), signal);
  }

  /** One snapshot of a group, taken while everybody holds still. */
  async takeMember(
    sourceId: string,
    tags: readonly string[],
    id: string = this.#parts.newId(),
  ): Promise<VolumeRecord> {
    const source = await this.get('volume', sourceId, 'SourceNotFound');
    const desired = desiredSnapshot({
      name: id,
      source: sourceId,
      sourceUuid: source.lv.uuid,
      deviceClass: orThrow(this.classOf(source)),
      tags,
    });
    return this.#bring(snapshotTask(orThrow(desired)));
  }

  removeMember(id: string): Promise<void> {
    return this.#turns.run(id, () => this.#remove('snapshot', id));
  }

  /** Whatever it is: who keeps the record of it says that it shall go. */
  async removeRecorded(id: string, kind: VolumeRecord['kind'], signal?: Signal): Promise<void> {
    const work = async () => {
      const record = await this.#lookFor(id);
      if (record !== undefined) await this.#parts.removals?.note(id, record.vg.uuid);
      return this.#remove(record?.kind ?? kind, id);
    };
    return this.#turns.run(id, work, signal);
  }

  /** What a class can still give; nothing where the class or its group is not here. */
  async capacity(className: string, optionClass: string): Promise<Capacity | undefined> {
    const deviceClass = findDeviceClass(this.#parts.classes(), className);
    if (isBlocked(deviceClass)) return undefined;
    const chosen = withOptionClass(deviceClass, optionClass);
    const vg = findVg(await this.host(), deviceClass.vg);
    return isBlocked(chosen) || vg === undefined ? undefined : capacityOf(chosen, vg);
  }

  /** What must grow before it is full: pools that may, and our CoW snapshots. */
  guarded(host: ObservedHost): Guarded {
    const snapshots = recordsIn(host, this.#groups())
      .filter(({ lv }) => isFilling(lv))
      .flatMap((record) => this.#asDesired(record));
    return { pools: guardedPools(this.#parts.classes()), snapshots };
  }

  #asDesired(record: VolumeRecord): readonly DesiredSnapshot[] {
    const { id: name, sourceId: source = '', lv } = record;
    const deviceClass = this.classOf(record);
    if (isBlocked(deviceClass)) return [];
    const desired = desiredSnapshot({ name, source, deviceClass, uuid: lv.uuid });
    return isBlocked(desired) ? [] : [desired];
  }

  /** The class that a volume was made in; a class that is gone leaves its volumes usable. */
  classOf(record: VolumeRecord): DeviceClass | Blocked {
    const classes = this.#parts.classes();
    const inGroup = classes.filter(({ vg }) => vg === record.vg.name);
    return (
      inGroup.find(({ name }) => name === record.className) ??
      inGroup.find(({ layout }) => record.lv.pool === poolIn(layout)) ??
      inGroup[0] ??
      findDeviceClass(classes, record.className ?? '')
    );
  }

  async #create(request: CreateVolume): Promise<VolumeRecord> {
    const asked = orThrow(sizeFor(request.range, request.uses));
    const existing = await this.#existing('volume', request);
    // What was made without our tags is complete as it is, but for its size and its activation.
    if (existing !== undefined && !isOurs(existing.lv.tags)) return this.#adopt(existing, asked);
    const deviceClass = orThrow(this.#classFor(request, existing));
    if (existing !== undefined) checkSame(existing, request, deviceClass, asked);
    const id = existing?.id ?? request.id ?? this.#parts.newId();
    const sizeBytes = existing === undefined || isCut(existing, asked) ? asked : existing.sizeBytes;
    const { source, range } = request;
    const from = source === undefined ? [] : [tagOf('from', source.kind)];
    const tags = [...this.#marks(request.name), tagOf('asked', String(asked)), ...from];
    const seen = existing?.lv.uuid;
    const wanted = { name: id, className: deviceClass.name, sizeBytes, tags, seen };
    await this.#checkLimit({ ...wanted, deviceClass }, range.limitBytes);
    // It may be deleted before this has its turn: then it is made under another id.
    const task =
      source === undefined
        ? volumeTask(orThrow(desiredVolume(wanted, [deviceClass])))
        : cloneTask(
            orThrow(
              desiredClone(
                {
                  ...wanted,
                  source: source.id,
                  sourceUuid: await this.#sourceUuid(source, existing),
                },
                [deviceClass],
              ),
            ),
          );
    try {
      return await this.#bring(task);
    } catch (error) {
      await this.#giveUp(id, deviceClass.vg, asked, error);
      throw error;
    }
  }

  /** A default may be another class by the time of a retry; by its id a volume keeps its own. */
  #classFor(request: CreateVolume, existing: VolumeRecord | undefined): DeviceClass | Blocked {
    if (request.id !== undefined && existing !== undefined) return this.classOf(existing);
    const base = findDeviceClass(this.#parts.classes(), request.className);
    return isBlocked(base) ? base : withOptionClass(base, request.optionClass);
  }

  async #adopt(existing: VolumeRecord, asked: Bytes): Promise<VolumeRecord> {
    const { id: name, lv } = existing;
    const deviceClass = orThrow(this.classOf(existing));
    const wanted = { name, className: deviceClass.name, sizeBytes: asked, uuid: lv.uuid };
    const desired = orThrow(desiredVolume(wanted, [deviceClass]));
    return this.#bring(volumeTask({ ...desired, isAdopted: true }));
  }

  /**
   * A refusal that is final sends the caller elsewhere: what was begun here would be nobody's.
   * After a failure that passes it stays, because the same request goes on with it.
   */
  async #giveUp(id: string, vgName: string, asked: Bytes, error: unknown): Promise<void> {
    if (!(error instanceof OperationError) || failures[error.code].retry === 'backoff') return;
    const record = (await this.records()).find((one) => one.id === id && one.vg.name === vgName);
    if (record === undefined) return;
    if (!record.lv.tags.includes(copyingTag) && !isCut(record, asked)) return;
    // If this fails too, the same request finds it and tries again.
    const task = volumeTask(absentVolume(vgName, id, record.lv.uuid));
    await this.#parts.engine.submit(task).catch(asOperationError);
  }

  /** A clone that is complete needs its source no more. */
  async #sourceUuid(
    source: NonNullable<CreateVolume['source']>,
    existing: VolumeRecord | undefined,
  ): Promise<string | undefined> {
    const { kind, id } = source;
    if (existing === undefined) return (await this.get(kind, id, 'SourceNotFound')).lv.uuid;
    return (await this.find(kind, id))?.lv.uuid;
  }

  async #checkLimit(
    wanted: Parameters<typeof desiredVolume>[0] & { readonly deviceClass: DeviceClass },
    limitBytes: bigint,
  ): Promise<void> {
    const volume = orThrow(desiredVolume(wanted, [wanted.deviceClass]));
    const vg = usableVg(await this.host(), wanted.deviceClass.vg);
    if (!isBlocked(vg)) orThrow(withinLimit(sizeInGroup(volume, vg), limitBytes));
  }

  async #expand(id: string, range: SizeRange): Promise<VolumeRecord> {
    const record = await this.get('volume', id);
    const deviceClass = orThrow(this.classOf(record));
    const asked = orThrow(sizeFor(range, []));
    const isLargeEnough = asked <= record.sizeBytes;
    if (isLargeEnough) orThrow(withinLimit(record.sizeBytes, range.limitBytes));
    if (isLargeEnough && !isGrowing(record)) {
      await this.#parts.engine.kept(({ uuid }) => uuid === record.vg.uuid);
      return this.#whole(record);
    }
    const wanted = {
      name: id,
      className: deviceClass.name,
      sizeBytes: asked,
      uuid: record.lv.uuid,
    };
    if (!isLargeEnough) await this.#checkLimit({ ...wanted, deviceClass }, range.limitBytes);
    const isAdopted = !isOurs(record.lv.tags);
    const desired = { ...orThrow(desiredVolume(wanted, [deviceClass])), isAdopted };
    const bring = (task: Task<VolumeStatus>) => this.#bring(task);
    return expand({ ...this.#parts, lv: record.lv, desired, bring });
  }

  async #snapshot(request: CreateSnapshot): Promise<VolumeRecord> {
    const { name, sourceId } = request;
    const existing = await this.#existing('snapshot', request);
    if (existing !== undefined && existing.sourceId !== sourceId) {
      const message = `the snapshot ${name} exists and is of ${existing.sourceId ?? 'nothing'}`;
      throw new OperationError('VolumeDiffers', `${message}, not of ${sourceId}`);
    }
    // It is told as not ready: whoever gets an error instead never learns its id to delete it.
    if (existing?.lv.isInvalid === true) return existing;
    // A snapshot outlives its thin source: what is there needs no source any more.
    const source = existing ?? (await this.get('volume', sourceId, 'SourceNotFound'));
    const deviceClass = orThrow(this.classOf(source));
    const desired = desiredSnapshot({
      name: existing?.id ?? request.id ?? this.#parts.newId(),
      source: sourceId,
      deviceClass,
      tags: this.#marks(name),
      ...(existing === undefined ? { sourceUuid: source.lv.uuid } : adoptedUuid(existing)),
      seen: existing?.lv.uuid,
    });
    return this.#bring(snapshotTask(orThrow(desired)));
  }

  async #remove(kind: VolumeRecord['kind'], id: string): Promise<void> {
    const record = await this.#lookFor(id);
    if (record === undefined) {
      const seenIn = this.#parts.removals?.get(id);
      return this.checkGone(`the ${kind} ${id}`, ({ name }) => name === id, seenIn);
    }
    if (record.kind !== kind) {
      throw new OperationError('InvalidRequest', `${id} is a ${record.kind}, no ${kind}`);
    }
    const records = await this.records();
    const reader = records.find((one) => one.sourceId === id && one.lv.tags.includes(copyingTag));
    if (reader !== undefined) {
      throw new OperationError('VolumeInUse', `${reader.id} is still being copied from ${id}`);
    }
    const volume = { vg: record.vg.name, name: id, uuid: record.lv.uuid };
    const deviceClass = this.classOf(record);
    const discards = !isBlocked(deviceClass) && deviceClass.wipePolicy === 'discard';
    const isAdopted = !isOurs(record.lv.tags);
    const absent = { ...absentVolume(volume.vg, id, volume.uuid), vgUuid: record.vg.uuid };
    const task = volumeTask({ ...absent, isAdopted, discards });
    // A raw device that is shown to a pod is not open, so LVM alone would let it go.
    const work = () => this.#parts.engine.submit(task);
    settled(await this.#parts.publisher.unseen(volume, work));
  }

  /** A report that may be a minute old cannot say that it is gone. */
  async #lookFor(id: string): Promise<VolumeRecord | undefined> {
    const known = onlyOne(await this.records(), id);
    if (known !== undefined) return known;
    await this.#parts.engine.observe();
    return onlyOne(await this.records(), id);
  }

  /**
   * "It is gone" is said only where every group was seen that it can be in and keeps that, and
   * nobody else's volume is meant.
   */
  async checkGone(what: string, isIt: (lv: ObservedLv) => boolean, seenIn?: SeenIn): Promise<void> {
    await this.checkSeen(what, seenIn);
    const groups = this.#groups();
    const found = (await this.host()).vgs.flatMap((vg) =>
      vg.lvs.filter((lv) => isIt(lv) && !lv.isInternal).map((lv) => ({ vg, lv })),
    );
    const isNamed = ({ name, tags }: ObservedLv) =>
      isOurs(tags) || this.#parts.recorded?.get(name) !== undefined;
    const unserved = found.find(({ vg, lv }) => !groups.has(vg.name) && isNamed(lv));
    if (unserved !== undefined) {
      const { vg, lv } = unserved;
      const message = `${vg.name}/${lv.name} is in a volume group that no device class names`;
      throw new OperationError('VolumeGroupNotServed', message);
    }
    const foreign = found.find(({ vg }) => groups.has(vg.name));
    const isIn = (vg: ObservedVg) => (seenIn ? vg.uuid === seenIn.vgUuid : groups.has(vg.name));
    if (foreign === undefined) return this.#parts.engine.kept(isIn);
    const message = `${foreign.vg.name}/${foreign.lv.name} was not made by this driver`;
    throw new OperationError('NotOurs', message);
  }

  async #bring(task: Task<VolumeStatus>): Promise<VolumeRecord> {
    const { name } = settled(await this.#submit(task));
    const record = (await this.records()).find(({ id }) => id === name);
    if (record !== undefined) return this.#whole(record);
    throw new OperationError('VolumeLost', `${name} was made, and somebody removed it at once`);
  }

  async #whole(record: VolumeRecord): Promise<VolumeRecord> {
    await this.#parts.engine.whole(record);
    return record;
  }

  async #submit(task: Task<VolumeStatus>) {
    try {
      return await this.#parts.engine.submit(task);
    } catch (error) {
      this.#failures += 1;
      throw error;
    }
  }

  async #existing(
    kind: VolumeRecord['kind'],
    { id, name }: { readonly id?: string; readonly name: string },
  ): Promise<VolumeRecord | undefined> {
    if (id === undefined) return this.#named(kind, name);
    const found = onlyOne(await this.recordsMade(), id);
    if (found === undefined || found.kind === kind) return found;
    throw new OperationError('VolumeDiffers', `${id} is there, and it is a ${found.kind}`);
  }

  async #named(kind: VolumeRecord['kind'], name: string): Promise<VolumeRecord | undefined> {
    const isIt = (record: VolumeRecord) => record.name === name && record.kind === kind;
    if (!(await this.recordsMade()).some(isIt)) return undefined;
    // An administrator may have removed it since: its id must not be given to another volume.
    await this.#parts.engine.observe();
    return (await this.records()).find(isIt);
  }

  #marks(name: string): readonly string[] {
    return [tagOf('name', name), tagOf('created', String(this.#parts.nowMs()))];
  }

  #groups(): ReadonlySet<string> {
    return new Set(this.#parts.classes().map(({ vg }) => vg));
  }

  /**
   * What is in no group that we see is only gone where no group is away; or where the one is here
   * that it was seen in last, or was removed by us.
   */
  async checkSeen(what: string, seenIn?: SeenIn): Promise<void> {
    if (isAccountedFor(seenIn, await this.host())) return;
    const missing = await this.missingGroups();
    if (missing.length === 0) return;
    const message = `${what} may be in ${showList(missing)}, which cannot be read`;
    throw new OperationError('VolumeGroupMissing', message);
  }

  /** Groups of the configuration that are not here. */
  async missingGroups(): Promise<readonly string[]> {
    return awayGroups(this.#parts.classes(), await this.host());
  }
}

function located({ vg, lv }: Pick<VolumeRecord, 'vg' | 'lv'>): LocatedVolume {
  return { volume: { vg: vg.name, name: lv.name, uuid: lv.uuid }, lv };
}

/** It grew, and its new end is not overwritten yet. */
export function isGrowing({ lv }: VolumeRecord): boolean {
  return readBytes(lv.tags, 'grownFrom') !== undefined;
}
