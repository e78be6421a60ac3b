import { allocate, isShortage, occupy, type Piece, release } from '../allocate.ts';
import { type Arguments, isOutcome } from '../argv.ts';
import { type Machine, refuseDuplicates, vgToChange } from '../machine.ts';
import {
  type Area,
  freeExtentsOf,
  type Lv,
  type MovePart,
  type Pv,
  pvsOfStrand,
  type Segment,
  type Strand,
  strandsOf,
  type Vg,
} from '../model.ts';
import { type Outcome, Voice } from '../text.ts';
import { activate, hasActiveThins } from './lvchange.ts';

export const pvmoveOptions = { interval: 'value' } as const;

/** Moves all extents of a device to others of its group, at once. */
export function pvmove(machine: Machine, parsed: Arguments): Outcome {
  return beginMove(machine, parsed) ?? finishMove(machine, parsed);
}

/**
 * The places are found and taken, and what is on the device is locked. From here on the move is
 * in the metadata: whoever dies now leaves it for the next pvmove. An answer is a refusal.
 */
export function beginMove(machine: Machine, parsed: Arguments): Outcome | undefined {
  const voice = new Voice();
  const [path = ''] = parsed.words;
  const device = machine.device(path);
  const uuid = device?.label?.pvUuid;
  const owner = uuid === undefined ? undefined : machine.vgOfPv(uuid);
  if (device === undefined || owner === undefined) return noSuchPv(path, voice);
  const vg = vgToChange(machine, owner.name, voice);
  if (isOutcome(vg)) return noSuchPv(path, voice);
  const duplicates = refuseDuplicates(machine, vg, voice);
  if (duplicates !== undefined) return duplicates;
  const pv = vg.pvs.find((candidate) => candidate.uuid === uuid);
  if (pv === undefined) return noSuchPv(path, voice);
  if (vg.moves.some((move) => move.pv === pv)) return undefined;
  if (!vg.pvs.some((other) => other !== pv && freeExtentsOf(other) > 0)) {
    return voice.fail('No extents available for allocation.');
  }
  // What another move brings is locked, and cannot be taken along.
  if (sourcesOn(vg, pv).length === 0) return voice.fail(`No data to move for ${vg.name}.`);
  const refusal = planMove(vg, pv, voice);
  if (refusal !== undefined) return refusal;
  machine.commit(vg);
  // The kernel copies, so everything that is moved must be awake; parts of a pool in use are.
  for (const lv of vg.lvs) {
    if (lockedPart(lv) !== undefined && !hasActiveThins(lv)) activate(lv);
  }
  return undefined;
}

/** All extents have arrived: the volumes use their new places, the old ones are free. */
export function finishMove(machine: Machine, parsed: Arguments): Outcome {
  const [path = ''] = parsed.words;
  const voice = new Voice();
  const uuid = machine.device(path)?.label?.pvUuid;
  const vg = uuid === undefined ? undefined : machine.vgOfPv(uuid);
  const move = vg?.moves.find((candidate) => candidate.pv.uuid === uuid);
  if (vg === undefined || move === undefined) {
    return voice.say(`${path}: No pvmove in progress - already finished or aborted.`).end();
  }
  const targets = move.parts.flatMap((part) => part.targets.map(({ area }) => area.pv));
  const lost = targets.find((pv) => machine.deviceOf(pv) === undefined);
  if (lost !== undefined) return voice.fail(`ABORTING: ${lost.device} does not answer.`);
  for (const part of move.parts) relocate(part);
  for (const strand of strandsInOrder(vg)) rejoin(strand);
  vg.moves = vg.moves.filter((candidate) => candidate !== move);
  const stretches = move.parts.reduce((sum, part) => sum + part.targets.length, 0);
  // Once for every stretch that arrived, once to end.
  machine.commit(vg, stretches + 1);
  return voice.say(`${path}: Moved: 100.00%`).end();
}

/** The ending of the name of a part that is being moved; '' for the volume itself. */
export function lockedPart(lv: Lv): string | undefined {
  if (lv.vg.moves.length === 0) return undefined;
  const moving = new Set(lv.vg.moves.flatMap((move) => move.parts.map((part) => part.strand)));
  return strandsOf(lv).find(({ strand }) => moving.has(strand))?.suffix;
}

/** Nothing is moved for a strand that is gone: the places taken for it are free again. */
export function forgetMoves(vg: Vg, strand: Strand): void {
  vg.moves = vg.moves.map((move) => {
    for (const part of move.parts.filter((candidate) => candidate.strand === strand)) {
      for (const { length, area } of part.targets) release(area, length);
    }
    return { ...move, parts: move.parts.filter((part) => part.strand !== strand) };
  });
}

function noSuchPv(path: string, voice: Voice): Outcome {
  voice.complain(`Failed to find physical volume "${path}".`);
  return voice.complain("Run `pvmove --help' for more information.").end(3);
}

type Source = Omit<MovePart, 'targets'>;

function planMove(vg: Vg, pv: Pv, voice: Voice): Outcome | undefined {
  const sources = sourcesOn(vg, pv);
  const pieces = sources.map(
    ({ segment }): Piece => ({
      length: segment.length / segment.areas.length,
      avoid: new Set(segment.areas.map((area) => area.pv)),
    }),
  );
  const extents = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const on = allowedPvs(vg, pv);
  const found = allocate(vg, { name: '', areas: 1, parity: 0, multiple: 1, extents, on, pieces });
  if (isShortage(found)) {
    voice.complain(on.size === 0 ? "Couldn't allocate areas array." : found.message);
    voice.complain(`Unable to allocate mirror extents for ${vg.name}/pvmove0.`);
    return voice.fail('Failed to convert pvmove LV to mirrored.');
  }
  const stretches = found.stretches.map(({ length, areas }) => ({
    length,
    area: areas[0] as Area,
  }));
  for (const { length, area } of stretches) occupy(area, length);
  for (const { segment } of sources) segment.isMoving = true;
  const parts = sources.map((source): MovePart => {
    const { segment } = source;
    return { ...source, targets: takeLength(stretches, segment.length / segment.areas.length) };
  });
  vg.moves.push({ pv, parts });
  return undefined;
}

/** Every area on the device, in the order of LVM's metadata: what people see comes first. */
function sourcesOn(vg: Vg, pv: Pv): readonly Source[] {
  return strandsInOrder(vg).flatMap((strand) =>
    strand.segments.flatMap((segment) => {
      const index = segment.areas.findIndex((area) => area.pv === pv);
      return index < 0 ? [] : [{ strand, segment, index }];
    }),
  );
}

function strandsInOrder(vg: Vg): readonly Strand[] {
  const all = vg.lvs.flatMap(strandsOf);
  const visible = all.filter(({ suffix }) => suffix === '').map(({ strand }) => strand);
  const parts = all.filter(({ suffix }) => suffix !== '').map(({ strand }) => strand);
  const hidden = vg.spare === undefined ? parts : [...parts, vg.spare];
  return [...visible, ...hidden.toSorted((a, b) => a.order - b.order)];
}

/** The parts of a RAID must not meet on one device: LVM keeps off all devices of such a volume. */
function allowedPvs(vg: Vg, pv: Pv): ReadonlySet<Pv> {
  const barred = new Set<Pv>([pv]);
  for (const { body } of vg.lvs) {
    if (body.kind !== 'raid') continue;
    const used = [...body.images, ...body.metas].map(pvsOfStrand);
    if (!used.some((pvs) => pvs.has(pv))) continue;
    for (const pvs of used) for (const other of pvs) barred.add(other);
  }
  return new Set(vg.pvs.filter((candidate) => !barred.has(candidate)));
}

type Stretch = { length: number; area: Area };

/** The next so many extents of what was found. */
function takeLength(stretches: Stretch[], length: number): readonly Stretch[] {
  const taken: Stretch[] = [];
  for (let left = length; left > 0; ) {
    const [first] = stretches;
    if (first === undefined) throw new Error('the allocator found less than it was asked for');
    const part = Math.min(left, first.length);
    taken.push({ length: part, area: first.area });
    left -= part;
    if (part === first.length) stretches.shift();
    else {
      first.length -= part;
      first.area = { pv: first.area.pv, extent: first.area.extent + part };
    }
  }
  return taken;
}

function relocate({ strand, segment, index, targets }: MovePart): void {
  const width = segment.areas.length;
  release(segment.areas[index] as Area, segment.length / width);
  let offset = 0;
  const replacements = targets.map(({ length, area }): Segment => {
    const areas = segment.areas.map((old, position) =>
      position === index ? area : { pv: old.pv, extent: old.extent + offset },
    );
    const made = { start: segment.start + offset * width, length: length * width, areas };
    offset += length;
    return made;
  });
  strand.segments.splice(strand.segments.indexOf(segment), 1, ...replacements);
}

/** Stretches that follow on from each other on their new devices become one. */
function rejoin(strand: Strand): void {
  const { segments } = strand;
  for (let index = 1; index < segments.length; ) {
    const last = segments[index - 1] as Segment;
    const next = segments[index] as Segment;
    if (!followsOn(last, next)) index += 1;
    else {
      last.length += next.length;
      segments.splice(index, 1);
    }
  }
}

function followsOn(last: Segment, next: Segment): boolean {
  if (last.areas.length !== next.areas.length) return false;
  const each = last.length / last.areas.length;
  return last.areas.every((area, index) => {
    const other = next.areas[index];
    return other !== undefined && other.pv === area.pv && other.extent === area.extent + each;
  });
}
