import { Chance } from '../world/chance.ts';
import { type DeviceSpec, plainDisks } from '../world/devices.ts';
import type { FaultRates } from '../world/faults.ts';
import { dramaOf, lostGroup } from './dramas.ts';

/** Everything that will happen in one world, as data: it can be printed, replayed and shortened. */
export type Story = {
  readonly seed: number;
  readonly devices: readonly DeviceSpec[];
  /** Disks that belong to somebody else: whatever happens, they stay as they are. */
  readonly foreign: readonly string[];
  readonly node: NodeFile;
  readonly rates: FaultRates;
  readonly events: readonly StoryEvent[];
};

export type NodeFile = {
  readonly volumeGroups: readonly { readonly name: string; readonly devices: unknown }[];
  readonly deviceClasses: readonly ClassEntry[];
};

export type ClassEntry = {
  readonly name: string;
  readonly volumeGroup: string;
  readonly spare?: string;
  readonly striped?: unknown;
  readonly raid?: unknown;
  readonly thin?: unknown;
};

export type StoryEvent = { readonly atMs: number } & (
  | {
      readonly kind: 'create';
      readonly name: string;
      readonly className: string;
      readonly mib: number;
    }
  | { readonly kind: 'expand'; readonly name: string; readonly mib: number }
  | { readonly kind: 'snapshot'; readonly name: string; readonly source: string }
  | { readonly kind: 'clone'; readonly name: string; readonly source: string; readonly mib: number }
  | { readonly kind: 'delete'; readonly name: string }
  | {
      readonly kind: 'write';
      readonly name: string;
      readonly mib: number;
      /** Where in the volume, from 0 to 1. */
      readonly at: number;
    }
  | { readonly kind: 'cancel'; readonly name: string }
  | {
      readonly kind: 'admin-create';
      readonly vg: string;
      readonly name: string;
      readonly mib: number;
    }
  | { readonly kind: 'admin-remove' | 'admin-replace' | 'admin-mount'; readonly name: string }
  | { readonly kind: 'admin-snapshot'; readonly name: string }
  | { readonly kind: 'pull' | 'insert'; readonly device: string }
  | { readonly kind: 'crash' }
  /** The next growth leaves its device suspended, and the process dies before it mends that. */
  | { readonly kind: 'death' }
  | { readonly kind: 'power'; readonly autoActivate: boolean }
);

const mib = 1024 ** 2;
const gib = 1024 ** 3;

/** A world by seed: how large, how unlucky and how busy, all drawn from it. */
export function storyOf(seed: number): Story {
  const chance = new Chance(seed);
  const diskCount = chance.between(3, 7);
  const data = plainDisks(diskCount).map((disk) => ({
    ...disk,
    sizeBytes: chance.between(2, 8) * 256 * mib,
  }));
  const strangers = foreignDisks(diskCount);
  const node = nodeFile(
    chance,
    data.map((disk) => disk.path),
  );
  const isCalm = chance.happens(0.15);
  const rates = isCalm ? {} : faultRates(chance);
  const paths = data.map((disk) => disk.path);
  // A drama needs room and a stage of its own: fewer other things happen beside it.
  const drama = chance.happens(0.4) ? dramaOf(chance, 'va-linear') : undefined;
  const happening = events(chance, node, paths, drama === undefined ? 60 : 15);
  const takesAny = node.volumeGroups.some(({ devices }) => devices === 'any');
  const lost = drama === undefined && takesAny && seed % 3 === 0 ? lostGroup(chance, paths) : [];
  const all = [...happening, ...(drama?.events ?? []), ...lost].toSorted((a, b) => a.atMs - b.atMs);
  return {
    seed,
    devices: [...data, ...strangers],
    foreign: strangers.map((disk) => disk.path),
    node,
    rates: { ...rates, ...drama?.rates },
    events: all,
  };
}

function foreignDisks(from: number): readonly DeviceSpec[] {
  const path = (index: number) => `/dev/sd${String.fromCharCode('a'.charCodeAt(0) + from + index)}`;
  return [
    { path: path(0), sizeBytes: gib, fileSystem: 'ext4', mountPoints: ['/'] },
    { path: path(1), sizeBytes: gib, fileSystem: 'xfs' },
    { path: path(2), sizeBytes: gib, isSwap: true },
    { path: path(3), sizeBytes: gib },
    { path: path(4), sizeBytes: gib, isReadOnly: true },
    { path: path(5), sizeBytes: gib, isHeld: true },
    { path: path(6), sizeBytes: gib, openBy: 'the process qemu' },
  ];
}

function nodeFile(chance: Chance, paths: readonly string[]): NodeFile {
  const isSplit = paths.length >= 4 && chance.happens(0.4);
  const cut = isSplit ? chance.between(2, paths.length - 2) : paths.length;
  const first = paths.slice(0, cut);
  const groups = [
    { name: 'va', devices: chance.happens(0.3) && !isSplit ? 'any' : { paths: first } },
    ...(isSplit ? [{ name: 'vb', devices: { paths: paths.slice(cut) } }] : []),
  ];
  const classes = groups.flatMap(({ name }, index) => {
    const disks = index === 0 ? cut : paths.length - cut;
    return classesOf(chance, name, disks);
  });
  return { volumeGroups: groups, deviceClasses: classes };
}

function classesOf(chance: Chance, vg: string, disks: number): readonly ClassEntry[] {
  const ratio = chance.pick([1, 1.5, 3]);
  const poolPercent = chance.pick([20, 40, 60]);
  const spare = `${chance.pick([0, 32, 100])}Mi`;
  const all: ClassEntry[] = [
    { name: `${vg}-linear`, volumeGroup: vg, spare },
    {
      name: `${vg}-thin`,
      volumeGroup: vg,
      thin: { poolName: 'pool', sizePercent: poolPercent, overprovisionRatio: ratio },
    },
    { name: `${vg}-striped`, volumeGroup: vg, spare, striped: { stripes: 2 } },
    { name: `${vg}-raid1`, volumeGroup: vg, spare, raid: { type: 'raid1' } },
  ];
  if (disks >= 3)
    all.push({ name: `${vg}-raid5`, volumeGroup: vg, spare, raid: { type: 'raid5' } });
  return all;
}

function faultRates(chance: Chance): FaultRates {
  const rate = () => (chance.happens(0.5) ? 0 : chance.fraction() * 0.08);
  return {
    slow: rate(),
    fail: rate(),
    mishap: rate(),
    killed: rate(),
    locked: rate(),
    garbage: rate() / 2,
    hang: rate() / 4,
    crash: rate() / 2,
  };
}

const volumeCountMax = 24;

function events(
  chance: Chance,
  node: NodeFile,
  disks: readonly string[],
  countMax: number,
): readonly StoryEvent[] {
  const names: string[] = [];
  const made: StoryEvent[] = [];
  let atMs = 30_000;
  const count = chance.between(Math.min(10, countMax), countMax);
  const isMeddled = chance.happens(0.6);
  for (let index = 0; index < count; index += 1) {
    // Bursts: many requests at one moment, then silence.
    if (chance.happens(0.4)) atMs += chance.between(1, 20_000);
    const canMeddle = isMeddled && chance.happens(0.25);
    const event = canMeddle ? meddle(chance, names, node, disks) : request(chance, names, node);
    if (event !== undefined) made.push({ atMs, ...event });
  }
  return made;
}

type Happening<T = StoryEvent> = T extends StoryEvent ? Omit<T, 'atMs'> : never;

function request(chance: Chance, names: string[], node: NodeFile): Happening | undefined {
  const known = chance.pick(names);
  const size = chance.pick([1, 4, 5, 30, 64, 100, 250, 700]);
  const roll = chance.below(10);
  if (known === undefined || (roll < 4 && names.length < volumeCountMax)) {
    const name = `v${names.length}`;
    names.push(name);
    const entry = chance.pick(node.deviceClasses);
    return { kind: 'create', name, className: entry?.name ?? '', mib: size };
  }
  if (roll < 5) return { kind: 'expand', name: known, mib: size };
  if (roll < 6 && names.length < volumeCountMax)
    return { kind: 'snapshot', name: add(names, 's'), source: known };
  if (roll < 7 && names.length < volumeCountMax) {
    return { kind: 'clone', name: add(names, 'c'), source: known, mib: size };
  }
  if (roll < 8) {
    const at = chance.pick([0, 0.3, 0.6, 0.9]);
    return { kind: 'write', name: known, mib: chance.pick([1, 3, 20]), at };
  }
  if (roll < 9) return { kind: 'delete', name: known };
  return { kind: 'cancel', name: known };
}

function add(names: string[], prefix: string): string {
  const name = `${prefix}${names.length}`;
  names.push(name);
  return name;
}

function meddle(
  chance: Chance,
  names: readonly string[],
  node: NodeFile,
  disks: readonly string[],
): Happening | undefined {
  const name = chance.pick(names);
  const vg = chance.pick(node.volumeGroups)?.name ?? 'va';
  const device = chance.pick(disks) ?? '/dev/sda';
  switch (chance.below(9)) {
    case 0:
      return { kind: 'admin-create', vg, name: `admin${chance.below(1000)}`, mib: 20 };
    case 1:
      return name === undefined ? undefined : { kind: 'admin-remove', name };
    case 2:
      return name === undefined ? undefined : { kind: 'admin-replace', name };
    case 3:
      return name === undefined ? undefined : { kind: 'admin-mount', name };
    case 4:
      return { kind: 'pull', device };
    case 5:
      return { kind: 'insert', device };
    case 6:
      return { kind: 'power', autoActivate: chance.happens(0.5) };
    case 7:
      return name === undefined ? undefined : { kind: 'admin-snapshot', name };
    default:
      return { kind: 'crash' };
  }
}
