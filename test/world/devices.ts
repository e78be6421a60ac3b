import type { Chance } from './chance.ts';
import { nothing, type Signature } from './content.ts';
import type { Device } from './model.ts';

/** What a test says about a disk; everything but the path has a harmless default. */
export type DeviceSpec = {
  readonly path: string;
  readonly sizeBytes?: bigint | number;
  readonly type?: string;
  readonly model?: string;
  readonly serial?: string;
  readonly wwn?: string;
  readonly links?: readonly string[];
  readonly isReadOnly?: boolean;
  readonly mountPoints?: readonly string[];
  readonly isSwap?: boolean;
  readonly isHeld?: boolean;
  /** A process that has it open for writing, without a claim. */
  readonly openBy?: string;
  /** `ext4`, `xfs` and the like. */
  readonly fileSystem?: string;
  readonly partitionTable?: string;
  readonly partitionLabel?: string;
  readonly partitionType?: string;
  readonly backingFile?: string;
  readonly partitions?: readonly DeviceSpec[];
  readonly isBroken?: boolean;
};

const gib = 1024 ** 3;

export function makeDevices(specs: readonly DeviceSpec[], chance: Chance): Device[] {
  return specs.map((spec, index) => makeDevice(spec, `8:${index * 16}`, chance));
}

function makeDevice(spec: DeviceSpec, number: string, chance: Chance): Device {
  const [major = '8', minor = '0'] = number.split(':');
  const partitions = (spec.partitions ?? []).map((part, index) =>
    makeDevice({ type: 'part', ...part }, `${major}:${Number(minor) + index + 1}`, chance),
  );
  const partitionTable = spec.partitionTable ?? (partitions.length > 0 ? 'gpt' : '');
  const signatures = [
    ...(partitionTable === '' ? [] : [signatureOf(partitionTable, chance)]),
    ...(spec.fileSystem === undefined ? [] : [signatureOf(spec.fileSystem, chance)]),
  ];
  return {
    path: spec.path,
    number,
    type: spec.type ?? 'disk',
    sizeBytes: Number(spec.sizeBytes ?? gib),
    model: spec.model ?? '',
    serial: spec.serial ?? '',
    wwn: spec.wwn ?? '',
    links: [...(spec.links ?? [])],
    isReadOnly: spec.isReadOnly ?? false,
    mountPoints: [...(spec.mountPoints ?? [])],
    isSwap: spec.isSwap ?? false,
    isHeld: spec.isHeld ?? false,
    openBy: spec.openBy ?? '',
    partitionTable,
    partitionLabel: spec.partitionLabel ?? '',
    partitionType: spec.partitionType ?? '',
    backingFile: spec.backingFile ?? '',
    partitions,
    isPresent: true,
    isBroken: spec.isBroken ?? false,
    label: undefined,
    content: signatures.length > 0 ? { writes: [], signatures } : nothing,
  };
}

/** Disks all alike: `/dev/sda`, `/dev/sdb` and so on. */
export function plainDisks(count: number, sizeBytes: bigint | number = gib): DeviceSpec[] {
  return Array.from({ length: count }, (_, index) => {
    const letter = String.fromCharCode('a'.charCodeAt(0) + index);
    const serial = `QUARRY${String(index + 1).padStart(4, '0')}`;
    return {
      path: `/dev/sd${letter}`,
      sizeBytes,
      model: 'Fake disk',
      serial,
      wwn: `0x5000c50000000${String(index + 1).padStart(3, '0')}`,
      links: [`/dev/disk/by-id/ata-${serial}`, `/dev/disk/by-path/pci-0000:00:1f.2-${index + 1}`],
    };
  });
}

const tables = new Set(['gpt', 'dos']);
const offsets: Readonly<Record<string, number>> = {
  ext4: 0x438,
  xfs: 0,
  btrfs: 0x10040,
  swap: 0xff6,
  gpt: 0x200,
  dos: 0x1fe,
  LVM2_member: 0x218,
};

export function signatureOf(type: string, chance: Chance, label = ''): Signature {
  const usage = tables.has(type) ? 'partition-table' : type === 'swap' ? 'other' : 'filesystem';
  return { type, usage, uuid: chance.uuid(), label, offset: offsets[type] ?? 0 };
}
