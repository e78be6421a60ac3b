import type { KubeObject, Metadata } from '../api/objects/metadata.ts';
import { KubeError } from './errors.ts';

export type { KubeObject } from '../api/objects/metadata.ts';

/**
 * Which fields are kept, for each field of a type: `true` keeps it whole, `[shape]` is a list. The
 * compiler asks for every field of the type, so nothing that is read can be forgotten here.
 */
export type Shape<T> =
  | true
  | (T extends readonly (infer E)[]
      ? readonly [Shape<E>]
      : T extends object
        ? { readonly [K in keyof T]-?: Shape<NonNullable<T[K]>> }
        : never);

/** A kind of object: where it is served, and what we read of it. */
export type Kind<T extends KubeObject> = {
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly isNamespaced: boolean;
  readonly shape: Shape<T>;
};

/**
 * All of the metadata but `managedFields`, which is often larger than the rest of an object. A kind
 * of which there are thousands names the annotations it reads: `annotations: { 'a/b': true }`.
 */
export const metadataShape = {
  name: true,
  namespace: true,
  uid: true,
  resourceVersion: true,
  generation: true,
  creationTimestamp: true,
  deletionTimestamp: true,
  labels: true,
  annotations: true,
  finalizers: true,
  ownerReferences: true,
} as const satisfies Shape<Metadata>;

/** An object as we keep it. The fields of its kind were checked by the server's schema. */
export function decodeObject<T extends KubeObject>(kind: Kind<T>, value: unknown): T {
  const metadata = (value as { metadata?: Partial<Metadata> } | null | undefined)?.metadata;
  const isWhole =
    typeof metadata?.name === 'string' &&
    typeof metadata.uid === 'string' &&
    typeof metadata.resourceVersion === 'string';
  if (!isWhole) {
    throw new KubeError('Unreadable', `a ${kind.kind} without name, uid or resourceVersion`);
  }
  const like = newest.get(kind);
  const kept = keep(kind.shape, value, like) as T;
  newest.set(kind, kept);
  return kept;
}

/** The object of each kind that was decoded last. */
const newest = new WeakMap<object, unknown>();

/**
 * A copy that has the fields of the shape only. Objects of one kind are much alike: what is equal
 * to that of the object before is kept once for both.
 */
function keep(shape: unknown, value: unknown, like: unknown): unknown {
  if (shape === true || typeof value !== 'object' || value === null) return shared(value, like);
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return undefined;
    return shared(
      value.map((item) => keep(shape[0], item, undefined)),
      like,
    );
  }
  const source = value as Record<string, unknown>;
  const other = like as Record<string, unknown> | undefined;
  const kept: Record<string, unknown> = {};
  for (const [key, inner] of fieldsOf(shape as object)) {
    const found = source[key];
    if (found === undefined || found === null) continue;
    // Most fields are texts: a call for each of them would be the busiest place of a start.
    if (inner !== true || typeof found === 'object') kept[key] = keep(inner, found, other?.[key]);
    else kept[key] = found === other?.[key] ? other[key] : found;
  }
  return kept;
}

/** The other one, where both are equal through and through; else as much of it as is. */
function shared(value: unknown, like: unknown): unknown {
  if (value === like) return like;
  if (!isTree(value) || !isTree(like) || Array.isArray(value) !== Array.isArray(like)) return value;
  const keys = Object.keys(value);
  let isSame = keys.length === Object.keys(like).length;
  for (const key of keys) {
    const one = shared(value[key], like[key]);
    if (one !== like[key]) isSame = false;
    else value[key] = one;
  }
  return isSame ? like : value;
}

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

const fields = new WeakMap<object, readonly (readonly [string, unknown])[]>();

/** The same list for every object of a kind. */
function fieldsOf(shape: object): readonly (readonly [string, unknown])[] {
  const known = fields.get(shape) ?? Object.entries(shape);
  fields.set(shape, known);
  return known;
}

export type ObjectName = { readonly namespace?: string | undefined; readonly name: string };

/** `namespace/name`, or the name of what has no namespace. */
export function keyOf({ namespace, name }: ObjectName): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export type Place = {
  readonly namespace?: string | undefined;
  readonly name?: string;
  readonly subresource?: string | undefined;
};

/** The path of a collection, an object or its subresource. */
export function pathOf<T extends KubeObject>(kind: Kind<T>, place: Place): string {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const parts = [root];
  if (kind.isNamespaced && place.namespace !== undefined) {
    parts.push('namespaces', encodeURIComponent(place.namespace));
  }
  parts.push(kind.plural);
  if (place.name !== undefined) parts.push(encodeURIComponent(place.name));
  if (place.subresource !== undefined) parts.push(place.subresource);
  return parts.join('/');
}

export function apiVersionOf(kind: { readonly group: string; readonly version: string }): string {
  return kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
}

/**
 * Which of two versions of objects of one kind is newer, or undefined when a server does not count
 * in decimal numbers.
 */
export function compareVersions(a: string, b: string): number | undefined {
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return undefined;
  const difference = BigInt(a) - BigInt(b);
  return difference === 0n ? 0 : difference > 0n ? 1 : -1;
}
