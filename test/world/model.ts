import type { Content } from './content.ts';
import type { ThinMap } from './thin-map.ts';

/**
 * What a fake machine remembers. Unlike everything in `src/`, these values change in place: they
 * are the disks and the kernel of the fake world, and a copy of a disk would be another disk.
 * Sizes are plain numbers: no fake disk is larger than 2^53 bytes.
 */
export type Device = {
  path: string;
  /** `major:minor`. */
  number: string;
  type: string;
  sizeBytes: number;
  model: string;
  serial: string;
  wwn: string;
  links: string[];
  isReadOnly: boolean;
  mountPoints: string[];
  isSwap: boolean;
  /** Somebody else has it open exclusively, without mounting it. */
  isHeld: boolean;
  /** Somebody has it open for writing, and has claimed nothing. */
  openBy: string;
  partitionTable: string;
  partitionLabel: string;
  partitionType: string;
  backingFile: string;
  partitions: Device[];
  /** False once it was pulled. What is on it stays on it. */
  isPresent: boolean;
  /** Every read fails: probes cannot say what is on it. */
  isBroken: boolean;
  label: PvLabel | undefined;
  content: Content;
};

/** What pvcreate writes on a device. Which group it is in is the group's knowledge. */
export type PvLabel = {
  readonly pvUuid: string;
  readonly metadataBytes: number;
};

export type Vg = {
  name: string;
  readonly uuid: string;
  readonly extentBytes: number;
  tags: string[];
  sequence: number;
  pvs: Pv[];
  lvs: Lv[];
  /** Devices that are being emptied; what is on them is locked until that is done. */
  moves: PvMove[];
  /** Kept for repairing pools: as large as the largest pool's metadata. */
  spare: Strand | undefined;
  isExported: boolean;
  isReadOnly: boolean;
  systemId: string;
  lockType: string;
  /** The command line that wrote the metadata last. */
  writtenBy: string;
};

export type Pv = {
  readonly uuid: string;
  /** The device it was last found on. */
  device: string;
  readonly deviceBytes: number;
  readonly metadataBytes: number;
  readonly extents: number;
  /** Sorted, never touching each other. */
  free: ExtentRun[];
  isAllocatable: boolean;
  /** Written into the metadata when the group changed while the device was away. */
  isFlaggedMissing: boolean;
  /** The newest metadata this very device got to see. */
  sequence: number;
  tags: string[];
};

/** A move under way: where each stretch comes from and where it goes. */
export type PvMove = {
  readonly pv: Pv;
  readonly parts: readonly MovePart[];
};

export type MovePart = {
  readonly strand: Strand;
  readonly segment: Segment;
  readonly index: number;
  readonly targets: readonly { readonly length: number; readonly area: Area }[];
};

export type ExtentRun = { start: number; count: number };

/** One stretch of a volume: `areas` lie side by side, each `length / areas` extents long. */
export type Segment = {
  start: number;
  length: number;
  readonly areas: Area[];
  /** Its extents are on their way to another device: it must not grow. */
  isMoving?: true;
};

export type Area = { readonly pv: Pv; readonly extent: number };

/** Extents with a device-mapper device of their own: a volume, or a part of one. */
export type Strand = {
  readonly uuid: string;
  /** Which was made first: LVM keeps its hidden volumes in this order. */
  readonly order: number;
  readonly hostName: string;
  segments: Segment[];
};

export type LvType =
  | 'linear'
  | 'striped'
  | 'raid1'
  | 'raid4'
  | 'raid5'
  | 'raid6'
  | 'raid10'
  | 'thin'
  | 'thin-pool'
  | 'cow-snapshot';

export type Lv = {
  readonly uuid: string;
  name: string;
  readonly vg: Vg;
  readonly type: LvType;
  /** Logical size. For a CoW snapshot the room for changes. */
  extents: number;
  readonly stripes: number;
  readonly stripeBytes: number;
  readonly copies: number;
  tags: string[];
  isReadOnly: boolean;
  isActive: boolean;
  isSuspended: boolean;
  /** The kernel still has the size of before the last growth. */
  activeExtents: number;
  skipsActivation: boolean;
  /** Who has it open: mount points and the like. */
  users: Set<string>;
  createdAtMs: number;
  /** The name that the host had for the command that made it. */
  readonly hostName: string;
  content: Content;
  body: Body;
};

export type Body =
  | { readonly kind: 'plain'; readonly strand: Strand }
  | {
      readonly kind: 'raid';
      readonly images: Strand[];
      readonly metas: Strand[];
      sync: { fromMs: number; untilMs: number };
      /** Images the kernel wrote off while their device was away; a refresh brings them back. */
      failed: Set<number>;
    }
  | {
      readonly kind: 'pool';
      readonly data: Strand;
      readonly metadata: Strand;
      readonly chunkBytes: number;
      /** The kernel stopped writes: the pool was full when somebody wrote. */
      isOutOfData: boolean;
      /** Blocks are zeroed before they are given out. */
      zeroes: boolean;
      transaction: number;
    }
  | {
      readonly kind: 'thin';
      readonly pool: Lv;
      origin: Lv | undefined;
      map: ThinMap;
      readonly deviceId: number;
    }
  | {
      readonly kind: 'cow';
      readonly origin: Lv;
      readonly strand: Strand;
      readonly chunkBytes: number;
      /** How large the origin was when the snapshot was taken; it never grows with it. */
      readonly originExtents: number;
      /** Chunks of the origin that were copied, as ranges of chunk numbers. */
      copied: readonly (readonly [number, number])[];
      isInvalid: boolean;
    };

export type PoolBody = Extract<Body, { kind: 'pool' }>;
export type RaidBody = Extract<Body, { kind: 'raid' }>;
export type ThinBody = Extract<Body, { kind: 'thin' }>;
export type CowBody = Extract<Body, { kind: 'cow' }>;

export function sizeBytes(lv: Lv): number {
  return lv.extents * lv.vg.extentBytes;
}

/** What somebody reading the volume sees: a snapshot is as large as its origin was. */
export function virtualBytes(lv: Lv): number {
  return lv.body.kind === 'cow' ? lv.body.originExtents * lv.vg.extentBytes : sizeBytes(lv);
}

export function strandExtents(strand: Strand): number {
  return strand.segments.reduce((total, segment) => total + segment.length, 0);
}

/** Every strand of a volume with the ending of its name. */
export function strandsOf(lv: Lv): readonly { readonly suffix: string; readonly strand: Strand }[] {
  const { body } = lv;
  switch (body.kind) {
    case 'plain':
    case 'cow':
      return [{ suffix: '', strand: body.strand }];
    case 'raid':
      return [
        ...body.images.map((strand, index) => ({ suffix: `_rimage_${index}`, strand })),
        ...body.metas.map((strand, index) => ({ suffix: `_rmeta_${index}`, strand })),
      ];
    case 'pool':
      return [
        { suffix: '_tdata', strand: body.data },
        { suffix: '_tmeta', strand: body.metadata },
      ];
    case 'thin':
      return [];
  }
}

export function pvsOfStrand(strand: Strand): ReadonlySet<Pv> {
  return new Set(strand.segments.flatMap((segment) => segment.areas.map((area) => area.pv)));
}

export function freeExtents(vg: Vg): number {
  return vg.pvs.reduce((total, pv) => total + freeExtentsOf(pv), 0);
}

export function freeExtentsOf(pv: Pv): number {
  return pv.free.reduce((total, run) => total + run.count, 0);
}

export function cowSnapshotsOf(lv: Lv): readonly Lv[] {
  return lv.vg.lvs.filter((other) => other.body.kind === 'cow' && other.body.origin === lv);
}

export function thinVolumesOf(pool: Lv): readonly Lv[] {
  return pool.vg.lvs.filter((other) => other.body.kind === 'thin' && other.body.pool === pool);
}

export function poolBody(lv: Lv): PoolBody {
  if (lv.body.kind !== 'pool') throw new Error(`${lv.name} is no pool`);
  return lv.body;
}
