import assert from 'node:assert/strict';
import type { PersistentVolumeClaim } from '../../src/api/objects/claim.ts';
import type { PersistentVolume } from '../../src/api/objects/persistent-volume.ts';
import { parseQuantity, showQuantity } from '../../src/api/quantity.ts';
import { type Bytes, bytes, GiB, roundUp, times } from '../../src/base/bytes.ts';
import { type FailureCode, OperationError } from '../../src/base/failures.ts';
import type { VolumeView } from '../../src/csi/book.ts';
import { KubeError } from '../../src/kube/errors.ts';
import type { Again } from '../../src/kube/queue.ts';
import type { EventText } from '../../src/kube/recorder.ts';
import { Endings } from '../../src/operator/endings.ts';
import { ResizerRounds } from '../../src/operator/resizer-round.ts';
import { type Json, mergePatch } from '../kube/fake-patch.ts';

/** The operator is gone, from this moment on. */
export class Killed extends Error {}

export const claimName = { namespace: 'ns', name: 'data' };
export const extentBytes = bytes(4n * 1024n * 1024n);
export const gib = (count: number) => times(GiB, count);
export const begunStatus = 'ControllerResizeInProgress';

/** Growing without an answer, no word at all, or an answer too early. */
export type DriverTrouble = 'grown-unheard' | 'unheard' | 'short';

type Known = { readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume };

type Options = {
  readonly isBlock?: boolean;
  /** A server before 1.32, which drops the fields of a resize. */
  readonly isOld?: boolean;
};

/**
 * One claim, its volume and its LV, with whoever has to do with their size. The server keeps the
 * rules that a real one keeps, and everybody's writes are checked against what must never be.
 */
export class ExpansionWorld {
  readonly events: EventText[] = [];
  /** What a person would see happen, in order. */
  readonly effects: string[] = [];
  /** What the driver says next, instead of growing the LV. */
  readonly failures: (FailureCode | DriverTrouble)[] = [];
  /** Runs just before the next write of ours reaches the server. */
  readonly meddlers: (() => void)[] = [];
  killAfter = Number.POSITIVE_INFINITY;
  lvBytes: Bytes = gib(10);
  limitBytes: Bytes = gib(100);
  nowMs = 0;
  readonly #options: Options;
  #version = 1;
  #claim: PersistentVolumeClaim;
  #volume: PersistentVolume;
  #cached: Known;
  isCacheHeld = false;
  #rounds: ResizerRounds;
  /** What the driver was asked for and has not refused for good. */
  #openBytes: Bytes | undefined;

  constructor(options: Options = {}) {
    this.#options = options;
    const size = { storage: '10Gi' };
    this.#claim = {
      metadata: { ...claimName, uid: 'claim-uid', resourceVersion: '1' },
      spec: { resources: { requests: size }, volumeName: 'pv' },
      status: {
        ...{ phase: 'Bound', capacity: size },
        conditions: [{ type: 'Backup', status: 'True', message: 'of somebody else' }],
      },
    };
    this.#volume = {
      metadata: { name: 'pv', uid: 'pv-uid', resourceVersion: '1' },
      spec: {
        ...{ capacity: size, claimRef: { ...claimName, uid: 'claim-uid' } },
        ...(options.isBlock === true ? { volumeMode: 'Block' } : {}),
        csi: { driver: 'topolvm.io', volumeHandle: 'lv' },
      },
    };
    this.#cached = { claim: this.#claim, volume: this.#volume };
    this.#rounds = this.#start();
  }

  get claim(): PersistentVolumeClaim {
    return this.#claim;
  }

  get volume(): PersistentVolume {
    return this.#volume;
  }

  get sizes() {
    const { spec, status } = this.#claim;
    return {
      request: sizeOf(spec.resources?.requests?.storage),
      capacity: sizeOf(status?.capacity?.storage),
      volume: sizeOf(this.#volume.spec.capacity?.storage),
      allocated: optional(status?.allocatedResources?.storage),
      status: status?.allocatedResourceStatuses?.storage,
    };
  }

  get reasons(): readonly string[] {
    return this.events.map(({ reason }) => reason);
  }

  get conditionTypes(): readonly string[] {
    return (this.#claim.status?.conditions ?? []).map(({ type }) => type);
  }

  /** A new operator that knows nothing but the objects. */
  restart(): void {
    this.killAfter = Number.POSITIVE_INFINITY;
    this.#rounds = this.#start();
  }

  /** Our part, until there is nothing to do at once. */
  async work(): Promise<Again> {
    this.#see();
    return this.#rounds.round(claimName, new AbortController().signal);
  }

  /** Our part, however long it takes; kubelet does its own in between. */
  async settle(rounds = 12): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      const again = await this.work();
      const hasKubelet = this.kubelet();
      if (again !== undefined) this.nowMs += again.afterMs;
      else if (!hasKubelet) return;
    }
  }

  /** The user's edit, as far as the server takes it. */
  request(sizeBytes: Bytes): boolean {
    const { request, capacity } = this.sizes;
    if (sizeBytes < request && (this.#options.isOld === true || sizeBytes <= capacity))
      return false;
    const spec = { resources: { requests: { storage: showQuantity(sizeBytes) } } };
    this.#store('claim', mergePatch(this.#claim, { spec }));
    return true;
  }

  /** Somebody else writes to the claim. */
  meddle(patch: Json): void {
    this.#store('claim', mergePatch(this.#claim, patch));
  }

  /** Grows the file system of what is marked so, and writes it down. */
  kubelet(): boolean {
    const { status, capacity, volume } = this.sizes;
    const isPending = this.#options.isOld
      ? this.conditionTypes.includes('FileSystemResizePending')
      : status === 'NodeResizePending' || status === 'NodeResizeInProgress';
    if (!isPending || capacity >= volume) return false;
    assert.ok(this.lvBytes >= volume, 'a file system cannot be larger than its LV');
    this.#kubeletWrites({
      capacity: { storage: showQuantity(volume) },
      allocatedResourceStatuses: { storage: null },
      conditions: this.#others(),
    });
    return true;
  }

  kubeletBegins(): void {
    if (this.sizes.status !== 'NodeResizePending') return;
    this.#kubeletWrites({ allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } });
  }

  kubeletCannot(): void {
    if (!this.sizes.status?.startsWith('NodeResize')) return;
    this.#kubeletWrites({ allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } });
  }

  #kubeletWrites(status: Json): void {
    this.#store('claim', mergePatch(this.#claim, { status }));
  }

  #others() {
    const ours = [
      'Resizing',
      'FileSystemResizePending',
      'ControllerResizeError',
      'NodeResizeError',
    ];
    return (this.#claim.status?.conditions ?? []).filter(({ type }) => !ours.includes(type));
  }

  #start(): ResizerRounds {
    const clock = { nowMs: () => this.nowMs, sleep: () => new Promise<void>(() => undefined) };
    return new ResizerRounds({
      names: { domain: 'topolvm.io', driver: 'topolvm.io' },
      recorder: { event: (_about, what) => void this.events.push(what) },
      clock,
      ...{ chance: () => 0.5, wall: () => this.nowMs, log: () => undefined },
      endings: new Endings(clock, () => undefined),
      client: {
        find: async (kind) => {
          this.#checkAlive();
          const found = kind.kind === 'PersistentVolume' ? this.#volume : this.#claim;
          return found as never;
        },
        patch: async (kind, _name, patch, options) => {
          assert.equal(patch.type, 'merge');
          const isVolume = kind.kind === 'PersistentVolume';
          const body = (patch as { body: Json }).body;
          return this.#patch(isVolume, body, options?.subresource) as never;
        },
      },
      claims: { get: () => this.#cached.claim, putOwn: (claim) => this.#own({ claim }) },
      volumes: { get: () => this.#cached.volume, putOwn: (volume) => this.#own({ volume }) },
      book: { expand: async (_id, range) => this.#expand(bytes(range.requiredBytes)) },
    });
  }

  #see(): void {
    if (!this.isCacheHeld) this.#cached = { claim: this.#claim, volume: this.#volume };
  }

  #own(part: Partial<Known>): void {
    this.#cached = { ...this.#cached, ...part };
  }

  /** One more effect is true; whoever is to die after it dies. */
  #effect(what: string): void {
    this.effects.push(what);
    this.killAfter -= 1;
    this.#checkAlive();
  }

  #checkAlive(): void {
    if (this.killAfter <= 0) throw new Killed('the operator is gone');
  }

  #patch(isVolume: boolean, body: Json, subresource: string | undefined): unknown {
    this.#checkAlive();
    this.meddlers.shift()?.();
    const before = isVolume ? this.#volume : this.#claim;
    const metadata = body['metadata'] as { readonly resourceVersion?: string };
    assert.ok(metadata.resourceVersion !== undefined, 'a write that does not say what it saw');
    if (metadata.resourceVersion !== before.metadata.resourceVersion) {
      throw new KubeError('Conflict', 'the object has been modified', { httpStatus: 409 });
    }
    if (!isVolume) assert.equal(subresource, 'status');
    const after = this.#store(isVolume ? 'volume' : 'claim', mergePatch(before, body));
    const { status, volume, capacity } = this.sizes;
    this.#effect(isVolume ? `volume ${volume}` : `claim ${status ?? '-'} ${capacity}`);
    return after;
  }

  #store(which: 'claim' | 'volume', draft: unknown): unknown {
    this.#version += 1;
    const before = this.sizes;
    const object = draft as Json & { metadata: Json; status?: Json };
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    const status = this.#options.isOld === true ? withoutResize(object.status) : object.status;
    const stored = { ...object, metadata, ...(status === undefined ? {} : { status }) };
    if (which === 'claim') this.#claim = stored as unknown as PersistentVolumeClaim;
    else this.#volume = stored as unknown as PersistentVolume;
    this.#check(before);
    return stored;
  }

  /** What must be true after every write, whoever made it. */
  #check(before: { readonly volume: Bytes; readonly capacity: Bytes }): void {
    const { volume, capacity, allocated } = this.sizes;
    assert.ok(volume >= before.volume, `the volume shrank from ${before.volume} to ${volume}`);
    assert.ok(capacity >= before.capacity, 'the claim shrank');
    assert.ok(volume <= this.lvBytes, 'the volume says more than the LV has');
    assert.ok(capacity <= volume, 'the claim says more than its volume');
    assert.ok(this.conditionTypes.includes('Backup'), 'a condition of somebody else is gone');
    const open = this.#openBytes;
    if (this.#options.isOld === true || open === undefined) return;
    assert.ok((allocated ?? 0n) >= open, `${allocated} is allocated, and ${open} may come about`);
  }

  #expand(askedBytes: Bytes): VolumeView {
    const { allocated, status } = this.sizes;
    if (this.#options.isOld !== true) {
      assert.equal(status, begunStatus, 'the driver is called for what is not written');
      assert.equal(allocated, askedBytes);
    }
    this.#checkAlive();
    this.#openBytes = askedBytes;
    const failure = this.failures.shift();
    if (failure === 'short') return { sizeBytes: this.lvBytes } as VolumeView;
    if (failure !== undefined && failure !== 'grown-unheard') this.#refuse(failure);
    if (askedBytes > this.limitBytes) this.#refuse('InsufficientCapacityToExpand');
    const grown = roundUp(askedBytes, extentBytes);
    if (grown > this.lvBytes) this.lvBytes = grown;
    this.#effect(`lv ${this.lvBytes}`);
    if (failure === 'grown-unheard') throw new Error('the answer was lost');
    this.#openBytes = undefined;
    return { sizeBytes: this.lvBytes } as VolumeView;
  }

  #refuse(failure: FailureCode | 'unheard'): never {
    this.#effect(`refused ${failure}`);
    if (failure === 'unheard') throw new Error('the answer was lost');
    const isOpen = ['DeviceSuspended', 'LvmLocked', 'StaleView'].includes(failure);
    if (!isOpen) this.#openBytes = undefined;
    throw new OperationError(failure, 'there are 5.00 GiB free');
  }
}

function withoutResize(status: Json | undefined): Json | undefined {
  if (status === undefined) return undefined;
  const { allocatedResources: _size, allocatedResourceStatuses: _status, ...kept } = status;
  return kept;
}

function sizeOf(text: string | undefined): Bytes {
  const size = parseQuantity(text);
  assert.equal(typeof size, 'bigint');
  return size as Bytes;
}

function optional(text: string | undefined): Bytes | undefined {
  return text === undefined ? undefined : sizeOf(text);
}
