import type { PersistentVolumeClaim } from '../api/objects/claim.ts';
import type { CsiStorageCapacity } from '../api/objects/storage.ts';
import { classNameOf } from '../core/cluster/provisioning.ts';
import { waitsForPod, whyNoRoom } from '../core/cluster/room.ts';
import type { Cluster, Duty } from './duty.ts';
import { Since, sweep } from './orphans-sweep.ts';
import { aboutClaim, failed } from './provisioner-events.ts';

/** Room changes while volumes come and go: it must be missing for a while. */
export const roomTimes = { everyMs: 30_000, graceMs: 60_000 } as const;

/** Tells a claim that waits for its first pod when no node has room for it, and when one has. */
export class RoomNews implements Duty {
  readonly #cluster: Cluster;
  readonly #since = new Since();
  #told = new Set<string>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  run(signal: AbortSignal): Promise<void> {
    return sweep(this.#cluster, roomTimes.everyMs, async () => this.#look(), signal);
  }

  #look(): void {
    const { clock, names } = this.#cluster;
    const waiting = this.#waiting();
    const told = waiting.length === 0 ? new Map<string, CsiStorageCapacity[]>() : this.#rooms();
    const short = waiting.flatMap((claim) => {
      const why = whyNoRoom(claim, told.get(classNameOf(claim)) ?? [], names);
      return why === undefined ? [] : [{ claim, why, uid: claim.metadata.uid }];
    });
    const ages = this.#since.seen(
      short.map(({ uid }) => uid),
      clock.nowMs(),
    );
    for (const { claim, why, uid } of short) {
      if (this.#told.has(uid) || (ages.get(uid) ?? 0) < roomTimes.graceMs) continue;
      this.#told.add(uid);
      this.#cluster.recorder.event(aboutClaim(claim), failed('NotEnoughCapacity', why));
    }
    for (const claim of waiting) {
      if (!this.#told.has(claim.metadata.uid) || ages.has(claim.metadata.uid)) continue;
      const message = 'a node has room for it now';
      const text = { type: 'Normal', reason: 'EnoughCapacity', message } as const;
      this.#cluster.recorder.event(aboutClaim(claim), text);
    }
    this.#told = new Set([...this.#told].filter((uid) => ages.has(uid)));
  }

  #waiting(): readonly PersistentVolumeClaim[] {
    const { stores, names } = this.#cluster;
    return [...stores.claims.values()].filter((claim) =>
      waitsForPod(claim, stores.classes.get({ name: classNameOf(claim) }), names),
    );
  }

  #rooms(): ReadonlyMap<string, CsiStorageCapacity[]> {
    const rooms = new Map<string, CsiStorageCapacity[]>();
    for (const capacity of this.#cluster.stores.capacities.values()) {
      const others = rooms.get(capacity.storageClassName) ?? [];
      rooms.set(capacity.storageClassName, [...others, capacity]);
    }
    return rooms;
  }
}
