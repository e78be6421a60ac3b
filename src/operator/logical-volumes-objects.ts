import type { LogicalVolume } from '../api/objects/logical-volume.ts';
import { OperationError } from '../base/failures.ts';
import { idOf, type newLogicalVolume } from '../core/cluster/logical-volume.ts';
import type { ClusterNames } from '../core/cluster/names.ts';
import type { Signal } from '../engine/ports.ts';
import type { KubeClient, NewObject } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import type { Informer } from '../kube/informer.ts';
import { compareVersions, type Kind } from '../kube/kind.ts';
import { logicalVolumeKind } from '../kube/kinds.ts';
import type { Patch } from '../kube/patch.ts';
import type { Clock } from '../kube/ports.ts';
import type { Change } from '../kube/store.ts';
import { told } from './logical-volumes-errors.ts';
import { Waiters } from './waiters.ts';

export type ObjectParts = {
  readonly client: KubeClient;
  readonly names: ClusterNames;
  readonly store: Informer<LogicalVolume>;
  readonly clock: Clock;
  /** Throws where the agent of a node would not understand what is asked of it. */
  readonly mayAsk: (node: string) => void;
};

/** A LogicalVolume that is to be made. */
export type Draft = NewObject & ReturnType<typeof newLogicalVolume>;

/** Who waits asks the server itself after so long: a watch tells no more than it was told. */
const lookAgainMs = 30_000;

/** LogicalVolumes in the cluster: found by id, made, changed, and waited for. */
export class LogicalVolumeObjects {
  readonly #parts: ObjectParts;
  readonly #kind: Kind<LogicalVolume>;
  readonly #waiters = new Waiters();
  /** Names by the ids that they go by. */
  readonly #names = new Map<string, string>();

  constructor(parts: ObjectParts) {
    this.#parts = parts;
    this.#kind = logicalVolumeKind(parts.names.domain);
    parts.store.onChange((change) => this.#changed(change));
  }

  /** Those we have been told of. */
  get all(): Iterable<LogicalVolume> {
    const { store } = this.#parts;
    return { [Symbol.iterator]: () => store.values() };
  }

  get hasSynced(): boolean {
    return this.#parts.store.hasSynced;
  }

  named(name: string | undefined): LogicalVolume | undefined {
    return name === undefined ? undefined : this.#parts.store.get({ name });
  }

  /** As the server has it in this moment. */
  async fresh(name: string, signal?: AbortSignal): Promise<LogicalVolume | undefined> {
    const { client, store } = this.#parts;
    const found = await told(name, client.find(this.#kind, { name }, { signal }));
    if (found !== undefined) store.putOwn(found);
    return found;
  }

  /** What we have not been told of is asked for: only the server can say that it is gone. */
  async find(id: string): Promise<LogicalVolume | undefined> {
    const known = this.named(this.#names.get(id));
    if (known !== undefined) return known;
    const items = await this.listed(id);
    return items.find((volume) => idOf(volume) === id || volume.metadata.uid === id);
  }

  /** All of them, as the server has them in this moment. */
  async listed(what: string): Promise<readonly LogicalVolume[]> {
    const { client, store } = this.#parts;
    const { items } = await told(what, client.list(this.#kind));
    for (const item of items) store.putOwn(item);
    return items;
  }

  /** The object that was made, or undefined when there is one of this name already. */
  async make(draft: Draft) {
    const { client, store, mayAsk } = this.#parts;
    mayAsk(draft.spec.nodeName);
    try {
      const made = await client.create(this.#kind, draft);
      store.putOwn(made);
      return made;
    } catch (error) {
      if (isKubeError(error, 'AlreadyExists')) return undefined;
      return told(draft.metadata.name, Promise.reject(error));
    }
  }

  async patch(name: string, patch: Patch, subresource?: 'status'): Promise<LogicalVolume> {
    const { client, store } = this.#parts;
    const options = subresource === undefined ? {} : { subresource };
    const changed = await told(name, client.patch(this.#kind, { name }, patch, options));
    store.putOwn(changed);
    return changed;
  }

  /** This very one; another of its name stays. Answers when it is gone, and its LV with it. */
  async remove(volume: LogicalVolume, signal: AbortSignal | undefined): Promise<void> {
    const { name, uid } = volume.metadata;
    this.#parts.mayAsk(volume.spec.nodeName);
    // That it is gone may be told before the answer to the deletion is.
    const wasTold = this.named(name)?.metadata.uid === uid;
    try {
      const isThere = await this.#parts.client.delete(this.#kind, { name }, { uid });
      if (!isThere) return;
    } catch (error) {
      const isOther = isKubeError(error, 'Conflict') && (await this.#isOther(name, uid, signal));
      if (isOther) return;
      await told(name, Promise.reject(error));
    }
    const isGone = (now: LogicalVolume | undefined) =>
      now?.metadata.uid === uid ? undefined : 'gone';
    await this.until(volume, isGone, signal, wasTold);
  }

  async #isOther(name: string, uid: string, signal: AbortSignal | undefined): Promise<boolean> {
    return (await this.fresh(name, signal))?.metadata.uid !== uid;
  }

  /**
   * What `look` makes of the object as it is now, as soon as it makes something of it. `known` is
   * what the caller saw last: nothing older is shown to it.
   */
  async until<T>(
    known: LogicalVolume,
    look: (now: LogicalVolume | undefined) => T | undefined,
    signal: AbortSignal | undefined,
    wasTold = false,
  ): Promise<T> {
    const { name } = known.metadata;
    let newest: LogicalVolume | undefined = known;
    let hasSeen = wasTold;
    const current = () => {
      const told = this.named(name);
      if (told !== undefined && !isOlder(told, newest)) {
        hasSeen = true;
        newest = told;
      } else if (told === undefined && hasSeen) newest = undefined;
      return newest;
    };
    for (;;) {
      const found = await this.#lap(name, () => look(current()), signal);
      if (found !== undefined) return found;
      if (signal?.aborted === true) throw left(name);
      const asked = await this.#askedFor(name, signal);
      if (asked === 'away') continue;
      newest = asked;
      const after = look(newest);
      if (after !== undefined) return after;
    }
  }

  /** A server that is away has nothing to say, and is heard again by and by. */
  async #askedFor(
    name: string,
    signal: AbortSignal | undefined,
  ): Promise<LogicalVolume | undefined | 'away'> {
    try {
      return await this.fresh(name, signal);
    } catch (error) {
      const isAway = error instanceof OperationError && error.code === 'ClusterUnavailable';
      if (isAway || signal?.aborted === true) return 'away';
      throw error;
    }
  }

  /** Until something is found, the caller leaves, or it is time to ask the server. */
  async #lap<T>(
    name: string,
    look: () => T | undefined,
    signal: AbortSignal | undefined,
  ): Promise<T | undefined> {
    const over = new AbortController();
    const stop = () => over.abort();
    signal?.addEventListener('abort', stop);
    if (signal?.aborted === true) stop();
    void this.#parts.clock.sleep(lookAgainMs, over.signal).then(stop);
    try {
      return await this.#waiters.until(name, look, over.signal);
    } catch (error) {
      if (over.signal.aborted && error === over.signal.reason) return undefined;
      throw error;
    } finally {
      signal?.removeEventListener('abort', stop);
      stop();
    }
  }

  #changed({ type, object }: Change<LogicalVolume>): void {
    const { name, uid } = object.metadata;
    for (const id of [uid, idOf(object)]) {
      if (type !== 'deleted') this.#names.set(id, name);
      else if (this.#names.get(id) === name) this.#names.delete(id);
    }
    this.#waiters.changed(name);
  }
}

export function left(name: string): OperationError {
  const message = `nobody waits for ${name} any more; it may still come about`;
  return new OperationError('Cancelled', message);
}

/** Callers know a smaller kind of signal than the cluster's door does. */
export function asAbortSignal(signal: Signal | undefined): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  if (signal.aborted) controller.abort();
  else signal.addEventListener('abort', () => controller.abort());
  return controller.signal;
}

function isOlder(a: LogicalVolume, b: LogicalVolume | undefined): boolean {
  if (b === undefined) return false;
  return compareVersions(a.metadata.resourceVersion, b.metadata.resourceVersion) === -1;
}
