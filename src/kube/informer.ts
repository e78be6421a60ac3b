import type { KubeObject, ObjectName } from './kind.ts';
import { Reflector, type ReflectorParts } from './reflector.ts';
import type { Change } from './store.ts';

/** One store for everybody who needs the kind: a watch is paid for once. */
export class Informer<T extends KubeObject> {
  readonly #reflector: Reflector<T>;
  readonly #listeners = new Set<(change: Change<T>) => void>();

  constructor(parts: Omit<ReflectorParts<T>, 'changed'>) {
    const changed = (change: Change<T>) => {
      for (const listener of this.#listeners) listener(change);
    };
    this.#reflector = new Reflector({ ...parts, changed });
  }

  get(name: ObjectName): T | undefined {
    return this.#reflector.get(name);
  }

  values(): IterableIterator<T> {
    return this.#reflector.values();
  }

  get size(): number {
    return this.#reflector.size;
  }

  /** Resolves with the first complete list. Nobody may conclude from what is missing before. */
  get synced(): Promise<undefined> {
    return this.#reflector.synced;
  }

  get hasSynced(): boolean {
    return this.#reflector.hasSynced;
  }

  /** When the server was last heard. */
  get heardAtMs(): number | undefined {
    return this.#reflector.heardAtMs;
  }

  /** Shows the answer to a write of ours before the watch brings it. */
  putOwn(object: T): void {
    this.#reflector.putOwn(object);
  }

  /** What is there already is told first, as added. The answer ends it. */
  onChange(listener: (change: Change<T>) => void): () => void {
    for (const object of this.#reflector.values()) listener({ type: 'added', object });
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }
}
