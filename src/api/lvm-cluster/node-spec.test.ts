import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LvmVolumeGroupSpec } from '../objects/lvm-volume-group.ts';
import { classSpecOf, groupSpecOf } from './node-spec.ts';

test('the devices of a class are those it names, or every one', () => {
  const devices = (spec: LvmVolumeGroupSpec) => groupSpecOf('vg1', spec).devices;
  assert.deepEqual(groupSpecOf('vg1', {}), {
    name: 'vg1',
    ownership: 'managed',
    devices: { kind: 'any', isDynamic: true },
  });
  assert.deepEqual(devices({ deviceDiscoveryPolicy: 'Static' }), { kind: 'any', isDynamic: false });
  assert.deepEqual(devices({ deviceDiscoveryPolicy: 'Dynamic' }), { kind: 'any', isDynamic: true });
  const deviceSelector = { paths: ['/dev/a'], optionalPaths: ['/dev/b'] };
  const named = { kind: 'paths', required: ['/dev/a'], optional: ['/dev/b'] };
  assert.deepEqual(devices({ deviceSelector }), { ...named, forceWipe: false });
  const forced = { ...deviceSelector, forceWipeDevicesAndDestroyAllData: true };
  assert.deepEqual(devices({ deviceSelector: forced }), { ...named, forceWipe: true });
});

test('a class is thick, thin or kept on several disks', () => {
  const layout = (spec: LvmVolumeGroupSpec) => classSpecOf('vg1', spec).layout;
  assert.deepEqual(classSpecOf('vg1', { default: true }), {
    ...{ name: 'vg1', volumeGroup: 'vg1', isDefault: true, spareBytes: 0n, lvcreateOptions: [] },
    layout: { kind: 'linear' },
  });
  const pool = { name: 'pool', overprovisionRatio: 10 };
  const thin = { kind: 'thin', poolName: 'pool', overprovisionRatio: 10 };
  assert.deepEqual(layout({ thinPoolConfig: pool }), { ...thin, sizePercent: 90 });
  assert.deepEqual(
    layout({
      thinPoolConfig: {
        ...pool,
        ...{ sizePercent: 50, chunkSize: '256Ki', metadataSizeCalculationPolicy: 'Static' },
      },
    }),
    { ...thin, sizePercent: 50, chunkSizeBytes: 2n ** 18n, metadataSizeBytes: 2n ** 30n },
  );
  assert.deepEqual(
    layout({ raidConfig: { type: 'raid10', mirrors: 1, stripes: 2, stripeSize: '128Ki' } }),
    { kind: 'raid10', mirrors: 1, stripes: 2, stripeSizeBytes: 2n ** 17n },
  );
  assert.deepEqual(layout({ raidConfig: { type: 'raid1' } }), { kind: 'raid1' });
});
