import type { Area, ExtentRun, Pv, Segment, Vg } from './model.ts';

/**
 * LVM's allocator under the policy `normal`: contiguous first, then clinging to the devices that
 * are used already, then anywhere. It is greedy and has habits that decide which device ends up
 * with how much room; flows that depend on room are only honest when the habits are the same.
 */
export type Request = {
  /** For messages only. */
  readonly name: string;
  /** Parallel areas that hold data or copies, without parity. */
  readonly areas: number;
  readonly parity: number;
  /** Logical extents that one extent of each area makes. */
  readonly multiple: number;
  /** Logical extents wanted in addition to what is there. */
  readonly extents: number;
  /** RAID: so many extents stand before the first stretch of every area, as its metadata. */
  readonly split?: number;
  /** Pools: one more area of so many extents, on another device where that is possible. */
  readonly log?: number;
  /** What is there already, to follow on from. */
  readonly previous?: Previous;
  /** The only PVs that may be used; all of the group unless given. */
  readonly on?: ReadonlySet<Pv>;
  /** Moving: each piece is found a place of its own, beside the PVs its volume already uses. */
  readonly pieces?: readonly Piece[];
};

export type Piece = { readonly length: number; readonly avoid: ReadonlySet<Pv> };

/** The existing areas: where each ends, and which device each began on. */
export type Previous = {
  readonly extents: number;
  readonly ends: readonly { readonly pv: Pv; readonly end: number }[];
  readonly firsts: readonly Pv[];
};

export type Allocation = {
  /** Stretches one after the other; each has an area for every parallel slot. */
  readonly stretches: readonly { readonly length: number; readonly areas: readonly Area[] }[];
  readonly metas: readonly Area[];
  readonly log: Area | undefined;
};

export type Shortage = { readonly kind: 'shortage'; readonly message: string };

export function allocate(vg: Vg, request: Request): Allocation | Shortage {
  return new Attempt(vg, request).run();
}

export function isShortage(value: Allocation | Shortage): value is Shortage {
  return 'kind' in value;
}

type FreeArea = {
  readonly map: PvMap;
  start: number;
  count: number;
  unreserved: number;
};
type PvMap = { readonly pv: Pv; areas: FreeArea[] };
type Slot = { readonly area: FreeArea; readonly used: number };
type Policy = 'contiguous' | 'cling' | 'normal';

type Flags = {
  readonly policy: Policy;
  readonly matches: boolean;
  toSegment: 'contiguous' | 'cling' | undefined;
  clingsToAlloced: boolean;
  isPositional: boolean;
};

class Attempt {
  readonly #request: Request;
  readonly #maps: PvMap[];
  readonly #devices: number;
  readonly #target: number;
  readonly #stretches: { length: number; areas: Area[] }[] = [];
  #metas: Area[] = [];
  #log: Area | undefined;
  #allocated: number;
  #splitLeft: number;
  #logLeft: number;

  constructor(vg: Vg, request: Request) {
    this.#request = request;
    this.#devices = request.areas + request.parity;
    this.#maps = vg.pvs
      .filter((pv) => pv.isAllocatable && !pv.isFlaggedMissing)
      .filter((pv) => request.on?.has(pv) !== false)
      .map(mapOf);
    this.#splitLeft = request.split ?? 0;
    this.#logLeft = request.log ?? 0;
    this.#allocated = request.previous?.extents ?? 0;
    this.#target = this.#allocated + request.extents + this.#splitLeft * request.multiple;
  }

  run(): Allocation | Shortage {
    for (const policy of ['contiguous', 'cling', 'normal'] as const) {
      const shortage = this.#notEnough();
      if (shortage !== undefined) return shortage;
      this.#tryPolicy(policy);
      if (this.#allocated === this.#target && this.#logLeft === 0) break;
    }
    const { name, areas, multiple } = this.#request;
    if (this.#allocated !== this.#target) {
      const more = Math.floor(((this.#target - this.#allocated) * areas) / multiple);
      return short(
        `Insufficient suitable allocatable extents for logical volume ${name}: ` +
          `${more} more required`,
      );
    }
    if (this.#logLeft > 0) {
      return short(`Insufficient free space for log allocation for logical volume ${name}.`);
    }
    return { stretches: this.#stretches, metas: this.#metas, log: this.#log };
  }

  #notEnough(): Shortage | undefined {
    const { areas, parity, multiple } = this.#request;
    const left = this.#target - this.#allocated;
    const data = Math.floor((left * areas) / multiple) + Math.floor((left * parity) / multiple);
    const needed = data + this.#logLeft;
    const free = this.#maps.reduce((total, { areas: runs }) => total + countOf(runs), 0);
    if (needed <= free) return undefined;
    return short(`Insufficient free space: ${needed} extents needed, but only ${free} available`);
  }

  #tryPolicy(policy: Policy): void {
    const flags = this.#flagsFor(policy);
    for (;;) {
      const before = this.#allocated;
      this.#tryOnce(flags);
      if (this.#allocated === before) {
        if (flags.toSegment === 'cling' && flags.isPositional) flags.isPositional = false;
        else if (policy === 'normal' && flags.clingsToAlloced) flags.clingsToAlloced = false;
        else return;
      } else if (policy === 'normal') flags.clingsToAlloced = true;
      if (policy === 'contiguous' || this.#allocated === this.#target) return;
    }
  }

  #flagsFor(policy: Policy): Flags {
    const matches = this.#request.previous?.ends.length === this.#devices;
    const isCling = policy === 'cling';
    return {
      policy,
      matches,
      toSegment: matches && policy !== 'normal' ? policy : undefined,
      clingsToAlloced: (isCling && !matches) || policy === 'normal',
      isPositional: matches ? policy !== 'normal' : isCling,
    };
  }

  #tryOnce(flags: Flags): void {
    for (const { areas } of this.#maps) resetReserved(areas);
    const piece = this.#pieceAt(this.#allocated);
    const wanted = Math.min(this.#target - this.#allocated, piece?.left ?? this.#target);
    const found = new Candidates(this.#positionalSlots(flags), piece?.avoid);
    this.#search(flags, wanted, found);
    if (found.preferred < found.positional && !flags.clingsToAlloced && found.others.length === 0) {
      return;
    }
    const logs = this.#logLeft > 0 ? 1 : 0;
    if (found.others.length + found.preferred < this.#devices + logs) return;
    const slots = this.#arrange(found);
    if (slots !== undefined) this.#take(slots, wanted);
  }

  #pieceAt(allocated: number) {
    let end = 0;
    for (const { length, avoid } of this.#request.pieces ?? []) {
      end += length;
      if (allocated < end) return { left: end - allocated, avoid };
    }
    return undefined;
  }

  #positionalSlots(flags: Flags): number {
    if (!flags.isPositional) return 0;
    if (flags.toSegment !== undefined) return this.#request.previous?.ends.length ?? 0;
    return flags.clingsToAlloced ? this.#request.areas : 0;
  }

  /** One round over all devices, and a second where only the log has no place yet. */
  #search(flags: Flags, wanted: number, found: Candidates): void {
    this.#searchRound(flags, wanted, found, 'first');
    const count = found.others.length + found.preferred;
    const lacksLog = this.#logLeft > 0 && count === this.#devices;
    if (flags.policy !== 'normal' || !lacksLog) return;
    found.logFrom = found.others.length;
    this.#searchRound(flags, wanted, found, 'log');
  }

  #searchRound(flags: Flags, wanted: number, found: Candidates, round: Round): void {
    for (const map of this.#maps) {
      if (!found.isBarred(map)) this.#searchPv(map, flags, wanted, found, round);
      const isFull = found.preferred === found.positional && found.positional > 0;
      if (isFull && found.positional === this.#devices + (this.#logLeft > 0 ? 1 : 0)) return;
    }
  }

  /**
   * The smallest area that is large enough, else the largest. A reserved area moves back in the
   * list, and the walk goes on behind its new place: areas in between are never looked at.
   */
  #searchPv(map: PvMap, flags: Flags, wanted: number, found: Candidates, round: Round): void {
    let hasOne = false;
    for (let index = 0; index < map.areas.length; ) {
      const area = map.areas[index] as FreeArea;
      const verdict = this.#check(area, flags, wanted, { found, hasOne, round });
      if (verdict === 'preferred') found.preferred += 1;
      if (verdict === 'preferred' || verdict === 'next-pv') return;
      if (verdict === 'use') {
        const used = this.#reserve(area, wanted);
        if (hasOne) found.others[found.others.length - 1] = { area, used };
        else found.others.push({ area, used });
        hasOne = true;
      }
      index = map.areas.indexOf(area) + 1;
    }
  }

  #check(
    area: FreeArea,
    flags: Flags,
    wanted: number,
    at: { readonly found: Candidates; readonly hasOne: boolean; readonly round: Round },
  ): 'preferred' | 'use' | 'next-area' | 'next-pv' {
    if (area.unreserved === 0) return 'next-area';
    const good = flags.isPositional ? 'preferred' : 'use';
    const isClose = flags.toSegment !== undefined || flags.clingsToAlloced;
    if (at.round === 'first' && isClose) {
      const mayContinue = flags.toSegment === 'contiguous' || flags.matches;
      if (mayContinue && this.#followsOn(area, flags, at.found)) return good;
      if (flags.toSegment === 'contiguous') return 'next-area';
      const mayCling = flags.toSegment === 'cling' || flags.matches;
      if (mayCling && this.#isBesideFirst(area, flags, at.found)) return good;
      if (flags.clingsToAlloced && this.#isBesideAlloced(area, flags, at.found)) return good;
      return 'next-pv';
    }
    if (area.unreserved * this.#request.multiple < wanted && at.hasOne) return 'next-pv';
    return good;
  }

  #followsOn(area: FreeArea, flags: Flags, found: Candidates): boolean {
    const ends = this.#request.previous?.ends ?? [];
    return found.claim(area, flags.isPositional, ends.length, (slot) => {
      const end = ends[slot];
      return end !== undefined && end.pv === area.map.pv && end.end === area.start;
    });
  }

  #isBesideFirst(area: FreeArea, flags: Flags, found: Candidates): boolean {
    const firsts = this.#request.previous?.firsts ?? [];
    return found.claim(
      area,
      flags.isPositional,
      firsts.length,
      (slot) => firsts[slot] === area.map.pv,
    );
  }

  #isBesideAlloced(area: FreeArea, flags: Flags, found: Candidates): boolean {
    if (this.#logLeft > 0) return false;
    return found.claim(area, flags.isPositional, this.#request.areas, (slot) =>
      this.#stretches.some((stretch) => stretch.areas[slot]?.pv === area.map.pv),
    );
  }

  #reserve(area: FreeArea, wanted: number): number {
    const required = Math.max(Math.floor(wanted / this.#request.multiple), this.#logLength());
    if (required >= area.unreserved) {
      const all = area.unreserved;
      area.unreserved = 0;
      return all;
    }
    area.unreserved -= required;
    insertArea(area.map.areas, area, area.unreserved);
    return required;
  }

  #logLength(): number {
    return this.#request.log ?? this.#request.split ?? 0;
  }

  /** The areas to use in order of their slots, the log last; `undefined` when they do not do. */
  #arrange(found: Candidates): Slot[] | undefined {
    const sorted =
      found.logFrom > 0
        ? [...found.others.slice(0, found.logFrom), ...bySize(found.others.slice(found.logFrom))]
        : bySize(found.others);
    const filled = found.slots.slice(0, found.positional);
    const slots = [...filled, ...sorted].filter((slot) => slot !== undefined);
    if (slots.length < this.#devices) return undefined;
    if (this.#logLeft === 0) return slots;
    const log = slots.findLast((slot) => slot.used >= this.#logLeft);
    if (log === undefined || slots.indexOf(log) < this.#devices) return undefined;
    return [...slots.slice(0, this.#devices), log];
  }

  #take(slots: readonly Slot[], wanted: number): void {
    const { multiple } = this.#request;
    const data = slots.slice(0, this.#devices);
    const whole = Math.floor(wanted / multiple);
    const length = Math.min(whole, ...data.map((slot) => slot.used));
    const split = this.#splitLeft;
    if (split > 0) this.#metas = data.map(({ area }) => consume(area, split));
    if (length > split) {
      const areas = data.map(({ area }) => consume(area, length - split));
      this.#stretches.push({ length: (length - split) * multiple, areas });
    }
    const log = slots[this.#devices];
    if (this.#logLeft > 0 && log !== undefined) {
      this.#log = consume(log.area, this.#logLeft);
      this.#logLeft = 0;
    }
    this.#splitLeft = 0;
    this.#allocated += length * multiple;
  }
}

type Round = 'first' | 'log';

/** What one search found: areas with a slot of their own, and others to choose from by size. */
class Candidates {
  readonly positional: number;
  readonly #avoid: ReadonlySet<Pv> | undefined;
  readonly slots: (Slot | undefined)[] = [];
  readonly others: Slot[] = [];
  preferred = 0;
  logFrom = 0;

  constructor(positional: number, avoid: ReadonlySet<Pv> | undefined) {
    this.positional = positional;
    this.#avoid = avoid;
  }

  isBarred(map: PvMap): boolean {
    if (this.#avoid?.has(map.pv) === true) return true;
    return this.logFrom > 0 && this.others.slice(this.logFrom).some(({ area }) => area.map === map);
  }

  /** Does the area fit a slot? Then a positional search keeps it there. */
  claim(
    area: FreeArea,
    isPositional: boolean,
    count: number,
    fits: (slot: number) => boolean,
  ): boolean {
    for (let slot = 0; slot < count; slot += 1) {
      if (isPositional && this.slots[slot] !== undefined) continue;
      if (!fits(slot)) continue;
      if (isPositional) this.slots[slot] = { area, used: area.count };
      return true;
    }
    return false;
  }
}

function mapOf(pv: Pv): PvMap {
  const map: PvMap = { pv, areas: [] };
  for (const { start, count } of pv.free) {
    insertArea(map.areas, { map, start, count, unreserved: count }, count);
  }
  return map;
}

/** Largest first; among equals the newcomer stands last. */
function insertArea(areas: FreeArea[], area: FreeArea, size: number): void {
  const old = areas.indexOf(area);
  if (old >= 0) areas.splice(old, 1);
  const index = areas.findIndex((other) => size > other.count);
  areas.splice(index < 0 ? areas.length : index, 0, area);
}

function resetReserved(areas: FreeArea[]): void {
  for (let index = 0; index < areas.length; ) {
    const area = areas[index] as FreeArea;
    if (area.unreserved !== area.count) {
      area.unreserved = area.count;
      insertArea(areas, area, area.count);
    }
    index = areas.indexOf(area) + 1;
  }
}

function consume(area: FreeArea, length: number): Area {
  const taken: Area = { pv: area.map.pv, extent: area.start };
  const { areas } = area.map;
  areas.splice(areas.indexOf(area), 1);
  if (length < area.count) {
    area.start += length;
    area.count -= length;
    area.unreserved = area.count;
    insertArea(areas, area, area.count);
  }
  return taken;
}

function bySize(slots: readonly Slot[]): Slot[] {
  return slots.toSorted((a, b) => b.used - a.used);
}

function countOf(runs: readonly { readonly count: number }[]): number {
  return runs.reduce((total, { count }) => total + count, 0);
}

function short(message: string): Shortage {
  return { kind: 'shortage', message };
}

/** Marks extents as used. */
export function occupy(area: Area, length: number): void {
  const { pv, extent } = area;
  const index = pv.free.findIndex((run) => run.start <= extent && extent < run.start + run.count);
  const run = pv.free[index];
  if (run === undefined || extent + length > run.start + run.count) {
    throw new Error(`extents ${extent}+${length} of ${pv.device} are not free`);
  }
  const rest: ExtentRun[] = [];
  if (extent > run.start) rest.push({ start: run.start, count: extent - run.start });
  const end = extent + length;
  const runEnd = run.start + run.count;
  if (end < runEnd) rest.push({ start: end, count: runEnd - end });
  pv.free.splice(index, 1, ...rest);
}

/** Gives extents back. */
export function release(area: Area, length: number): void {
  const { pv, extent } = area;
  const index = pv.free.findIndex((run) => run.start > extent);
  pv.free.splice(index < 0 ? pv.free.length : index, 0, { start: extent, count: length });
  const joined: ExtentRun[] = [];
  for (const run of pv.free) {
    const last = joined.at(-1);
    if (last !== undefined && last.start + last.count === run.start) last.count += run.count;
    else joined.push({ ...run });
  }
  pv.free = joined;
}

export function releaseSegments(segments: readonly Segment[]): void {
  for (const segment of segments) {
    for (const area of segment.areas) release(area, segment.length / segment.areas.length);
  }
}
