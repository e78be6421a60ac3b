import { GiB, MiB } from '../../lab/index.ts';

/** Volume groups of every node, with their disks: stories that fill a group fill none of another. */
export const groups = {
  data: { disks: ['a', 'b'], diskBytes: 4n * GiB },
  small: { disks: ['c'], diskBytes: GiB },
  mirrors: { disks: ['d', 'e'], diskBytes: 512n * MiB },
} as const;

export const disks = Object.values(groups).flatMap((group) =>
  group.disks.map((name) => ({ name, sizeBytes: group.diskBytes })),
);

export const thinPool = { name: 'pool', group: 'data', ratio: 5n } as const;

export const lvmdFile = `device-classes:
- {name: thick, volume-group: data, spare-gb: 0, default: true}
- name: thin
  volume-group: data
  type: thin
  thin-pool: {name: pool, overprovision-ratio: 5}
- {name: small, volume-group: small, spare-gb: 0}
- {name: mirrored, volume-group: mirrors, spare-gb: 0, lvcreate-options: [--type=raid1]}
lvcreate-option-classes:
- {name: twice, options: [--type=raid1]}
`;

/** Where volumes of a device class are, and how they lie there. */
export type Place = {
  readonly group: string;
  readonly pool?: { readonly name: string; readonly ratio: bigint };
  /** So many devices have a part of each volume, and so many of the parts are not copies. */
  readonly raid?: { readonly devices: number; readonly parts: number };
  /** What is never given out of the group. */
  readonly spareBytes?: bigint;
  /** LVs in the group that are the host's own. */
  readonly foreign?: readonly string[];
};

/** By device class. One that no node has is nowhere. */
export type Layout = Readonly<Record<string, Place>>;

export const raid1 = { devices: 2, parts: 1 } as const;
const inData = { group: 'data' } as const;

export const layoutByHand: Layout = {
  ...{ '': inData, thick: inData, small: { group: 'small' } },
  thin: { ...inData, pool: thinPool },
  mirrored: { group: 'mirrors', raid: raid1 },
};

/** As if an administrator had set up a node by hand. */
export function prepareScript(pathOf: ReadonlyMap<string, string>): string {
  const paths = (names: readonly string[]) => names.map((name) => pathOf.get(name) ?? '').join(' ');
  return [
    'set -e',
    ...Object.entries(groups).map(
      ([name, group]) => `lvm vgcreate --yes ${name} ${paths(group.disks)}`,
    ),
    `lvm lvcreate --yes --type thin-pool --size 2g --name ${thinPool.name} ${thinPool.group}`,
    // LVM flushes no disk, and power is cut here.
    `sync ${paths(disks.map(({ name }) => name))}`,
    'mkdir -p /etc/topolvm && cat > /etc/topolvm/lvmd.yaml && sync',
  ].join('\n');
}
