import { limits } from '../../src/base/limits.ts';
import type { DesiredNode } from '../../src/core/node.ts';
import {
  copyingTag,
  copySourceRole,
  isOurs,
  pendingTag,
  readTag,
  snapshotRole,
  thinPoolRole,
} from '../../src/core/tags.ts';
import type { VolumeStatus } from '../../src/core/volume/status.ts';
import { type Content, isSame } from '../world/content.ts';
import type { Destruction } from '../world/machine.ts';
import {
  cowSnapshotsOf,
  freeExtents,
  type Lv,
  sizeBytes,
  thinVolumesOf,
  type Vg,
  virtualBytes,
} from '../world/model.ts';
import type { FakeWorld } from '../world/world.ts';
import type { Store, Volume } from './store.ts';

/** What must never be true in any world, looked at the disks themselves and not at any report. */
export class Rules {
  readonly violations: string[] = [];
  /** Groups an administrator worked in: how full they are is then not our doing. */
  readonly meddled = new Set<string>();
  readonly #world: FakeWorld;
  readonly #store: Store;
  readonly #node: DesiredNode;
  readonly #foreign: ReadonlyMap<string, Content>;
  readonly #foreignLv: { readonly lv: Lv; readonly content: Content };
  readonly #overflowedAtMs = new Map<string, number>();
  #seenDestructions = 0;

  constructor(parts: {
    readonly world: FakeWorld;
    readonly store: Store;
    readonly node: DesiredNode;
    readonly foreign: readonly string[];
    readonly foreignLv: Lv;
  }) {
    this.#world = parts.world;
    this.#store = parts.store;
    this.#node = parts.node;
    const { devices } = parts.world.machine;
    this.#foreign = new Map(
      devices
        .filter((device) => parts.foreign.includes(device.path))
        .map((device) => [device.path, device.content]),
    );
    this.#foreignLv = { lv: parts.foreignLv, content: parts.foreignLv.content };
  }

  say(violation: string): void {
    const atSeconds = Math.round(this.#world.clock.nowMs() / 1000) % 1_000_000;
    this.violations.push(`[${atSeconds}] ${violation}`);
  }

  /** Whatever an administrator does is not held against us. */
  excuse(work: () => void): void {
    this.check();
    try {
      work();
    } finally {
      this.#seenDestructions = this.#world.destroyed.length;
    }
  }

  check(): void {
    this.#devicesInOneGroup();
    this.#foreignUntouched();
    this.#destructions();
    this.#promisesKept();
  }

  /** A status is never ahead of the disk. */
  reported(volume: Volume, status: VolumeStatus, askedMiB: number): void {
    this.check();
    // Somebody took it between our look and now: the look was true.
    if (volume.isLost) return;
    const lv = this.#world.lv(volume.vg, volume.name);
    if (status.state === 'Absent') {
      const isThere = lv !== undefined && (volume.uuid === undefined || lv.uuid === volume.uuid);
      if (isThere) this.say(`${volume.name} was reported gone and is there`);
      return;
    }
    if (status.state !== 'Ready') {
      this.say(`${volume.name} was settled as ${status.state}: ${status.reason}`);
      return;
    }
    if (lv === undefined) {
      this.say(`${volume.name} was reported ready and is not there`);
      return;
    }
    this.#readyIsTrue(volume, lv, status, askedMiB);
  }

  #readyIsTrue(volume: Volume, lv: Lv, status: VolumeStatus, askedMiB: number): void {
    if (lv.uuid !== status.uuid) this.say(`${volume.name} was reported with another identity`);
    if (volume.uuid !== undefined && volume.uuid !== lv.uuid) {
      this.say(`${volume.name} changed its identity and was reported ready`);
    }
    if (!lv.isActive) this.say(`${volume.name} was reported ready and is inactive`);
    const isSnapshot = volume.kind === 'snapshot';
    if (lv.isReadOnly !== isSnapshot) {
      this.say(`the ${volume.kind} ${volume.name} is ${lv.isReadOnly ? 'read-only' : 'writable'}`);
    }
    if (lv.body.kind === 'cow' && lv.body.isInvalid && status.health === '' && this.#isOld(lv)) {
      this.say(`${volume.name} was reported ready and overflowed`);
    }
    if (lv.tags.includes(copyingTag)) this.say(`${volume.name} is ready before its copy is`);
    const wanted = volume.kind === 'snapshot' ? 0 : askedMiB * 1024 ** 2;
    if (virtualBytes(lv) < wanted) {
      this.say(`${volume.name} was reported ready with ${virtualBytes(lv)} of ${wanted} bytes`);
    }
    if (volume.history.length === 0) this.#firstReady(volume, lv);
  }

  /** A user's write is no change of LVM's: it is seen with the next look, which may take a while. */
  #isOld(lv: Lv): boolean {
    const sinceMs = this.#overflowedAtMs.get(lv.uuid) ?? 0;
    return this.#world.clock.nowMs() - sinceMs > limits.foreignChangeNoticedMs + 5_000;
  }

  /** Somebody wrote to a volume, and what its snapshots keep may have become too much for them. */
  wrote(lv: Lv): void {
    for (const snapshot of cowSnapshotsOf(lv)) {
      const { body, uuid } = snapshot;
      if (body.kind !== 'cow' || !body.isInvalid || this.#overflowedAtMs.has(uuid)) continue;
      this.#overflowedAtMs.set(uuid, this.#world.clock.nowMs());
    }
  }

  #firstReady(volume: Volume, lv: Lv): void {
    volume.history.push(lv.content);
    if (volume.source === undefined) return;
    const source = this.#store.everything.get(volume.source);
    if (source === undefined) return;
    const candidates = source.history.slice(volume.sourceHistoryFrom);
    // Taken before anybody was told that the source is ready: nobody can have written to it.
    if (candidates.length === 0) return;
    const length = Math.min(virtualBytes(lv), source.sizeMiB * 1024 ** 2);
    if (candidates.some((content) => isSame(content, lv.content, length))) return;
    this.say(`${volume.name} does not hold what ${volume.source} held`);
  }

  #devicesInOneGroup(): void {
    const owner = new Map<string, string>();
    for (const vg of this.#world.machine.vgs) {
      for (const pv of vg.pvs) {
        // Not by the name that lvm wrote down: that of a device that was away is the same for all.
        const path = this.#world.machine.deviceOf(pv)?.path;
        if (path === undefined) continue;
        const other = owner.get(path);
        if (other !== undefined && other !== vg.name) {
          this.say(`${path} is in ${other} and in ${vg.name}`);
        }
        owner.set(path, vg.name);
      }
    }
  }

  #foreignUntouched(): void {
    const { devices } = this.#world.machine;
    for (const [path, content] of this.#foreign) {
      const device = devices.find((candidate) => candidate.path === path);
      if (device?.content !== content) this.say(`the foreign disk ${path} was written to`);
      const group = this.#world.machine.vgs.find((vg) => vg.pvs.some((pv) => pv.device === path));
      if (group !== undefined && group.name !== 'foreign') {
        this.say(`the foreign disk ${path} was taken into ${group.name}`);
      }
    }
    const { lv, content } = this.#foreignLv;
    const isThere = this.#world.lv('foreign', lv.name) === lv && lv.content === content;
    if (!isThere) this.say('the volume of the foreign group was touched');
  }

  #destructions(): void {
    const all = this.#world.destroyed;
    for (const one of all.slice(this.#seenDestructions)) this.#judge(one);
    this.#seenDestructions = all.length;
  }

  #judge(one: Destruction): void {
    if (one.deed === 'overwrite') return;
    if (one.deed !== 'lvremove') {
      this.say(`${one.deed} of ${one.what}, which nobody asked for`);
      return;
    }
    const name = one.what.split('/')[1] ?? '';
    if (one.wasInUse) this.say(`${one.what} was removed while in use`);
    if (this.#world.machine.leftParts.has(one.uuid)) return;
    if (!isOurs(one.tags)) this.say(`${one.what} was removed and was not ours`);
    // A helper, or a pool that was never finished.
    const role = readTag(one.tags, 'role');
    if (role === copySourceRole || role === thinPoolRole) return;
    const volume = this.#store.volumes.get(name);
    // What lvcreate left half made of a snapshot or a RAID, before anybody was told of it.
    const canBeHalfMade = role === snapshotRole || one.tags.includes(pendingTag);
    if (canBeHalfMade && volume?.history.length === 0) return;
    if (volume === undefined || volume.wanted === 'present') {
      this.say(`${one.what} was removed while it was wanted`);
    }
  }

  /** Spare room stays free, and pools promise no more than they may. */
  #promisesKept(): void {
    for (const vg of this.#world.vgs()) {
      if (this.meddled.has(vg.name)) continue;
      const classes = this.#node.deviceClasses.filter((entry) => entry.vg === vg.name);
      const spare = classes.reduce((most, entry) => Math.max(most, Number(entry.spareBytes)), 0);
      const hasThick = vg.lvs.some((lv) => lv.type !== 'thin' && lv.type !== 'thin-pool');
      if (hasThick && freeExtents(vg) * vg.extentBytes < spare) {
        this.say(`${vg.name} has less free than its spare of ${spare} bytes`);
      }
      this.#poolPromises(vg);
    }
  }

  #poolPromises(vg: Vg): void {
    for (const pool of vg.lvs.filter((lv) => lv.type === 'thin-pool')) {
      const entry = this.#node.deviceClasses.find(
        ({ vg: group, layout }) =>
          group === vg.name && layout.kind === 'thin' && layout.pool === pool.name,
      );
      const most = sizeBytes(pool) * (entry?.overprovisionRatio ?? 1);
      const promised = thinVolumesOf(pool).reduce((total, lv) => total + sizeBytes(lv), 0);
      if (promised > most)
        this.say(`${vg.name}/${pool.name} promised ${promised} of ${most} bytes`);
    }
  }
}
