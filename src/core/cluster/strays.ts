import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import type { Node } from '../../api/objects/storage.ts';
import { limits } from '../../base/limits.ts';
import { type RecordedVolumes, recordsIn } from '../catalog.ts';
import type { ObservedHost } from '../observed.ts';
import { isOurs } from '../tags.ts';
import { idOf } from './logical-volume.ts';

/** On a Node, by its agent: LVs there that no LogicalVolume names. Without it there are none. */
export const strayAnnotation = 'quarry.io/stray-volumes';

/** An LV that looks like a volume, and that no LogicalVolume names. */
export type Stray = {
  /** `vg/id` */
  readonly place: string;
  readonly id: string;
  /** Our tags are on it. TopoLVM wrote none: then only its name looks like a volume's. */
  readonly isOurs: boolean;
};

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** TopoLVM names an LV after the UID of its object, and tells it by nothing else. */
const namedLikeOne: RecordedVolumes = {
  get: (id) =>
    uuid.test(id)
      ? { kind: 'volume', name: undefined, className: undefined, sourceId: undefined }
      : undefined,
};

/** Those in the groups of our device classes, ours first. */
export function straysIn(
  host: ObservedHost,
  vgs: ReadonlySet<string>,
  objects: Iterable<LogicalVolume>,
): readonly Stray[] {
  const known = new Set([...objects].flatMap((volume) => [volume.metadata.uid, idOf(volume)]));
  const strays = recordsIn(host, vgs, namedLikeOne)
    .filter(({ id }) => !known.has(id))
    .map(({ id, vg, lv }) => ({ place: `${vg.name}/${id}`, id, isOurs: isOurs(lv.tags) }));
  return [...strays.filter((one) => one.isOurs), ...strays.filter((one) => !one.isOurs)];
}

/** What a Node tells of its strays. */
export type ToldStrays = {
  readonly ours: readonly string[];
  readonly others: readonly string[];
  /** There are some that are not named. */
  readonly hasMore: boolean;
};

/** Null where there are none: nothing is written on a Node that is well. */
export function strayText(strays: readonly Stray[]): string | null {
  if (strays.length === 0) return null;
  const named = strays.slice(0, limits.strayNamesMax);
  const placesOf = (ours: boolean) =>
    named.filter((one) => one.isOurs === ours).map(({ place }) => place);
  const more = strays.length - named.length;
  const left = more === 0 ? {} : { more };
  return JSON.stringify({ ours: placesOf(true), others: placesOf(false), ...left });
}

export function toldStrays({ metadata }: Node): ToldStrays {
  const text = metadata.annotations?.[strayAnnotation];
  if (text === undefined) return { ours: [], others: [], hasMore: false };
  try {
    const { ours, others, more } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    return { ours: namesIn(ours), others: namesIn(others), hasMore: more !== undefined };
  } catch {
    // What cannot be read may name anything.
    return { ours: [], others: [], hasMore: true };
  }
}

/** Where the LV of a volume is that no LogicalVolume names, as far as nodes tell. */
export type StrayPlace =
  | { readonly kind: 'there'; readonly node: string; readonly place: string }
  | { readonly kind: 'unknown'; readonly node: string };

export function findStray(id: string, nodes: Iterable<Node>): StrayPlace | undefined {
  let unknown: StrayPlace | undefined;
  for (const node of nodes) {
    const { ours, others, hasMore } = toldStrays(node);
    const place = [...ours, ...others].find((one) => one.endsWith(`/${id}`));
    if (place !== undefined) return { kind: 'there', node: node.metadata.name, place };
    if (hasMore) unknown = { kind: 'unknown', node: node.metadata.name };
  }
  return unknown;
}

/** Why nobody may say that the volume is gone. */
export function strayMessage(id: string, stray: StrayPlace): string {
  const { node } = stray;
  if (stray.kind === 'there') return `${node} still has the LV ${stray.place}, ${lacksObject}`;
  return `${node} has more LVs without a LogicalVolume than it names, and may still have ${id}`;
}

const lacksObject = 'and no LogicalVolume names it';

function namesIn(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : [];
}
