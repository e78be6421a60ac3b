import {
  type Bytes,
  bytes,
  least,
  minus,
  most,
  noBytes,
  roundDown,
  roundUp,
  times,
} from '../../base/bytes.ts';
import { limits } from '../../base/limits.ts';
import { freeExtents } from '../capacity.ts';
import type { ObservedLv, ObservedVg } from '../observed.ts';

export type DesiredThinPool = {
  readonly vg: string;
  /** The group as it was known before; another one may have its name by now. */
  readonly vgUuid: string | undefined;
  readonly name: string;
  readonly presence: 'present' | 'absent';
  readonly sizePercent: number;
  /** `undefined`: chosen by the size of the pool, as larger ones are where these are too small. */
  readonly chunkSizeBytes: Bytes | undefined;
  readonly metadataBytes: Bytes | undefined;
  /** The tag that makes the volume group ours, and with it a pool that carries no tag. */
  readonly vgOwnerTag: string;
};

export type PoolShape = {
  readonly sizeBytes: Bytes;
  readonly chunkSizeBytes: Bytes;
  readonly metadataBytes: Bytes;
};

/**
 * How large a new pool in this group is made. Metadata is kept twice (LVM holds a spare copy for
 * repair), so both are taken from what the pool could have.
 */
export function shapeOfPool(desired: DesiredThinPool, vg: ObservedVg): PoolShape {
  const free = freeForPools(vg);
  const share = times(free, desired.sizePercent) / 100n;
  const chunkSizeBytes = chunkFor(bytes(share), desired.chunkSizeBytes);
  const fitting = metadataFor(bytes(share), chunkSizeBytes);
  const wanted = wantedMetadata(desired) ?? fitting;
  // Chunks that had to be larger are of a pool that was not thought of.
  const isRaised = chunkSizeBytes > (desired.chunkSizeBytes ?? limits.thinPoolChunkBytes);
  const metadataBytes = roundUp(isRaised ? most(wanted, fitting) : wanted, vg.extentSizeBytes);
  const room = minus(free, times(metadataBytes, 2));
  const sizeBytes = roundDown(least(share, room), vg.extentSizeBytes);
  return { sizeBytes, chunkSizeBytes, metadataBytes };
}

/** What the group calls free may lie on devices that nothing may be put on. */
export function freeForPools(vg: ObservedVg): Bytes {
  return times(freeExtents(vg, noBytes), vg.extentSizeBytes);
}

/** LVM gives no more than dm-thin can use, whatever is asked for. */
export function wantedMetadata({ metadataBytes }: DesiredThinPool): Bytes | undefined {
  return metadataBytes === undefined ? undefined : least(metadataBytes, metadataUsable);
}

/** Metadata that is smaller than wanted, and how much room its group lacks for the rest of it. */
export function metadataWish(
  desired: DesiredThinPool,
  vg: ObservedVg,
  { metadataSizeBytes: present }: ObservedLv,
) {
  const wanted = wantedMetadata(desired);
  if (wanted === undefined || present === undefined || present >= wanted) return undefined;
  // The spare copy grows with it.
  const takes = times(roundUp(minus(wanted, present), vg.extentSizeBytes), 2);
  return { wanted, present, takes, lacking: minus(takes, freeForPools(vg)) };
}

/** The largest pool that can have chunks of this size. */
export function addressable(chunkBytes: bigint): Bytes {
  return times(chunkBytes, metadataUsable / limits.thinPoolMetadataBytesPerChunk);
}

/** The smallest chunk, from the wanted one up, that metadata of legal size can address. */
function chunkFor(poolBytes: Bytes, wanted: Bytes | undefined): Bytes {
  let chunk: bigint = wanted ?? limits.thinPoolChunkBytes;
  while (
    chunk < limits.thinPoolChunkBytesMax &&
    metadataNeeded(poolBytes, chunk) > metadataUsable
  ) {
    chunk *= 2n;
  }
  return bytes(chunk);
}

/** Twice what mapping every chunk once needs, so that snapshots find room. */
function metadataFor(poolBytes: Bytes, chunkBytes: Bytes): Bytes {
  const generous = times(metadataNeeded(poolBytes, chunkBytes), 2);
  return least(most(generous, limits.thinPoolMetadataBytesMin), metadataUsable);
}

function metadataNeeded(poolBytes: bigint, chunkBytes: bigint): bigint {
  return (poolBytes / chunkBytes) * limits.thinPoolMetadataBytesPerChunk;
}

/** dm-thin uses slightly less than 16 GiB of metadata. */
const metadataUsable = (limits.thinPoolMetadataBytesMax * 127n) / 128n;
