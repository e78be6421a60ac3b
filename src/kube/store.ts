import { isSameJson } from '../api/same.ts';
import { compareVersions, type KubeObject, keyOf } from './kind.ts';

/** What became known of one object. `object` of what was deleted is the last that was known. */
export type Change<T> =
  | { readonly type: 'added'; readonly object: T }
  | { readonly type: 'modified'; readonly object: T; readonly before: T }
  | { readonly type: 'deleted'; readonly object: T };

/** Kubelet writes its Node every few seconds, and of most of that only the version is kept. */
export function isNews<T extends KubeObject>(change: Change<T>): boolean {
  if (change.type !== 'modified') return true;
  const { before, object } = change;
  const { resourceVersion } = before.metadata;
  const after = { ...object, metadata: { ...object.metadata, resourceVersion } };
  return !isSameJson(before, after);
}

/**
 * The objects of one reflector by `namespace/name`, and what changed with each word of the server.
 * Versions are compared only with what we wrote ourselves and the server has not told yet.
 */
export class Store<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  /** Keys of answers to our own writes that lie ahead of the watch. */
  readonly #ahead = new Set<string>();

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  get size(): number {
    return this.#objects.size;
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  /** A whole list takes the place of all that was known. */
  replace(items: readonly T[], version: string, isOlder: boolean): readonly Change<T>[] {
    // After a restored backup our own writes may never have happened.
    if (isOlder) this.#ahead.clear();
    const listed = new Set<string>();
    const changes: Change<T>[] = [];
    for (const item of items) {
      listed.add(keyOf(item.metadata));
      changes.push(...this.put(item));
    }
    for (const [key, object] of this.#objects) {
      if (listed.has(key) || this.#isAhead(key, version)) continue;
      changes.push(...this.#drop(key, object));
    }
    return changes;
  }

  /** A word of the server about an object that is there. */
  put(object: T): readonly Change<T>[] {
    const key = keyOf(object.metadata);
    if (this.#isAhead(key, object.metadata.resourceVersion)) return [];
    this.#ahead.delete(key);
    return this.#set(key, object);
  }

  /** A word of the server about an object that is gone. */
  remove(object: T): readonly Change<T>[] {
    const key = keyOf(object.metadata);
    if (this.#isAhead(key, object.metadata.resourceVersion)) return [];
    const known = this.#objects.get(key);
    return known === undefined ? [] : this.#drop(key, known);
  }

  /**
   * The answer to a write of ours, which the watch will tell later. What the watch has passed
   * already may be gone since, so it counts for nothing.
   */
  putOwn(object: T, watchedTo: string | undefined): readonly Change<T>[] {
    const { resourceVersion } = object.metadata;
    if (watchedTo === undefined || compareVersions(resourceVersion, watchedTo) !== 1) return [];
    const key = keyOf(object.metadata);
    if (this.#isAhead(key, resourceVersion)) return [];
    this.#ahead.add(key);
    return this.#set(key, object);
  }

  #set(key: string, object: T): readonly Change<T>[] {
    const before = this.#objects.get(key);
    const isSame = before !== undefined && before.metadata.uid === object.metadata.uid;
    if (isSame && before.metadata.resourceVersion === object.metadata.resourceVersion) return [];
    this.#objects.set(key, object);
    if (before === undefined) return [{ type: 'added', object }];
    if (isSame) return [{ type: 'modified', object, before }];
    // One name, two objects: the first was deleted while nobody looked.
    return [
      { type: 'deleted', object: before },
      { type: 'added', object },
    ];
  }

  #drop(key: string, object: T): readonly Change<T>[] {
    this.#objects.delete(key);
    this.#ahead.delete(key);
    return [{ type: 'deleted', object }];
  }

  /** Is what we hold newer than what the server just told? */
  #isAhead(key: string, version: string): boolean {
    if (!this.#ahead.has(key)) return false;
    const held = this.#objects.get(key)?.metadata.resourceVersion ?? '';
    return compareVersions(held, version) === 1;
  }
}
