import { errorOfStatus, KubeError, type StatusObject } from './errors.ts';
import { decodeObject, type Kind, type KubeObject } from './kind.ts';
import type { Call } from './transport.ts';

/** Which objects of a kind are meant; all of them unless it says otherwise. */
export type Scope = {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
};

export type WatchEvent<T> =
  | { readonly type: 'added' | 'modified' | 'deleted'; readonly object: T }
  | { readonly type: 'bookmark'; readonly resourceVersion: string };

export type ListObject = {
  readonly metadata?: { readonly resourceVersion?: unknown; readonly continue?: string };
  readonly items?: readonly unknown[] | null;
};

export function eventOf<T extends KubeObject>(kind: Kind<T>, value: unknown): WatchEvent<T> {
  const { type, object } = (value ?? {}) as { type?: unknown; object?: unknown };
  switch (type) {
    case 'ADDED':
      return { type: 'added', object: decodeObject(kind, object) };
    case 'MODIFIED':
      return { type: 'modified', object: decodeObject(kind, object) };
    case 'DELETED':
      return { type: 'deleted', object: decodeObject(kind, object) };
    case 'BOOKMARK': {
      const version = (object as KubeObject | undefined)?.metadata?.resourceVersion;
      if (typeof version === 'string') return { type: 'bookmark', resourceVersion: version };
      break;
    }
    case 'ERROR': {
      const status = object as StatusObject | undefined;
      const httpStatus = typeof status?.code === 'number' ? status.code : 500;
      throw errorOfStatus(`watch ${kind.plural}`, { httpStatus }, status);
    }
    default:
  }
  throw new KubeError('Unreadable', `watch ${kind.plural}: an event of type ${String(type)}`);
}

export function parse(call: Call, bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    const message = `${call.method} ${call.path}: the answer is no JSON`;
    throw new KubeError('Unreadable', message, { cause, isUncertain: call.method !== 'GET' });
  }
}

export function statusOf(body: Buffer): StatusObject | undefined {
  try {
    const value = JSON.parse(body.toString('utf8')) as StatusObject | null;
    return value?.kind === 'Status' ? value : undefined;
  } catch {
    // A proxy, or a server that does not know the path, answers in plain words.
    return undefined;
  }
}

export function selectorsOf({
  labelSelector,
  fieldSelector,
}: Scope): Readonly<Record<string, string>> {
  return {
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
}

export function withQuery(path: string, query: Readonly<Record<string, string>>): string {
  const entries = Object.entries(query).filter(([, value]) => value !== '');
  if (entries.length === 0) return path;
  const text = new URLSearchParams(entries).toString();
  return `${path}${path.includes('?') ? '&' : '?'}${text}`;
}
