import type { Allocation } from '../allocate.ts';
import { type Arguments, isOutcome, option, sizeOption, values } from '../argv.ts';
import { givenOut, nothing } from '../content.ts';
import type { Mishap } from '../faults.ts';
import { type Machine, refuseDuplicates, vgToChange } from '../machine.ts';
import {
  freeExtents,
  type Lv,
  type LvType,
  type Pv,
  type RaidBody,
  type Strand,
  sizeBytes,
  type Vg,
} from '../model.ts';
import { displaySize, type Outcome, Voice } from '../text.ts';
import {
  columnsOf,
  findRoom,
  growPlain,
  growRaid,
  isRaid,
  isShortage,
  newLv,
  newStrand,
  notRedundant,
  parityOf,
  type Shape,
} from '../volumes.ts';
import { createCowSnapshot } from './cow.ts';
import { createThin, createThinPool, createThinSnapshot } from './thin.ts';
import { warnOfPromises } from './thin-warnings.ts';
import { sortedTags } from './volume-groups.ts';

export const lvcreateOptions = {
  yes: 'flag',
  type: 'value',
  activate: 'value',
  stripes: 'value',
  mirrors: 'value',
  stripesize: 'value',
  size: 'value',
  virtualsize: 'value',
  wipesignatures: 'value',
  zero: 'value',
  thinpool: 'value',
  name: 'value',
  addtag: 'value',
  chunksize: 'value',
  poolmetadatasize: 'value',
  poolmetadataspare: 'value',
  config: 'value',
  snapshot: 'flag',
  setactivationskip: 'value',
  permission: 'value',
  nosync: 'flag',
  readahead: 'value',
  regionsize: 'value',
} as const;

/** What every kind of lvcreate needs, once its arguments were found good. */
export type Creation = {
  readonly machine: Machine;
  readonly parsed: Arguments;
  readonly voice: Voice;
  readonly vg: Vg;
  readonly name: string;
  readonly tags: readonly string[];
  readonly isReadOnly: boolean;
  readonly mishap: Mishap | undefined;
};

export function lvcreate(machine: Machine, parsed: Arguments, mishap?: Mishap): Outcome {
  const voice = new Voice();
  for (const size of ['size', 'virtualsize', 'chunksize', 'poolmetadatasize', 'stripesize']) {
    const value = sizeOption(parsed, size);
    if (typeof value === 'object') return value;
  }
  const type = option(parsed, 'type') ?? (parsed.options.has('snapshot') ? 'snapshot' : 'linear');
  const rejected = rejectArguments(parsed, type, voice);
  if (rejected !== undefined) return rejected;
  const [target = ''] = parsed.words;
  const [vgName = '', originName] = target.split('/');
  const vg = vgToChange(machine, vgName, voice);
  if (isOutcome(vg)) return vg;
  const creation: Creation = {
    machine,
    parsed,
    voice,
    vg,
    name: option(parsed, 'name') ?? freeName(vg),
    tags: sortedTags(values(parsed, 'addtag')),
    isReadOnly: option(parsed, 'permission') === 'r',
    mishap,
  };
  return create(creation, type, originName);
}

/** What lvcreate refuses before it looks at any group. */
function rejectArguments(parsed: Arguments, type: string, voice: Voice): Outcome | undefined {
  const name = option(parsed, 'name') ?? '';
  const reserved = /^(snapshot|pvmove)/.exec(name)?.[1];
  const size = ['size', 'virtualsize'].find((candidate) => sizeOption(parsed, candidate) === 0);
  if (type === 'thin-pool' && parsed.options.has('wipesignatures')) {
    voice.complain('Option --wipesignatures is unsupported with thin pools.');
  } else if (reserved !== undefined) {
    voice.complain(`Names starting "${reserved}" are reserved. Please choose a different LV name.`);
  } else if (size !== undefined) voice.complain(`--${size} may not be zero.`);
  else if (type === 'raid10' && (option(parsed, 'mirrors') ?? '1') !== '1') {
    if (!parsed.options.has('stripesize')) voice.say('Using default stripesize 64.00 KiB.');
    voice.complain("RAID10 currently supports only 2-way mirroring (i.e. '-m 1')");
  } else return undefined;
  return voice.complain("Run `lvcreate --help' for more information.").end(3);
}

function create(creation: Creation, type: string, originName: string | undefined): Outcome {
  switch (type) {
    case 'thin':
      return createThin(creation);
    case 'thin-pool':
      return createThinPool(creation);
    case 'snapshot':
      return createSnapshot(creation, originName ?? '');
    default:
      return createThick(creation, type as LvType);
  }
}

function createSnapshot(creation: Creation, originName: string): Outcome {
  const { vg, voice, parsed, machine } = creation;
  const origin = machine.findLv(vg, originName);
  if (origin === undefined) {
    return voice.fail(`Snapshot origin LV ${originName} not found in Volume group ${vg.name}.`);
  }
  const isThin = origin.type === 'thin' && !parsed.options.has('size');
  return isThin ? createThinSnapshot(creation, origin) : createCowSnapshot(creation, origin);
}

/** The devices an administrator may have named after the group. */
function namedPvs({ parsed, machine, vg }: Creation): ReadonlySet<Pv> | undefined {
  const paths = parsed.words.slice(1);
  if (paths.length === 0) return undefined;
  return new Set(vg.pvs.filter((pv) => paths.includes(machine.deviceOf(pv)?.path ?? '')));
}

function createThick(creation: Creation, type: LvType): Outcome {
  const { machine, parsed, voice, vg, name } = creation;
  const shape = shapeOf(parsed, type);
  if (shape.stripes > 1 && !parsed.options.has('stripesize') && shape.type !== 'raid1') {
    voice.say('Using default stripesize 64.00 KiB.');
  }
  const extents = wholeExtents(creation, 'size', shape);
  const taken = refuseName(creation);
  if (taken !== undefined) return taken;
  if (shape.stripes > vg.pvs.length) {
    return voice.fail(
      `Number of stripes (${shape.stripes}) must not exceed number of physical volumes ` +
        `(${vg.pvs.length})`,
    );
  }
  const full = refuseFull(creation, extents);
  if (full !== undefined) return full;
  const duplicates = refuseDuplicates(machine, vg, voice);
  if (duplicates !== undefined) return duplicates;
  const found = findRoom(vg, name, shape, extents, [], namedPvs(creation));
  if (isShortage(found)) return voice.fail(found.message);
  const { tags, isReadOnly } = creation;
  const body = isRaid(shape.type) ? raidBody(machine, shape, extents, vg) : plainBody(machine);
  const lv = newLv(machine, vg, { name, shape, extents, tags, isReadOnly, body });
  const shared = body.kind === 'raid' ? refuseShared(lv, body.images, found, voice) : undefined;
  if (shared !== undefined) {
    // By the time LVM checks this the volume is in the metadata, and is taken out again.
    machine.commit(vg, 2);
    return shared;
  }
  if (body.kind === 'raid') growRaid(body.images, body.metas, found, columnsOf(shape));
  else growPlain(body.strand, found);
  return settle(creation, lv, isRaid(shape.type) ? 2 : 1);
}

export function refuseShared(
  { vg, name }: Lv,
  images: readonly Strand[],
  found: Allocation,
  voice: Voice,
): Outcome | undefined {
  const shared = notRedundant(vg, name, images, found);
  if (shared === undefined) return undefined;
  voice.complain(`LV ${vg.name}/${shared.image} using PV ${shared.device} is not redundant.`);
  return voice.fail(
    `Insufficient suitable allocatable extents for logical volume ${vg.name}/${name}`,
  );
}

/** The first thing that lvcreate writes of a thin pool or CoW snapshot, and then it dies. */
export function leavePlain(creation: Creation, extents: number): Outcome {
  const { machine, vg, name, tags, isReadOnly, voice } = creation;
  const shape: Shape = { type: 'linear', stripes: 1, copies: 1, stripeBytes: 0 };
  const found = findRoom(vg, name, shape, extents, []);
  if (isShortage(found)) return voice.fail(found.message);
  const body = plainBody(machine);
  growPlain(body.strand, found);
  settle(creation, newLv(machine, vg, { name, shape, extents, tags, isReadOnly, body }), 1);
  return voice.end(5);
}

/** Writes the metadata, wakes the volume and says so; or leaves what a mishap leaves. */
export function settle(creation: Creation, lv: Lv, commits: number): Outcome {
  const { machine, parsed, vg, voice, mishap } = creation;
  vg.lvs.push(lv);
  const refusal = machine.metadataRefusal(vg, voice);
  if (refusal !== undefined) {
    machine.drop(lv);
    return refusal;
  }
  machine.commit(vg, commits);
  const isThick = lv.body.kind === 'plain' || lv.body.kind === 'raid';
  if (isThick) lv.content = givenOut(nothing, 0, sizeBytes(lv));
  warnOfPromises(lv, voice);
  if (option(parsed, 'activate') === 'n') lv.isActive = false;
  else if (mishap === 'activation-fails') {
    lv.isActive = false;
    voice.complain(`Failed to activate new LV ${vg.name}/${lv.name}.`);
    return voice.end(5);
  }
  // Fresh extents hold what their last owner left; wiping and zeroing hide it from probes only.
  if (isThick) lv.content = givenOut(nothing, zeroedBytes, sizeBytes(lv));
  return voice.say(`Logical volume "${lv.name}" created.`).end();
}

/** What `--zero y` overwrites. */
const zeroedBytes = 4096;

export function refuseName({ machine, vg, name, voice }: Creation): Outcome | undefined {
  if (machine.findLv(vg, name) === undefined) return undefined;
  return voice.fail(`Logical Volume "${name}" already exists in volume group "${vg.name}"`);
}

export function refuseFull({ vg, voice }: Creation, extents: number): Outcome | undefined {
  const free = freeExtents(vg);
  if (extents <= free) return undefined;
  return voice.fail(
    `Volume group "${vg.name}" has insufficient free space (${free} extents): ` +
      `${extents} required.`,
  );
}

/** A size in extents, rounded the way LVM rounds it and with what it says about that. */
export function wholeExtents(
  { parsed, voice, vg }: Creation,
  name: string,
  shape: Pick<Shape, 'type' | 'stripes'> = { type: 'linear', stripes: 1 },
): number {
  const bytes = sizeOption(parsed, name);
  const wanted = typeof bytes === 'number' ? bytes : 0;
  const extents = Math.ceil(wanted / vg.extentBytes);
  if (wanted % vg.extentBytes !== 0) {
    voice.say(`Rounding up size to full physical extent ${displaySize(extents * vg.extentBytes)}`);
  }
  return roundToStripes(voice, vg, extents, columnsOf(shape));
}

export function roundToStripes(voice: Voice, vg: Vg, extents: number, columns: number): number {
  const rounded = Math.ceil(extents / columns) * columns;
  if (rounded !== extents) {
    const shown = (count: number) => `${displaySize(count * vg.extentBytes)} (${count} extents)`;
    voice.say(`Rounding size ${shown(extents)} up to stripe boundary size ${shown(rounded)}.`);
  }
  return rounded;
}

function shapeOf(parsed: Arguments, type: LvType): Shape {
  const stripes = Number(option(parsed, 'stripes') ?? 1);
  const mirrors = Number(
    option(parsed, 'mirrors') ?? (type === 'raid1' || type === 'raid10' ? 1 : 0),
  );
  const stripeBytes = sizeOption(parsed, 'stripesize') ?? 64 * 1024;
  return {
    type: type === 'striped' && stripes === 1 ? 'linear' : type,
    stripes,
    copies: mirrors + 1,
    stripeBytes: typeof stripeBytes === 'number' ? stripeBytes : 0,
  };
}

function plainBody(machine: Machine) {
  return { kind: 'plain', strand: newStrand(machine) } as const;
}

function raidBody(machine: Machine, shape: Shape, extents: number, vg: Vg): RaidBody {
  const count = shape.stripes * shape.copies + parityOf(shape.type);
  const images: Strand[] = [];
  const metas: Strand[] = [];
  for (let index = 0; index < count; index += 1) {
    images.push(newStrand(machine));
    metas.push(newStrand(machine));
  }
  const fromMs = machine.clock.nowMs();
  const gib = (extents * vg.extentBytes) / 1024 ** 3;
  return {
    kind: 'raid',
    images,
    metas,
    sync: { fromMs, untilMs: fromMs + gib * machine.syncMsPerGiB },
    failed: new Set(),
  };
}

export function freeName(vg: Vg): string {
  for (let index = 0; ; index += 1) {
    const name = `lvol${index}`;
    if (!vg.lvs.some((lv) => lv.name === name)) return name;
  }
}
