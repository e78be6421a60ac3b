import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  extents,
  nodeOf,
  sampleDevice,
  sampleLv,
  samplePool,
  samplePv,
  sampleVg,
} from '../../../test/samples/observed.ts';
import type {
  LvmVolumeGroup,
  LvmVolumeGroupSpec,
  LvmVolumeGroupStatus,
} from '../../api/objects/lvm-volume-group.ts';
import { MiB, TiB, times } from '../../base/bytes.ts';
import type { ObservedLv, ObservedNode } from '../observed.ts';
import { reportFor } from './node-report.ts';
import { wishFor } from './node-wish.ts';

const named = { deviceSelector: { paths: ['/dev/sdb'] } };

function report(
  spec: LvmVolumeGroupSpec,
  node: ObservedNode,
  before: readonly LvmVolumeGroupStatus[] = [],
) {
  const metadata = { uid: 'u', resourceVersion: '1' };
  const finalizers = ['cleanup.vgmanager.node.topolvm.io/n1'];
  const group: LvmVolumeGroup = { metadata: { ...metadata, name: 'vg1', finalizers }, spec };
  const { served, desired } = wishFor({
    node: { metadata: { ...metadata, name: 'n1' } },
    ...{ groups: [group], tolerations: [], known: new Map(), present: new Set<string>() },
    givenUp: new Set<string>(),
    report: { metadata: { ...metadata, name: 'n1' }, spec: { nodeStatus: before } },
  });
  return reportFor(served, desired, node, before)[0];
}

const inGroup = sampleDevice({
  path: '/dev/sdb',
  label: { kind: 'member', vg: 'vg1', pvUuid: 'pv-/dev/sdb' },
});

test('a group that is well tells its size and its devices', () => {
  const vg = sampleVg({ name: 'vg1', tags: ['lvms'], pvs: [samplePv({ device: '/dev/sdb' })] });
  const told = report(named, nodeOf([inGroup], { vgs: [vg] }));
  assert.equal(told?.status, 'Ready', JSON.stringify(told));
  assert.deepEqual(told?.devices, ['/dev/sdb']);
  assert.equal(told?.deviceDiscoveryPolicy, 'Preconfigured');
  assert.match(told?.size ?? '', /^\d+[KMG]i$/);
  assert.equal(told?.reason, undefined);
});

for (const { what, here, told } of [
  { what: 'devices of a group that is away are told as they were', here: [], told: ['a', 'b'] },
  { what: 'one that had left it, and is bare, is not', here: ['/dev/a'], told: ['b'] },
  // By them it is known that there was a group.
  { what: 'all are, where others have their names', here: ['/dev/a', '/dev/b'], told: ['a', 'b'] },
]) {
  test(what, () => {
    const devices = ['/dev/a', '/dev/b'];
    const before = {
      name: 'vg1',
      status: 'Ready',
      deviceDiscoveryPolicy: 'Preconfigured',
      devices,
    };
    const bare = here.map((path) => sampleDevice({ path }));
    const said = report(named, nodeOf(bare), [before as LvmVolumeGroupStatus]);
    assert.match(said?.reason ?? '', /^VolumeGroupLost/);
    assert.deepEqual(
      said?.devices,
      told.map((name) => `/dev/${name}`),
    );
  });
}

test('a device that is not there fails the class, and is named', () => {
  const told = report(named, nodeOf([]));
  assert.equal(told?.status, 'Failed');
  assert.match(told?.reason ?? '', /^DeviceNotFound: .*\/dev\/sdb/);
});

test('devices that are left alone have reasons', () => {
  const busy = sampleDevice({ path: '/dev/sdc', mountPoints: ['/data'] });
  const told = report({ deviceDiscoveryPolicy: 'Static' }, nodeOf([busy]));
  assert.equal(told?.deviceDiscoveryPolicy, 'RuntimeStatic');
  assert.deepEqual(
    told?.excluded?.map(({ name }) => name),
    ['/dev/sdc'],
  );
});

function withPool(fill: Partial<ObservedLv>) {
  const thinPoolConfig = { name: 'pool', overprovisionRatio: 10 };
  const pool = samplePool({ name: 'pool', sizeBytes: extents(900), ...fill });
  const pvs = [samplePv({ device: '/dev/sdb' })];
  const vg = sampleVg({ name: 'vg1', tags: ['lvms'], pvs, lvs: [pool] });
  return report({ ...named, thinPoolConfig }, nodeOf([inGroup], { vgs: [vg] }));
}

test('a class is as well as its pool', () => {
  for (const fill of [{ dataPercent: 97.4 }, { dataPercent: 3, metadataPercent: 95 }]) {
    const told = withPool(fill);
    assert.equal(told?.status, 'Degraded', JSON.stringify(told));
    assert.match(told?.reason ?? '', /^thin pool vg1\/pool: ThinPoolFull: data \d+ %, metadata/);
  }
  assert.match(withPool({ health: 'needs_check' })?.reason ?? '', /ThinPoolUnhealthy: needs_check/);
});

test('a pool that fills is warned of long before it is full', () => {
  for (const fill of [{ dataPercent: 80.3 }, { dataPercent: 3, metadataPercent: 94.9 }]) {
    const told = withPool(fill);
    assert.equal(told?.status, 'Ready', JSON.stringify(told));
    assert.match(told?.warnings?.join() ?? '', /^thin pool vg1\/pool is filling: data \d+ %/);
  }
  assert.equal(withPool({ dataPercent: 79.9 })?.warnings, undefined);
});

test('a pool with other chunks than asked for says which, and why', () => {
  const config = { name: 'pool', overprovisionRatio: 10, sizePercent: 90 } as const;
  const pool = samplePool({ name: 'pool', sizeBytes: extents(900), chunkSizeBytes: MiB });
  const told = (chunkSize: string, lvs: readonly ObservedLv[], sizeBytes = extents(1000)) => {
    const thinPoolConfig = { ...config, chunkSize };
    const pvs = [samplePv({ device: '/dev/sdb', sizeBytes })];
    const vg = sampleVg({ name: 'vg1', tags: ['lvms'], pvs, lvs });
    return report({ ...named, thinPoolConfig }, nodeOf([inGroup], { vgs: [vg] }))?.warnings;
  };
  assert.deepEqual(told('128Ki', [pool]), [
    'thin pool vg1/pool has chunks of 1 MiB, not of 128 KiB as asked for: with those it could ' +
      'have 31.75 TiB at most',
  ]);
  assert.match(
    told('128Ki', [], times(TiB, 40))?.join() ?? '',
    /gets chunks of 256 KiB, not of 128/,
  );
  assert.equal(told('1Mi', [pool]), undefined);
  assert.equal(told('2Mi', [pool]), undefined);
});

test('metadata that has no room to grow is told with what it has, shall have and lacks', () => {
  const thinPoolConfig = {
    ...{ name: 'pool', overprovisionRatio: 10, sizePercent: 90, metadataSize: '64Mi' },
    metadataSizeCalculationPolicy: 'Static',
  } as const;
  const pool = samplePool({ name: 'pool', sizeBytes: extents(960), metadataSizeBytes: extents(4) });
  const told = (free: number) => {
    const pvs = [samplePv({ device: '/dev/sdb', freeBytes: extents(free) })];
    const vg = sampleVg({ name: 'vg1', tags: ['lvms'], pvs, lvs: [pool] });
    return report({ ...named, thinPoolConfig }, nodeOf([inGroup], { vgs: [vg] }));
  };
  const few = told(20);
  assert.equal(few?.status, 'Ready', JSON.stringify(few));
  assert.deepEqual(few?.warnings, [
    'thin pool vg1/pool has 16 MiB of metadata, and 64 MiB are wanted: with its spare copy that ' +
      'takes 96 MiB, 16 MiB more than is free; add devices to its group',
  ]);
  const enough = told(24);
  assert.deepEqual([enough?.status, enough?.warnings], ['Progressing', undefined]);
});

test('what will need somebody soon is told beside size and room', () => {
  const pvs = [samplePv({ device: '/dev/sdb' }), samplePv({ device: '/dev/sdc', isMissing: true })];
  const vg = sampleVg({ name: 'vg1', tags: ['lvms'], pvs });
  const told = report(named, nodeOf([inGroup], { vgs: [vg] }));
  assert.deepEqual(told?.warnings, ['a device of vg1 is missing: pv-/dev/sdc']);
  assert.match(told?.free ?? '', /^\d+[KMG]i$/);
});

test('a RAID class that has too few devices says so, unless something worse is to be told', () => {
  const raidConfig = { type: 'raid5' } as const;
  const pvs = ['/dev/sdb', '/dev/sdc'].map((device) => samplePv({ device }));
  const third = samplePv({ device: '/dev/sdd' });
  const whole = [...pvs, third];
  const rows = [
    [pvs, 'Degraded', /^LayoutNeedsDevices: raid5 needs 3 devices but vg1 has 2: .* has 1 more$/],
    [[...pvs, { ...third, isAllocatable: false }], 'Degraded', /^LayoutNeedsDevices: .* has 2/],
    [[...pvs, { ...third, isMissing: true }], 'Degraded', /^VolumeGroupPartial: /],
    [whole, 'Ready', /^$/],
  ] as const;
  for (const [given, state, reason] of rows) {
    const isPartial = given.some(({ isMissing }) => isMissing);
    const lvs = [sampleLv()];
    const vg = sampleVg({ name: 'vg1', tags: ['lvms'], pvs: given, lvs, isPartial });
    const told = report({ ...named, raidConfig }, nodeOf([inGroup], { vgs: [vg] }));
    assert.equal(told?.status, state, JSON.stringify(told));
    assert.match(told?.reason ?? '', reason);
  }
});

test('a class without RAID makes do with one device', () => {
  const pvs = [samplePv({ device: '/dev/sdb' })];
  const vg = sampleVg({ name: 'vg1', tags: ['lvms'], pvs });
  assert.equal(report(named, nodeOf([inGroup], { vgs: [vg] }))?.status, 'Ready');
});

test('RAID volumes are told one by one', () => {
  const lvs = [
    sampleLv({ name: 'b', kind: 'raid1', syncPercent: 50.5 }),
    sampleLv({ name: 'a', kind: 'raid1', syncPercent: 100, health: 'partial' }),
  ];
  const pvs = [samplePv({ device: '/dev/sdb' })];
  const vg = sampleVg({ name: 'vg1', tags: ['lvms'], pvs, lvs });
  const raidConfig = { type: 'raid1' } as const;
  const told = report({ ...named, raidConfig }, nodeOf([inGroup], { vgs: [vg] }));
  assert.equal(told?.status, 'Degraded');
  assert.equal(told?.reason, 'VolumeUnhealthy: vg1/a (partial)');
  assert.deepEqual(told?.raidStatus, {
    ...{ status: 'Degraded', memberCount: 1, degradedMemberCount: 0, minSyncPercent: 50 },
    lvHealth: [
      { name: 'a', raidType: 'raid1', syncPercent: 100, healthStatus: 'partial' },
      { name: 'b', raidType: 'raid1', syncPercent: 50 },
    ],
  });
});
