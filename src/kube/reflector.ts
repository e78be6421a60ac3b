import { backoffMs } from './backoff.ts';
import type { KubeClient } from './client.ts';
import { KubeError } from './errors.ts';
import { compareVersions, type Kind, type KubeObject, keyOf, type ObjectName } from './kind.ts';
import { kubeLimits } from './limits.ts';
import type { Chance, Clock, Trouble } from './ports.ts';
import { type Change, Store } from './store.ts';
import type { Scope, WatchEvent } from './wire.ts';

export type ReflectorParts<T extends KubeObject> = {
  readonly client: KubeClient;
  readonly kind: Kind<T>;
  /**
   * What is watched. Further scopes are for servers that refuse the one before: a field selector
   * for a kind that has no such field there, then a label.
   */
  readonly scopes: readonly [Scope, ...Scope[]];
  /** `cached` for lists that a selector makes short: they cost the server's storage nothing. */
  readonly lists?: 'newest' | 'cached';
  readonly clock: Clock;
  readonly chance: Chance;
  /** Told in order, and at once: the store has the change already. */
  readonly changed?: (change: Change<T>) => void;
  readonly trouble?: Trouble;
  readonly idleMs?: number;
};

/**
 * Keeps a store equal to what the server has: one list, then a watch that goes on where it was.
 * Only when the server no longer knows that version is there another list.
 */
export class Reflector<T extends KubeObject> {
  readonly #parts: ReflectorParts<T>;
  readonly #store = new Store<T>();
  readonly #synced: Promise<undefined>;
  #resolveSynced: (nothing: undefined) => void = () => undefined;
  #scope: Scope;
  /** The version that was seen last, while it is good for a watch. */
  #version: string | undefined;
  #lastVersion: string | undefined;
  #hasSynced = false;
  #hasListFailed = false;
  /** Has the newest watch told nothing yet? */
  #isSilent = false;
  #silences = 0;
  #troubles = 0;
  #heardAtMs: number | undefined;

  constructor(parts: ReflectorParts<T>) {
    this.#parts = parts;
    this.#scope = parts.scopes[0];
    this.#synced = new Promise((resolve) => {
      this.#resolveSynced = resolve;
    });
  }

  get(name: ObjectName): T | undefined {
    return this.#store.get(keyOf(name));
  }

  get size(): number {
    return this.#store.size;
  }

  values(): IterableIterator<T> {
    return this.#store.values();
  }

  /** Resolves with the first complete list. Nobody may conclude from what is missing before. */
  get synced(): Promise<undefined> {
    return this.#synced;
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** When the server was last heard, a bookmark included. */
  get heardAtMs(): number | undefined {
    return this.#heardAtMs;
  }

  /** Shows the answer to a write of ours before the watch brings it. */
  putOwn(object: T): void {
    this.#tell(this.#store.putOwn(object, this.#version));
  }

  /** Runs until the signal fires. Trouble is told and tried again; only a bug of ours rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        this.#version ??= await this.#list(signal);
        this.#version = await this.#watch(this.#version, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof KubeError)) throw error;
        await this.#recover(error, signal);
      }
    }
  }

  async #recover(error: KubeError, signal: AbortSignal): Promise<void> {
    if (error.code === 'Timeout' && this.#isSilent) this.#silences += 1;
    // Not even a bookmark: after a restored backup our version may lie in the server's future.
    const isDeaf = this.#silences >= kubeLimits.silentWatchesMax;
    if (error.code === 'Gone' || isDeaf) this.#version = undefined;
    this.#troubles += 1;
    const waitMs = backoffMs(this.#troubles, error.retryAfterMs, this.#parts.chance);
    this.#parts.trouble?.(error, waitMs);
    await this.#parts.clock.sleep(waitMs, signal);
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { items, resourceVersion } = await this.#listInScope(signal);
    const last = this.#lastVersion;
    const isOlder = last !== undefined && compareVersions(resourceVersion, last) === -1;
    this.#hasListFailed = false;
    this.#silences = 0;
    this.#heard(resourceVersion);
    this.#tell(this.#store.replace(items, resourceVersion, isOlder));
    if (!this.#hasSynced) {
      this.#hasSynced = true;
      this.#resolveSynced(undefined);
    }
    return resourceVersion;
  }

  /** Each time from the first scope on: the server may have learned the selector meanwhile. */
  async #listInScope(signal: AbortSignal) {
    const { client, kind, scopes } = this.#parts;
    for (const [index, scope] of scopes.entries()) {
      try {
        this.#scope = scope;
        return await client.list(kind, scope, this.#freshness(), { signal });
      } catch (error) {
        const isRefused = error instanceof KubeError && error.code === 'Invalid';
        if (isRefused && index < scopes.length - 1) continue;
        this.#hasListFailed = true;
        throw error;
      }
    }
    throw new KubeError('Invalid', 'there is no scope');
  }

  /** A version that lies in the server's future never comes: then only its storage knows. */
  #freshness() {
    const { lists = 'newest' } = this.#parts;
    if (lists === 'newest' || this.#hasListFailed) return { kind: 'newest' } as const;
    return { kind: 'cached', notOlderThan: this.#lastVersion ?? '0' } as const;
  }

  /** Until the server ends it; then it goes on from the version that was reached. */
  async #watch(from: string, signal: AbortSignal): Promise<string> {
    const { client, kind, clock, idleMs } = this.#parts;
    const startedAtMs = clock.nowMs();
    const options = { signal, ...(idleMs === undefined ? {} : { idleMs }) };
    this.#isSilent = true;
    for await (const event of client.watch(kind, this.#scope, from, options)) {
      if (signal.aborted) break;
      this.#isSilent = false;
      this.#silences = 0;
      this.#troubles = 0;
      this.#take(event);
    }
    const isShort = clock.nowMs() - startedAtMs < kubeLimits.watchMsMin;
    if (this.#isSilent && isShort && !signal.aborted) {
      throw new KubeError('Unreachable', `watch ${kind.plural}: it ended at once`);
    }
    if (!isShort) this.#troubles = 0;
    return this.#version ?? from;
  }

  #take(event: WatchEvent<T>): void {
    switch (event.type) {
      case 'added':
      case 'modified':
        this.#version = this.#heard(event.object.metadata.resourceVersion);
        this.#tell(this.#store.put(event.object));
        return;
      case 'deleted':
        this.#version = this.#heard(event.object.metadata.resourceVersion);
        this.#tell(this.#store.remove(event.object));
        return;
      case 'bookmark':
        this.#version = this.#heard(event.resourceVersion);
        return;
    }
  }

  #heard(version: string): string {
    this.#heardAtMs = this.#parts.clock.nowMs();
    this.#lastVersion = version;
    return version;
  }

  #tell(changes: readonly Change<T>[]): void {
    for (const change of changes) this.#parts.changed?.(change);
  }
}
