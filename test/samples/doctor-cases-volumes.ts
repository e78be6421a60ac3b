import * as sample from './cluster-picture.ts';
import { type Case, report } from './doctor-cases.ts';

const { healthy } = sample;

const status = 'LVMVolumeGroupNodeStatus quarry-system/n1';

export const groups: readonly Case[] = [
  {
    title: 'a class finds no device',
    change: report(
      sample.groupStatus({
        ...{
          status: 'Failed',
          reason: 'NoUsableDevices: no device can be taken for vg1',
          devices: [],
        },
        excluded: [{ name: '/dev/sda', reasons: ['it is mounted at /', 'it is read-only'] }],
      }),
      sample.raidGroup(),
    ),
    found: [['NoDevices', status, /^vg1 on n1: NoUsableDevices/]],
    details: ['/dev/sda: it is mounted at /; it is read-only'],
    remedy: /deviceSelector/,
  },
  {
    title: 'the only device holds something',
    change: report(
      sample.groupStatus({ status: 'Failed', reason: 'NoUsableDevices: none' }),
      sample.raidGroup(),
    ),
    found: [
      ['NoDevices', status, /vg1 on n1/],
      ['ForeignSignature', status, /vg1 on n1: a device that it may take/],
    ],
    details: ['/dev/sda: it has a gpt partition table'],
  },
  {
    title: 'a device that is named holds something while the class is ready',
    change: report(
      sample.groupStatus(),
      sample.raidGroup({ excluded: [{ name: '/dev/sdf', reasons: ['it holds ext4'] }] }),
    ),
    found: [['ForeignSignature', status, /^safe on n1/]],
    details: ['/dev/sdf: it holds ext4'],
    remedy: /wipefs/,
  },
  {
    title: 'a device is missing',
    change: report(
      sample.groupStatus({
        ...{ status: 'Degraded', reason: 'VolumeGroupPartial: the volume group vg1 misses' },
        warnings: ['a device of vg1 is missing: uuid'],
      }),
      sample.raidGroup(),
    ),
    found: [['DeviceMissing', status, /VolumeGroupPartial/]],
    remedy: /bring it back, or repair/,
  },
  {
    title: 'a device is missing and stops nothing yet',
    change: report(
      sample.groupStatus({ warnings: ['a device of vg1 is missing: uuid'] }),
      sample.raidGroup(),
    ),
    found: [['DeviceMissing', status, /vg1 on n1: a device of vg1 is missing/]],
  },
  {
    title: 'a named device is not there',
    change: report(
      sample.groupStatus(),
      sample.raidGroup({ status: 'Failed', reason: 'DeviceNotFound: /dev/sdd: there is no such' }),
    ),
    found: [['DeviceMissing', status, /^safe on n1: DeviceNotFound/]],
    remedy: /cabling/,
  },
  {
    title: 'the data of a pool is full',
    change: report(
      sample.groupStatus({
        ...{ status: 'Degraded', reason: 'thin pool vg1/pool: ThinPoolFull: data 96 % full' },
      }),
      sample.raidGroup(),
    ),
    found: [['PoolFull', status, /data 96 %/]],
  },
  {
    title: 'the data of a pool fills up',
    change: report(
      sample.groupStatus({ warnings: ['thin pool vg1/pool is filling: data 82 % full'] }),
      sample.raidGroup(),
    ),
    found: [['PoolFull', status, /data 82 %/]],
  },
  {
    title: 'the metadata of a pool has no room to grow',
    change: report(
      sample.groupStatus({ warnings: ['thin pool vg1/pool has 4 MiB of metadata, and'] }),
      sample.raidGroup(),
    ),
    found: [['GroupUnwell', status, /vg1 on n1: thin pool vg1\/pool has 4 MiB/]],
  },
  {
    title: 'a pool has larger chunks than asked for, and nobody can change that',
    change: report(
      sample.groupStatus({ warnings: ['thin pool vg1/pool has chunks of 1 MiB, not of'] }),
      sample.raidGroup(),
    ),
    found: [],
  },
  {
    title: 'a pool has no room for data',
    change: report(
      sample.groupStatus({
        ...{ status: 'Degraded', reason: 'thin pool vg1/pool: ThinPoolFull: out_of_data' },
      }),
      sample.raidGroup(),
    ),
    found: [['PoolFull', status, /out_of_data/]],
  },
  {
    title: 'a RAID has lost a copy',
    change: report(
      sample.groupStatus(),
      sample.raidGroup({
        raidStatus: {
          ...{ status: 'Degraded', memberCount: 2, degradedMemberCount: 1 },
          lvHealth: [
            { name: 'lv1', raidType: 'raid1', syncPercent: 40, healthStatus: 'partial' },
            { name: 'lv2', raidType: 'raid1', syncPercent: 100 },
          ],
        },
      }),
    ),
    found: [['RaidDegraded', status, /safe on n1: its RAID is Degraded: 1 of 2/]],
    details: ['lv1: partial, 40 % in step'],
  },
  {
    title: 'a RAID class has too few devices',
    change: report(
      sample.groupStatus(),
      sample.raidGroup({
        status: 'Degraded',
        reason: 'LayoutNeedsDevices: raid1 needs 2 devices but safe has 1',
      }),
    ),
    found: [['GroupUnwell', status, /safe on n1: LayoutNeedsDevices: raid1 needs 2 devices/]],
    remedy: /^Add devices to the volume group/,
  },
  {
    title: 'a group is unwell for another reason',
    change: report(
      sample.groupStatus({ status: 'Degraded', reason: 'VolumeGroupForeign: no tag' }),
      sample.raidGroup({ warnings: ['2 volume groups are called safe'] }),
    ),
    found: [
      ['GroupUnwell', status, /safe on n1: 2 volume groups/],
      ['GroupUnwell', status, /vg1 on n1: VolumeGroupForeign/],
    ],
  },
  {
    title: 'a group has been in progress for long',
    change: {
      clusters: [sample.lateCluster()],
      ...report(sample.groupStatus({ status: 'Progressing' }), sample.raidGroup()),
    },
    found: [['GroupUnwell', status, /it is Progressing/]],
  },
  {
    title: 'a node tells no capacity',
    change: {
      nodes: [sample.node('n1', { metadata: sample.meta('n1') }), sample.node('n2')],
      capacities: healthy.capacities.filter(({ metadata }) => metadata.name !== 'cap-vg1-n1'),
    },
    found: [
      ['CapacityMissing', 'Node n1', /room safe has/],
      ['CapacityMissing', 'Node n1', /room vg1 has/],
    ],
    details: ['no annotation capacity.topolvm.io/safe'],
  },
  {
    title: 'an agent with an lvmd.yaml of its own tells of no class',
    change: {
      ...{ clusters: [], groups: [], reports: [] },
      nodes: [sample.node('n1', { metadata: sample.meta('n1') }), sample.node('n2')],
    },
    found: [['CapacityMissing', 'Node n1', /tells of no class/]],
  },
];

const volume = 'LogicalVolume lv-data';
export const condition = (text: string) => ({
  logicalVolumes: [
    sample.logicalVolume('data', {
      metadata: sample.meta('lv-data', { annotations: { 'quarry.io/condition': text } }),
    }),
  ],
});
export const pending = (more: Parameters<typeof sample.claim>[1] = {}) => [
  ...healthy.claims,
  sample.claim('new', { phase: 'Pending', ...more }),
];

export const snapshot = (more: Parameters<typeof sample.logicalVolume>[1] = {}) => {
  const { spec, ...rest } = sample.logicalVolume('copy', more);
  return { ...rest, spec: { ...spec, source: 'lv-data', accessType: 'ro' as const } };
};

export const volumes: readonly Case[] = [
  {
    title: 'a claim was refused',
    change: {
      claims: pending(),
      events: [
        sample.event('new', 'ProvisioningFailed', 'older', {
          lastTimestamp: '2019-12-01T00:00:00Z',
        }),
        sample.event(
          'new',
          'ProvisioningFailed',
          'InsufficientCapacity: no. Remedy: Ask for less.',
        ),
        sample.event('data', 'ProvisioningFailed', 'of another'),
      ],
    },
    found: [
      ['ClaimWaits', 'PersistentVolumeClaim default/new', /^ProvisioningFailed: Insuff.* no\.$/],
    ],
    remedy: /^Ask for less\.$/,
  },
  {
    title: 'a claim waits for a pod that is not scheduled',
    change: {
      claims: pending(),
      events: [
        sample.event('new', 'WaitForPodScheduled', 'waiting for pod x', {
          ...{ type: 'Normal', source: { component: 'persistentvolume-controller' } },
        }),
      ],
    },
    found: [['ClaimWaits', 'PersistentVolumeClaim default/new', /waiting for pod x/]],
  },
  {
    title: 'nobody answers a claim',
    change: {
      claims: pending({
        metadata: sample.meta('new', {
          namespace: 'default',
          annotations: { 'volume.kubernetes.io/selected-node': 'n1' },
        }),
      }),
    },
    found: [['ClaimWaits', 'PersistentVolumeClaim default/new', /nobody said why/]],
  },
  {
    title: 'a volume has an error code',
    change: {
      logicalVolumes: [
        sample.logicalVolume('data', {
          status: { code: 8, message: 'ThinPoolFull: it is full. Remedy: Grow it.' },
        }),
      ],
    },
    found: [['VolumeRefused', volume, /^code 8: ThinPoolFull: it is full\.$/]],
    remedy: /^Grow it\.$/,
  },
  {
    title: 'a device of a volume is missing',
    change: condition('vg1/lv-data: a device it lies on is missing'),
    found: [['VolumeUnwell', volume, /^a device it lies on is missing$/]],
  },
  {
    title: 'the pool of many volumes is full, where lvmd.yaml says what there is',
    change: {
      ...{ clusters: [], groups: [], reports: [] },
      logicalVolumes: ['data', 'data2'].map((name) =>
        sample.logicalVolume(name, {
          metadata: sample.meta('pv-data', {
            annotations: {
              'quarry.io/condition': `vg1/${name}: its thin pool pool: data 97 % full`,
            },
          }),
        }),
      ),
    },
    found: [['PoolFull', 'LogicalVolume pv-data', /^vg1\/pool on n1: .*data 97 % full$/]],
  },
  {
    title: 'the node of a volume is gone',
    change: {
      logicalVolumes: [
        sample.logicalVolume('data', {
          spec: { name: 'pv-data', nodeName: 'n9', size: '1Gi' },
        }),
      ],
    },
    found: [['VolumeStranded', volume, /node n9 is not in the cluster/]],
    remedy: /discard/,
  },
  {
    title: 'nobody has a volume',
    change: { volumes: [] },
    found: [['VolumeOrphaned', volume, /no PersistentVolume has it/]],
    remedy: /volumeHandle uid-lv-data/,
  },
  {
    title: 'an object was forced away, and its LV is there',
    change: {
      logicalVolumes: [],
      nodes: [
        sample.node('n1', {
          metadata: sample.meta('n1', {
            annotations: {
              ...sample.node('n1').metadata.annotations,
              'quarry.io/stray-volumes': '{"ours":["vg1/uid-lv-data"],"others":["vg1/x"]}',
            },
          }),
        }),
        sample.node('n2'),
      ],
    },
    found: [
      ['LogicalVolumeMissing', 'PersistentVolume pv-data', /LV is vg1\/uid-lv-data on n1\.$/],
      ['StrayVolumes', 'Node n1', /^1 LV\(s\) have no LogicalVolume$/],
    ],
    remedy: /copy the data/,
  },
  {
    title: 'nobody has a snapshot',
    change: { logicalVolumes: [...healthy.logicalVolumes, snapshot()] },
    found: [['SnapshotOrphaned', 'LogicalVolume lv-copy', /no VolumeSnapshotContent has/]],
    remedy: /snapshotHandle uid-lv-copy/,
  },
];
