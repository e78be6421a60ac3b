import fc from 'fast-check';
import { bytes, MiB, noBytes, times } from '../../src/base/bytes.ts';
import type {
  LvmLabel,
  ObservedDevice,
  ObservedNode,
  ObservedPv,
  Signatures,
} from '../../src/core/observed.ts';
import type { DesiredVg } from '../../src/core/volume-group/desired.ts';
import { sampleDevice, samplePv, sampleVg } from './observed.ts';

/** Random hosts: disks with anything that may be wrong with them, alone and together. */

/** Mostly the usual value, so that a device with one thing wrong is as common as a hopeless one. */
function rarely<T>(usual: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });
}

const signatures: fc.Arbitrary<Signatures> = rarely<Signatures>(
  { kind: 'none' },
  fc.constantFrom<Signatures>(
    { kind: 'found', types: ['ext4'] },
    { kind: 'found', types: ['LVM2_member'] },
    { kind: 'found', types: ['LVM2_member', 'xfs'] },
    { kind: 'unknown', why: 'it was not probed' },
  ),
);

const label: fc.Arbitrary<LvmLabel> = rarely<LvmLabel>(
  { kind: 'none' },
  fc.constantFrom<LvmLabel>(
    { kind: 'orphan', pvUuid: 'orphan' },
    { kind: 'half-made', pvUuid: 'half-made' },
    { kind: 'member', pvUuid: 'member', vg: 'vg9' },
    { kind: 'unknown', why: 'LVM did not look at it' },
  ),
);

/** Everything about a device but its place in the tree. */
const facts: fc.Arbitrary<Partial<ObservedDevice>> = fc.record({
  sizeBytes: rarely(times(MiB, 4096), fc.constantFrom(noBytes, bytes(1024n), MiB)),
  wwn: rarely('', fc.constantFrom('0x1', '0x2')),
  isReadOnly: rarely(false, fc.constant(true)),
  isSuspended: rarely(false, fc.constant(true)),
  mountPoints: rarely<readonly string[]>([], fc.constant(['/mnt'])),
  isSwap: rarely(false, fc.constant(true)),
  partitionLabel: rarely('', fc.constantFrom('EFI System', 'data')),
  partitionType: rarely('', fc.constantFrom('21686148-6449-6e6f-744e-656564454649', '0x83')),
  fileSystem: rarely('', fc.constantFrom('xfs', 'LVM2_member', 'crypto_LUKS')),
  signatures,
  label,
  exclusiveOpen: rarely<ObservedDevice['exclusiveOpen']>(
    'free',
    fc.constantFrom<ObservedDevice['exclusiveOpen']>('busy', 'unknown'),
  ),
  users: rarely<readonly string[]>([], fc.constant(['/dev/loop7'])),
});

type Disk = {
  readonly kind: 'sd' | 'nvme' | 'zram' | 'loop' | 'kubelet' | 'rom' | 'lvm' | 'mpath' | 'md';
  readonly facts: Partial<ObservedDevice>;
  readonly table: string;
  readonly partitions: readonly Partial<ObservedDevice>[];
  readonly holder: string;
  readonly memberOf: string;
  readonly isMissing: boolean;
};

const disk: fc.Arbitrary<Disk> = fc.record({
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom<Disk['kind']>('sd', 'nvme') },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Disk['kind']>(
        ...(['zram', 'loop', 'kubelet', 'rom', 'lvm', 'mpath', 'md'] as const),
      ),
    },
  ),
  facts,
  table: rarely('', fc.constantFrom('gpt', 'dos')),
  partitions: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(facts, { minLength: 1, maxLength: 2 }) },
  ),
  holder: rarely('', fc.constantFrom('/dev/mapper/luks', '/dev/md127')),
  memberOf: rarely('', fc.constantFrom('vg1', 'vg2', 'vg3')),
  isMissing: rarely(false, fc.constant(true)),
});

export const generatedNode: fc.Arbitrary<ObservedNode> = fc
  .array(disk, { minLength: 1, maxLength: 6 })
  .map((disks) => {
    const devices = disks.flatMap(devicesOf);
    const pvs = new Map<string, ObservedPv[]>();
    disks.forEach(({ memberOf, isMissing, kind }, index) => {
      const pv = samplePv({ device: isMissing ? '[unknown]' : pathOf(kind, index), isMissing });
      if (memberOf !== '') pvs.set(memberOf, [...(pvs.get(memberOf) ?? []), pv]);
    });
    const vgs = [...pvs].map(([name, members]) => sampleVg({ name, pvs: members }));
    return { vgs, orphanPvs: [], devices };
  });

function devicesOf(source: Disk, index: number): readonly ObservedDevice[] {
  const path = pathOf(source.kind, index);
  const stem = /[0-9]$/.test(path) ? `${path}p` : path;
  const partitions = source.partitions.map((part, number) =>
    sampleDevice({
      ...part,
      path: `${stem}${number + 1}`,
      type: 'part',
      wwn: source.facts.wwn ?? '',
    }),
  );
  const holders = [...partitions.map((part) => part.path), source.holder].filter(Boolean);
  const whole = sampleDevice({
    ...source.facts,
    path,
    links: [`/dev/disk/by-id/disk${index}`],
    type: typeOf(source.kind),
    holders,
    partitionTable: partitions.length > 0 ? 'gpt' : source.table,
    backingFile:
      source.kind === 'kubelet' ? '/var/lib/kubelet/plugins/kubernetes.io/csi/x/dev/y' : '',
  });
  return [whole, ...partitions];
}

function pathOf(kind: Disk['kind'], index: number): string {
  switch (kind) {
    case 'sd':
    case 'rom':
      return `/dev/sd${String.fromCharCode(97 + index)}`;
    case 'nvme':
      return `/dev/nvme${index}n1`;
    case 'zram':
      return `/dev/zram${index}`;
    case 'loop':
    case 'kubelet':
      return `/dev/loop${index}`;
    case 'lvm':
    case 'mpath':
      return `/dev/mapper/m${index}`;
    case 'md':
      return `/dev/md${index}`;
  }
}

function typeOf(kind: Disk['kind']): string {
  const types = { sd: 'disk', nvme: 'disk', zram: 'disk', kubelet: 'loop', md: 'raid1' } as const;
  return kind in types ? types[kind as keyof typeof types] : kind;
}

const paths = fc.subarray(
  [0, 1, 2, 3, 4, 5].flatMap((index) => [
    ...[pathOf('sd', index), pathOf('nvme', index), `${pathOf('sd', index)}1`],
    `/dev/disk/by-id/disk${index}`,
  ]),
);

/** What a group may ask for on such a host. */
export function generatedVg(name: string): fc.Arbitrary<DesiredVg> {
  return fc.record({
    name: fc.constant(name),
    uuid: fc.constant(undefined),
    presence: fc.constant('present' as const),
    selector: fc.oneof(
      fc.constant({ kind: 'any', forceWipe: false } as const),
      fc.record({
        kind: fc.constant('paths' as const),
        required: rarely<readonly string[]>([], paths),
        optional: paths,
        forceWipe: fc.boolean(),
      }),
    ),
    ownerTag: fc.constant('lvms'),
    isManaged: fc.constant(true),
    adopt: fc.constant('tagged' as const),
    takesNewDevices: rarely(true, fc.constant(false)),
    release: rarely<readonly string[]>(
      [],
      fc.subarray(['orphan', ...[0, 1, 2, 3].map((index) => `pv-${pathOf('sd', index)}`)]),
    ),
    devicesMin: rarely(1, fc.integer({ min: 2, max: 4 })),
  });
}
