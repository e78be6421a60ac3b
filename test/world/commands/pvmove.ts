import { allocate, isShortage, occupy, releaseSegments } from '../allocate.ts';
import { type Arguments, isOutcome } from '../argv.ts';
import { type Machine, refuseDuplicates, vgToChange } from '../machine.ts';
import {
  type Area,
  freeExtentsOf,
  type Pv,
  type Segment,
  type Strand,
  strandsOf,
  type Vg,
} from '../model.ts';
import { type Outcome, Voice } from '../text.ts';

export const pvmoveOptions = { interval: 'value' } as const;

/** Moves all extents of a device to others of its group. */
export function pvmove(machine: Machine, parsed: Arguments): Outcome {
  const voice = new Voice();
  const [path = ''] = parsed.words;
  const device = machine.device(path);
  const uuid = device?.label?.pvUuid;
  const owner = uuid === undefined ? undefined : machine.vgOfPv(uuid);
  if (device === undefined || owner === undefined) {
    return voice.fail(`Failed to find physical volume "${path}".`);
  }
  const vg = vgToChange(machine, owner.name, voice);
  if (isOutcome(vg)) return vg;
  const duplicates = refuseDuplicates(machine, vg, voice);
  if (duplicates !== undefined) return duplicates;
  const pv = vg.pvs.find((candidate) => candidate.uuid === uuid);
  if (pv === undefined) return voice.fail(`Failed to find physical volume "${path}".`);
  if (freeExtentsOf(pv) === pv.extents) return voice.fail(`No data to move for ${vg.name}.`);
  const refusal = moveAll(vg, pv, voice);
  if (refusal !== undefined) return refusal;
  machine.commit(vg, 3);
  return voice.say(`${device.path}: Moved: 100.00%`).end();
}

function moveAll(vg: Vg, pv: Pv, voice: Voice): Outcome | undefined {
  const strands = [
    ...vg.lvs.flatMap((lv) => strandsOf(lv).map(({ strand }) => strand)),
    ...(vg.spare === undefined ? [] : [vg.spare]),
  ];
  for (const strand of strands) {
    for (const segment of [...strand.segments]) {
      const index = segment.areas.findIndex((area) => area.pv === pv);
      if (index < 0) continue;
      const refusal = moveArea(vg, strand, segment, index, voice);
      if (refusal !== undefined) return refusal;
    }
  }
  return undefined;
}

function moveArea(
  vg: Vg,
  strand: Strand,
  segment: Segment,
  index: number,
  voice: Voice,
): Outcome | undefined {
  const length = segment.length / segment.areas.length;
  const siblings = segment.areas.map((area) => area.pv);
  const extents = length;
  const avoid = new Set(siblings);
  const found = allocate(vg, { name: 'pvmove0', areas: 1, parity: 0, multiple: 1, extents, avoid });
  if (isShortage(found)) {
    voice.complain(found.message);
    return voice.fail('Unable to allocate mirror extents for vg1/pvmove0.'.replace('vg1', vg.name));
  }
  const parts = found.stretches.map(({ length: part, areas }) => ({
    part,
    area: areas[0] as Area,
  }));
  const at = strand.segments.indexOf(segment);
  let offset = 0;
  const replacements = parts.map(({ part, area }): Segment => {
    occupy(area, part);
    const areas = segment.areas.map((old, position) =>
      position === index ? area : { pv: old.pv, extent: old.extent + offset },
    );
    const width = segment.areas.length;
    const made = { start: segment.start + offset * width, length: part * width, areas };
    offset += part;
    return made;
  });
  const old = segment.areas[index] as Area;
  releaseSegments([{ start: 0, length, areas: [old] }]);
  strand.segments.splice(at, 1, ...replacements);
  return undefined;
}
