import type { BareMachine } from '../cluster/machine.ts';
import type { Chance } from '../world/chance.ts';
import type { DeviceSpec } from '../world/devices.ts';

/** What a disk is when the story begins. Whatever is not bare belongs to somebody else. */
export type DiskKind =
  | 'bare'
  | 'data'
  | 'mounted'
  | 'swap'
  | 'held'
  | 'open'
  | 'parted'
  | 'parted-mounted'
  | 'read-only'
  | 'foreign-group'
  | 'tiny'
  | 'broken';

export type Disk = {
  readonly path: string;
  readonly kind: DiskKind;
  readonly mib: number;
  /** Not in its slot yet. */
  readonly isAway: boolean;
  /** Calls itself what another disk calls itself, too. */
  readonly isTwin: boolean;
};

export type NodeDisks = {
  readonly name: string;
  readonly disks: readonly Disk[];
  readonly hasVolatileCaches: boolean;
};

const letters = ['b', 'c', 'd', 'e', 'f', 'g'] as const;
export const paths = letters.map((letter) => `/dev/sd${letter}`);
const others = [
  ...(['data', 'data', 'mounted', 'swap', 'held', 'open', 'parted', 'parted-mounted'] as const),
  ...(['read-only', 'foreign-group', 'tiny', 'broken'] as const),
] as const;

export function disksOf(chance: Chance, name: string): NodeDisks {
  const twins = chance.happens(0.1) ? chance.shuffle(paths).slice(0, 2) : [];
  const disks = paths.map((path, index): Disk => {
    const isBare = chance.happens(index < 3 ? 0.9 : 0.45);
    return {
      ...{ path, kind: isBare ? 'bare' : chance.pick(others) },
      mib: chance.between(2, 6) * 512,
      isAway: isBare && chance.happens(index < 3 ? 0.05 : 0.2),
      isTwin: twins.includes(path),
    };
  });
  return { name, disks, hasVolatileCaches: chance.happens(0.5) };
}

/** Every name that a disk has, besides its path. */
export function linksOf(path: string): readonly string[] {
  return [`/dev/disk/by-id/ata-${path.slice(-3)}`, `/dev/disk/by-path/pci-${path.slice(-1)}`];
}

export function bareMachine({ disks, hasVolatileCaches }: NodeDisks): BareMachine {
  const root: DeviceSpec = {
    ...{ path: '/dev/sda', sizeBytes: 1024 ** 3, wwn: '0x5000', links: linksOf('/dev/sda') },
    ...{ fileSystem: 'ext4', mountPoints: ['/'] },
  };
  return { devices: [root, ...disks.map(deviceOf)], hasVolatileCaches };
}

function deviceOf({ path, kind, mib, isTwin }: Disk): DeviceSpec {
  const common = {
    ...{ path, links: linksOf(path), sizeBytes: (kind === 'tiny' ? 8 : mib) * 1024 ** 2 },
    ...{ wwn: isTwin ? '0x5001' : `0x5000c5${path.slice(-1)}`, model: 'Fake disk' },
  };
  const part = { path: `${path}1`, sizeBytes: 256 * 1024 ** 2, fileSystem: 'ext4' };
  switch (kind) {
    case 'bare':
    case 'tiny':
    case 'foreign-group':
      return common;
    case 'data':
      return { ...common, fileSystem: 'xfs' };
    case 'mounted':
      return { ...common, fileSystem: 'ext4', mountPoints: [`/mnt/${path.slice(-1)}`] };
    case 'swap':
      return { ...common, isSwap: true };
    case 'held':
      return { ...common, isHeld: true };
    case 'open':
      return { ...common, openBy: 'the process qemu' };
    case 'parted':
      return { ...common, partitions: [part] };
    case 'parted-mounted':
      return { ...common, partitions: [{ ...part, mountPoints: [`/mnt/${path.slice(-1)}`] }] };
    case 'read-only':
      return { ...common, isReadOnly: true };
    case 'broken':
      return { ...common, isBroken: true };
  }
}
