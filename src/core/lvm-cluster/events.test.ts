import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LvmClusterStatus } from '../../api/objects/lvm-cluster.ts';
import type { LvmVolumeGroupStatus } from '../../api/objects/lvm-volume-group.ts';
import { clusterNews, groupEvents, groupNews } from './events.ts';

function events(told: Partial<LvmVolumeGroupStatus>, going: readonly string[] = []) {
  const one = { deviceDiscoveryPolicy: 'Preconfigured', status: 'Failed', ...told } as const;
  const deviceClassStatuses = [{ name: 'vg1', nodeStatus: [{ node: 'n1', name: 'vg1', ...one }] }];
  return groupEvents({ deviceClassStatuses }, new Set(going)).map(
    ({ reason, message }) => `${reason}: ${message}`,
  );
}

const raidStatus = { status: 'Degraded' } as const;
const rows: readonly (readonly [string, Partial<LvmVolumeGroupStatus>])[] = [
  ['NoAvailableDevicesForVG', { reason: 'NoUsableDevices: none' }],
  ['DevicePathCheckFailed', { reason: 'DeviceNotFound: /dev/sdb: there is no such device' }],
  ['DevicePathCheckFailed', { reason: 'DeviceNotUsable: /dev/sdb: it is mounted' }],
  ['DeviceRemovalFailed', { reason: 'DeviceStays: /dev/sdb holds too much' }],
  ['VGCreateOrExtendFailed', { reason: 'CommandFailed: vgcreate ended with 5' }],
  ['VGCreateOrExtendFailed', { reason: 'lvmd.yaml is left as it is' }],
  ['ThinPoolCreateOrExtendFailed', { reason: 'thin pool vg1/p: InsufficientCapacity: no room' }],
  ['InconsistentLVs', { reason: 'thin pool vg1/p: ThinPoolUnhealthy: needs check' }],
  ['InconsistentLVs', { reason: 'thin pool vg1/p: ThinPoolFull: data 97 %' }],
  ['InconsistentLVs', { reason: 'VolumeGroupPartial: a device is missing' }],
  ['RAIDHealthCheckFailed', { reason: 'VolumeGroupPartial: a device is missing', raidStatus }],
  ['RAIDHealthCheckFailed', { reason: 'VolumeUnhealthy: v1 is partial', raidStatus }],
];

for (const [reason, told] of rows) {
  test(`${told.reason}: ${reason}`, () => {
    assert.deepEqual(events(told), [`${reason}: vg1 on n1: ${told.reason}`]);
  });
}

test('what goes on or is well is no event', () => {
  assert.deepEqual(events({ status: 'Ready' }), []);
  assert.deepEqual(events({ status: 'Progressing', reason: 'next: create-vg' }), []);
});

test('a group that shall go and stays needs somebody', () => {
  const told = { status: 'Degraded', reason: 'VolumeInUse: a is still in it' };
  assert.deepEqual(events(told, ['vg1']), [
    'ManualCleanupRequired: vg1 on n1: VolumeInUse: a is still in it',
  ]);
});

const file = '/etc/topolvm/lvmd.yaml';
const fileRows: readonly (readonly [string, string])[] = [
  ['LVMDConfigMissing', 'there is no such file: write it, it says what this node has'],
  [
    'LVMDConfigDeleted',
    'there is no such file, and what it said last stays in force: write it, it says what this node has',
  ],
  ['ResourceReconciliationIncomplete', 'it has no device class: list at least one'],
];

for (const [reason, why] of fileRows) {
  test(`lvmd.yaml: ${why}: ${reason}`, () => {
    const nodeStatus = [{ node: 'n1', name: file, status: 'Failed', reason: why } as const];
    const told = groupEvents(
      { deviceClassStatuses: [{ name: file, nodeStatus: nodeStatus.map(withPolicy) }] },
      new Set(),
    );
    assert.deepEqual(
      told.map((event) => `${event.reason}: ${event.message}`),
      [`${reason}: ${file} on n1: ${why}`],
    );
  });
}

function withPolicy<T extends object>(one: T) {
  return { ...one, deviceDiscoveryPolicy: 'Preconfigured' } as const;
}

type Told = Readonly<Record<string, Partial<LvmVolumeGroupStatus>>>;

function statusOf(told: Told): LvmClusterStatus {
  const deviceClassStatuses = Object.entries(told).map(([name, one]) => ({
    name,
    nodeStatus: [{ node: 'n1', name, status: 'Ready', ...withPolicy({}), ...one }],
  }));
  return { deviceClassStatuses };
}

function news(before: Told | undefined, after: Told, isExternal = false): readonly string[] {
  const told = groupNews(before === undefined ? {} : statusOf(before), statusOf(after), isExternal);
  return told.map(({ reason, message }) => `${reason}: ${message}`);
}

const ready = { vg1: { devices: ['/dev/a'] } };
const gone = '[unknown]';

const newsRows: readonly (readonly [string, Told | undefined, Told, readonly string[]])[] = [
  ['what stays as it is', ready, ready, []],
  [
    'a group that was made',
    { vg1: { status: 'Progressing' } },
    { vg1: { devices: ['/dev/a', '/dev/b'] } },
    [
      'DeviceAdded: vg1 on n1: /dev/a and /dev/b are in it now',
      'VolumeGroupReady: vg1 on n1 is ready',
    ],
  ],
  [
    'one of which nothing was told before',
    undefined,
    ready,
    ['DeviceAdded: vg1 on n1: /dev/a is in it now', 'VolumeGroupReady: vg1 on n1 is ready'],
  ],
  [
    'one that is well again',
    { vg1: { devices: ['/dev/a'], status: 'Degraded', reason: 'VolumeGroupPartial: x' } },
    ready,
    ['VolumeGroupReady: vg1 on n1 is ready'],
  ],
  [
    'a disk that was taken while the group is Ready',
    ready,
    { vg1: { devices: ['/dev/a', '/dev/b'] } },
    ['DeviceAdded: vg1 on n1: /dev/b is in it now'],
  ],
  [
    'a disk that was given back',
    { vg1: { devices: ['/dev/a', '/dev/b'], status: 'Progressing' } },
    { vg1: { devices: ['/dev/a'], status: 'Progressing' } },
    ['DeviceRemoved: vg1 on n1: /dev/b is not in it any more'],
  ],
  [
    'a disk that has another path after a boot',
    { vg1: { devices: ['/dev/a', '/dev/b'] } },
    { vg1: { devices: ['/dev/a', '/dev/c'] } },
    [],
  ],
  [
    'a disk that was pulled is a Warning elsewhere',
    { vg1: { devices: ['/dev/a', '/dev/b'] } },
    { vg1: { devices: ['/dev/a', gone], status: 'Degraded' } },
    [],
  ],
  [
    'a pulled disk that was written off',
    { vg1: { devices: ['/dev/a', gone], status: 'Degraded' } },
    ready,
    [
      'DeviceRemoved: vg1 on n1: a missing device is not in it any more',
      'VolumeGroupReady: vg1 on n1 is ready',
    ],
  ],
  [
    'a group of which no device can be told',
    ready,
    { vg1: { status: 'Failed', reason: 'VolumeGroupMissing: x' } },
    [],
  ],
];

for (const [title, before, after, told] of newsRows) {
  test(`${title} is ${told.length === 0 ? 'no news' : 'told'}`, () => {
    assert.deepEqual(news(before, after), told);
  });
}

test('an administrator who changes lvmd.yaml hears that it was read', () => {
  const one = { a: {}, b: {} };
  assert.deepEqual(news(one, one, true), []);
  assert.deepEqual(news(undefined, { a: { status: 'Failed' } }, true), []);
  assert.deepEqual(news({ ...one, [file]: { status: 'Degraded' } }, one, true), [
    'LVMDConfigUpdated: lvmd.yaml on n1 has a and b now',
  ]);
  assert.deepEqual(news({ a: {} }, one, true), [
    'VolumeGroupReady: b on n1 is ready',
    'LVMDConfigUpdated: lvmd.yaml on n1 has a and b now',
  ]);
  assert.deepEqual(
    news({ a: { status: 'Failed' } }, { a: { devices: ['/dev/a'] } }, true),
    ['VolumeGroupReady: a on n1 is ready'],
    'a group that is back brings its disks, and nobody took them',
  );
});

test('that all is made is told when it was not', () => {
  const resources = (status: 'True' | 'False') => ({
    conditions: [
      { type: 'ResourcesAvailable', status, reason: '', message: 'm', lastTransitionTime: '' },
    ],
  });
  const reasons = (before: LvmClusterStatus, after: LvmClusterStatus) =>
    clusterNews(before, after).map(({ reason }) => reason);
  assert.deepEqual(reasons(resources('False'), resources('True')), [
    'ResourceReconciliationSuccess',
  ]);
  assert.deepEqual(reasons({}, resources('False')), []);
  assert.deepEqual(reasons(resources('True'), resources('True')), []);
  assert.deepEqual(reasons(resources('True'), resources('False')), []);
});
