import { type Bytes, bytes, most, roundDown, roundUp } from '../base/bytes.ts';
import { type Blocked, blocked } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { showBytes } from '../base/show.ts';

/** How much somebody asks for; nothing said about a bound means there is none. */
export type SizeRange = { readonly requiredBytes: bigint; readonly limitBytes: bigint };

/** `block`, or the name of a file system; '' when the caller leaves it to us. */
export type Access = 'block' | { readonly fsType: string };

const fileSystemMin: Readonly<Record<string, Bytes>> = {
  ext4: bytes(limits.ext4BytesMin),
  xfs: bytes(limits.xfsBytesMin),
  btrfs: bytes(limits.btrfsBytesMin),
};

/**
 * The size to ask LVM for, as TopoLVM computes it: at least what the use needs, a GiB when nothing
 * was said, in whole sectors and never above the limit.
 */
export function sizeFor(range: SizeRange, uses: readonly Access[]): Bytes | Blocked {
  const { requiredBytes, limitBytes } = range;
  if (requiredBytes < 0n || limitBytes < 0n) {
    const message = `required_bytes is ${requiredBytes} and limit_bytes is ${limitBytes}`;
    return blocked('InvalidSize', `${message}: neither may be negative`);
  }
  if (limitBytes > 0n && requiredBytes > limitBytes) {
    const message = `required_bytes is ${requiredBytes}, more than limit_bytes, ${limitBytes}`;
    return blocked('InvalidSize', message);
  }
  const least = most(limits.sectorBytes, ...uses.map(smallest));
  if (limitBytes > 0n && limitBytes < least) {
    const message = `limit_bytes is ${limitBytes}: this use needs at least ${showBytes(least)}`;
    return blocked('SizeOutOfRange', message);
  }
  const wanted = most(requiredBytes > 0n ? requiredBytes : defaultSize(limitBytes), least);
  return withinLimit(roundUp(wanted, limits.sectorBytes), limitBytes);
}

/** What LVM would make of it, whole extents, may be more than somebody is ready to take. */
export function withinLimit(sizeBytes: Bytes, limitBytes: bigint): Bytes | Blocked {
  if (limitBytes === 0n || sizeBytes <= limitBytes) return sizeBytes;
  const message =
    `limit_bytes is ${limitBytes}, and the smallest size that can be given is ${sizeBytes}: ` +
    'sizes are whole extents of the volume group';
  return blocked('SizeOutOfRange', message);
}

function defaultSize(limitBytes: bigint): bigint {
  const given = limits.volumeBytesDefault;
  const most = roundDown(limitBytes, limits.sectorBytes);
  return limitBytes > 0n && most < given ? most : given;
}

function smallest(access: Access): Bytes {
  if (access === 'block') return bytes(limits.blockBytesMin);
  return fileSystemMin[access.fsType] ?? bytes(0n);
}
