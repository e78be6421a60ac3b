import type { VolumeStatus } from '../../src/core/volume/status.ts';
import type { Content } from '../world/content.ts';

/** A volume, snapshot or clone that somebody asked for. It outlives every life of our process. */
export type Volume = {
  readonly name: string;
  readonly kind: 'volume' | 'snapshot' | 'clone';
  readonly className: string;
  readonly vg: string;
  readonly source: string | undefined;
  sizeMiB: number;
  wanted: 'present' | 'absent';
  /** Raised with every wish; `settled` follows it when the wish came true. */
  generation: number;
  settled: number;
  uuid: string | undefined;
  blocked: { readonly code: string; readonly message: string } | undefined;
  failure: string | undefined;
  /** Everything it ever held while it was ready, newest last. */
  readonly history: Content[];
  /** How much its source had held when it was asked for: it must show that or something later. */
  readonly sourceHistoryFrom: number;
  /** Somebody else removed or replaced it. */
  isLost: boolean;
  /** The caller stopped waiting: called once. */
  cancel: (() => void) | undefined;
};

/** The durable record, as Kubernetes objects will be: it changes only through these words. */
export class Store {
  readonly volumes = new Map<string, Volume>();
  /** All that ever were, for what comes after: a clone of something deleted since. */
  readonly everything = new Map<string, Volume>();
  /** Which groups were seen, by name: what a status object will keep. */
  readonly groups = new Map<string, string>();
  /** What else had such a name when it was first seen. */
  readonly elders = new Map<string, ReadonlySet<string>>();
  #listeners = new Set<() => void>();

  add(volume: Volume): void {
    this.volumes.set(volume.name, volume);
    this.everything.set(volume.name, volume);
    this.#tell();
  }

  wish(volume: Volume, change: Partial<Pick<Volume, 'sizeMiB' | 'wanted'>>): void {
    Object.assign(volume, change);
    volume.generation += 1;
    this.#tell();
  }

  ready(volume: Volume, status: VolumeStatus, generation: number): void {
    volume.uuid = status.uuid;
    volume.blocked = undefined;
    volume.failure = undefined;
    volume.settled = generation;
  }

  learn(group: string, uuid: string, all: readonly string[]): void {
    if (this.groups.get(group) !== uuid) this.elders.set(group, new Set(all));
    this.groups.set(group, uuid);
  }

  gone(volume: Volume): void {
    this.volumes.delete(volume.name);
    this.#tell();
  }

  /** A new life hears of changes; the old one's ears are gone with it. */
  listen(listener: () => void): void {
    this.#listeners = new Set([listener]);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
