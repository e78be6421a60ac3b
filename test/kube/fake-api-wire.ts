import type { Json } from './fake-patch.ts';

/** What goes over the wire of the fake API server, and how it is read. */
export type Stored = Json & {
  readonly metadata: Json & {
    readonly name: string;
    readonly generateName?: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
  };
};

export type FakeRequest = {
  readonly method: string;
  readonly url: string;
  readonly contentType?: string | undefined;
  readonly body?: string | undefined;
  /** Who asks, for the log of writes. */
  readonly who?: string | undefined;
};

/** Where an answer goes, piece by piece. */
export type Sink = {
  head(status: number): void;
  write(text: string): void;
  end(): void;
};

export type Target = {
  readonly collection: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
};

export function targetOf(path: string): Target | undefined {
  const match = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+))?\/(.+)$/.exec(path);
  if (match === null) return undefined;
  const [, root, namespace, rest = ''] = match;
  const [plural, name, subresource] = rest.split('/');
  const plain = name === undefined ? undefined : decodeURIComponent(name);
  return { collection: `${root}/${plural}`, namespace, name: plain, subresource };
}

export function keyOf(place: {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}): string {
  return `${place.namespace ?? ''}/${place.name ?? ''}`;
}

export function matches(object: Stored, query: URLSearchParams, namespace?: string): boolean {
  if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
  const labels = object.metadata.labels ?? {};
  return (
    partsOf(query.get('labelSelector')).every((part) => isLabelled(labels, part)) &&
    fieldsOf(query).every(([field, value]) => (fieldOf(object, field) ?? '') === value)
  );
}

export function fieldsOf(query: URLSearchParams): readonly (readonly [string, string])[] {
  return partsOf(query.get('fieldSelector')).map((part) => {
    const [field = '', value = ''] = part.split(/==?/);
    return [field, value];
  });
}

/** Commas part it, but for those in `in (a,b)`. */
function partsOf(selector: string | null): readonly string[] {
  const parts = (selector ?? '').split(/,(?![^(]*\))/);
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

function isLabelled(labels: Readonly<Record<string, string>>, part: string): boolean {
  const among = /^(\S+) (in|notin) \(([^)]*)\)$/.exec(part);
  if (among !== null) {
    const [, key = '', word, values = ''] = among;
    const isIn = values.split(',').some((value) => value.trim() === labels[key]);
    return isIn === (word === 'in');
  }
  if (part.includes('!=')) return labels[part.split('!=')[0] ?? ''] !== part.split('!=')[1];
  if (part.includes('=')) return labels[part.split(/==?/)[0] ?? ''] === part.split(/==?/)[1];
  return part.startsWith('!') ? labels[part.slice(1)] === undefined : labels[part] !== undefined;
}

export function fieldOf(object: Json, path: string): unknown {
  let value: unknown = object;
  for (const key of path.split('.')) value = (value as Json | undefined)?.[key];
  return value;
}

export const goneStatus = {
  ...{ kind: 'Status', code: 410, reason: 'Expired' },
  message: 'too old resource version',
};

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

export function replyLog(
  logs: ReadonlyMap<string, string>,
  { name }: Target,
  query: URLSearchParams,
  sink: Sink,
): void {
  const life = query.get('previous') === 'true' ? 'previous' : 'current';
  const text = logs.get(`${name}/${query.get('container')}/${life}`);
  if (text !== undefined) reply(sink, 200, undefined, text);
  else fail(sink, 400, 'BadRequest', `previous terminated container in ${name} not found`);
}

/** What the server does not do, and in which words. */
export type Refusal = {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
};

export function invalid(message: string): Refusal {
  return { code: 422, reason: 'Invalid', message };
}

export function forbidden(message: string): Refusal {
  return { code: 403, reason: 'Forbidden', message };
}

/** What a dry run makes has an identity, but no version. */
export function draftOf(object: Stored): object {
  return { ...object, metadata: { ...object.metadata, uid: 'dry' } };
}
