import { allocate, isShortage, type Piece, release } from '../allocate.ts';
import { type Arguments, isOutcome } from '../argv.ts';
import { type Machine, refuseDuplicates, vgToChange } from '../machine.ts';
import {
  type Area,
  freeExtentsOf,
  type Lv,
  type Pv,
  pvsOfStrand,
  type Segment,
  type Strand,
  strandsOf,
  type Vg,
} from '../model.ts';
import { type Outcome, Voice } from '../text.ts';
import { appendSegment } from '../volumes.ts';

export const pvmoveOptions = { interval: 'value' } as const;

/** Moves all extents of a device to others of its group. */
export function pvmove(machine: Machine, parsed: Arguments): Outcome {
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
  if (freeExtentsOf(pv) === pv.extents) return voice.fail(`No data to move for ${vg.name}.`);
  const moved = moveAll(vg, pv, voice);
  if (typeof moved === 'object') return moved;
  // Once to begin, once for every stretch that arrived, once to end.
  machine.commit(vg, moved + 2);
  return voice.say(`${device.path}: Moved: 100.00%`).end();
}

function noSuchPv(path: string, voice: Voice): Outcome {
  voice.complain(`Failed to find physical volume "${path}".`);
  return voice.complain("Run `pvmove --help' for more information.").end(3);
}

type Move = { readonly strand: Strand; readonly segment: Segment; readonly index: number };

function moveAll(vg: Vg, pv: Pv, voice: Voice): Outcome | number {
  const moves = movesOf(vg, pv);
  const pieces = moves.map(
    ({ segment }): Piece => ({
      length: segment.length / segment.areas.length,
      avoid: new Set(segment.areas.map((area) => area.pv)),
    }),
  );
  const extents = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const on = allowedPvs(vg, pv);
  if (vg.pvs.length === 1) return voice.fail('No extents available for allocation.');
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
  for (const { strand, segment, index } of moves) {
    relocate(strand, segment, index, takeLength(stretches, segment.length / segment.areas.length));
  }
  for (const strand of strandsInOrder(vg)) rejoin(strand);
  return found.stretches.length;
}

/** Every area on the device, in the order of LVM's metadata: what people see comes first. */
function movesOf(vg: Vg, pv: Pv): readonly Move[] {
  return strandsInOrder(vg).flatMap((strand) =>
    strand.segments.flatMap((segment) => {
      const index = segment.areas.findIndex((area) => area.pv === pv);
      return index < 0 ? [] : [{ strand, segment, index }];
    }),
  );
}

function strandsInOrder(vg: Vg): readonly Strand[] {
  const visible = vg.lvs.flatMap((lv) => strandsOf(lv).filter(({ suffix }) => suffix === ''));
  const hidden = vg.lvs.flatMap(hiddenStrands);
  const spare = vg.spare === undefined ? [] : [vg.spare];
  return [...visible.map(({ strand }) => strand), ...spare, ...hidden];
}

function hiddenStrands({ body }: Lv): readonly Strand[] {
  if (body.kind === 'pool') return [body.metadata, body.data];
  if (body.kind !== 'raid') return [];
  return body.images.flatMap((image, index) => [image, body.metas[index] as Strand]);
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

function relocate(
  strand: Strand,
  segment: Segment,
  index: number,
  stretches: readonly Stretch[],
): void {
  const width = segment.areas.length;
  release(segment.areas[index] as Area, segment.length / width);
  const moving: Strand = { uuid: '', segments: [] };
  let offset = 0;
  const replacements = stretches.map(({ length, area }): Segment => {
    appendSegment(moving, length, [area]);
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
