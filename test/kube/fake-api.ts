import { type Json, jsonPatch, mergePatch } from './fake-patch.ts';

/**
 * An API server in memory: versions, lists in pages, watches with bookmarks, history that can be
 * compacted, conflicts. What it does wrong is done by who stands before it.
 */
export type Stored = Json & {
  readonly metadata: Json & {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
};

export type FakeRequest = {
  readonly method: string;
  readonly url: string;
  readonly contentType?: string | undefined;
  readonly body?: string | undefined;
};

/** Where an answer goes, piece by piece. */
export type Sink = {
  head(status: number): void;
  write(text: string): void;
  end(): void;
};

type Entry = { readonly version: number; readonly before?: Stored; readonly after?: Stored };

type Watcher = {
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly query: URLSearchParams;
  readonly sink: Sink;
};

type Target = {
  readonly collection: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
};

export class FakeApi {
  readonly requests: FakeRequest[] = [];
  /** Collections that are not served, such as those of a CRD that is not installed. */
  readonly missing = new Set<string>();
  /** Fields that may be selected by, beside name and namespace. */
  readonly selectable = new Set<string>();
  /** Answers a watch at a version that is gone in the stream, as newer servers do. */
  goneInStream = true;
  /** Lists from its memory are as old as the caller allows. */
  hasLaggingCache = false;
  #version = 1000;
  #compactedTo = 0;
  readonly #objects = new Map<string, Stored>();
  readonly #history = new Map<string, Entry[]>();
  readonly #watchers = new Set<Watcher>();

  get version(): string {
    return String(this.#version);
  }

  get watching(): number {
    return this.#watchers.size;
  }

  /** All objects of a collection, as `/apis/group/version/plural`. */
  all(collection: string): readonly Stored[] {
    return [...this.#objects.entries()]
      .filter(([key]) => key.startsWith(`${collection}|`))
      .map(([, object]) => object);
  }

  /** Somebody else's write. */
  put(collection: string, object: Json & { readonly metadata: Json }): Stored {
    const name = String(object.metadata['name']);
    const namespace = object.metadata['namespace'] as string | undefined;
    return this.#store({ collection, namespace, name }, object);
  }

  delete(collection: string, name: string, namespace?: string): void {
    const key = keyOf({ collection, namespace, name });
    const before = this.#objects.get(key);
    if (before === undefined) return;
    this.#version += 1;
    this.#objects.delete(key);
    const metadata = { ...before.metadata, resourceVersion: String(this.#version) };
    this.#note(collection, { version: this.#version, before: { ...before, metadata } });
  }

  /** Time passes for other kinds. */
  tick(): void {
    this.#version += 1;
  }

  /** Nothing before now is known any more. Watches that are open go on. */
  compact(): void {
    this.#compactedTo = this.#version;
    for (const entries of this.#history.values()) entries.length = 0;
  }

  /** A backup is restored: these objects, and versions that were used before. */
  restore(version: number, collection: string, objects: readonly Stored[]): void {
    this.endWatches();
    this.#version = version;
    this.#compactedTo = 0;
    this.#history.clear();
    for (const old of this.all(collection)) {
      this.#objects.delete(keyOf({ collection, ...old.metadata }));
    }
    for (const object of objects) {
      this.#objects.set(keyOf({ collection, ...object.metadata }), object);
    }
  }

  bookmark(): void {
    for (const { sink } of this.#watchers) {
      const metadata = { resourceVersion: this.version };
      sink.write(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata } })}\n`);
    }
  }

  endWatches(): void {
    for (const { sink } of this.#watchers) sink.end();
    this.#watchers.clear();
  }

  /** Says in the stream that a watch cannot go on. */
  failWatches(status: Json): void {
    for (const { sink } of this.#watchers) {
      sink.write(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
    }
    this.endWatches();
  }

  forget(sink: Sink): void {
    for (const watcher of this.#watchers) if (watcher.sink === sink) this.#watchers.delete(watcher);
  }

  handle(request: FakeRequest, sink: Sink): void {
    this.requests.push(request);
    const url = new URL(request.url, 'https://fake');
    const target = targetOf(url.pathname);
    if (target === undefined || this.missing.has(target.collection)) {
      reply(sink, 404, undefined, '404 page not found\n');
      return;
    }
    const query = url.searchParams;
    if (request.method === 'GET' && target.name === undefined) {
      const bad = this.#badSelector(query);
      if (bad !== undefined) fail(sink, 400, 'BadRequest', `field label not supported: ${bad}`);
      else if (query.get('watch') === 'true') this.#watch(target, query, sink);
      else this.#list(target, query, sink);
      return;
    }
    const write = { ...request, isDryRun: query.get('dryRun') === 'All', query };
    switch (request.method) {
      case 'GET':
        this.#found(target, sink, (object) => reply(sink, 200, object));
        return;
      case 'POST':
        this.#create(target, write, sink);
        return;
      case 'PUT':
        this.#update(target, write, sink);
        return;
      case 'PATCH':
        this.#patch(target, write, sink);
        return;
      default:
        this.#delete(target, write, sink);
    }
  }

  #found(target: Target, sink: Sink, then: (object: Stored) => void): void {
    const object = this.#objects.get(keyOf(target));
    if (object !== undefined) then(object);
    else fail(sink, 404, 'NotFound', `${target.name} not found`, { name: target.name });
  }

  #badSelector(query: URLSearchParams): string | undefined {
    const fields = (query.get('fieldSelector') ?? '').split(',').filter((part) => part !== '');
    return fields
      .map((part) => part.split('=')[0] ?? '')
      .find((field) => field !== 'metadata.name' && !this.selectable.has(field));
  }

  #list(target: Target, query: URLSearchParams, sink: Sink): void {
    const asked = query.get('resourceVersion') ?? '';
    if (Number(asked) > this.#version) {
      const causes = [{ reason: 'ResourceVersionTooLarge' }];
      fail(sink, 504, 'Timeout', 'Too large resource version', { causes });
      return;
    }
    const [at = '', offset = '0'] = (query.get('continue') ?? '').split(':');
    if (at !== '' && Number(at) < this.#compactedTo) {
      fail(sink, 410, 'Expired', 'The provided continue parameter is too old');
      return;
    }
    const version = at === '' ? this.#freshness(asked) : Number(at);
    const all = this.#asOf(target.collection, version).filter((object) =>
      matches(object, query, target.namespace),
    );
    const limit = Number(query.get('limit') ?? '0') || all.length;
    const end = Number(offset) + limit;
    const next = end < all.length ? { continue: `${version}:${end}` } : {};
    const metadata = { resourceVersion: String(version), ...next };
    reply(sink, 200, { metadata, items: all.slice(Number(offset), end) });
  }

  #freshness(asked: string): number {
    if (!this.hasLaggingCache || asked === '') return this.#version;
    return Math.max(Number(asked), this.#compactedTo, this.#version - 3);
  }

  /** What there was at a version, made by undoing what came after. */
  #asOf(collection: string, version: number): readonly Stored[] {
    const found = new Map(this.all(collection).map((object) => [keyOf(object.metadata), object]));
    for (const entry of (this.#history.get(collection) ?? []).toReversed()) {
      if (entry.version <= version) break;
      if (entry.after !== undefined) found.delete(keyOf(entry.after.metadata));
      if (entry.before !== undefined) found.set(keyOf(entry.before.metadata), entry.before);
    }
    return [...found.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
  }

  #watch(target: Target, query: URLSearchParams, sink: Sink): void {
    const from = Number(query.get('resourceVersion') ?? '0');
    if (from < this.#compactedTo && !this.goneInStream) {
      fail(sink, 410, 'Expired', 'too old resource version');
      return;
    }
    if (from > this.#version) {
      const causes = [{ reason: 'ResourceVersionTooLarge' }];
      fail(sink, 504, 'Timeout', 'Too large resource version', { causes });
      return;
    }
    sink.head(200);
    if (from < this.#compactedTo) {
      sink.write(`${JSON.stringify({ type: 'ERROR', object: goneStatus })}\n`);
      sink.end();
      return;
    }
    const { collection, namespace } = target;
    const watcher = { collection, namespace, query, sink };
    for (const entry of this.#history.get(target.collection) ?? []) {
      if (entry.version > from) send(watcher, entry);
    }
    this.#watchers.add(watcher);
  }

  #create(target: Target, write: Write, sink: Sink): void {
    const object = JSON.parse(write.body ?? '{}') as Stored;
    const named = { ...target, name: object.metadata.name };
    if (this.#objects.has(keyOf(named))) {
      fail(sink, 409, 'AlreadyExists', `${named.name} already exists`, { name: named.name });
      return;
    }
    reply(sink, 201, write.isDryRun ? draftOf(object) : this.#store(named, object));
  }

  #update(target: Target, write: Write, sink: Sink): void {
    this.#found(target, sink, (before) => {
      const object = JSON.parse(write.body ?? '{}') as Stored;
      const version = object.metadata.resourceVersion;
      if (version !== undefined && version !== before.metadata.resourceVersion) {
        fail(sink, 409, 'Conflict', 'the object has been modified');
        return;
      }
      reply(sink, 200, this.#store(target, object, before));
    });
  }

  #patch(target: Target, write: Write, sink: Sink): void {
    const patch = JSON.parse(write.body ?? '{}') as Json;
    const isApply = write.contentType === 'application/apply-patch+yaml';
    if (isApply && write.query.get('fieldManager') === null) {
      fail(sink, 400, 'BadRequest', 'fieldManager is required for apply patch');
      return;
    }
    if (isApply && !this.#objects.has(keyOf(target))) {
      reply(sink, 201, this.#store(target, patch as Stored));
      return;
    }
    this.#found(target, sink, (before) => {
      const isJson = write.contentType === 'application/json-patch+json';
      const after = isJson
        ? jsonPatch(before, patch as unknown as [])
        : (mergePatch(before, patch) as Stored);
      const version = (after as Stored | undefined)?.metadata.resourceVersion;
      if (after === undefined) fail(sink, 422, 'Invalid', 'the patch does not apply');
      else if (version !== before.metadata.resourceVersion) fail(sink, 409, 'Conflict', 'modified');
      else reply(sink, 200, this.#store(target, after as Stored, before));
    });
  }

  #delete(target: Target, write: Write, sink: Sink): void {
    this.#found(target, sink, (object) => {
      const options = JSON.parse(write.body ?? '{}') as {
        readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
      };
      const { uid, resourceVersion } = options.preconditions ?? {};
      const isOther =
        (uid ?? object.metadata.uid) !== object.metadata.uid ||
        (resourceVersion ?? object.metadata.resourceVersion) !== object.metadata.resourceVersion;
      if (isOther) {
        fail(sink, 409, 'Conflict', 'the precondition does not hold');
        return;
      }
      this.delete(target.collection, object.metadata.name, object.metadata.namespace);
      reply(sink, 200, { kind: 'Status', status: 'Success' });
    });
  }

  /** A subresource changes `status` only, the object itself everything else. */
  #store(target: Target, draft: Json & { readonly metadata: Json }, known?: Stored): Stored {
    const key = keyOf(target);
    const before = known ?? this.#objects.get(key);
    this.#version += 1;
    const base = target.subresource === 'status' && before !== undefined ? before : draft;
    const status = target.subresource === 'status' || known === undefined ? draft : known;
    const object: Stored = {
      ...base,
      ...(status['status'] === undefined ? {} : { status: status['status'] }),
      metadata: {
        ...base.metadata,
        name: target.name ?? '',
        ...(target.namespace === undefined ? {} : { namespace: target.namespace }),
        uid: before?.metadata.uid ?? `uid-${this.#version}`,
        resourceVersion: String(this.#version),
        managedFields: [{ manager: 'somebody', fieldsV1: { 'f:spec': {} } }],
      },
    };
    this.#objects.set(key, object);
    const entry = { version: this.#version, after: object };
    this.#note(target.collection, before === undefined ? entry : { ...entry, before });
    return object;
  }

  #note(collection: string, entry: Entry): void {
    const entries = this.#history.get(collection) ?? [];
    entries.push(entry);
    this.#history.set(collection, entries);
    for (const watcher of this.#watchers) {
      if (watcher.collection === collection) send(watcher, entry);
    }
  }
}

type Write = FakeRequest & { readonly isDryRun: boolean; readonly query: URLSearchParams };

export const goneStatus = {
  ...{ kind: 'Status', code: 410, reason: 'Expired' },
  message: 'too old resource version',
};

/** What leaves a selection is deleted for who watches it. */
function send({ namespace, query, sink }: Watcher, { before, after }: Entry): void {
  const was = before !== undefined && matches(before, query, namespace);
  const is = after !== undefined && matches(after, query, namespace);
  if (!was && !is) return;
  const type = !is ? 'DELETED' : was ? 'MODIFIED' : 'ADDED';
  const version = after?.metadata.resourceVersion;
  const gone =
    before === undefined || version === undefined
      ? before
      : { ...before, metadata: { ...before.metadata, resourceVersion: version } };
  sink.write(`${JSON.stringify({ type, object: is ? after : gone })}\n`);
}

function matches(object: Stored, query: URLSearchParams, namespace?: string): boolean {
  if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
  const labels = object.metadata.labels ?? {};
  const isLabelled = pairsOf(query.get('labelSelector')).every(([k, v]) => labels[k] === v);
  return (
    isLabelled && pairsOf(query.get('fieldSelector')).every(([k, v]) => fieldOf(object, k) === v)
  );
}

function pairsOf(selector: string | null): readonly (readonly [string, string])[] {
  const parts = (selector ?? '').split(',').filter((part) => part !== '');
  return parts.map((part) => [part.split('=')[0] ?? '', part.split('=')[1] ?? '']);
}

function fieldOf(object: Json, path: string): unknown {
  let value: unknown = object;
  for (const key of path.split('.')) value = (value as Json | undefined)?.[key];
  return value;
}

function targetOf(path: string): Target | undefined {
  const match = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+))?\/(.+)$/.exec(path);
  if (match === null) return undefined;
  const [, root, namespace, rest = ''] = match;
  const [plural, name, subresource] = rest.split('/');
  return { collection: `${root}/${plural}`, namespace, name, subresource };
}

function keyOf(place: {
  collection?: string;
  namespace?: string | undefined;
  name?: string | undefined;
}): string {
  return `${place.collection ?? ''}|${place.namespace ?? ''}/${place.name ?? ''}`;
}

/** What a dry run makes has an identity, but no version. */
function draftOf(object: Stored): object {
  return { ...object, metadata: { ...object.metadata, uid: 'dry' } };
}

export function reply(sink: Sink, status: number, value: unknown, text?: string): void {
  sink.head(status);
  sink.write(text ?? JSON.stringify(value));
  sink.end();
}

export function fail(
  sink: Sink,
  code: number,
  reason: string,
  message: string,
  details?: Json,
): void {
  reply(sink, code, { kind: 'Status', status: 'Failure', code, reason, message, details });
}
