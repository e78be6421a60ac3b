import { createHash } from 'node:crypto';
import type { LogicalVolume } from '../api/objects/logical-volume.ts';
import { showQuantity } from '../api/quantity.ts';
import type { Bytes } from '../base/bytes.ts';
import { type Blocked, OperationError } from '../base/failures.ts';
import {
  askedSizeOf,
  failureIn,
  groupOf,
  growingProgress,
  isGoing,
  isMade,
  kindOf,
  makingProgress,
  newLogicalVolume,
  type Progress,
  readerOf,
  sizeOf,
  snapshotDiffers,
  sourceRefusal,
  volumeDiffers,
  volumeFacts,
  volumeSpec,
  type WantedVolume,
} from '../core/cluster/logical-volume.ts';
import { type Purpose, refusalOf } from '../core/cluster/logical-volume-refusal.ts';
import { clusterNames } from '../core/cluster/names.ts';
import {
  type Inventory,
  placeVolume,
  roomIn,
  type WantedClass,
} from '../core/cluster/placement.ts';
import { type Build, skewOfOperator } from '../core/cluster/skew.ts';
import { findStray, strayMessage } from '../core/cluster/strays.ts';
import { type SizeRange, sizeFor, withinLimit } from '../core/volume-size.ts';
import type { VolumeBook, VolumeView, Whereabouts } from '../csi/book.ts';
import { orThrow } from '../csi/outcome.ts';
import type { CreateSnapshot, CreateVolume } from '../csi/volumes.ts';
import type { Signal } from '../engine/ports.ts';
import { Turns } from '../engine/turns.ts';
import type { WallClock } from '../kube/ports.ts';
import type { Stores } from './duty.ts';
import {
  asAbortSignal,
  type Draft,
  LogicalVolumeObjects,
  left,
  type ObjectParts,
} from './logical-volumes-objects.ts';

export type BookParts = Omit<ObjectParts, 'store' | 'mayAsk'> & {
  readonly build: Build;
  readonly stores: Pick<Stores, 'logicalVolumes' | 'classes' | 'nodes' | 'capacities'>;
  readonly wall: WallClock;
  /** Throws where another instance leads: who asks for a change is told before anything is read. */
  readonly mayChange: () => void;
};

/** A request that met other writers so often is given back to who asked. */
const triesMax = 5;

/**
 * The volumes of a cluster, kept in its LogicalVolumes. An object is the intent and is made before
 * anything else; the agent of its node brings it about and says so in its status. A deadline ends
 * a wait and nothing else: the same request finds the object again.
 */
export class LogicalVolumeBook implements VolumeBook {
  readonly objects: LogicalVolumeObjects;
  readonly turns = new Turns();
  readonly #parts: BookParts;
  /** On their way to the server. */
  readonly #promised = new Set<Draft>();

  constructor(parts: BookParts) {
    this.#parts = parts;
    const mayAsk = (node: string) => this.#mayAsk(node);
    const store = parts.stores.logicalVolumes;
    this.objects = new LogicalVolumeObjects({ ...parts, store, mayAsk });
  }

  create(request: CreateVolume, nodes: Whereabouts, signal?: Signal): Promise<VolumeView> {
    const name = objectNameOf(request.name);
    return this.#turn(name, (leave) => this.#create(name, request, nodes, leave), signal);
  }

  async expand(id: string, range: SizeRange, signal?: Signal): Promise<VolumeView> {
    this.#parts.mayChange();
    const { name } = (await this.#known('volume', id)).metadata;
    return this.#turn(name, (leave) => this.#expand(id, range, leave), signal);
  }

  snapshot(request: CreateSnapshot, signal?: Signal): Promise<VolumeView> {
    const name = objectNameOf(request.name);
    return this.#turn(name, (leave) => this.#snapshot(name, request, leave), signal);
  }

  async remove(kind: VolumeView['kind'], id: string, signal?: Signal): Promise<void> {
    this.#parts.mayChange();
    const found = await this.objects.find(id);
    if (found === undefined) {
      this.#checkLeft(id);
      return;
    }
    const { name } = found.metadata;
    await this.#turn(name, (leave) => this.#remove(kind, id, leave), signal);
  }

  async get(kind: VolumeView['kind'], id: string): Promise<VolumeView> {
    return this.view(await this.#known(kind, id));
  }

  async list(): Promise<readonly VolumeView[]> {
    await this.checkSeen('a volume');
    const made = [...this.objects.all].filter(isMade).map((volume) => this.view(volume));
    return made.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  checkSeen(what: string): Promise<void> {
    if (this.objects.hasSynced) return Promise.resolve();
    const message = `${what} may be there: the LogicalVolumes have not been read yet`;
    return Promise.reject(new OperationError('ClusterUnavailable', message));
  }

  async capacity(wanted: WantedClass, node: string | undefined) {
    await this.checkSeen('room');
    return roomIn(wanted, node, this.#inventory());
  }

  view(volume: LogicalVolume): VolumeView {
    const facts = volumeFacts(volume, this.objects.named(volume.spec.source));
    const createdMs = Date.parse(volume.metadata.creationTimestamp ?? '');
    return { ...facts, createdMs: Number.isNaN(createdMs) ? undefined : createdMs };
  }

  /** A volume or snapshot that is made. */
  async made(
    kind: VolumeView['kind'],
    id: string,
    code: 'VolumeNotFound' | 'SourceNotFound',
  ): Promise<LogicalVolume> {
    const found = await this.objects.find(id);
    const isIt = found !== undefined && isMade(found) && !isGoing(found);
    if (isIt && kindOf(found) === kind) return found;
    throw new OperationError(code, `there is no ${kind} ${id}`);
  }

  /** Waits for the LV. What the node refused is gone when this rejects. */
  async finish(
    object: LogicalVolume,
    purpose: Purpose,
    signal: AbortSignal | undefined,
  ): Promise<LogicalVolume> {
    const { name, uid } = object.metadata;
    const look = (now: LogicalVolume | undefined) => settled(makingProgress(now, uid));
    if (look(object) === undefined) this.#mayAsk(object.spec.nodeName);
    const end = await this.objects.until(object, look, signal);
    if (end.kind === 'made') return end.volume;
    if (end.kind === 'gone') throw changedMeanwhile(name);
    // Gone first, told then: whoever hears it may ask another node for the same volume.
    await this.objects.remove(object, signal);
    throw thrown(refusalOf(end, purpose));
  }

  /** Found, or made: another writer may be faster with the same name, and then it is found. */
  async stood(
    name: string,
    draft: () => Promise<Draft>,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly volume: LogicalVolume; readonly isNew: boolean }> {
    for (let tries = 1; tries <= triesMax; tries += 1) {
      const found = await this.#standing(name, signal);
      if (found !== undefined) return { volume: found, isNew: false };
      const made = await this.#make(await draft());
      if (made !== undefined) return { volume: made, isNew: true };
      await this.objects.fresh(name, signal);
    }
    throw changedMeanwhile(name);
  }

  async #make(draft: Draft): Promise<LogicalVolume | undefined> {
    try {
      return await this.objects.make(draft);
    } finally {
      this.#promised.delete(draft);
    }
  }

  async #create(
    name: string,
    request: CreateVolume,
    nodes: Whereabouts,
    signal: AbortSignal | undefined,
  ): Promise<VolumeView> {
    const { className, optionClass, range, source } = request;
    const sizeBytes = orThrow(sizeFor(range, request.uses));
    const wanted = { name: request.name, className, optionClass, sizeBytes, range, source };
    const draft = () => this.#draft(name, { ...wanted, claim: request.claim }, nodes);
    const { volume, isNew } = await this.stood(name, draft, signal);
    if (!isNew) return this.#again(volume, wanted, signal);
    const made = await this.finish(volume, 'create', signal);
    const tooLarge = withinLimit(sizeOf(made), range.limitBytes);
    if (typeof tooLarge === 'bigint') return this.view(made);
    await this.objects.remove(made, signal);
    throw thrown(tooLarge);
  }

  async #draft(
    objectName: string,
    wanted: WantedVolume & Pick<CreateVolume, 'claim'>,
    nodes: Whereabouts,
  ): Promise<Draft> {
    const { source, claim } = wanted;
    const from = await this.#source(wanted, nodes);
    const node = from?.spec.nodeName ?? this.#place(wanted, nodes);
    const name = wanted.name.toLowerCase();
    const spec = volumeSpec(name, node, { ...wanted, source: from?.metadata.name });
    const draft = newLogicalVolume(this.#parts.names, { objectName, spec, source, claim });
    // Others who choose a node meanwhile see that this much of it is promised.
    this.#promised.add(draft);
    return draft;
  }

  /** The node of the object counts, whatever is asked for by now: volumes do not move. */
  async #again(
    existing: LogicalVolume,
    wanted: WantedVolume,
    signal: AbortSignal | undefined,
  ): Promise<VolumeView> {
    const refusal = volumeDiffers(existing, this.objects.named(existing.spec.source), wanted);
    if (refusal !== undefined) throw thrown(refusal);
    const volume = await this.finish(existing, 'create', signal);
    orThrow(withinLimit(sizeOf(volume), wanted.range.limitBytes));
    return this.view(volume);
  }

  /**
   * The object of this name, as the server has it. One that is going, or that its node refused
   * before, is waited for until it is gone: the request is begun anew.
   */
  async #standing(
    name: string,
    signal: AbortSignal | undefined,
  ): Promise<LogicalVolume | undefined> {
    if (this.objects.named(name) === undefined) return undefined;
    const found = await this.objects.fresh(name, signal);
    if (found === undefined) return undefined;
    const isRefused = !isMade(found) && failureIn(found) !== undefined;
    if (!isGoing(found) && !isRefused) return found;
    await this.objects.remove(found, signal);
    return undefined;
  }

  async #source(wanted: WantedVolume, nodes: Whereabouts): Promise<LogicalVolume | undefined> {
    if (wanted.source === undefined) return undefined;
    const source = await this.made(wanted.source.kind, wanted.source.id, 'SourceNotFound');
    const refusal = sourceRefusal(source, wanted, nodes);
    if (refusal !== undefined) throw thrown(refusal);
    return source;
  }

  /** An agent that does not go with us is taken only where no other will do, and says so then. */
  #place(wanted: WantedVolume, nodes: Whereabouts): string {
    const { stores, build } = this.#parts;
    const inventory = this.#inventory();
    const near = [...stores.nodes.values()].filter((one) => !skewOfOperator(one, build));
    const place = placeVolume(wanted, nodes, { ...inventory, nodes: near });
    if (place.kind === 'place') return place.node;
    return orThrow(placeVolume(wanted, nodes, inventory)).node;
  }

  async #snapshot(
    name: string,
    request: CreateSnapshot,
    signal: AbortSignal | undefined,
  ): Promise<VolumeView> {
    const { sourceId } = request;
    const draft = async () => {
      const source = await this.made('volume', sourceId, 'SourceNotFound');
      return this.snapshotDraft(name, source, sourceId);
    };
    const { volume, isNew } = await this.stood(name, draft, signal);
    const named = this.objects.named(volume.spec.source);
    const refusal = isNew ? undefined : snapshotDiffers(volume, named, request);
    if (refusal !== undefined) throw thrown(refusal);
    return this.view(await this.finish(volume, 'snapshot', signal));
  }

  snapshotDraft(
    name: string,
    source: LogicalVolume,
    sourceId: string,
    annotations: Readonly<Record<string, string>> = {},
  ): Draft {
    const spec = volumeSpec(name, source.spec.nodeName, {
      ...{ className: source.spec.deviceClass ?? '', optionClass: '', sizeBytes: sizeOf(source) },
      ...{ source: source.metadata.name, accessType: 'ro' },
    });
    return newLogicalVolume(this.#parts.names, {
      ...{ objectName: name, spec, annotations },
      source: { kind: 'volume', id: sourceId },
    });
  }

  async #expand(
    id: string,
    range: SizeRange,
    signal: AbortSignal | undefined,
  ): Promise<VolumeView> {
    const asked = orThrow(sizeFor(range, []));
    const { name } = (await this.#known('volume', id)).metadata;
    const volume = await this.#asked(name, asked, signal);
    const look = (now: LogicalVolume | undefined) =>
      settled(growingProgress(now, volume.metadata.uid, asked));
    const end = await this.objects.until(volume, look, signal);
    if (end.kind === 'gone') throw new OperationError('VolumeNotFound', `${name} was deleted`);
    if (end.kind === 'refused') {
      await this.#takeBack(name, asked);
      throw thrown(refusalOf(end, 'expand'));
    }
    orThrow(withinLimit(sizeOf(end.volume), range.limitBytes));
    return this.view(end.volume);
  }

  /** Says in the object what is wanted. An old failure is taken away before: it is no answer. */
  async #asked(
    name: string,
    asked: Bytes,
    signal: AbortSignal | undefined,
  ): Promise<LogicalVolume> {
    const { resizeRequestedAnnotation } = clusterNames(this.#parts.names);
    for (let tries = 1; ; tries += 1) {
      const volume = await this.objects.fresh(name, signal);
      if (volume === undefined || isGoing(volume)) {
        throw new OperationError('VolumeNotFound', `there is no volume ${name}`);
      }
      if (sizeOf(volume) >= asked) return volume;
      this.#mayAsk(volume.spec.nodeName);
      try {
        const { resourceVersion } = await this.#withoutFailure(volume);
        const at = new Date(this.#parts.wall()).toISOString();
        const annotations = { [resizeRequestedAnnotation]: goTime(at) };
        const body = {
          metadata: { resourceVersion, annotations },
          spec: { size: showQuantity(asked) },
        };
        return await this.objects.patch(name, { type: 'merge', body });
      } catch (error) {
        const isStale = error instanceof OperationError && error.code === 'StaleView';
        if (!isStale || tries >= triesMax) throw error;
      }
    }
  }

  async #withoutFailure(volume: LogicalVolume) {
    if (failureIn(volume) === undefined) return volume.metadata;
    const { name, resourceVersion } = volume.metadata;
    const body = { metadata: { resourceVersion }, status: { code: 0, message: '' } };
    return (await this.objects.patch(name, { type: 'merge', body }, 'status')).metadata;
  }

  /** What could not be given is wanted no more, or it would be given when nobody expects it. */
  async #takeBack(name: string, asked: Bytes): Promise<void> {
    const volume = await this.objects.fresh(name);
    const isOurs = volume !== undefined && !isGoing(volume) && askedSizeOf(volume) === asked;
    if (!isOurs || volume.status?.currentSize === undefined) return;
    const { resourceVersion } = volume.metadata;
    const body = { metadata: { resourceVersion }, spec: { size: volume.status.currentSize } };
    await this.objects.patch(name, { type: 'merge', body }).catch((error: unknown) => {
      // The next request takes it away first.
      if (!(error instanceof OperationError)) throw error;
    });
  }

  async #remove(
    kind: VolumeView['kind'],
    id: string,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const volume = await this.objects.find(id);
    if (volume === undefined) return;
    if (kindOf(volume) !== kind) {
      throw new OperationError('InvalidRequest', `${id} is a ${kindOf(volume)}, no ${kind}`);
    }
    const groupId = groupOf(volume);
    if (groupId !== undefined) {
      const message = `the snapshot ${id} is part of the group snapshot ${groupId}`;
      throw new OperationError('SnapshotInGroup', message);
    }
    const reader = readerOf(volume, this.objects.all);
    if (reader !== undefined) {
      const message = `${reader.metadata.name} is still being copied from ${id}`;
      throw new OperationError('VolumeInUse', message);
    }
    await this.objects.remove(volume, signal);
  }

  /** Its object was forced away: then only nodes can tell whether the LV went, too. */
  #checkLeft(id: string): void {
    const stray = findStray(id, this.#parts.stores.nodes.values());
    if (stray === undefined) return;
    throw new OperationError('LogicalVolumeMissing', strayMessage(id, stray));
  }

  async #known(kind: VolumeView['kind'], id: string): Promise<LogicalVolume> {
    return this.made(kind, id, 'VolumeNotFound');
  }

  async #turn<T>(
    name: string,
    work: (leave: AbortSignal | undefined) => Promise<T>,
    signal: Signal | undefined,
  ): Promise<T> {
    this.#parts.mayChange();
    const leave = asAbortSignal(signal);
    const begin = () => (leave?.aborted === true ? Promise.reject(left(name)) : work(leave));
    return this.turns.run(name, begin, signal);
  }

  #mayAsk(node: string): void {
    const { stores, build } = this.#parts;
    const skew = skewOfOperator(stores.nodes.get({ name: node }), build);
    if (skew !== undefined) throw thrown(skew);
  }

  #inventory(): Inventory {
    const { names, stores } = this.#parts;
    const { classes, nodes, capacities, logicalVolumes } = stores;
    const promised = this.#promised;
    return {
      names,
      classes: { [Symbol.iterator]: () => classes.values() },
      nodes: { [Symbol.iterator]: () => nodes.values() },
      capacities: { [Symbol.iterator]: () => capacities.values() },
      logicalVolumes: {
        *[Symbol.iterator]() {
          yield* logicalVolumes.values();
          yield* promised;
        },
      },
    };
  }
}

function settled(progress: Progress): Exclude<Progress, { readonly kind: 'waiting' }> | undefined {
  return progress.kind === 'waiting' ? undefined : progress;
}

export function thrown({ code, message }: Blocked): OperationError {
  return new OperationError(code, message);
}

export function changedMeanwhile(name: string): OperationError {
  return new OperationError('StaleView', `somebody else made or deleted ${name} meanwhile`);
}

/** TopoLVM's name for an object: the request's in small letters. What can be none gets a hash. */
export function objectNameOf(name: string): string {
  const small = name.toLowerCase();
  const isName = small.length <= 253 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(small);
  if (isName && !small.includes('..') && !/\.-|-\./.test(small)) return small;
  return `volume-${createHash('sha256').update(small).digest('hex').slice(0, 40)}`;
}

/** How Go prints a time in UTC, which is how TopoLVM writes it. */
function goTime(iso: string): string {
  return iso.replace('T', ' ').replace('Z', ' +0000 UTC');
}
