import { type Bytes, bytes, KiB, times } from '../base/bytes.ts';
import type { FoundFileSystem } from '../core/publication/observed.ts';

/** Where superblocks are: the first stretch has those of ext and XFS, the second that of btrfs. */
export const superblockRanges = [
  { offset: 0, length: 4096 },
  { offset: 65_536, length: 4096 },
] as const;

/** What is on a device, by its superblocks alone. `mountedBytes`: statfs, where it is mounted. */
export function fileSystemIn(
  [first, second]: readonly [Uint8Array, Uint8Array],
  mountedBytes?: Bytes,
): FoundFileSystem {
  const found = [ext(first), xfs(first, mountedBytes), btrfs(second, mountedBytes)].filter(
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
function ext(block: Uint8Array): Superblock | undefined {
  const at = 1024;
  const view = viewOf(block);
  if (block.length < at + 1024 || view.getUint16(at + 0x38, true) !== 0xef53) return undefined;
  const u32 = (offset: number) => view.getUint32(at + offset, true);
  const blockBytes = 1024n << BigInt(u32(0x18) & 0x1f);
  const hasJournal = (u32(0x5c) & 0x4) !== 0;
  const isExt4 =
    (BigInt(u32(0x60)) & ~ext3Incompatible) !== 0n ||
    (BigInt(u32(0x64)) & ~ext3ReadOnlyCompatible) !== 0n;
  const is64Bit = (u32(0x60) & 0x80) !== 0;
  const blocks = BigInt(u32(0x4)) + (is64Bit ? BigInt(u32(0x150)) << 32n : 0n);
  return {
    type: isExt4 ? 'ext4' : hasJournal ? 'ext3' : 'ext2',
    uuid: uuidAt(block, at + 0x68),
    sizeBytes: times(blocks, blockBytes),
    unusedBytesMax: extUnused(u32, { blocks, blockBytes, is64Bit }),
  };
}

/**
 * A last group that could not hold its own tables is left out: resize2fs wants room for them and
 * 50 blocks more, and rounds down to whole pages and clusters.
 */
function extUnused(
  u32: (offset: number) => number,
  size: { readonly blocks: bigint; readonly blockBytes: bigint; readonly is64Bit: boolean },
): Bytes {
  const { blocks, blockBytes, is64Bit } = size;
  const up = (value: bigint, unit: bigint) => (value + unit - 1n) / unit;
  const inodeBytes = BigInt(u32(0x58) & 0xffff) || 128n;
  const inodeBlocks = up(BigInt(u32(0x28)) * inodeBytes, blockBytes);
  const groups = up(blocks, BigInt(u32(0x20)) || 1n) + 1n;
  const descriptorBytes = is64Bit ? BigInt(u32(0xfc) >>> 16) || 64n : 32n;
  const descriptorBlocks = up(groups * descriptorBytes, blockBytes);
  const reservedBlocks = BigInt(u32(0xcc) >>> 16);
  const clusterBytes = 1024n << BigInt(u32(0x1c) & 0x1f);
  const tables = inodeBlocks + 3n + descriptorBlocks + reservedBlocks + 50n;
  return bytes(tables * blockBytes + clusterBytes + 64n * KiB);
}

/** XFS: big endian, at the very start. A new last group needs 64 blocks at least. */
function xfs(block: Uint8Array, mountedBytes?: Bytes): Superblock | undefined {
  const view = viewOf(block);
  if (block.length < 512 || view.getUint32(0) !== 0x58465342) return undefined;
  const blockBytes = BigInt(view.getUint32(4));
  const hasOwnLog = view.getBigUint64(48) !== 0n;
  // While it is mounted the superblock on disk is late; statfs is not, but leaves out the log.
  const logBlocks = hasOwnLog ? BigInt(view.getUint32(96)) : 0n;
  const sizeBytes =
    mountedBytes === undefined
      ? times(view.getBigUint64(8), blockBytes)
      : bytes(mountedBytes + logBlocks * blockBytes);
  const unusedBytesMax = times(blockBytes, 65n);
  return { type: 'xfs', uuid: uuidAt(block, 32), sizeBytes, unusedBytesMax };
}

const btrfsMagic = '_BHRfS_M';

/** btrfs: little endian, 64 KiB from the start. It ends at a whole sector of its own. */
function btrfs(block: Uint8Array, mountedBytes?: Bytes): Superblock | undefined {
  const view = viewOf(block);
  if (block.length < 4096) return undefined;
  const magic = String.fromCharCode(...block.subarray(0x40, 0x48));
  if (magic !== btrfsMagic) return undefined;
  const sizeBytes = mountedBytes ?? bytes(view.getBigUint64(0x70, true));
  const unusedBytesMax = most64KiB(BigInt(view.getUint32(0x90, true)));
  return { type: 'btrfs', uuid: uuidAt(block, 0x20), sizeBytes, unusedBytesMax };
}

function most64KiB(sectorBytes: bigint): Bytes {
  return bytes(sectorBytes > 64n * KiB ? sectorBytes : 64n * KiB);
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
