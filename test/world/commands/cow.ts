import { refuseDuplicates } from '../machine.ts';
import { type Lv, sizeBytes, type Vg } from '../model.ts';
import { displaySize, type Outcome } from '../text.ts';
import { findRoom, growPlain, isShortage, newLv, newStrand, type Shape } from '../volumes.ts';
import {
  type Creation,
  leavePlain,
  refuseFull,
  refuseName,
  settle,
  wholeExtents,
} from './lvcreate.ts';

export const cowChunkBytes = 4096;
/** Chunk numbers that fit into one chunk of the snapshot's own metadata. */
export const cowChunksPerArea = cowChunkBytes / 16;

export function createCowSnapshot(creation: Creation, origin: Lv): Outcome {
  const { machine, voice, vg, name, mishap } = creation;
  if (origin.body.kind === 'cow') {
    return voice.fail('Snapshots of snapshots are not supported.');
  }
  if (origin.body.kind === 'pool') {
    return voice.fail('Snapshots of thin pool type volumes are not supported.');
  }
  const extents = cappedExtents(creation, origin);
  const refusal = refuseName(creation);
  if (refusal !== undefined) return refusal;
  const full = refuseFull(creation, extents);
  if (full !== undefined) return full;
  const duplicates = refuseDuplicates(machine, vg, voice);
  if (duplicates !== undefined) return duplicates;
  if (mishap === 'left-plain') return leavePlain(creation, extents);
  const shape: Shape = { type: 'linear', stripes: 1, copies: 1, stripeBytes: 0 };
  const found = findRoom(vg, name, shape, extents, []);
  if (isShortage(found)) return voice.fail(found.message);
  const body = {
    kind: 'cow' as const,
    origin,
    strand: newStrand(machine),
    chunkBytes: cowChunkBytes,
    originExtents: origin.extents,
    copied: [],
    isInvalid: false,
  };
  growPlain(body.strand, found);
  const { tags, isReadOnly } = creation;
  const lv = newLv(machine, vg, {
    name,
    shape: { ...shape, type: 'cow-snapshot' },
    extents,
    tags,
    isReadOnly,
    body,
  });
  lv.content = origin.content;
  lv.isActive = origin.isActive;
  return settle(creation, lv, 2);
}

function cappedExtents(creation: Creation, origin: Lv): number {
  const { voice, vg } = creation;
  const extents = wholeExtents(creation, 'size');
  const useful = cowUsefulExtents(origin, vg);
  if (extents <= useful) return extents;
  const shown = (count: number) => displaySize(count * vg.extentBytes);
  voice.say(`Reducing COW size ${shown(extents)} down to maximum usable size ${shown(useful)}.`);
  return useful;
}

/** A header, every chunk of the origin, the metadata that tells where each one went, and its end. */
export function cowUsefulExtents(origin: Lv, vg: Vg): number {
  const chunks = Math.ceil(sizeBytes(origin) / cowChunkBytes);
  const all = 1 + chunks + Math.floor(chunks / cowChunksPerArea) + 1;
  return Math.ceil((all * cowChunkBytes) / vg.extentBytes);
}
