import { allocate, isShortage, release } from '../allocate.ts';
import { option, sizeOption } from '../argv.ts';
import { refuseDuplicates } from '../machine.ts';
import {
  freeExtents,
  type Lv,
  poolBody,
  type Strand,
  strandExtents,
  thinVolumesOf,
} from '../model.ts';
import { displaySize, type Outcome } from '../text.ts';
import { appendSegment, findRoom, growPlain, newLv, newStrand, type Shape } from '../volumes.ts';
import {
  type Creation,
  freeName,
  leavePlain,
  refuseFull,
  refuseName,
  settle,
  wholeExtents,
} from './lvcreate.ts';

const plain: Shape = { type: 'linear', stripes: 1, copies: 1, stripeBytes: 0 };

export function createThinPool(creation: Creation): Outcome {
  const { machine, parsed, voice, vg, name, mishap } = creation;
  const chunk = sizeOption(parsed, 'chunksize');
  const chunkBytes = typeof chunk === 'number' ? chunk : 64 * 1024;
  const addressable = chunkBytes * 254 * 1024 ** 2;
  voice.say(
    `Thin pool volume with chunk size ${displaySize(chunkBytes)} can address at most ` +
      `${displaySize(addressable)} of data.`,
  );
  const extents = wholeExtents(creation, 'size');
  const metadata = Math.max(1, wholeExtents(creation, 'poolmetadatasize'));
  const refusal = refuseName(creation) ?? refuseDuplicates(machine, vg, voice);
  if (refusal !== undefined) return refusal;
  if (mishap === 'left-unnamed' && vg.spare === undefined) return leavePart(creation, metadata);
  const undo = keepSpare(creation);
  const wantsSpare = option(parsed, 'poolmetadataspare') !== 'n';
  const full =
    (wantsSpare ? growSpare(creation, metadata) : undefined) ?? refuseFull(creation, extents);
  if (full !== undefined) return undo(full);
  if (mishap === 'left-plain' || mishap === 'left-unnamed') return leavePlain(creation, metadata);
  const found = allocate(vg, { name, areas: 1, parity: 0, multiple: 1, extents, log: metadata });
  if (isShortage(found)) return undo(voice.fail(found.message));
  const body = {
    kind: 'pool' as const,
    metadata: newStrand(machine),
    data: newStrand(machine),
    zeroes: option(parsed, 'zero') !== 'n',
    chunkBytes,
    isOutOfData: false,
    transaction: 0,
  };
  growPlain(body.data, found);
  if (found.log !== undefined) appendSegment(body.metadata, metadata, [found.log]);
  const shape: Shape = { ...plain, type: 'thin-pool' };
  const { tags, isReadOnly } = creation;
  return settle(creation, newLv(machine, vg, { name, shape, extents, tags, isReadOnly, body }), 2);
}

/** The spare is a plain volume first, and lvcreate dies before it is made a spare. */
function leavePart(creation: Creation, extents: number): Outcome {
  const { machine, vg } = creation;
  const name = freeName(vg);
  const outcome = leavePlain({ ...creation, name, tags: [], mishap: undefined }, extents);
  const part = machine.findLv(vg, name);
  if (part !== undefined) machine.leftParts.add(part.uuid);
  return outcome;
}

/** The spare is made before the pool; without the pool it goes back to what it was. */
function keepSpare({ machine, vg }: Creation): (outcome: Outcome) => Outcome {
  const before = vg.spare;
  const extents = before === undefined ? 0 : strandExtents(before);
  return (outcome) => {
    if (vg.spare === undefined) return outcome;
    shorten(vg.spare, extents);
    if (before === undefined) machine.commit(vg);
    vg.spare = before;
    return outcome;
  };
}

/** Gives back what a strand has beyond so many extents. */
function shorten(strand: Strand, extents: number): void {
  for (let segment = strand.segments.at(-1); segment !== undefined; ) {
    const beyond = Math.min(segment.length, strandExtents(strand) - extents);
    if (beyond <= 0) return;
    const [area] = segment.areas;
    segment.length -= beyond;
    if (area !== undefined) release({ pv: area.pv, extent: area.extent + segment.length }, beyond);
    if (segment.length === 0) strand.segments.pop();
    segment = strand.segments.at(-1);
  }
}

/** The spare must be as large as the largest pool's metadata; it is made or grown first. */
export function growSpare(
  { machine, vg, voice }: Pick<Creation, 'machine' | 'vg' | 'voice'>,
  extents: number,
): Outcome | undefined {
  const present = vg.spare === undefined ? 0 : strandExtents(vg.spare);
  if (present >= extents) return undefined;
  const strand = vg.spare ?? newStrand(machine);
  const free = freeExtents(vg);
  if (vg.spare === undefined && extents > free) {
    return voice.fail(
      `Volume group "${vg.name}" has insufficient free space (${free} extents): ` +
        `${extents} required.`,
    );
  }
  const found = findRoom(vg, 'lvol0_pmspare', plain, extents - present, [strand]);
  if (isShortage(found)) return voice.fail(found.message);
  growPlain(strand, found);
  // A new spare is written at once, because it is cleared; a longer one with what needs it.
  if (vg.spare === undefined) machine.commit(vg);
  vg.spare = strand;
  return undefined;
}

export function createThin(creation: Creation): Outcome {
  const { machine, parsed, voice, vg, name } = creation;
  const poolName = option(parsed, 'thinpool') ?? '';
  const pool = machine.findLv(vg, poolName);
  if (pool === undefined) {
    return voice.fail(`Pool ${poolName} not found in Volume group ${vg.name}.`);
  }
  if (pool.body.kind !== 'pool') {
    return voice.fail(`Logical volume ${vg.name}/${poolName} is not a thin pool.`);
  }
  const extents = wholeExtents(creation, 'virtualsize');
  const refusal = refuseName(creation) ?? refuseDuplicates(machine, vg, voice);
  if (refusal !== undefined) return refusal;
  const deviceId = nextDeviceId(pool);
  const body = { kind: 'thin' as const, pool, origin: undefined, map: [], deviceId };
  const { tags, isReadOnly } = creation;
  const shape: Shape = { ...plain, type: 'thin' };
  const lv = newLv(machine, vg, { name, shape, extents, tags, isReadOnly, body });
  return settle(creation, lv, 2);
}

export function createThinSnapshot(creation: Creation, origin: Lv): Outcome {
  const { machine, parsed, voice, vg, name } = creation;
  if (origin.body.kind !== 'thin') return voice.fail(`${origin.name} is not a thin volume.`);
  const refusal = refuseName(creation) ?? refuseDuplicates(machine, vg, voice);
  if (refusal !== undefined) return refusal;
  const { pool, map } = origin.body;
  const body = { kind: 'thin' as const, pool, origin, map, deviceId: nextDeviceId(pool) };
  const { extents } = origin;
  const { tags, isReadOnly } = creation;
  const shape: Shape = { ...plain, type: 'thin' };
  const lv = newLv(machine, vg, { name, shape, extents, tags, isReadOnly, body });
  lv.content = origin.content;
  lv.skipsActivation = option(parsed, 'setactivationskip') !== 'n';
  if (lv.skipsActivation) lv.isActive = false;
  return settle(creation, lv, 2);
}

function nextDeviceId(pool: Lv): number {
  poolBody(pool).transaction += 1;
  return 1 + Math.max(0, ...thinVolumesOf(pool).map(deviceIdOf));
}

function deviceIdOf(lv: Lv): number {
  return lv.body.kind === 'thin' ? lv.body.deviceId : 0;
}
