import type { LogicalVolume } from '../api/objects/logical-volume.ts';
import type { Recorded, RecordedVolumes } from '../core/catalog.ts';
import { recordedAs } from '../core/cluster/agent-volume.ts';
import type { Informer } from '../kube/informer.ts';

/**
 * The LogicalVolumes of this node by their UIDs, which are the names of LVs. Before the API server
 * was ever heard it is empty: then volumes without our tags are served, but not removed.
 */
export class Ledger implements RecordedVolumes {
  readonly #names = new Map<string, string>();
  readonly #whenGone = new Set<(id: string) => void>();
  #informer: Informer<LogicalVolume> | undefined;

  follow(informer: Informer<LogicalVolume>): void {
    this.#informer = informer;
    informer.onChange(({ type, object }) => {
      const { uid, name } = object.metadata;
      if (type === 'deleted') this.#forget(uid);
      else this.#names.set(uid, name);
    });
  }

  /** Told of volumes whose objects are gone. */
  onGone(listener: (id: string) => void): void {
    this.#whenGone.add(listener);
  }

  get(id: string): Recorded | undefined {
    const object = this.#object(this.#names.get(id));
    if (object?.metadata.uid !== id) return undefined;
    return recordedAs(object, (name) => this.#object(name)?.metadata.uid);
  }

  #forget(id: string): void {
    this.#names.delete(id);
    for (const listener of this.#whenGone) listener(id);
  }

  #object(name: string | undefined): LogicalVolume | undefined {
    return name === undefined ? undefined : this.#informer?.get({ name });
  }
}
