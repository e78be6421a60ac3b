import type { LogicalVolume } from '../../src/api/objects/logical-volume.ts';
import type { PersistentVolume } from '../../src/api/objects/persistent-volume.ts';
import { ourLease } from '../../src/core/cluster/leases.ts';
import type { Departure } from '../cluster/network.ts';
import { type ClusterStage, namespace } from '../cluster/stage.ts';
import { volumesOn } from '../cluster/truth.ts';
import type { Stored } from '../kube/fake-api.ts';
import { collections, sizeAt } from '../kube/fake-api-rules.ts';
import { type Content, copied, isSame, leftovers } from '../world/content.ts';
import { type Lv, virtualBytes } from '../world/model.ts';

type Told = {
  readonly collection: string;
  readonly before: Stored | undefined;
  readonly after: Stored | undefined;
};

/** What a volume held since it was made, the newest last. */
type Held = { readonly lv: Lv; readonly history: { readonly atMs: number; content: Content }[] };

/**
 * What is never true, whatever goes wrong: looked at in the moment in which somebody is told
 * something, and whenever an LV is removed.
 */
export class ClusterRules {
  readonly violations: string[] = [];
  readonly #stage: ClusterStage;
  /** By id of the volume. */
  readonly #held = new Map<string, Held>();
  /** Names of LogicalVolumes by their UIDs, also of those that are gone. */
  readonly #names = new Map<string, string>();
  readonly #removed = new Map<string, number>();

  constructor(stage: ClusterStage) {
    this.#stage = stage;
    stage.api.listeners.add((told) => this.#told(told));
    stage.network.departures.add((departure) => this.#departed(departure));
  }

  say(text: string): void {
    if (!this.violations.includes(text)) this.violations.push(text);
  }

  /** A pod writes to its volume. */
  write(claim: string, at: number, mib: number): void {
    const pod = this.#stage.pods.all.find(
      (one) => one.isRunning && !one.isDeleting && one.claims.includes(claim),
    );
    const machine = this.#stage.machines.get(pod?.node ?? '');
    const shown = pod?.shown.get(claim);
    if (pod === undefined || machine === undefined || shown === undefined || !machine.isUp) return;
    const lv = machine.world.machine.table.at(shown.path)?.lv;
    if (lv === undefined) {
      this.say(`${pod.name} runs and ${claim} is not mounted`);
      return;
    }
    // What a raw volume has grown by is zeroed until somebody is told of it (decision 0017).
    const told = Number(sizeAt(this.#stage.admin.claim(claim) ?? {}, 'status.capacity.storage'));
    const size = Math.min(virtualBytes(lv), told);
    const length = Math.min(mib * 1024 ** 2, size / 4);
    const room = size - length - headBytes;
    const start = headBytes + Math.floor((at * room) / 4096) * 4096;
    machine.world.write(lv, start, length);
    this.#note(lv);
  }

  check(): void {
    if (this.#stage.bugs.length > 0) this.say(`a bug: ${this.#stage.bugs.join('\n')}`);
    this.#removals();
    this.#twins();
    this.#shown();
    for (const [id, { lv, history }] of this.#held) {
      const last = history.at(-1)?.content;
      if (last === undefined || this.#find(id) !== lv) continue;
      if (!isSameData(last, lv.content, virtualBytes(lv)))
        this.say(`${id} does not hold what it held`);
    }
  }

  #note(lv: Lv): void {
    const atMs = this.#stage.clock.nowMs();
    const held = this.#held.get(lv.name);
    const entry = { atMs, content: lv.content };
    if (held === undefined) this.#held.set(lv.name, { lv, history: [entry] });
    else held.history.push(entry);
  }

  #told({ collection, before, after }: Told): void {
    // What was removed was removed before this was told.
    this.#removals(before);
    if (collection === collections.logicalVolumes) {
      if (before !== undefined && isBegunToGo(before, after)) this.#begunToGo(before as never);
      if (after !== undefined) this.#record(before as never, after as never);
      else if (before !== undefined) this.#recordGone(before);
    }
    if (collection === collections.volumes) {
      if (after === undefined) this.#volumeGone(before as never);
      else this.#volume(before as never, after as never);
    }
    if (collection === collections.claims && after !== undefined) this.#claim(after);
  }

  /** An answer is true when it is given. */
  #record(before: LogicalVolume | undefined, after: LogicalVolume): void {
    const { uid, name } = after.metadata;
    this.#names.set(uid, name);
    const id = after.status?.volumeID ?? '';
    if (id === '') return;
    const lv = this.#find(id);
    if (lv === undefined) {
      const isGoing = after.metadata.deletionTimestamp !== undefined;
      if (!isGoing) this.say(`${name} was said to be made, and there is no LV ${id}`);
      return;
    }
    const told = sizeAt(after, 'status.currentSize');
    if (told > BigInt(virtualBytes(lv))) this.say(`${name} was said to have ${told} bytes`);
    if ((before?.status?.volumeID ?? '') === '') this.#copied(after, lv);
  }

  /** A copy holds what its source held at some time since it was wanted. */
  #copied({ metadata, spec }: LogicalVolume, lv: Lv): void {
    const { admin, clock } = this.#stage;
    const source = admin.logicalVolumes.find((one) => one.metadata.name === spec.source);
    const held = source === undefined ? undefined : this.#held.get(source.metadata.uid);
    if (spec.source !== undefined && held !== undefined) {
      const sinceMs = Date.parse(metadata.creationTimestamp ?? '') - 1_000;
      const later = held.history.filter(({ atMs }) => atMs >= sinceMs);
      const earlier = held.history.filter(({ atMs }) => atMs < sinceMs).slice(-1);
      const size = Math.min(virtualBytes(lv), virtualBytes(held.lv));
      const isOne = [...earlier, ...later].some(({ content }) =>
        isSameData(content, lv.content, size),
      );
      const isWhole = earlier.length > 0;
      if (isWhole && !isOne) this.say(`${metadata.name} does not hold what ${spec.source} held`);
    }
    if (spec.source !== undefined && held !== undefined) {
      this.#held.set(lv.name, { lv, history: [{ atMs: clock.nowMs(), content: lv.content }] });
    }
  }

  /** Deleted are only volumes that were given back, or that an administrator gave up. */
  #begunToGo({ metadata: { uid, name } }: LogicalVolume): void {
    const { admin, removals } = this.#stage;
    if (removals.isGivenUp(uid)) return;
    const volume = admin.volumes.find(({ spec }) => spec.csi?.volumeHandle === uid);
    const claim = admin.claim(volume?.spec.claimRef?.name ?? '');
    const isClaimed =
      claim !== undefined &&
      claim.metadata.uid === volume?.spec.claimRef?.uid &&
      (claim.spec.volumeName ?? volume?.metadata.name) === volume?.metadata.name;
    if (isClaimed) this.say(`${name} is deleted, and its claim is there`);
    const content = admin.contents.find(({ status }) => status?.snapshotHandle === uid);
    const snapshot = admin.snapshots.find(
      ({ metadata }) => metadata.uid === content?.spec.volumeSnapshotRef.uid,
    );
    if (snapshot !== undefined && snapshot.metadata.deletionTimestamp === undefined) {
      this.say(`${name} is deleted, and its snapshot is there`);
    }
  }

  #recordGone({ metadata }: Stored): void {
    if (this.#find(metadata.uid) !== undefined && !this.#stage.removals.isGivenUp(metadata.uid)) {
      this.say(`the LogicalVolume ${metadata.name} is gone and its LV is not`);
    }
    this.#held.delete(metadata.uid);
  }

  #volume(before: PersistentVolume | undefined, after: PersistentVolume): void {
    const { name } = after.metadata;
    const id = after.spec.csi?.volumeHandle ?? '';
    if (before === undefined && this.#find(id) === undefined) {
      this.say(`the volume ${name} was made, and there is no LV ${id}`);
    }
    const size = sizeAt(after, 'spec.capacity.storage');
    if (before !== undefined && size < sizeAt(before, 'spec.capacity.storage')) {
      this.say(`trap 18: the volume ${name} shrank to ${size}`);
    }
  }

  #volumeGone({ metadata, spec }: PersistentVolume): void {
    const isKept = spec.persistentVolumeReclaimPolicy !== 'Delete';
    const id = spec.csi?.volumeHandle ?? '';
    if (isKept || this.#find(id) === undefined || this.#stage.removals.isGivenUp(id)) return;
    this.say(`trap 10: the volume ${metadata.name} is gone and its LV is not`);
  }

  #claim(claim: Stored): void {
    const has = sizeAt(claim, 'status.capacity.storage');
    const spec = claim['spec'] as { readonly volumeName?: string };
    const volume = this.#stage.admin.volume(spec.volumeName ?? '');
    const lv = this.#find(volume?.spec.csi?.volumeHandle ?? '');
    if (lv !== undefined && has > BigInt(virtualBytes(lv))) {
      this.say(`the claim ${claim.metadata.name} is told ${has} bytes and has ${virtualBytes(lv)}`);
    }
  }

  /** Only what somebody gave back, or never got, is removed. */
  #removals(before?: Stored): void {
    for (const machine of this.#stage.machines.values()) {
      const { destroyed } = machine.world;
      const seen = this.#removed.get(machine.name) ?? 0;
      this.#removed.set(machine.name, destroyed.length);
      for (const { deed, what, wasInUse } of destroyed.slice(seen)) {
        if (deed !== 'lvremove') continue;
        const id = what.split('/')[1] ?? '';
        if (wasInUse) this.say(`${what} on ${machine.name} was removed while in use`);
        this.#judge(id, before);
      }
    }
  }

  #judge(id: string, before: Stored | undefined): void {
    const { admin, removals } = this.#stage;
    if (removals.isGivenUp(id)) return;
    const record =
      before?.metadata.uid === id
        ? (before as unknown as LogicalVolume)
        : admin.logicalVolumes.find(({ metadata }) => metadata.uid === id);
    const isWanted = record !== undefined && record.metadata.deletionTimestamp === undefined;
    // What was left half made is made again before anybody is told of it.
    if (isWanted && record.status?.volumeID !== undefined) {
      this.say(`the LV of ${record.metadata.name} was removed while it was wanted`);
    }
    const volume = admin.volumes.find(({ spec }) => spec.csi?.volumeHandle === id);
    if (volume?.status?.phase === 'Bound') {
      this.say(`the LV of the bound volume ${volume.metadata.name} was removed`);
    }
    if (volume?.spec.persistentVolumeReclaimPolicy === 'Retain') {
      this.say(`the LV of the kept volume ${volume.metadata.name} was removed`);
    }
  }

  /** One volume is in one place: two LVs of one name are a volume that moved. */
  #twins(): void {
    const seen = new Map<string, string>();
    for (const machine of this.#stage.machines.values()) {
      for (const lv of volumesOn(machine)) {
        const name = this.#names.get(lv.name);
        if (name === undefined || this.#stage.removals.isGivenUp(lv.name)) continue;
        const other = seen.get(name);
        if (other !== undefined && other !== lv.name) this.say(`trap 8: ${name} is there twice`);
        seen.set(name, lv.name);
      }
    }
  }

  /** Who writes what only one may write is the one. Events are told by anybody. */
  #departed({ method, path, self }: Departure): void {
    if (method === 'DELETE' && path.includes('/persistentvolumeclaims/')) {
      this.say(`${self} sends ${method} ${path}: claims are their users'`);
    }
    const isOpen = method === 'GET' || /\/(leases|events)\b/.test(path);
    if (isOpen || !self.includes('-operator-')) return;
    const lease = this.#stage.api.one(collections.leases, ourLease, namespace);
    const { holderIdentity = '' } = (lease?.['spec'] ?? {}) as { holderIdentity?: string };
    if (holderIdentity.startsWith(`${self}_`)) return;
    this.say(`trap 22: ${self} sends ${method} ${path}, and ${holderIdentity || 'nobody'} leads`);
  }

  /** What pods see is theirs, and as large as they are told. */
  #shown(): void {
    const { admin, pods, machines } = this.#stage;
    for (const pod of pods.all.filter((one) => one.isRunning && !one.isForgotten)) {
      for (const [name, { path }] of pod.shown) {
        const claim = admin.claim(name);
        const mount = machines.get(pod.node ?? '')?.world.machine.table.at(path);
        if (claim === undefined || mount === undefined) continue;
        const has = sizeAt(claim, 'status.capacity.storage');
        const { content } = mount.lv;
        const old = leftovers(content).find(({ start }) => BigInt(start) < has);
        const [fileSystem] = content.signatures;
        if (mount.node === undefined && BigInt(fileSystem?.fsBytes ?? 0) < has) {
          this.say(`trap 17: ${name} is told ${has} bytes, and shows ${fileSystem?.fsBytes}`);
        }
        if (mount.node !== undefined && old !== undefined) {
          this.say(`trap 13: ${pod.name} sees what others left in ${name} at ${old.start}`);
        }
      }
    }
  }

  #find(id: string): Lv | undefined {
    for (const machine of this.#stage.machines.values()) {
      const found = volumesOn(machine).find(({ name }) => name === id);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

function isBegunToGo(before: Stored, after: Stored | undefined): boolean {
  const isGoing = after === undefined || after.metadata.deletionTimestamp !== undefined;
  return isGoing && before.metadata.deletionTimestamp === undefined;
}

/** What a file system writes about itself when it grows or is mounted lies here. */
const headBytes = 1024 ** 2;

/** Are both equal in what pods wrote? */
function isSameData(a: Content, b: Content, length: number): boolean {
  const range = { start: headBytes, length: Math.max(0, length - headBytes) };
  const data = (content: Content) => ({ ...copied(content, range), signatures: [] });
  return isSame(data(a), data(b), length);
}
