import assert from 'node:assert/strict';
import test from 'node:test';
import type { DeviceClassSpec, LayoutSpec, NodeSpec } from '../api/node-spec.ts';
import { bytes, GiB, KiB, noBytes, times } from '../base/bytes.ts';
import { checkLayout, type Layout } from './layouts.ts';
import { desiredNode } from './node.ts';

function classOf(layout: LayoutSpec, given: Partial<DeviceClassSpec> = {}): DeviceClassSpec {
  return {
    name: 'a',
    volumeGroup: 'vg1',
    isDefault: false,
    spareBytes: noBytes,
    layout,
    lvcreateOptions: [],
    ...given,
  };
}

const managed = {
  name: 'vg1',
  ownership: 'managed',
  devices: { kind: 'paths', required: ['/dev/sdb'], optional: ['/dev/sdc'], forceWipe: true },
} as const;

function nodeWith(...deviceClasses: readonly DeviceClassSpec[]): NodeSpec {
  return { volumeGroups: [managed], deviceClasses };
}

test('a managed group is ours by its tag and takes new devices', () => {
  const [vg] = desiredNode(nodeWith()).volumeGroups;
  assert.deepEqual(vg, {
    name: 'vg1',
    uuid: undefined,
    presence: 'present',
    selector: managed.devices,
    ownerTag: 'lvms',
    adopt: 'tagged',
    isManaged: true,
    takesNewDevices: true,
    release: [],
    devicesMin: 1,
  });
});

test('a group needs the devices that the most demanding of its classes needs', () => {
  const layouts = [{ kind: 'raid1' }, { kind: 'raid6' }, { kind: 'linear' }] as const;
  const [vg] = desiredNode(nodeWith(...layouts.map((layout) => classOf(layout)))).volumeGroups;
  assert.equal(vg?.devicesMin, 5);
});

test('an unmanaged group is used by name and never changed, nor is a pool made in it', () => {
  const thin = { kind: 'thin', poolName: 'p', sizePercent: 90, overprovisionRatio: 10 } as const;
  const node = desiredNode({
    volumeGroups: [{ ...managed, ownership: 'unmanaged' }],
    deviceClasses: [classOf(thin)],
  });
  const [vg] = node.volumeGroups;
  assert.deepEqual([vg?.isManaged, vg?.adopt, vg?.takesNewDevices], [false, 'named', false]);
  assert.deepEqual(node.thinPools, []);
  assert.equal(node.deviceClasses.length, 1);
});

test('a group of any device never wipes one', () => {
  const spec = { ...managed, devices: { kind: 'any', isDynamic: true } } as const;
  const [vg] = desiredNode({ volumeGroups: [spec], deviceClasses: [] }).volumeGroups;
  assert.deepEqual(vg?.selector, { kind: 'any', forceWipe: false });
});

test('a thin class brings its pool', () => {
  const thin = {
    kind: 'thin',
    poolName: 'p',
    sizePercent: 80,
    overprovisionRatio: 10,
    chunkSizeBytes: times(KiB, 256),
    metadataSizeBytes: GiB,
  } as const;
  const node = desiredNode(nodeWith(classOf(thin), classOf({ kind: 'linear' }, { name: 'b' })));
  assert.deepEqual(node.thinPools, [
    {
      vg: 'vg1',
      vgUuid: undefined,
      name: 'p',
      presence: 'present',
      sizePercent: 80,
      chunkSizeBytes: 256n * KiB,
      metadataBytes: GiB,
      vgOwnerTag: 'lvms',
    },
  ]);
  assert.deepEqual(node.deviceClasses[0]?.layout, { kind: 'thin', pool: 'p' });
  assert.equal(node.deviceClasses[0]?.overprovisionRatio, 10);
});

test('a pool that two classes share is wanted once', () => {
  const thin = { kind: 'thin', poolName: 'p', sizePercent: 90, overprovisionRatio: 10 } as const;
  const node = desiredNode(nodeWith(classOf(thin), classOf(thin, { name: 'b' })));
  assert.equal(node.thinPools.length, 1);
  assert.equal(node.deviceClasses.length, 2);
});

const size = { stripeSizeBytes: bytes(65_536n) };
const layoutRows: readonly (readonly [spec: LayoutSpec, layout: Layout])[] = [
  [{ kind: 'linear' }, { kind: 'linear' }],
  [
    { kind: 'striped', stripes: 4, ...size },
    { kind: 'striped', stripes: 4, ...size },
  ],
  [{ kind: 'raid1' }, { kind: 'raid1', mirrors: 1 }],
  [
    { kind: 'raid1', mirrors: 2 },
    { kind: 'raid1', mirrors: 2 },
  ],
  [{ kind: 'raid4' }, { kind: 'raid4', stripes: 2, ...size }],
  [{ kind: 'raid5' }, { kind: 'raid5', stripes: 2, ...size }],
  [
    { kind: 'raid5', stripes: 3, ...size },
    { kind: 'raid5', stripes: 3, ...size },
  ],
  [{ kind: 'raid6' }, { kind: 'raid6', stripes: 3, ...size }],
  [{ kind: 'raid10' }, { kind: 'raid10', stripes: 2, mirrors: 1, ...size }],
  [
    { kind: 'striped', stripes: 2 },
    { kind: 'striped', stripes: 2, ...size },
  ],
  [
    { kind: 'raid10', stripes: 3, mirrors: 1, ...size },
    { kind: 'raid10', stripes: 3, mirrors: 1, ...size },
  ],
];

for (const [spec, layout] of layoutRows) {
  test(`${Object.values(spec).join(' ')} becomes ${Object.values(layout).join(' ')}`, () => {
    const [deviceClass] = desiredNode(nodeWith(classOf(spec))).deviceClasses;
    assert.deepEqual(deviceClass?.layout, layout);
    assert.equal(checkLayout(layout), undefined);
  });
}

test('a class keeps its spare room, its options and its default', () => {
  const given = { spareBytes: GiB, lvcreateOptions: ['--nosync'], isDefault: true };
  const [deviceClass] = desiredNode(nodeWith(classOf({ kind: 'linear' }, given))).deviceClasses;
  assert.deepEqual(deviceClass, {
    name: 'a',
    vg: 'vg1',
    isDefault: true,
    layout: { kind: 'linear' },
    spareBytes: GiB,
    overprovisionRatio: 1,
    lvcreateOptions: ['--nosync'],
  });
});
