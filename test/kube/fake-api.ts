import { changed, generationOf, isLeaving, objection } from './fake-api-change.ts';
import { isEqual, ruleOf } from './fake-api-rules.ts';
import {
  draftOf,
  type FakeRequest,
  fail,
  fieldsOf,
  goneStatus,
  keyOf,
  matches,
  reply,
  replyLog,
  type Sink,
  type Stored,
  type Target,
  targetOf,
} from './fake-api-wire.ts';
import { Applied, type Json, jsonPatch, mergePatch } from './fake-patch.ts';

export {
  type FakeRequest,
  fail,
  goneStatus,
  reply,
  type Sink,
  type Stored,
} from './fake-api-wire.ts';

type Entry = { readonly version: number; readonly before?: Stored; readonly after?: Stored };

type Watcher = {
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly query: URLSearchParams;
  readonly sink: Sink;
};

/** Somebody asked for a change. `isDone` is false for what was refused or changed nothing. */
export type WriteNote = {
  readonly who: string;
  readonly verb: 'create' | 'update' | 'patch' | 'delete';
  readonly collection: string;
  readonly subresource: string | undefined;
  readonly name: string;
  readonly isDone: boolean;
};

export type ApiParts = {
  readonly nowMs?: () => number;
  readonly newUid?: () => string;
  /** Ends a `generateName`. */
  readonly newSuffix?: () => string;
};

type Told = {
  readonly collection: string;
  readonly before: Stored | undefined;
  readonly after: Stored | undefined;
};

/**
 * An API server in memory: versions, lists in pages, watches with bookmarks, history that can be
 * compacted, conflicts, finalizers, and the rules of the kinds we write. What goes wrong on the way
 * to it is done by who stands before it.
 */
export class FakeApi {
  readonly #parts: ApiParts;
  /** Every write that was asked for, in order. */
  readonly writes: WriteNote[] = [];
  /** Told of each change at once. */
  readonly listeners = new Set<(told: Told) => void>();
  readonly requests: FakeRequest[] = [];
  /** Collections that are not served, such as those of a CRD that is not installed. */
  readonly missing = new Set<string>();
  /** What a container printed, by `pod/container/current` and `pod/container/previous`. */
  readonly logs = new Map<string, string>();
  /** Fields that may be selected by, beside name and namespace. */
  readonly selectable = new Set<string>();
  /** Opens a watch at a version that was never there, and says nothing, as real servers do. */
  isSilentAhead = false;
  /** Answers a watch at a version that is gone in the stream, as newer servers do. */
  goneInStream = true;
  /** Lists from its memory are so many versions old, if the caller allows that. */
  cacheLag = 0;
  #version = 1000;
  #compactedTo = 0;
  /** By collection, then by namespace and name. */
  readonly #objects = new Map<string, Map<string, Stored>>();
  readonly #history = new Map<string, Entry[]>();
  readonly #applied = new Applied();
  readonly #watchers = new Set<Watcher>();

  constructor(parts: ApiParts = {}) {
    this.#parts = parts;
  }

  get version(): string {
    return String(this.#version);
  }

  get watching(): number {
    return this.#watchers.size;
  }

  /** All objects of a collection, as `/apis/group/version/plural`. */
  all(collection: string): readonly Stored[] {
    return [...(this.#objects.get(collection)?.values() ?? [])];
  }

  one(collection: string, name: string, namespace?: string): Stored | undefined {
    return this.#objects.get(collection)?.get(keyOf({ namespace, name }));
  }

  /** How many writes of a kind were carried out, by everybody or by one. */
  writesTo(collection: string, who?: string): number {
    const isCounted = (note: WriteNote) =>
      note.isDone && note.collection === collection && (who === undefined || note.who === who);
    return this.writes.filter(isCounted).length;
  }

  /** Somebody else's write, past all rules. */
  put(collection: string, object: Json & { readonly metadata: Json }): Stored {
    const name = String(object.metadata['name']);
    const namespace = object.metadata['namespace'] as string | undefined;
    const target = { collection, namespace, name };
    const before = this.#find(target);
    return this.#store(target, { ...object, metadata: object.metadata } as Stored, before);
  }

  /** It is gone at once, whatever its finalizers say. */
  delete(collection: string, name: string, namespace?: string): void {
    const before = this.#find({ collection, namespace, name });
    if (before !== undefined) this.#remove(collection, before);
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
    const restored = objects.map((object) => [keyOf(object.metadata), object] as const);
    this.#objects.set(collection, new Map(restored));
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
        if (target.subresource === 'log') replyLog(this.logs, target, query, sink);
        else this.#found(target, sink, (object) => reply(sink, 200, object));
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
    const object = this.#find(target);
    if (object !== undefined) then(object);
    else fail(sink, 404, 'NotFound', `${target.name} not found`, { name: target.name });
  }

  #badSelector(query: URLSearchParams): string | undefined {
    return fieldsOf(query)
      .map(([field]) => field)
      .find((field) => !/^metadata\.name(space)?$/.test(field) && !this.selectable.has(field));
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
    if (asked === '') return this.#version;
    return Math.max(Number(asked), this.#compactedTo, this.#version - this.cacheLag);
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
    if (from > this.#version && this.isSilentAhead) {
      sink.head(200);
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
    const given = JSON.parse(write.body ?? '{}') as Stored;
    const rule = ruleOf(target.collection);
    if (rule?.isNamespaced === true && target.namespace === undefined) {
      fail(sink, 405, 'MethodNotAllowed', 'the server does not allow this method');
      return;
    }
    const name = given.metadata.name ?? this.#generated(given);
    const named = { ...target, name };
    if (this.#find(named) !== undefined) {
      this.#tellWrite('create', named, write, false);
      fail(sink, 409, 'AlreadyExists', `${name} already exists`, { name });
      return;
    }
    const { status: _status, ...plain } = given;
    const draft = rule?.hasStatus === true ? (plain as unknown as Stored) : given;
    const whole = rule?.complete?.(draft) ?? draft;
    if (write.isDryRun) {
      reply(sink, 201, draftOf({ ...whole, metadata: { ...whole.metadata, name } }));
      return;
    }
    this.#tellWrite('create', named, write, true);
    const { deletionTimestamp: _gone, ...metadata } = whole.metadata;
    reply(sink, 201, this.#store(named, { ...whole, metadata }));
  }

  #generated({ metadata }: Stored): string {
    const suffix = this.#parts.newSuffix?.() ?? String(this.#version);
    return `${metadata.generateName ?? 'nameless-'}${suffix}`;
  }

  #update(target: Target, write: Write, sink: Sink): void {
    this.#found(target, sink, (before) => {
      const object = JSON.parse(write.body ?? '{}') as Stored;
      const version = object.metadata.resourceVersion;
      if (version !== undefined && version !== before.metadata.resourceVersion) {
        this.#tellWrite('update', target, write, false);
        fail(sink, 409, 'Conflict', 'the object has been modified', { name: target.name });
        return;
      }
      this.#change('update', { target, before, draft: object, write, sink });
    });
  }

  #patch(target: Target, write: Write, sink: Sink): void {
    const patch = JSON.parse(write.body ?? '{}') as Json;
    const isApply = write.contentType === 'application/apply-patch+yaml';
    if (isApply && write.query.get('fieldManager') === null) {
      fail(sink, 400, 'BadRequest', 'fieldManager is required for apply patch');
      return;
    }
    const merged = isApply ? this.#applied.patch(write, patch) : patch;
    if (isApply && this.#find(target) === undefined) {
      if (write.isDryRun) {
        reply(sink, 201, draftOf(patch as Stored));
        return;
      }
      this.#tellWrite('patch', target, write, true);
      reply(sink, 201, this.#store(target, patch as Stored));
      return;
    }
    this.#found(target, sink, (before) => {
      const isJson = write.contentType === 'application/json-patch+json';
      const after = isJson
        ? jsonPatch(before, patch as unknown as [])
        : (mergePatch(before, merged) as Stored);
      const version = (after as Stored | undefined)?.metadata.resourceVersion;
      if (after !== undefined && version === before.metadata.resourceVersion) {
        this.#change('patch', { target, before, draft: after as Stored, write, sink });
        return;
      }
      this.#tellWrite('patch', target, write, false);
      if (after === undefined) fail(sink, 422, 'Invalid', 'the patch does not apply');
      else fail(sink, 409, 'Conflict', 'modified', { name: target.name });
    });
  }

  /** A change of what is there: by the rules, or not at all. What changes nothing is no write. */
  #change(verb: WriteNote['verb'], change: Change): void {
    const { target, before, draft, write, sink } = change;
    const after = changed(target, before, draft);
    const refusal = objection(target, before, { draft, after }, this);
    const isNew = refusal === undefined && !isEqual(after, before);
    this.#tellWrite(verb, target, write, isNew);
    if (refusal !== undefined) {
      fail(sink, refusal.code, refusal.reason, refusal.message, { name: target.name });
    } else if (!isNew || write.isDryRun) reply(sink, 200, after);
    else if (isLeaving(after)) reply(sink, 200, this.#remove(target.collection, before, after));
    else reply(sink, 200, this.#store(target, after, before));
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
      this.#tellWrite('delete', target, write, !isOther);
      if (isOther) {
        fail(sink, 409, 'Conflict', 'the precondition does not hold', { name: target.name });
        return;
      }
      if ((object.metadata.finalizers ?? []).length > 0) {
        reply(sink, 200, this.#mark(target, object));
        return;
      }
      this.#remove(target.collection, object);
      reply(sink, 200, { kind: 'Status', status: 'Success' });
    });
  }

  /** Who has finalizers is only marked, once. */
  #mark(target: Target, object: Stored): Stored {
    if (object.metadata.deletionTimestamp !== undefined) return object;
    const metadata = { ...object.metadata, deletionTimestamp: this.#time() };
    return this.#store(target, { ...object, metadata }, object);
  }

  #find({ collection, namespace, name }: Target): Stored | undefined {
    return this.#objects.get(collection)?.get(keyOf({ namespace, name }));
  }

  #time(): string {
    const nowMs = this.#parts.nowMs?.() ?? 0;
    return new Date(nowMs).toISOString().replace(/\.\d+/, '');
  }

  #store(target: Target, draft: Stored, before?: Stored): Stored {
    this.#version += 1;
    const { collection, namespace, name = '' } = target;
    const object: Stored = {
      ...draft,
      metadata: {
        creationTimestamp: before?.metadata['creationTimestamp'] ?? this.#time(),
        ...draft.metadata,
        ...{ name, ...(namespace === undefined ? {} : { namespace }) },
        uid: before?.metadata.uid ?? this.#parts.newUid?.() ?? `uid-${this.#version}`,
        generation: generationOf(before, draft),
        resourceVersion: String(this.#version),
        managedFields: [{ manager: 'somebody', fieldsV1: { 'f:spec': {} } }],
      },
    };
    const objects = this.#objects.get(collection) ?? new Map<string, Stored>();
    this.#objects.set(collection, objects.set(keyOf({ namespace, name }), object));
    const entry = { version: this.#version, after: object };
    this.#note(collection, before === undefined ? entry : { ...entry, before });
    return object;
  }

  #remove(collection: string, before: Stored, last = before): Stored {
    this.#version += 1;
    this.#objects.get(collection)?.delete(keyOf(before.metadata));
    const metadata = { ...last.metadata, resourceVersion: String(this.#version) };
    const gone = { ...last, metadata };
    this.#note(collection, { version: this.#version, before: gone });
    return gone;
  }

  #tellWrite(verb: WriteNote['verb'], target: Target, write: Write, isDone: boolean): void {
    const { collection, subresource, name = '' } = target;
    const who = write.who ?? '';
    this.writes.push({ who, verb, collection, subresource, name, isDone });
  }

  #note(collection: string, entry: Entry): void {
    const entries = this.#history.get(collection) ?? [];
    entries.push(entry);
    this.#history.set(collection, entries);
    for (const watcher of this.#watchers) {
      if (watcher.collection === collection) send(watcher, entry);
    }
    const { before, after } = entry;
    for (const listener of this.listeners) listener({ collection, before, after });
  }
}

type Change = {
  readonly target: Target;
  readonly before: Stored;
  readonly draft: Stored;
  readonly write: Write;
  readonly sink: Sink;
};

type Write = FakeRequest & { readonly isDryRun: boolean; readonly query: URLSearchParams };

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
