import type { KubeClient } from '../kube/client.ts';
import { Informer } from '../kube/informer.ts';
import { type Kind, type KubeObject, metadataShape } from '../kube/kind.ts';
import type { Chance, Clock, Trouble } from '../kube/ports.ts';
import type { Change } from '../kube/store.ts';

/** Of a CustomResourceDefinition we read which versions are served. */
export type CustomKind = KubeObject & {
  readonly spec?: {
    readonly versions?: readonly { readonly name: string; readonly served?: boolean }[];
  };
};

export const customKind: Kind<CustomKind> = {
  ...{ group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' },
  ...{ plural: 'customresourcedefinitions', isNamespaced: false },
  shape: {
    metadata: metadataShape,
    spec: { versions: [{ name: true, served: true }] },
  },
};

export type KindWatchParts<T extends KubeObject> = {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly trouble?: Trouble;
  /** The name of its definition: `volumesnapshots.snapshot.storage.k8s.io`. */
  readonly name: string;
  /** The versions we can read, the best first. */
  readonly versions: readonly string[];
  readonly kindOf: (version: string) => Kind<T>;
  /** Where its objects are looked for; everywhere, unless told otherwise. */
  readonly namespace?: string;
};

/** A kind that is there, and all objects of it. */
export type Served<T extends KubeObject> = {
  readonly kind: Kind<T>;
  readonly informer: Informer<T>;
};

/**
 * A kind that somebody may install or take away at any time. While it is served its objects are
 * watched. When it goes nothing is told as deleted: nobody may conclude anything from that.
 */
export class KindWatch<T extends KubeObject> {
  readonly #parts: KindWatchParts<T>;
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #whenServed = new Set<(isServed: boolean) => void>();
  /** Of the definition that is followed: another uid is another kind. */
  #followed: string | undefined;
  #stop = new AbortController();
  #current: Served<T> | undefined;
  #isLooked = false;
  #bug: unknown;

  constructor(parts: KindWatchParts<T>) {
    this.#parts = parts;
  }

  /** The kind and its objects, once the first list is complete. */
  get current(): Served<T> | undefined {
    return this.#current;
  }

  /** Is it known what there is? Before that a missing object means nothing. */
  get isKnown(): boolean {
    return this.#isLooked && (this.#followed === undefined || this.#current !== undefined);
  }

  /** Of an empty list where the kind is not served. */
  *values(): Generator<T> {
    yield* this.#current?.informer.values() ?? [];
  }

  /** What is there already is told first, as added. The answer ends it. */
  onChange(listener: (change: Change<T>) => void): () => void {
    for (const object of this.values()) listener({ type: 'added', object });
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Told when all objects are known, and when there is no such kind. */
  onServed(listener: (isServed: boolean) => void): () => void {
    if (this.isKnown) listener(this.#current !== undefined);
    this.#whenServed.add(listener);
    return () => this.#whenServed.delete(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { client, clock, chance, trouble, name } = this.#parts;
    const definitions = new Informer({
      ...{ client, clock, chance, kind: customKind },
      scopes: [{ fieldSelector: `metadata.name=${name}` }],
      ...(trouble === undefined ? {} : { trouble }),
    });
    const end = new AbortController();
    const stop = () => end.abort();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const follow = ({ type, object }: Change<CustomKind>) => {
      if (object.metadata.name !== name) return;
      this.#follow(type === 'deleted' ? undefined : object, end);
    };
    definitions.onChange(follow);
    void definitions.synced.then(() => {
      this.#isLooked = true;
      if (this.#followed === undefined) this.#tellServed(false);
    });
    try {
      await definitions.run(end.signal);
    } finally {
      signal.removeEventListener('abort', stop);
      this.#leave();
    }
    if (this.#bug !== undefined) throw this.#bug;
  }

  /** A definition on its way out is served until its last object is gone. */
  #follow(definition: CustomKind | undefined, end: AbortController): void {
    const version = servedVersion(definition, this.#parts.versions);
    const key = version === undefined ? undefined : `${definition?.metadata.uid} ${version}`;
    if (key === this.#followed) return;
    this.#leave();
    if (version === undefined) return;
    this.#followed = key;
    const { client, clock, chance, trouble, kindOf, namespace } = this.#parts;
    const kind = kindOf(version);
    const informer = new Informer<T>({
      ...{ client, clock, chance, kind, scopes: [namespace === undefined ? {} : { namespace }] },
      ...(trouble === undefined ? {} : { trouble }),
    });
    const stop = new AbortController();
    this.#stop = stop;
    informer.run(stop.signal).catch((bug: unknown) => {
      this.#bug ??= bug;
      end.abort();
    });
    void informer.synced.then(() => {
      if (!stop.signal.aborted) this.#serve({ kind, informer });
    });
  }

  #serve(served: Served<T>): void {
    this.#current = served;
    served.informer.onChange((change) => {
      if (this.#current !== served) return;
      for (const listener of this.#listeners) listener(change);
    });
    this.#tellServed(true);
  }

  #tellServed(isServed: boolean): void {
    for (const listener of this.#whenServed) listener(isServed);
  }

  #leave(): void {
    const wasServed = this.#current !== undefined;
    this.#stop.abort();
    this.#current = undefined;
    this.#followed = undefined;
    if (wasServed) this.#tellServed(false);
  }
}

/** The best of the versions that we can read and that the cluster serves. */
export function servedVersion(
  definition: CustomKind | undefined,
  versions: readonly string[],
): string | undefined {
  const served = definition?.spec?.versions ?? [];
  return versions.find((name) => served.some((one) => one.name === name && one.served === true));
}

/** Several of them, until the signal fires. */
export async function runKinds(
  watches: readonly { run(signal: AbortSignal): Promise<void> }[],
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(watches.map((watch) => watch.run(signal)));
}
