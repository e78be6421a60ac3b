import { cowChunksPerArea } from './commands/cow.ts';
import { isUnusable } from './commands/lvchange.ts';
import { type Content, write } from './content.ts';
import type { Machine } from './machine.ts';
import {
  type CowBody,
  cowSnapshotsOf,
  type Lv,
  poolBody,
  pvsOfStrand,
  type RaidBody,
  sizeBytes,
  thinVolumesOf,
} from './model.ts';
import { mapForWrite, type ThinMap, usedBlocks } from './thin-map.ts';

type Range = { readonly start: number; readonly length: number };

/** Somebody writes to a volume. Tells why it failed, as errno would. */
export function writeData(machine: Machine, lv: Lv, range: Range): string | undefined {
  const stamp = machine.nextStamp();
  return writeLv(machine, lv, range, (content) =>
    write(content, { start: range.start, end: range.start + range.length, stamp }),
  );
}

/** Changes the content of a volume with all that follows: copies for snapshots, blocks of pools. */
export function writeLv(
  machine: Machine,
  lv: Lv,
  range: Range,
  change: (content: Content) => Content,
): string | undefined {
  if (!lv.isActive) return 'No such device or address';
  if (range.length <= 0) return undefined;
  if (range.start + range.length > sizeOfWritable(lv)) return 'No space left on device';
  if (lv.body.kind === 'cow' && lv.body.isInvalid) return 'Input/output error';
  if (isUnusable(machine, lv)) return 'Input/output error';
  if (lv.body.kind === 'raid') writeOff(machine, lv.body);
  const problem = lv.body.kind === 'thin' ? mapBlocks(machine, lv, range) : undefined;
  if (problem !== undefined) return problem;
  for (const snapshot of cowSnapshotsOf(lv)) keepOld(snapshot, range);
  if (lv.body.kind === 'cow') keepOld(lv, range);
  lv.content = change(lv.content);
  return undefined;
}

/** A RAID goes on without the parts it cannot reach, and remembers which those were. */
function writeOff(machine: Machine, body: RaidBody): void {
  for (const [index, image] of body.images.entries()) {
    const isGone = [...pvsOfStrand(image)].some((pv) => machine.deviceOf(pv) === undefined);
    if (isGone) body.failed.add(index);
  }
}

function sizeOfWritable(lv: Lv): number {
  if (lv.body.kind === 'cow') return lv.body.originExtents * lv.vg.extentBytes;
  return lv.activeExtents * lv.vg.extentBytes;
}

function mapBlocks(machine: Machine, lv: Lv, range: Range): string | undefined {
  if (lv.body.kind !== 'thin') return undefined;
  const { pool } = lv.body;
  const body = poolBody(pool);
  const start = Math.floor(range.start / body.chunkBytes);
  const end = Math.ceil((range.start + range.length) / body.chunkBytes);
  const others = thinVolumesOf(pool).filter((other) => other !== lv);
  const maps = others.map(mapOf);
  const map = mapForWrite(lv.body.map, { start, end }, maps, machine.nextStamp());
  if (usedBlocks([...maps, map]) > poolChunks(pool)) {
    body.isOutOfData = true;
    return 'No space left on device';
  }
  lv.body.map = map;
  return undefined;
}

export function mapOf(lv: Lv): ThinMap {
  return lv.body.kind === 'thin' ? lv.body.map : [];
}

export function poolChunks(pool: Lv): number {
  return Math.floor(sizeBytes(pool) / poolBody(pool).chunkBytes);
}

export function poolUsedChunks(pool: Lv): number {
  return usedBlocks(thinVolumesOf(pool).map(mapOf));
}

/** Before a chunk of an origin changes, its old content goes to the snapshot while it fits. */
function keepOld(snapshot: Lv, range: Range): void {
  const { body } = snapshot;
  if (body.kind !== 'cow' || body.isInvalid) return;
  const start = Math.floor(range.start / body.chunkBytes);
  const end = Math.ceil((range.start + range.length) / body.chunkBytes);
  body.copied = joined([...body.copied, [start, end]]);
  if (cowUsedChunks(body) > cowChunks(snapshot, body)) body.isInvalid = true;
}

/** Header, metadata chunks and copied chunks together. */
export function cowUsedChunks(body: CowBody): number {
  const copied = body.copied.reduce((total, [start, end]) => total + end - start, 0);
  const areas = Math.floor(copied / cowChunksPerArea) + 1;
  return 1 + areas + copied;
}

export function cowChunks(snapshot: Lv, body: CowBody): number {
  return Math.floor(sizeBytes(snapshot) / body.chunkBytes);
}

function joined(ranges: readonly (readonly [number, number])[]) {
  const result: [number, number][] = [];
  for (const [start, end] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = result.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else result.push([start, end]);
  }
  return result;
}

/** Share of the pool's metadata that is in use. */
export function poolMetadataShare(pool: Lv, metadataBytes: number): number {
  const blocks = metadataBytes / 4096;
  const mapped = thinVolumesOf(pool).reduce((total, lv) => total + mappedLeaves(lv), 0);
  return Math.min(1, (metadataBase(blocks) + mapped) / blocks);
}

function mappedLeaves(lv: Lv): number {
  const chunks = mapOf(lv).reduce((total, { start, end }) => total + end - start, 0);
  return Math.ceil(chunks / 126);
}

/** A tenth of it, but at most 16 MiB, is kept for finishing what was begun; the rest is small. */
function metadataBase(blocks: number): number {
  return Math.min(Math.floor(blocks / 10), 4096) + 9;
}
