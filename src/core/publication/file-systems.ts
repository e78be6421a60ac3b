/** The file systems we make. What differs between them stands here and in `lvm/`, nowhere else. */
export const fileSystems = {
  ext4: { mountOptions: [], renewsUuid: false },
  // XFS refuses a second file system with a UUID that is mounted: a clone would not come up.
  xfs: { mountOptions: ['nouuid'], renewsUuid: false },
  // The kernel tells btrfs devices apart by UUID alone: a clone may be taken for its source.
  btrfs: { mountOptions: [], renewsUuid: true },
} as const satisfies Record<string, FileSystemTraits>;

type FileSystemTraits = {
  readonly mountOptions: readonly string[];
  /** Does a copy need a UUID of its own before it is first mounted? */
  readonly renewsUuid: boolean;
};

export type FsType = keyof typeof fileSystems;

/** What kubelet leaves empty is this, as with TopoLVM. */
export const defaultFsType: FsType = 'ext4';

export function isFsType(text: string): text is FsType {
  return Object.hasOwn(fileSystems, text);
}

/**
 * The UUID that our mkfs gives the file system of a volume: a pure function of the volume's own
 * identity. A file system with it on this volume was made by us, for this volume, and nobody else.
 * LVM's UUIDs are random, so a hash that only spreads them is enough.
 */
export function fileSystemUuid(lvUuid: string): string {
  const hash = fnv1a128(`quarry file system ${lvUuid}`);
  const version8 = (hash & ~(0xfn << 76n)) | (8n << 76n);
  const variant = (version8 & ~(0x3n << 62n)) | (2n << 62n);
  const hex = variant.toString(16).padStart(32, '0');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20)].join('-');
}

function fnv1a128(text: string): bigint {
  const prime = 0x0000000001000000000000000000013bn;
  let hash = 0x6c62272e07bb014262b821756295c58dn;
  for (const character of text) {
    hash ^= BigInt(character.codePointAt(0) ?? 0);
    hash = BigInt.asUintN(128, hash * prime);
  }
  return hash;
}
