import { type Bytes, bytes, countUp, KiB, MiB, most, roundDown, times } from '../base/bytes.ts';
import type { FoundFileSystem } from '../core/publication/observed.ts';

/** Where superblocks are: the first stretch has those of ext and XFS, the second that of btrfs. */
export const superblockRanges = [
  { offset: 0, length: 4096 },
  { offset: 65_536, length: 4096 },
] as const;

/** Sizes that stand beside a superblock. */
export type DeviceSizes = {
  readonly deviceBytes: Bytes;
  /** What statfs says, where it is mounted. */
  readonly mountedBytes?: Bytes | undefined;
};

/** What is on a device, by its superblocks alone. */
export function fileSystemIn(
  [first, second]: readonly [Uint8Array, Uint8Array],
  sizes: DeviceSizes,
): FoundFileSystem {
  const found = [ext(first, sizes), xfs(first, sizes), btrfs(second, sizes)].filter(
    (one) => one !== undefined,
  );
  const [only, another] = found;
  if (only === undefined) return { kind: 'none' };
  if (another === undefined) return { kind: 'found', ...only };
  const types = found.map(({ type }) => type).join(' and ');
  return { kind: 'unknown', why: `it has superblocks of ${types}` };
}

type Superblock = Omit<Extract<FoundFileSystem, { kind: 'found' }>, 'kind'>;

/** Features that ext3 has too; any other makes it ext4. */
const ext3Incompatible = 0x16n;
const ext3ReadOnlyCompatible = 0x7n;

/** ext2, ext3 and ext4: little endian, 1 KiB from the start. Told apart as libblkid does. */
function ext(block: Uint8Array, { deviceBytes }: DeviceSizes): Superblock | undefined {
  const at = 1024;
  const view = viewOf(block);
  if (block.length < at + 1024 || view.getUint16(at + 0x38, true) !== 0xef53) return undefined;
  const u16 = (offset: number) => BigInt(view.getUint16(at + offset, true));
  const u32 = (offset: number) => BigInt(view.getUint32(at + offset, true));
  const blockBytes = 1024n << (u32(0x18) & 0x1fn);
  const isExt4 =
    (u32(0x60) & ~ext3Incompatible) !== 0n || (u32(0x64) & ~ext3ReadOnlyCompatible) !== 0n;
  const hasJournal = (u32(0x5c) & 0x4n) !== 0n;
  const is64Bit = (u32(0x60) & 0x80n) !== 0n;
  const blocks = u32(0x4) + (is64Bit ? u32(0x150) << 32n : 0n);
  const groupBlocks = u32(0x20) || 1n;
  const groups = countUp(deviceBytes, groupBlocks * blockBytes);
  const tables = {
    inodes: countUp(u32(0x28) * (u16(0x58) || 128n), blockBytes),
    descriptors: countUp(groups * (is64Bit ? u16(0xfe) || 64n : 32n), blockBytes),
    reserved: u16(0xce),
  };
  const unit = most(1024n << (u32(0x1c) & 0x1fn), 4n * KiB);
  const wholeBlocks = roundDown(deviceBytes, unit) / blockBytes;
  const firstBlock = u32(0x14);
  const lastGroup = (wholeBlocks - firstBlock - 1n) / groupBlocks;
  const isSparse = (u32(0x64) & 0x1n) !== 0n && (u32(0x5c) & 0x200n) === 0n;
  const copies = hasCopy(lastGroup, isSparse) ? 1n + tables.descriptors + tables.reserved : 0n;
  // A last group that could not hold its own tables is left out: resize2fs wants room for them,
  // for two bitmaps, for the copies that some groups keep, and 50 blocks more.
  const groupBlocksMin = tables.inodes + 2n + copies + 50n;
  const growsTo = withoutStub(wholeBlocks, firstBlock, { groupBlocks, groupBlocksMin });
  return {
    type: isExt4 ? 'ext4' : hasJournal ? 'ext3' : 'ext2',
    uuid: uuidAt(block, at + 0x68),
    // mkfs.ext4 clears it first and writes it last, between two flushes.
    isUnfinished: false,
    sizeBytes: times(blocks, blockBytes),
    growsToBytes: times(growsTo, blockBytes),
  };
}

/** Does a group of ext keep copies of superblock and descriptors? Sparse: powers of 3, 5 and 7. */
function hasCopy(group: bigint, isSparse: boolean): boolean {
  if (!isSparse || group <= 1n) return true;
  return [3n, 5n, 7n].some((base) => {
    let power = base;
    while (power < group) power *= base;
    return power === group;
  });
}

/** The kernel gives no new last group fewer blocks. */
const xfsGroupBlocksMin = 64n;

/** XFS: big endian, at the very start. */
function xfs(block: Uint8Array, sizes: DeviceSizes): Superblock | undefined {
  const view = viewOf(block);
  if (block.length < 512 || view.getUint32(0) !== 0x58465342) return undefined;
  const blockBytes = BigInt(view.getUint32(4)) || 1n;
  const hasOwnLog = view.getBigUint64(48) !== 0n;
  // While it is mounted the superblock on disk is late; statfs is not, but leaves out the log.
  const logBlocks = hasOwnLog ? BigInt(view.getUint32(96)) : 0n;
  const sizeBytes =
    sizes.mountedBytes === undefined
      ? times(view.getBigUint64(8), blockBytes)
      : bytes(sizes.mountedBytes + logBlocks * blockBytes);
  const groups = {
    groupBlocks: BigInt(view.getUint32(84)) || 1n,
    groupBlocksMin: xfsGroupBlocksMin,
  };
  const growsTo = withoutStub(sizes.deviceBytes / blockBytes, 0n, groups);
  const growsToBytes = times(growsTo, blockBytes);
  // mkfs.xfs writes it early, with `sb_inprogress` set, and takes that back last.
  const isUnfinished = view.getUint8(126) !== 0;
  return { type: 'xfs', uuid: uuidAt(block, 32), isUnfinished, sizeBytes, growsToBytes };
}

/** So many blocks, without the last group if that would be too small to be one. */
function withoutStub(
  blocks: bigint,
  firstBlock: bigint,
  groups: { readonly groupBlocks: bigint; readonly groupBlocksMin: bigint },
): bigint {
  const stub = (blocks - firstBlock) % groups.groupBlocks;
  return stub < groups.groupBlocksMin ? blocks - stub : blocks;
}

/** Until mkfs.btrfs is done it is `!BHRfS_M`, which nobody takes for a file system. */
const btrfsMagic = '_BHRfS_M';
/** The kernel grows none to less than this. */
const btrfsGrowsToBytesMin = 256n * MiB;

/** btrfs: little endian, 64 KiB from the start. It ends at a whole sector of its own. */
function btrfs(block: Uint8Array, sizes: DeviceSizes): Superblock | undefined {
  const view = viewOf(block);
  if (block.length < 4096) return undefined;
  const magic = String.fromCharCode(...block.subarray(0x40, 0x48));
  if (magic !== btrfsMagic) return undefined;
  const sizeBytes = sizes.mountedBytes ?? bytes(view.getBigUint64(0x70, true));
  const whole = roundDown(sizes.deviceBytes, BigInt(view.getUint32(0x90, true)) || 4n * KiB);
  const growsToBytes = whole < btrfsGrowsToBytesMin ? sizeBytes : whole;
  const size = { sizeBytes, growsToBytes };
  return { type: 'btrfs', uuid: uuidAt(block, 0x20), isUnfinished: false, ...size };
}

function uuidAt(block: Uint8Array, offset: number): string {
  const hex = [...block.subarray(offset, offset + 16)]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20)].join('-');
}

function viewOf(block: Uint8Array): DataView {
  return new DataView(block.buffer, block.byteOffset, block.byteLength);
}
