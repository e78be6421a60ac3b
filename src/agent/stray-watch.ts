import type { LogicalVolume } from '../api/objects/logical-volume.ts';
import { showList } from '../base/show.ts';
import { type Stray, straysIn, strayText } from '../core/cluster/strays.ts';
import type { DeviceClass } from '../core/device-class.ts';
import type { ObservedHost } from '../core/observed.ts';
import type { HostModel } from '../engine/model.ts';
import type { Informer } from '../kube/informer.ts';
import type { Log } from './log.ts';

export type StrayWatchParts = {
  readonly objects: Pick<Informer<LogicalVolume>, 'hasSynced' | 'values'>;
  readonly model: Pick<HostModel, 'newest' | 'hint'>;
  readonly classes: () => readonly DeviceClass[];
  readonly log: Log;
  /** Told when it is known how many of ours there are, and when there are others. */
  readonly told: (ours: number) => void;
};

/**
 * LVs that no LogicalVolume names: a restored etcd, or an object that was forced away. They are
 * told and left alone. One look may have begun before an LV went that somebody removed with its
 * object, so only what two of them show is a stray.
 */
export class StrayWatch {
  readonly #parts: StrayWatchParts;
  #seen: ReadonlySet<string> | undefined;
  #strays: readonly Stray[] | undefined;
  #logged = '';

  constructor(parts: StrayWatchParts) {
    this.#parts = parts;
  }

  /** For the Node. Undefined while it is not known. */
  get text(): string | null | undefined {
    return this.#strays === undefined ? undefined : strayText(this.#strays);
  }

  looked(host: ObservedHost): void {
    const { objects, model, classes } = this.#parts;
    if (!objects.hasSynced) return;
    const groups = new Set(classes().map(({ vg }) => vg));
    const found = straysIn(host, groups, objects.values());
    const before = this.#seen;
    this.#seen = new Set(found.map(({ place }) => place));
    if (before === undefined && found.length > 0) model.hint();
    if (before === undefined) return;
    const isSure = ({ place }: Stray) => before.has(place);
    if (!found.every(isSure)) model.hint();
    this.#take(found.filter(isSure));
  }

  /** What went in peace took its LV along before. */
  gone({ metadata: { uid } }: LogicalVolume): void {
    const { model } = this.#parts;
    const isThere = model.newest?.host.vgs.some(({ lvs }) => lvs.some(({ name }) => name === uid));
    if (isThere === true) model.hint();
  }

  #take(strays: readonly Stray[]): void {
    const { log, told } = this.#parts;
    const isSame = this.text === strayText(strays);
    this.#strays = strays;
    const ours = strays.filter(({ isOurs }) => isOurs);
    if (!isSame) told(ours.length);
    const names = showList(ours.map(({ place }) => place));
    if (names === this.#logged) return;
    this.#logged = names;
    const message = `no LogicalVolume names ${names}: they are left alone`;
    if (names !== '') log({ level: 'warn', message });
  }
}
