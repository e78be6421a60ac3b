import { backoffMs } from './backoff.ts';
import { errorOfStatus, KubeError } from './errors.ts';
import {
  apiVersionOf,
  decodeObject,
  type Kind,
  type KubeObject,
  type ObjectName,
  pathOf,
} from './kind.ts';
import type { Limiter } from './limiter.ts';
import { kubeLimits } from './limits.ts';
import { encodePatch, type Patch } from './patch.ts';
import type { Chance, Clock } from './ports.ts';
import type { Answer, Call, Transport } from './transport.ts';
import {
  eventOf,
  type ListObject,
  parse,
  type Scope,
  selectorsOf,
  statusOf,
  type WatchEvent,
  withQuery,
} from './wire.ts';

export type CallOptions = {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** Nothing is sent again, not even to a server that is too busy. */
  readonly isOnce?: boolean;
};

export type WriteOptions = CallOptions & {
  readonly subresource?: string;
  readonly isDryRun?: boolean;
  readonly fieldManager?: string;
};

export type DeleteOptions = CallOptions & {
  /** Only this very object, and only as we know it. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan';
  readonly isDryRun?: boolean;
};

export type List<T> = { readonly items: readonly T[]; readonly resourceVersion: string };

/**
 * How new a list must be. `newest` asks the storage, page by page. `cached` takes what the server
 * has in memory, in one piece: for lists that a selector makes short.
 */
export type Freshness =
  | { readonly kind: 'newest' }
  | { readonly kind: 'cached'; readonly notOlderThan: string };

export type ClientParts = {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly limiter?: Limiter;
  /** Throws once we may not act any more. Asked before every request that changes something. */
  readonly fence?: () => void;
};

/** Typed requests. What was not carried out for sure is sent again, anything else is the caller's. */
export class KubeClient {
  readonly #parts: ClientParts;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  /** The same client for who holds a lease: after it is lost nothing that changes goes out. */
  fenced(fence: () => void): KubeClient {
    return new KubeClient({ ...this.#parts, fence });
  }

  async get<T extends KubeObject>(
    kind: Kind<T>,
    name: ObjectName,
    options: CallOptions = {},
  ): Promise<T> {
    return decodeObject(
      kind,
      await this.#json({ method: 'GET', path: pathOf(kind, name) }, options),
    );
  }

  /** The object, or undefined when there is none. */
  async find<T extends KubeObject>(
    kind: Kind<T>,
    name: ObjectName,
    options: CallOptions = {},
  ): Promise<T | undefined> {
    try {
      return await this.get(kind, name, options);
    } catch (error) {
      if (error instanceof KubeError && error.code === 'NotFound') return undefined;
      throw error;
    }
  }

  /** For subresources that are text, such as the log of a pod. */
  async text<T extends KubeObject>(
    kind: Kind<T>,
    name: ObjectName & { readonly subresource: string },
    query: Readonly<Record<string, string>> = {},
    options: CallOptions = {},
  ): Promise<string> {
    const call = { method: 'GET', path: withQuery(pathOf(kind, name), query) } as const;
    return (await this.#send(call, options)).body.toString('utf8');
  }

  /** All pages as of one version. Pages that expired half-way are fetched again in one piece. */
  async list<T extends KubeObject>(
    kind: Kind<T>,
    scope: Scope = {},
    freshness: Freshness = { kind: 'newest' },
    options: CallOptions = {},
  ): Promise<List<T>> {
    if (freshness.kind === 'cached') {
      const { notOlderThan } = freshness;
      const match = { resourceVersion: notOlderThan, resourceVersionMatch: 'NotOlderThan' };
      return this.#page(kind, scope, match, options);
    }
    const limit = String(kubeLimits.pageLength);
    const items: T[] = [];
    let next = '';
    for (let page = 0; page < kubeLimits.pagesMax; page += 1) {
      try {
        const found = await this.#page(kind, scope, { limit, continue: next }, options);
        items.push(...found.items);
        next = found.next;
        if (next === '') return { items, resourceVersion: found.resourceVersion };
      } catch (error) {
        const isExpired = error instanceof KubeError && error.code === 'Gone' && next !== '';
        if (!isExpired) throw error;
        return this.#page(kind, scope, {}, options);
      }
    }
    throw new KubeError('TooLarge', `${kind.plural} do not end after ${kubeLimits.pagesMax} pages`);
  }

  create<T extends KubeObject>(
    kind: Kind<T>,
    object: NewObject,
    options: WriteOptions = {},
  ): Promise<T> {
    const path = pathOf(kind, { namespace: object.metadata.namespace });
    const body = JSON.stringify(withKind(kind, object));
    return this.#write(kind, { method: 'POST', path, body }, options);
  }

  /** For subresources that are no objects of the kind: tokens, evictions, bindings. */
  post<T extends KubeObject>(
    kind: Kind<T>,
    name: ObjectName & { readonly subresource: string },
    body: object,
    options: CallOptions = {},
  ): Promise<unknown> {
    const call = { method: 'POST', path: pathOf(kind, name), body: JSON.stringify(body) } as const;
    return this.#json(call, options);
  }

  /** Replaces the object, if its resourceVersion is still the one given. */
  update<T extends KubeObject>(
    kind: Kind<T>,
    object: KubeObjectDraft,
    options: WriteOptions = {},
  ): Promise<T> {
    const path = pathOf(kind, { ...nameOf(object), subresource: options.subresource });
    const body = JSON.stringify(withKind(kind, object));
    return this.#write(kind, { method: 'PUT', path, body }, options);
  }

  async patch<T extends KubeObject>(
    kind: Kind<T>,
    name: ObjectName,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    const path = pathOf(kind, { ...name, subresource: options.subresource });
    if (patch.type !== 'apply') {
      const call = { method: 'PATCH', path, ...encodePatch(patch) } as const;
      return this.#write(kind, call, options).catch((error: unknown) => {
        throw isTestFailed(patch, error) ? changedMeanwhile(error as KubeError) : error;
      });
    }
    const metadata = { ...metadataOf(patch.body), ...name };
    const encoded = encodePatch({ ...patch, body: withKind(kind, { ...patch.body, metadata }) });
    const query = { fieldManager: patch.fieldManager, force: String(patch.force) };
    const call = { method: 'PATCH', path: withQuery(path, query), ...encoded } as const;
    return this.#write(kind, call, options);
  }

  /** Whether there was anything to delete. */
  async delete<T extends KubeObject>(
    kind: Kind<T>,
    name: ObjectName,
    options: DeleteOptions = {},
  ): Promise<boolean> {
    const { uid, resourceVersion, propagation } = options;
    const body = JSON.stringify({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid, resourceVersion },
      propagationPolicy: propagation,
      ...(options.isDryRun === true ? { dryRun: ['All'] } : {}),
    });
    try {
      await this.#json({ method: 'DELETE', path: pathOf(kind, name), body }, options);
      return true;
    } catch (error) {
      if (error instanceof KubeError && error.code === 'NotFound') return false;
      throw error;
    }
  }

  /** Changes after a version, until the server ends it. Nothing is tried again. */
  async *watch<T extends KubeObject>(
    kind: Kind<T>,
    scope: Scope,
    from: string,
    options: CallOptions & { readonly idleMs?: number } = {},
  ): AsyncGenerator<WatchEvent<T>> {
    const { transport, chance } = this.#parts;
    const { watchSecondsMin: min, watchSecondsMax: max } = kubeLimits;
    const path = withQuery(pathOf(kind, { namespace: scope.namespace }), {
      ...selectorsOf(scope),
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: from,
      timeoutSeconds: String(Math.round(min + chance() * (max - min))),
    });
    await this.#parts.limiter?.take(options.signal);
    const call: Call = { method: 'GET', path, signal: options.signal };
    const opened = await transport.open(call, options.idleMs ?? kubeLimits.watchIdleMs);
    if (opened.kind === 'refused') throw this.#refusal(call, opened.answer);
    try {
      for await (const line of opened.stream.lines) yield eventOf(kind, parse(call, line));
    } finally {
      opened.stream.close();
    }
  }

  async #page<T extends KubeObject>(
    kind: Kind<T>,
    scope: Scope,
    query: Readonly<Record<string, string>>,
    options: CallOptions,
  ): Promise<List<T> & { readonly next: string }> {
    const collection = pathOf(kind, { namespace: scope.namespace });
    const path = withQuery(collection, { ...selectorsOf(scope), ...query });
    const value = (await this.#json({ method: 'GET', path }, options)) as ListObject | null;
    const version = value?.metadata?.resourceVersion;
    if (typeof version !== 'string' || !(value?.items === null || Array.isArray(value?.items))) {
      throw new KubeError('Unreadable', `GET ${path}: this is no list`);
    }
    const items = (value.items ?? []).map((item) => decodeObject(kind, item));
    return { items, resourceVersion: version, next: value.metadata?.continue ?? '' };
  }

  async #write<T extends KubeObject>(kind: Kind<T>, call: Call, options: WriteOptions): Promise<T> {
    const path = withQuery(call.path, {
      ...(options.isDryRun === true ? { dryRun: 'All' } : {}),
      ...(options.fieldManager === undefined ? {} : { fieldManager: options.fieldManager }),
    });
    const written = await this.#json({ ...call, path }, options);
    return decodeObject(kind, options.isDryRun === true ? withVersion(written) : written);
  }

  async #json(call: Call, options: CallOptions): Promise<unknown> {
    return parse(call, (await this.#send(call, options)).body);
  }

  /** Sends it until it was carried out, or until sending it again could do it twice. */
  async #send(call: Call, options: CallOptions): Promise<Answer> {
    const { transport, clock, chance, limiter, fence } = this.#parts;
    const { signal, timeoutMs, isOnce = false } = options;
    const isRead = call.method === 'GET';
    for (let attempt = 1; ; attempt += 1) {
      fenceOff(isRead, fence);
      await limiter?.take(signal);
      const error = await transport
        .send({ ...call, signal, timeoutMs, fence: isRead ? undefined : fence })
        .then(
          (answer) => {
            if (answer.httpStatus < 300) return { answer };
            return this.#refusal(call, answer);
          },
          (thrown: unknown) => {
            if (thrown instanceof KubeError) return thrown;
            throw thrown;
          },
        );
      if (!(error instanceof KubeError)) return error.answer;
      if (isOnce || attempt >= attemptsFor(error, isRead)) throw error;
      await clock.sleep(backoffMs(attempt, error.retryAfterMs, chance), signal);
      if (signal?.aborted === true) throw error;
    }
  }

  #refusal(call: Call, answer: Answer): KubeError {
    if (answer.httpStatus === 401) this.#parts.transport.refuseCredentials();
    const status = statusOf(answer.body);
    return errorOfStatus(`${call.method} ${call.path}`, answer, status);
  }
}

/** An object to be made; the server completes a `generateName`. */
export type NewObject = {
  readonly metadata: Partial<ObjectName> & { readonly generateName?: string };
  readonly [field: string]: unknown;
};

/** An object to be written, with whatever fields its kind has. */
export type KubeObjectDraft = {
  readonly metadata: ObjectName & { readonly resourceVersion?: string };
  readonly [field: string]: unknown;
};

/** The server has no code of its own for it: 422, and not a word about the object. */
function isTestFailed(patch: Patch, error: unknown): boolean {
  const hasTest = patch.type === 'json' && patch.operations.some(({ op }) => op === 'test');
  if (!hasTest || !(error instanceof KubeError)) return false;
  return error.httpStatus === 422 && error.subject === undefined;
}

function changedMeanwhile({ message, httpStatus, cause }: KubeError): KubeError {
  return new KubeError('Conflict', message, { httpStatus, cause });
}

/** A server that is too busy, or that no longer knows our token, has not done anything. */
function attemptsFor(error: KubeError, isRead: boolean): number {
  switch (error.code) {
    case 'TooManyRequests':
      return kubeLimits.attemptsMax;
    case 'Unauthorized':
      return 2;
    case 'Unreachable':
      // A kept connection that the server closed in the same moment.
      return isRead || !error.isUncertain ? 2 : 1;
    default:
      return 1;
  }
}

function fenceOff(isRead: boolean, fence: (() => void) | undefined): void {
  if (!isRead) fence?.();
}

function withKind(kind: { group: string; version: string; kind: string }, object: object): object {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, ...object };
}

/** What was made for show has no version yet. */
function withVersion(value: unknown): object {
  const object = value as { readonly metadata?: object } | null;
  return { ...object, metadata: { resourceVersion: '', ...object?.metadata } };
}

function nameOf({ metadata }: KubeObjectDraft): ObjectName {
  return { name: metadata.name, namespace: metadata.namespace };
}

function metadataOf(object: object): object {
  return (object as { readonly metadata?: object }).metadata ?? {};
}
