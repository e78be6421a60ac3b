import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBlocked } from '../../test/samples/decisions.ts';
import {
  extents,
  hostOf,
  sampleLv,
  samplePv,
  sampleVg,
  thickClass,
  thinClass,
} from '../../test/samples/observed.ts';
import { findDeviceClass } from './device-class.ts';
import { findLv, findVg, freeExtentsByPv } from './observed.ts';
import { isBlocked, usableVg } from './usable-vg.ts';

test('a healthy group may be changed', () => {
  const vg = sampleVg();
  assert.equal(usableVg(hostOf(sampleVg({ name: 'vg2' }), vg), 'vg1'), vg);
});

test('a group that cannot be changed says why, by name', () => {
  const missing = samplePv({ uuid: 'pv9', device: '[unknown]', isMissing: true });
  const rows = [
    [hostOf(), 'VolumeGroupMissing', /no volume group vg1/],
    [hostOf(sampleVg(), sampleVg({ uuid: 'u2' })), 'VolumeGroupAmbiguous', /uuid-vg1 and u2/],
    [hostOf(sampleVg({ isExported: true })), 'VolumeGroupNotUsable', /vg1 .*exported/],
    [hostOf(sampleVg({ isWritable: false })), 'VolumeGroupNotUsable', /vg1 .*read-only/],
    [hostOf(sampleVg({ isPartial: true, pvs: [missing] })), 'VolumeGroupPartial', /vg1 .*pv9/],
  ] as const;
  for (const [host, code, names] of rows) assertBlocked(usableVg(host, 'vg1'), code, names);
});

test('a device that is back stays missing until somebody says that it is good', () => {
  const pvs = [samplePv(), samplePv({ uuid: 'pv9', device: '/dev/sdj', isMissing: true })];
  const refusal = usableVg(hostOf(sampleVg({ isPartial: true, pvs })), 'vg1');
  assertBlocked(refusal, 'VolumeGroupPartial', /pv9.*`vgextend --restoremissing vg1 \/dev\/sdj`/);
});

test('removing goes on in a group that misses a device, and in no other that is not well', () => {
  const partial = sampleVg({ isPartial: true });
  assert.equal(usableVg(hostOf(partial), 'vg1', { mayBePartial: true }), partial);
  const exported = hostOf(sampleVg({ isPartial: true, isExported: true }));
  assert.ok(isBlocked(usableVg(exported, 'vg1', { mayBePartial: true })));
});

test('a class is found by its name, and the default one by none', () => {
  const classes = [thinClass({ isDefault: false }), thickClass()];
  assert.equal(findDeviceClass(classes, 'thin'), classes[0]);
  assert.equal(findDeviceClass(classes, ''), classes[1]);
});

test('a class that is not there is told with those that are', () => {
  const classes = [thinClass({ isDefault: false }), thinClass({ name: 'b', isDefault: false })];
  assertBlocked(findDeviceClass(classes, 'x'), 'UnknownDeviceClass', /class x .*thin and b/);
  assertBlocked(findDeviceClass(classes, ''), 'UnknownDeviceClass', /no default .*thin and b/);
  assertBlocked(findDeviceClass([], ''), 'UnknownDeviceClass', /known: none/);
});

test('parts of pools and RAIDs are not found as volumes', () => {
  const vg = sampleVg({ lvs: [sampleLv({ isInternal: true }), sampleLv({ name: 'v2' })] });
  assert.equal(findLv(vg, 'v1'), undefined);
  assert.equal(findLv(vg, 'v2')?.uuid, 'uuid-v2');
  assert.equal(findVg(hostOf(vg), 'vg1'), vg);
});

test('only devices that are there and may be used give extents', () => {
  const pvs = [
    samplePv({ freeBytes: extents(3) }),
    samplePv({ device: '/dev/sdb', isMissing: true }),
    samplePv({ device: '/dev/sdc', isAllocatable: false }),
  ];
  assert.deepEqual(freeExtentsByPv(sampleVg({ pvs })), [3n]);
});
