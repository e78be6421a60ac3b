/**
 * Which chunks of a thin volume are mapped, and to which blocks of the pool. A block is known by
 * the batch it was given out in and its chunk number, which is enough to tell shared from own.
 */
export type ThinMap = readonly Mapped[];

/** `end` is not included. Sorted, without overlaps. */
export type Mapped = { readonly start: number; readonly end: number; readonly batch: number };

export function mappedChunks(map: ThinMap): number {
  return map.reduce((total, { start, end }) => total + end - start, 0);
}

/** Blocks that the maps of a pool use together: a shared block counts once. */
export function usedBlocks(maps: readonly ThinMap[]): number {
  const byBatch = new Map<number, Mapped[]>();
  for (const map of maps) {
    for (const item of map) {
      const known = byBatch.get(item.batch);
      if (known === undefined) byBatch.set(item.batch, [item]);
      else known.push(item);
    }
  }
  let used = 0;
  for (const items of byBatch.values()) used += unionLength(items);
  return used;
}

/** Maps a stretch of chunks to fresh blocks wherever it is unmapped or shared with another map. */
export function mapForWrite(
  map: ThinMap,
  range: { readonly start: number; readonly end: number },
  others: readonly ThinMap[],
  batch: number,
): ThinMap {
  const own: Mapped[] = [];
  for (const item of map) {
    if (item.end <= range.start || item.start >= range.end) continue;
    const clipped = clip(item, range);
    own.push(...without(clipped, sharedParts(clipped, others)));
  }
  const fresh = gaps(own, range).map(([start, end]) => ({ start, end, batch }));
  const kept = map.flatMap((item) => outside(item, range));
  return [...kept, ...own, ...fresh].toSorted((a, b) => a.start - b.start);
}

function sharedParts(item: Mapped, others: readonly ThinMap[]): readonly Mapped[] {
  return others.flatMap((map) =>
    map
      .filter((o) => o.batch === item.batch && o.end > item.start && o.start < item.end)
      .map((o) => clip(o, item)),
  );
}

function clip(item: Mapped, range: { readonly start: number; readonly end: number }): Mapped {
  return {
    start: Math.max(item.start, range.start),
    end: Math.min(item.end, range.end),
    batch: item.batch,
  };
}

function outside(item: Mapped, range: { readonly start: number; readonly end: number }): Mapped[] {
  const parts: Mapped[] = [];
  if (item.start < range.start) parts.push({ ...item, end: Math.min(item.end, range.start) });
  if (item.end > range.end) parts.push({ ...item, start: Math.max(item.start, range.end) });
  return parts;
}

function without(item: Mapped, holes: readonly Mapped[]): Mapped[] {
  let parts = [item];
  for (const hole of holes) parts = parts.flatMap((part) => outside(part, hole));
  return parts;
}

function gaps(
  items: readonly Mapped[],
  range: { readonly start: number; readonly end: number },
): readonly (readonly [number, number])[] {
  const found: (readonly [number, number])[] = [];
  let at = range.start;
  for (const item of items.toSorted((a, b) => a.start - b.start)) {
    if (item.start > at) found.push([at, item.start]);
    at = Math.max(at, item.end);
  }
  if (at < range.end) found.push([at, range.end]);
  return found;
}

function unionLength(items: readonly Mapped[]): number {
  if (items.length === 1) return mappedChunks(items);
  let length = 0;
  let at = 0;
  for (const item of items.toSorted((a, b) => a.start - b.start)) {
    const start = Math.max(at, item.start);
    if (item.end > start) length += item.end - start;
    at = Math.max(at, item.end);
  }
  return length;
}
