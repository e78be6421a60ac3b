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
      names.has(nameOf(entry)) || !owned.includes(nameOf(entry)) || isOfAnotherGroup(entry),
  );
  // Of two defaults the administrator's counts.
  const isTaken = kept.some(
    (entry) =>
      valueIn(entry, 'default') === true && (!names.has(nameOf(entry)) || isOfAnotherGroup(entry)),
  );
  const wanted = groups.map((group) => (isTaken ? notDefault(group) : group));
  const changed = kept.map((entry) => {
    const group = wanted.find(({ name }) => name === nameOf(entry));
    return group === undefined || isOfAnotherGroup(entry) ? entry : updated(entry, group);
  });
  const there = new Set(kept.map(nameOf));
  const added = wanted.filter(({ name }) => !there.has(name)).map(entryFor);
  const after = [...changed, ...added];
  const classes = after.map(nameOf);
  const isSame = text === undefined ? after.length === 0 : isSameJson(before, after);
  if (isSame) return { text, classes };
  return { text: dump({ ...file, [key]: after }, { lineWidth: 120, noRefs: true }), classes };
}

/** Classes of an LVMCluster have the name of their group. */
function isOfAnotherGroup(entry: Entry): boolean {
  const group = valueIn(entry, 'volume-group');
  return group !== undefined && group !== null && group !== valueIn(entry, 'name');
}

function nameOf(entry: Entry): string {
  return String(valueIn(entry, 'name'));
}

function valueIn(entry: Entry, key: string): unknown {
  return entry[keyIn(entry, key)];
}

/** TopoLVM takes keys in any case, and so does whoever reads this file. */
function keyIn(entry: Entry, key: string): string {
  return Object.keys(entry).find((one) => one.toLowerCase() === key) ?? key;
}

function notDefault({ name, spec }: ServedGroup): ServedGroup {
  return { name, spec: { ...spec, default: false } };
}

function contentOf(text: string | undefined) {
  const file = text === undefined ? {} : entryOf(load(text) ?? {});
  const usual = keyIn(file, 'device-classes');
  const alias = keyIn(file, 'deviceclasses');
  const key = alias in file && !(usual in file) ? alias : usual;
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
  const changed = { ...entry, [keyIn(entry, 'default')]: spec.default === true };
  const key = keyIn(entry, 'thin-pool');
  const thin = entry[key];
  if (pool === undefined || thin === undefined || thin === null) return changed;
  const before = entryOf(thin);
  const ratio = { [keyIn(before, 'overprovision-ratio')]: pool.overprovisionRatio };
  return { ...changed, [key]: { ...before, ...ratio } };
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
