import {
  type Allocation,
  allocate,
  isShortage,
  occupy,
  type Previous,
  type Request,
  type Shortage,
} from './allocate.ts';
import { nothing } from './content.ts';
import type { Machine } from './machine.ts';
import {
  type Area,
  type Body,
  type Lv,
  type LvType,
  type Pv,
  pvsOfStrand,
  type Segment,
  type Strand,
  type Vg,
} from './model.ts';

/** The shape of a volume: how its extents are spread. */
export type Shape = {
  readonly type: LvType;
  readonly stripes: number;
  readonly copies: number;
  readonly stripeBytes: number;
};

export function parityOf(type: LvType): number {
  if (type === 'raid4' || type === 'raid5') return 1;
  return type === 'raid6' ? 2 : 0;
}

export function isRaid(type: LvType): boolean {
  return type.startsWith('raid');
}

/** Logical extents for each extent of an area. */
export function columnsOf(shape: Pick<Shape, 'type' | 'stripes'>): number {
  return shape.type === 'raid1' ? 1 : shape.stripes;
}

export function newStrand(machine: Machine): Strand {
  const { chance, hostName } = machine;
  return { uuid: chance.lvmUuid(), order: machine.nextStamp(), hostName, segments: [] };
}

export function newLv(
  machine: Machine,
  vg: Vg,
  parts: {
    readonly name: string;
    readonly shape: Shape;
    readonly extents: number;
    readonly tags: readonly string[];
    readonly isReadOnly: boolean;
    readonly body: Body;
    readonly uuid?: string;
  },
): Lv {
  const { name, shape, extents, tags, isReadOnly, body } = parts;
  return {
    uuid: parts.uuid ?? machine.chance.lvmUuid(),
    name,
    vg,
    type: shape.type,
    extents,
    stripes: shape.stripes,
    stripeBytes: shape.stripeBytes,
    copies: shape.copies,
    tags: [...tags],
    isReadOnly,
    isActive: true,
    isSuspended: false,
    activeExtents: extents,
    skipsActivation: false,
    users: new Set(),
    createdAtMs: machine.clock.nowMs(),
    hostName: machine.hostName,
    content: nothing,
    body,
  };
}

/** Finds room for so many more extents; nothing is taken yet. */
export function findRoom(
  vg: Vg,
  name: string,
  shape: Shape,
  extents: number,
  strands: readonly Strand[],
  on?: ReadonlySet<Pv>,
): Allocation | Shortage {
  const raid = isRaid(shape.type);
  const isNew = strands.every((strand) => strand.segments.length === 0);
  const previous = isNew ? undefined : previousOf(shape, strands);
  const request: Request = {
    name,
    areas: shape.stripes * shape.copies,
    parity: parityOf(shape.type),
    multiple: columnsOf(shape),
    extents,
    ...(raid && isNew ? { split: 1 } : {}),
    ...(previous === undefined ? {} : { previous }),
    ...(on === undefined ? {} : { on }),
  };
  return allocate(vg, request);
}

function previousOf(shape: Shape, strands: readonly Strand[]): Previous {
  if (!isRaid(shape.type)) {
    const [strand] = strands;
    const segments = strand?.segments ?? [];
    const last = segments.at(-1);
    const length = (last?.length ?? 0) / (last?.areas.length ?? 1);
    return {
      extents: segments.reduce((total, segment) => total + segment.length, 0),
      ends: (last?.areas ?? []).map(({ pv, extent }) => ({ pv, end: extent + length })),
      firsts: (segments[0]?.areas ?? []).map((area) => area.pv),
    };
  }
  const ends = strands.flatMap(({ segments }) => {
    const last = segments.at(-1);
    const [area] = last?.areas ?? [];
    return last === undefined || area === undefined
      ? []
      : [{ pv: area.pv, end: area.extent + last.length }];
  });
  const perImage = strands[0]?.segments.reduce((total, segment) => total + segment.length, 0) ?? 0;
  return {
    extents: perImage * columnsOf(shape),
    ends,
    firsts: strands.flatMap(({ segments }) => segments[0]?.areas[0]?.pv ?? []),
  };
}

export { isShortage };

/** LVM keeps the parts of a RAID apart for ever, not only side by side: else it refuses. */
export function notRedundant(
  vg: Vg,
  name: string,
  images: readonly Strand[],
  found: Allocation,
): { readonly image: string; readonly device: string } | undefined {
  for (const pv of vg.pvs) {
    const users = images.flatMap((image, index) => {
      const isNew = found.stretches.some(({ areas }) => areas[index]?.pv === pv);
      return isNew || pvsOfStrand(image).has(pv) ? [index] : [];
    });
    const [, second] = users;
    if (second !== undefined) return { image: `${name}_rimage_${second}`, device: pv.device };
  }
  return undefined;
}

/** Takes what was found, for a volume whose areas all belong to one strand. */
export function growPlain(strand: Strand, found: Allocation): void {
  for (const { length, areas } of found.stretches) appendSegment(strand, length, areas);
}

/** Takes what was found for a RAID: one strand for each area. */
export function growRaid(
  images: readonly Strand[],
  metas: readonly Strand[],
  found: Allocation,
  columns: number,
): void {
  for (const [index, area] of found.metas.entries()) {
    const meta = metas[index];
    if (meta !== undefined) appendSegment(meta, 1, [area]);
  }
  for (const { length, areas } of found.stretches) {
    for (const [index, area] of areas.entries()) {
      const image = images[index];
      if (image !== undefined) appendSegment(image, length / columns, [area]);
    }
  }
}

/** Adds a stretch; one that follows on from the last in every area makes it longer instead. */
export function appendSegment(strand: Strand, length: number, areas: readonly Area[]): void {
  for (const area of areas) occupy(area, length / areas.length);
  const last = strand.segments.at(-1);
  if (last !== undefined && last.isMoving === undefined && followsOn(last, areas)) {
    last.length += length;
    return;
  }
  const start = last === undefined ? 0 : last.start + last.length;
  strand.segments.push({ start, length, areas: [...areas] });
}

function followsOn(last: Segment, areas: readonly Area[]): boolean {
  if (last.areas.length !== areas.length) return false;
  const each = last.length / last.areas.length;
  return last.areas.every((area, index) => {
    const next = areas[index];
    return next !== undefined && next.pv === area.pv && next.extent === area.extent + each;
  });
}
