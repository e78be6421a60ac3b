import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LvmVolumeGroupStatus } from '../../api/objects/lvm-volume-group.ts';
import { groupEvents } from './events.ts';

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
