import { dump, load } from 'js-yaml';
import type { LvmRaid } from '../objects/lvm-cluster.ts';
import type { LvmVolumeGroupSpec } from '../objects/lvm-volume-group.ts';
import { parseQuantity } from '../quantity.ts';
import { isSameJson } from '../same.ts';

export type ServedGroup = { readonly name: string; readonly spec: LvmVolumeGroupSpec };

export type LvmdText =
  | {
      readonly kind: 'text';
      /** Undefined: there is no class and no file, and none is wanted. */
      readonly text: string | undefined;
      /** The names of its classes, in the order of its list. */
      readonly classes: readonly string[];
    }
  | { readonly kind: 'unreadable'; readonly message: string };

type Entry = Readonly<Record<string, unknown>>;

/**
 * lvmd.yaml for these groups. What an administrator wrote into it stays: of a class that is there
 * only what the LVMCluster may change is changed, and a file that needs no change keeps every byte.
 * `owned` are the classes that came from an LVMCluster: of those, the ones that are not served any
 * more are taken out. A class in a group of another name is the administrator's, whatever it is
 * called: it stays as it is, and keeps its name.
 */
export function lvmdTextFor(
  text: string | undefined,
  groups: readonly ServedGroup[],
  owned: readonly string[],
): LvmdText {
  try {
    return { kind: 'text', ...merged(text, groups, owned) };
  } catch (error) {
    // Whoever wrote it meant something that we cannot know.
    return { kind: 'unreadable', message: (error as Error).message };
  }
}

function merged(
  text: string | undefined,
  groups: readonly ServedGroup[],
  owned: readonly string[],
): Omit<Extract<LvmdText, { kind: 'text' }>, 'kind'> {
  const { file, key, before } = contentOf(text);
  const names = new Set(groups.map(({ name }) => name));
  const kept = before.filter(
    (entry) =>
      names.has(String(entry['name'])) ||
      !owned.includes(String(entry['name'])) ||
      isOfAnotherGroup(entry),
  );
  // Of two defaults the administrator's counts.
  const isTaken = kept.some(
    (entry) =>
      entry['default'] === true && (!names.has(String(entry['name'])) || isOfAnotherGroup(entry)),
  );
  const wanted = groups.map((group) => (isTaken ? notDefault(group) : group));
  const changed = kept.map((entry) => {
    const group = wanted.find(({ name }) => name === entry['name']);
    return group === undefined || isOfAnotherGroup(entry) ? entry : updated(entry, group);
  });
  const there = new Set(kept.map(({ name }) => name));
  const added = wanted.filter(({ name }) => !there.has(name)).map(entryFor);
  const after = [...changed, ...added];
  const classes = after.map(({ name }) => String(name));
  const isSame = text === undefined ? after.length === 0 : isSameJson(before, after);
  if (isSame) return { text, classes };
  return { text: dump({ ...file, [key]: after }, { lineWidth: 120, noRefs: true }), classes };
}

/** Classes of an LVMCluster have the name of their group. */
function isOfAnotherGroup(entry: Entry): boolean {
  const { name, 'volume-group': group } = entry;
  return group !== undefined && group !== null && group !== name;
}

function notDefault({ name, spec }: ServedGroup): ServedGroup {
  return { name, spec: { ...spec, default: false } };
}

function contentOf(text: string | undefined) {
  const file = text === undefined ? {} : entryOf(load(text) ?? {});
  const isAlias = 'deviceClasses' in file && !('device-classes' in file);
  const key = isAlias ? 'deviceClasses' : 'device-classes';
  const list = file[key] ?? [];
  if (!Array.isArray(list)) throw new Error(`${key} is no list`);
  return { file, key, before: list.map(entryOf) };
}

function entryOf(value: unknown): Entry {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Entry;
  throw new Error('there is something else where names and values should be');
}

function updated(entry: Entry, { spec }: ServedGroup): Entry {
  const { thinPoolConfig: pool } = spec;
  const thin = entry['thin-pool'];
  return {
    ...entry,
    default: spec.default === true,
    ...(pool === undefined || thin === undefined || thin === null
      ? {}
      : { 'thin-pool': { ...entryOf(thin), 'overprovision-ratio': pool.overprovisionRatio } }),
  };
}

function entryFor({ name, spec }: ServedGroup): Entry {
  const common = { name, 'volume-group': name, default: spec.default === true };
  const { thinPoolConfig: pool, raidConfig: raid } = spec;
  if (pool !== undefined) {
    const thin = { name: pool.name, 'overprovision-ratio': pool.overprovisionRatio };
    return { ...common, type: 'thin', 'thin-pool': thin };
  }
  const options = raid === undefined ? {} : { 'lvcreate-options': raidOptions(raid) };
  return { ...common, type: 'thick', 'spare-gb': 0, ...options };
}

function raidOptions({ type, mirrors, stripes, stripeSize }: LvmRaid): readonly string[] {
  const size = stripeSize === undefined ? undefined : parseQuantity(stripeSize);
  return [
    `--type=${type}`,
    ...(mirrors === undefined ? [] : [`--mirrors=${mirrors}`]),
    ...(stripes === undefined ? [] : [`--stripes=${stripes}`]),
    ...(typeof size === 'bigint' ? [`--stripesize=${size / 1024n}k`] : []),
  ];
}
