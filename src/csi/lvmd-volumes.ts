import { type Bytes, bytes } from '../base/bytes.ts';
import { OperationError } from '../base/failures.ts';
import { show, showBytes, showList } from '../base/show.ts';
import { recordOf } from '../core/catalog.ts';
import { desiredClone } from '../core/clone/desired.ts';
import { isComplete } from '../core/complete.ts';
import { type DeviceClass, findDeviceClass, withOptionClass } from '../core/device-class.ts';
import { type LvmdCapacity, lvmdCapacities, lvmdFreeBytes } from '../core/lvmd-capacity.ts';
import { findLv, type ObservedHost, type ObservedLv } from '../core/observed.ts';
import { findOwnGroup, type OwnGroup, usableOwnVg } from '../core/own-group.ts';
import { desiredSnapshot } from '../core/snapshot/desired.ts';
import { checkCallerTags, copyingTag, isOurs, makingTag, readTag, tagOf } from '../core/tags.ts';
import { absentVolume, desiredVolume } from '../core/volume/desired.ts';
import { grownSize } from '../core/volume/plan.ts';
import type { Engine, PlacedLv } from '../engine/engine.ts';
import { asOperationError } from '../engine/execute.ts';
import type { Task } from '../engine/job.ts';
import type { Signal } from '../engine/ports.ts';
import type { Publisher } from '../engine/publisher.ts';
import { cloneTask, snapshotTask, volumeTask } from '../engine/tasks.ts';
import { expand } from './expansion.ts';
import { orThrow } from './outcome.ts';

/** A volume and the group it is in. */
type Named = { readonly name: string; readonly className: string };

export type CreateLv = Named & {
  readonly optionClass: string;
  readonly sizeBytes: bigint;
  readonly tags: readonly string[];
};

export type SnapshotLv = Named & {
  readonly source: string;
  readonly access: 'ro' | 'rw';
  /** 0: as large as the source. */
  readonly sizeBytes: bigint;
  readonly tags: readonly string[];
};

/**
 * Volumes as TopoLVM's node service asks for them: it chooses the names, keeps the records, and
 * formats and mounts by itself. So nothing made here ever carries our pending mark: a RAID carries
 * another one until it is complete, and TopoLVM hears of it only after that. What it names is
 * removed or grown though it carries no tag of ours: TopoLVM's own volumes have none.
 */
export class LvmdVolumes {
  readonly #engine: Engine;
  readonly #publisher: Pick<Publisher, 'unseen'>;
  readonly #classes: () => readonly DeviceClass[];

  constructor(parts: {
    readonly engine: Engine;
    readonly publisher: Pick<Publisher, 'unseen'>;
    readonly classes: () => readonly DeviceClass[];
  }) {
    this.#engine = parts.engine;
    this.#publisher = parts.publisher;
    this.#classes = parts.classes;
  }

  async create(request: CreateLv, signal?: Signal): Promise<PlacedLv> {
    const base = this.#class(request);
    return this.#inTurn(request, () => this.#create(request, base), signal);
  }

  async remove(request: Named, signal?: Signal): Promise<void> {
    const deviceClass = this.#class(request);
    return this.#inTurn(request, () => this.#remove(request, deviceClass), signal);
  }

  /** Its size afterwards. */
  async resize(request: Named & { readonly sizeBytes: bigint }, signal?: Signal): Promise<Bytes> {
    const deviceClass = this.#class(request);
    return this.#inTurn(request, () => this.#resize(request, deviceClass), signal);
  }

  async snapshot(request: SnapshotLv, signal?: Signal): Promise<PlacedLv> {
    const deviceClass = this.#class(request);
    return this.#inTurn(request, () => this.#snapshot(request, deviceClass), signal);
  }

  /** Everything that is a volume of the class, whoever made it, once it is complete. */
  async list(className: string): Promise<readonly PlacedLv[]> {
    const deviceClass = this.#class({ className });
    const { layout } = deviceClass;
    const vg = orThrow(usableOwnVg(await this.#host(), deviceClass, { mayBePartial: true }));
    const pool = layout.kind === 'thin' ? layout.pool : undefined;
    const isListed = (lv: ObservedLv) =>
      !lv.isInternal && lv.kind !== 'thin-pool' && lv.kind !== 'pvmove' && lv.pool === pool;
    return vg.lvs.filter((lv) => isListed(lv) && isComplete(lv)).map((lv) => ({ vg, lv }));
  }

  async freeBytes(className: string): Promise<Bytes> {
    return orThrow(lvmdFreeBytes(this.#class({ className }), await this.#host()));
  }

  /** What was answered without a look is looked at. */
  async settled(): Promise<void> {
    const { model } = this.#engine;
    if (model.newest === undefined) return;
    await model.current().catch(asOperationError);
  }

  /** From the newest report; nothing before there is one. */
  capacities(): readonly LvmdCapacity[] | undefined {
    const { newest } = this.#engine.model;
    return newest === undefined ? undefined : lvmdCapacities(this.#classes(), newest.host);
  }

  async #create(request: CreateLv, base: DeviceClass): Promise<PlacedLv> {
    const { name, tags } = request;
    const deviceClass = orThrow(withOptionClass(base, request.optionClass));
    refuseTags(tags);
    const sizeBytes = bytes(request.sizeBytes);
    const wanted = { name, className: base.name, sizeBytes, tags, preparedBy: 'caller' } as const;
    const desired = orThrow(desiredVolume(wanted, [deviceClass]));
    const existing = await this.#find(deviceClass, name);
    if (existing !== undefined && isCutOff(existing.lv)) await this.#discard(existing);
    else if (existing !== undefined) checkSame(existing, { ...desired, source: undefined });
    return this.#bring(volumeTask(desired), deviceClass, name);
  }

  /** Cut off in the making by an earlier call: nobody was told of it, so nobody has used it. */
  async #discard({ vg, lv }: PlacedLv): Promise<void> {
    const volume = { vg: vg.name, name: lv.name, uuid: lv.uuid };
    const absent = absentVolume(vg.name, lv.name, lv.uuid);
    const work = () => this.#engine.submit(volumeTask(absent));
    orThrow(await this.#publisher.unseen(volume, work));
  }

  async #remove({ name }: Named, deviceClass: DeviceClass): Promise<void> {
    // "It is gone" is a promise: a report that may be a minute old cannot give it.
    const known = await this.#find(deviceClass, name);
    if (known === undefined) await this.#engine.observe();
    const found = known ?? (await this.#find(deviceClass, name));
    if (found === undefined) refuseElsewhere(await this.#host(), deviceClass, name);
    const readers = (found?.vg.lvs ?? []).filter(
      (lv) => lv.tags.includes(copyingTag) && readTag(lv.tags, 'source') === name,
    );
    const { vg, vgUuid } = deviceClass;
    if (readers.length > 0) {
      const names = showList(readers.map((lv) => lv.name));
      throw new OperationError('VolumeInUse', `${names} is still being copied from ${vg}/${name}`);
    }
    const discards = deviceClass.wipePolicy === 'discard';
    const home = vgUuid === undefined ? {} : { vgUuid };
    const gone = { ...absentVolume(vg, name, found?.lv.uuid), ...home };
    const absent = { ...gone, isAdopted: true, discards };
    const work = () => this.#engine.submit(volumeTask(absent));
    // A raw device that is shown to a pod is not open, so LVM alone would let it go.
    const volume = { vg, name, uuid: found?.lv.uuid ?? '' };
    orThrow(await (found === undefined ? work() : this.#publisher.unseen(volume, work)));
  }

  async #resize(
    { name, sizeBytes }: Named & { readonly sizeBytes: bigint },
    deviceClass: DeviceClass,
  ): Promise<Bytes> {
    const { vg, lv } = await this.#get(deviceClass, name, 'VolumeNotFound');
    const wanted = {
      ...{ name, className: deviceClass.name, sizeBytes: bytes(sizeBytes), uuid: lv.uuid },
      preparedBy: 'caller',
    } as const;
    const desired = { ...orThrow(desiredVolume(wanted, [deviceClass])), isAdopted: true };
    if (grownSize(desired.sizeBytes, lv, vg) < lv.sizeBytes) {
      const has = `${vg.name}/${name} has ${showBytes(lv.sizeBytes)}`;
      throw new OperationError('ShrinkRefused', `${has}, asked for are ${sizeBytes} bytes`);
    }
    const parts = { engine: this.#engine, publisher: this.#publisher };
    const bring = (task: Task<unknown>) => this.#bring(task, deviceClass, name);
    return (await expand({ ...parts, lv, desired, bring })).lv.sizeBytes;
  }

  async #snapshot(request: SnapshotLv, deviceClass: DeviceClass): Promise<PlacedLv> {
    const { name, source: sourceName } = request;
    refuseTags(request.tags);
    const existing = await this.#find(deviceClass, name);
    // What is complete needs its source no more.
    const source =
      existing === undefined
        ? await this.#get(deviceClass, sourceName, 'SourceNotFound')
        : await this.#find(deviceClass, sourceName);
    const task =
      request.access === 'ro'
        ? frozen(request, deviceClass, source)
        : writable(request, deviceClass, { source, existing });
    return this.#bring(task, deviceClass, name);
  }

  async #bring(task: Task<unknown>, deviceClass: DeviceClass, name: string): Promise<PlacedLv> {
    orThrow(await this.#engine.submit(task));
    const found = await this.#find(deviceClass, name);
    if (found !== undefined) {
      await this.#engine.whole(found);
      return found;
    }
    throw new OperationError(
      'VolumeLost',
      `${deviceClass.vg}/${name} was made, and somebody removed it`,
    );
  }

  async #find(deviceClass: DeviceClass, name: string): Promise<PlacedLv | undefined> {
    return placed(await this.#host(), deviceClass, name);
  }

  /** One that must be there. Somebody may have made it just now: then a new look shows it. */
  async #get(
    deviceClass: DeviceClass,
    name: string,
    code: 'VolumeNotFound' | 'SourceNotFound',
  ): Promise<PlacedLv> {
    const known = await this.#find(deviceClass, name);
    if (known !== undefined) return known;
    const { host } = await this.#engine.observe();
    const vg = orThrow(usableOwnVg(host, deviceClass, { mayBePartial: true }));
    const lv = findLv(vg, name);
    if (lv !== undefined) return { vg, lv };
    throw new OperationError(code, `there is no volume ${vg.name}/${name}`);
  }

  /** A report: lvmd's clients are told lvm's own attributes of a volume. */
  async #host(): Promise<ObservedHost> {
    return (await this.#engine.model.current()).host;
  }

  #class({ className }: { readonly className: string }): DeviceClass {
    return orThrow(findDeviceClass(this.#classes(), className));
  }

  #inTurn<T>({ name }: Named, work: () => Promise<T>, signal: Signal | undefined): Promise<T> {
    if (name === '') throw new OperationError('InvalidRequest', 'name is missing');
    return this.#engine.turns.run(name, work, signal);
  }
}

/** A read-only snapshot has the size of its source, whatever room it takes itself. */
function frozen(
  request: SnapshotLv,
  deviceClass: DeviceClass,
  source: PlacedLv | undefined,
): Task<unknown> {
  const { name, source: sourceName, tags, sizeBytes } = request;
  if (source !== undefined && sizeBytes > 0n) {
    const asked = grownSize(bytes(sizeBytes), source.lv, source.vg);
    if (asked !== source.lv.sizeBytes) {
      const code = asked < source.lv.sizeBytes ? 'SourceLarger' : 'SizeOutOfRange';
      const has = `${sourceName} has ${showBytes(source.lv.sizeBytes)}`;
      const message = `a read-only snapshot of ${sizeBytes} bytes was asked for, and ${has}`;
      throw new OperationError(code, message);
    }
  }
  const identity = source === undefined ? {} : { sourceUuid: source.lv.uuid };
  const wanted = { name, source: sourceName, deviceClass, tags, ...identity };
  return snapshotTask(orThrow(desiredSnapshot(wanted)));
}

function writable(
  request: SnapshotLv,
  deviceClass: DeviceClass,
  found: { readonly source: PlacedLv | undefined; readonly existing: PlacedLv | undefined },
): Task<unknown> {
  const { name, source: sourceName } = request;
  const { source, existing } = found;
  const likeSource = (source ?? existing)?.lv.sizeBytes ?? bytes(0n);
  const sizeBytes = request.sizeBytes > 0n ? bytes(request.sizeBytes) : likeSource;
  const from = source === undefined ? 'volume' : recordOf(source.lv, source.vg).kind;
  const wanted = {
    ...{ name, source: sourceName, sourceUuid: source?.lv.uuid, className: deviceClass.name },
    sizeBytes,
    tags: [tagOf('from', from), tagOf('asked', String(sizeBytes)), ...request.tags],
  };
  const desired = orThrow(desiredClone(wanted, [deviceClass]));
  if (existing !== undefined) checkSame(existing, { ...desired, asked: sizeBytes });
  return cloneTask(desired);
}

/** A repeated request is the same request, or there is a volume of that name in its way. */
function checkSame(
  { vg, lv }: PlacedLv,
  wanted: {
    readonly deviceClass: DeviceClass;
    readonly sizeBytes: Bytes;
    readonly source: string | undefined;
    readonly asked?: Bytes;
  },
): void {
  const { deviceClass, source } = wanted;
  const { className, sourceId } = recordOf(lv, vg);
  const fits = lv.sizeBytes === grownSize(wanted.sizeBytes, lv, vg);
  // Asked for with this very size, and cut off before it had it.
  const isCut = readTag(lv.tags, 'asked') === String(wanted.asked) && !isComplete(lv);
  const differences = [
    ...(isOurs(lv.tags) ? [] : ['made by somebody else']),
    ...(className === deviceClass.name ? [] : [`in class ${className ?? 'unknown'}`]),
    ...(sourceId === source ? [] : [`made from ${sourceId ?? 'nothing'}`]),
    ...(fits || isCut ? [] : [`of ${lv.sizeBytes} bytes`]),
  ];
  if (differences.length === 0) return;
  const message = `${vg.name}/${lv.name} exists, ${showList(differences)}`;
  throw new OperationError('VolumeDiffers', message);
}

/**
 * A class that was moved to another group, or a wrong class: TopoLVM's names are UUIDs, so a volume
 * of that name in another group is the one that was meant, and it is not gone.
 */
function refuseElsewhere(host: ObservedHost, deviceClass: DeviceClass, name: string): void {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(name)) return;
  const vg = host.vgs.find((other) => findLv(other, name) !== undefined);
  if (vg === undefined) return;
  const what = `device_class is ${show(deviceClass.name)}, and its group is ${deviceClass.vg}`;
  throw new OperationError('InvalidRequest', `${what}; the volume ${name} is in ${vg.name}`);
}

function isCutOff({ tags }: ObservedLv): boolean {
  return isOurs(tags) && tags.includes(makingTag);
}

function placed(host: ObservedHost, home: OwnGroup, name: string): PlacedLv | undefined {
  const vg = findOwnGroup(host, home);
  const lv = vg === undefined ? undefined : findLv(vg, name);
  return vg === undefined || lv === undefined ? undefined : { vg, lv };
}

function refuseTags(tags: readonly string[]): void {
  const refusal = checkCallerTags(tags);
  if (refusal !== undefined) orThrow<object>(refusal);
}
