import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  assertBlocked,
  assertRest,
  follow,
  stepOf,
  text,
} from '../../../test/samples/decisions.ts';
import { desiredVgOf, desiredVgOn } from '../../../test/samples/desired-vg.ts';
import { generatedNode, generatedVg } from '../../../test/samples/generated-node.ts';
import {
  extents,
  nodeOf,
  sampleDevice,
  sampleLv,
  samplePv,
  sampleVg,
} from '../../../test/samples/observed.ts';
import type { FailureCode } from '../../base/failures.ts';
import { limits } from '../../base/limits.ts';
import type { ObservedDevice, ObservedNode, ObservedVg } from '../observed.ts';
import type { DesiredVg } from './desired.ts';
import { planLabelRemoval, planVolumeGroup } from './plan.ts';
import { volumeGroupStatus } from './status.ts';

const plan = (desired: DesiredVg, node: ObservedNode) => planVolumeGroup(desired, node, []);
const sdb = sampleDevice({ path: '/dev/sdb' });
const sdc = sampleDevice({ path: '/dev/sdc' });
const mounted = sampleDevice({ path: '/dev/sdd', mountPoints: ['/data'] });
const formatted = sampleDevice({
  path: '/dev/sde',
  fileSystem: 'ext4',
  signatures: { kind: 'found', types: ['ext4'] },
});
const member = samplePv({ device: '/dev/sdb' });
const nodeWith = (vg: Partial<ObservedVg>, devices = [sdb]) =>
  nodeOf(devices, { vgs: [sampleVg({ pvs: [member], ...vg })] });

test('a group is made of all free devices at once, tagged, with room for its metadata', () => {
  const step = stepOf(plan(desiredVgOf(), nodeOf([sdc, mounted, sdb])), 'create-vg');
  assert.deepEqual(step.devices, ['/dev/sdb', '/dev/sdc']);
  assert.deepEqual(step.tags, ['lvms']);
  assert.equal(step.metadataBytes, limits.vgMetadataBytes);
});

test('a new device is taken into an existing group, which is named by its UUID', () => {
  const step = stepOf(plan(desiredVgOf(), nodeWith({}, [sdb, sdc])), 'extend-vg');
  assert.deepEqual(step.devices, ['/dev/sdc']);
  assert.equal(step.vgUuid, 'uuid-vg1');
});

type Row = readonly [
  title: string,
  desired: DesiredVg,
  node: ObservedNode,
  result: FailureCode | 'rest',
  names?: RegExp,
];

const rows: readonly Row[] = [
  ['a complete group rests', desiredVgOf(), nodeWith({}), 'rest'],
  [
    'a group that takes no new devices rests',
    desiredVgOf({ takesNewDevices: false }),
    nodeWith({}, [sdb, sdc]),
    'rest',
  ],
  [
    'a group that takes no new devices does not miss one that was named later',
    { ...desiredVgOn(['/dev/sdb', '/dev/sdx']), takesNewDevices: false },
    nodeWith({}),
    'rest',
  ],
  [
    'a group whose devices are all gone is not made a second time',
    desiredVgOf({ uuid: 'uuid-vg1' }),
    nodeOf([sdb]),
    'VolumeGroupLost',
    /vg1 \(uuid-vg1\)/,
  ],
  [
    'a group that was replaced is not taken for the old one',
    desiredVgOf({ uuid: 'uuid-old' }),
    nodeWith({}, [sdb, sdc]),
    'VolumeGroupLost',
    /uuid-old .*another volume group now: uuid-vg1/,
  ],
  [
    'a group that was renamed is not lost',
    desiredVgOf({ uuid: 'uuid-vg1' }),
    nodeWith({ name: 'aside', uuid: 'uuid-vg1' }, [sdb, sdc]),
    'VolumeGroupRenamed',
    /^the volume group vg1 \(uuid-vg1\) was renamed to aside: `vgrename aside vg1`/,
  ],
  [
    'a group that was renamed, and another took its name',
    desiredVgOf({ uuid: 'uuid-old' }),
    nodeOf([sdb, sdc], {
      vgs: [sampleVg({ pvs: [member] }), sampleVg({ name: 'aside', uuid: 'uuid-old', pvs: [] })],
    }),
    'VolumeGroupRenamed',
    /uuid-old\) was renamed to aside, and another group has its name: uuid-vg1/,
  ],
  ['a group that is known rests', desiredVgOf({ uuid: 'uuid-vg1' }), nodeWith({}), 'rest'],
  [
    'a group that the devices file hides is not made again',
    desiredVgOf(),
    nodeOf([sdb, { ...sdc, label: { kind: 'member', pvUuid: 'u', vg: 'vg1' } }]),
    'VolumeGroupNotUsable',
    /\/dev\/sdc belongs to a volume group vg1 .*lvmdevices/,
  ],
  [
    'no group is made of nothing, and the reasons are told',
    desiredVgOf(),
    nodeOf([mounted, formatted]),
    'NoUsableDevices',
    /\/dev\/sdd: .*\/data.*\/dev\/sde: .*ext4/,
  ],
  [
    'a group without its required device is not made',
    desiredVgOn(['/dev/sdb', '/dev/sdx']),
    nodeOf([sdb]),
    'DeviceNotFound',
    /\/dev\/sdx: there is no such device/,
  ],
  [
    'a group with a required device in use is not made',
    desiredVgOn(['/dev/sdb', '/dev/sdd']),
    nodeOf([sdb, mounted]),
    'DeviceNotUsable',
    /\/dev\/sdd: .*mounted at \/data/,
  ],
  [
    'a group is not extended by halves either',
    desiredVgOn(['/dev/sdb', '/dev/sdc', '/dev/sdx']),
    nodeWith({}, [sdb, sdc]),
    'DeviceNotFound',
    /\/dev\/sdx/,
  ],
  [
    'a device with content is not required in vain',
    desiredVgOn(['/dev/sde']),
    nodeOf([formatted]),
    'DeviceNotUsable',
    /\/dev\/sde: it holds ext4/,
  ],
  [
    "somebody's group of the same name is left alone",
    desiredVgOf(),
    nodeWith({ tags: [] }, [sdb, sdc]),
    'VolumeGroupForeign',
    /vg1 .*without the tag lvms/,
  ],
  [
    "somebody's group adopted by name is used as it is",
    desiredVgOf({ adopt: 'named' }),
    nodeWith({ tags: [] }, [sdb, sdc]),
    'rest',
  ],
  [
    "an administrator's group is never extended",
    desiredVgOf({ isManaged: false }),
    nodeWith({}, [sdb, sdc]),
    'rest',
  ],
  [
    "an administrator's group is never made",
    desiredVgOf({ isManaged: false }),
    nodeOf([sdb]),
    'VolumeGroupMissing',
    /vg1/,
  ],
  [
    "an administrator's group is never removed",
    desiredVgOf({ isManaged: false, presence: 'absent' }),
    nodeWith({}),
    'rest',
  ],
  [
    'nothing is added while a device is missing',
    desiredVgOf(),
    nodeWith({ isPartial: true, pvs: [member, samplePv({ isMissing: true })] }, [sdb, sdc]),
    'VolumeGroupPartial',
    /vg1 misses/,
  ],
  [
    'an exported group is left alone',
    desiredVgOf(),
    nodeWith({ isExported: true }),
    'VolumeGroupNotUsable',
  ],
  [
    'a read-only group is left alone',
    desiredVgOf(),
    nodeWith({ isWritable: false }),
    'VolumeGroupNotUsable',
  ],
  [
    'of two groups with one name neither is touched',
    desiredVgOf(),
    nodeOf([sdb, sdc], { vgs: [sampleVg({ pvs: [member] }), sampleVg({ uuid: 'other' })] }),
    'VolumeGroupAmbiguous',
    /uuid-vg1 and other/,
  ],
  ['a group that is gone stays gone', desiredVgOf({ presence: 'absent' }), nodeOf([sdb]), 'rest'],
  [
    'a group with a volume is not removed',
    desiredVgOf({ presence: 'absent' }),
    nodeWith({ lvs: [sampleLv()] }),
    'VolumeInUse',
    /vg1 .*v1/,
  ],
  [
    'an exported group is not removed',
    desiredVgOf({ presence: 'absent' }),
    nodeWith({ isExported: true }),
    'VolumeGroupNotUsable',
  ],
  [
    'of two groups with one name neither is removed',
    desiredVgOf({ presence: 'absent' }),
    nodeOf([sdb], { vgs: [sampleVg({ pvs: [member] }), sampleVg({ uuid: 'other' })] }),
    'VolumeGroupAmbiguous',
  ],
  [
    "somebody's empty group is not removed",
    desiredVgOf({ presence: 'absent' }),
    nodeWith({ tags: [] }),
    'VolumeGroupForeign',
  ],
];

for (const [title, desired, node, result, names] of rows) {
  test(title, () => {
    const decision = plan(desired, node);
    if (result === 'rest') assertRest(decision);
    else assertBlocked(decision, result, names);
  });
}

test('an empty group of ours is removed by its UUID, with a permit for just that', () => {
  const step = stepOf(plan(desiredVgOf({ presence: 'absent' }), nodeWith({})), 'remove-vg');
  assert.equal(step.vgUuid, 'uuid-vg1');
  assert.equal(step.permit.target, 'uuid-vg1');
});

const forced = (...required: readonly string[]) => desiredVgOn(required, { forceWipe: true });

test('a device that may be wiped is wiped first, then taken', () => {
  const { steps, end } = follow(nodeOf([sdb, formatted]), (node) =>
    plan(forced('/dev/sdb', '/dev/sde'), node),
  );
  assert.deepEqual(
    steps.map((step) => step.kind),
    ['wipe-device', 'create-vg'],
  );
  assertRest(end);
});

const disk = sampleDevice({
  path: '/dev/sdf',
  partitionTable: 'gpt',
  holders: ['/dev/sdf1', '/dev/sdf2'],
});
const part = (number: number, given = {}) =>
  sampleDevice({
    path: `/dev/sdf${number}`,
    type: 'part',
    signatures: { kind: 'found', types: ['xfs'] },
    ...given,
  });

test('partitions are wiped before the disk they are on', () => {
  const { steps, end } = follow(nodeOf([disk, part(1), part(2)]), (node) =>
    plan(forced('/dev/sdf'), node),
  );
  assert.deepEqual(
    steps.map((step) => ('device' in step ? step.device : step.kind)),
    ['/dev/sdf1', '/dev/sdf2', '/dev/sdf', 'create-vg'],
  );
  assertRest(end);
});

const unwipeable: readonly (readonly [title: string, second: object])[] = [
  ['mounted', { mountPoints: ['/boot'] }],
  ['mounted with nothing a probe knows', { mountPoints: ['/x'], signatures: { kind: 'none' } }],
  ['swap', { isSwap: true }],
  ['held', { holders: ['/dev/mapper/luks'] }],
  ['a PV', { label: { kind: 'member', pvUuid: 'u', vg: 'vg2' } }],
  ['a PV no probe knows', { label: { kind: 'member', pvUuid: 'u' }, signatures: { kind: 'none' } }],
];

for (const [title, second] of unwipeable) {
  test(`no partition is wiped when another on its disk is ${title}`, () => {
    const node = nodeOf([disk, part(1), part(2, second)]);
    assertBlocked(plan(forced('/dev/sdf'), node), 'DeviceNotUsable', /\/dev\/sdf/);
  });
}

test('nothing is wiped for a group whose other devices are not there', () => {
  const node = nodeOf([formatted]);
  assertBlocked(plan(forced('/dev/sde', '/dev/sdx'), node), 'DeviceNotFound', /\/dev\/sdx/);
});

test('a wipe never aims at what is in use, and every plan comes to rest', () => {
  let wipes = 0;
  fc.assert(
    fc.property(generatedNode, generatedVg('vg1'), generatedVg('vg2'), (node, one, two) => {
      const { steps, end } = follow(node, (view) => planVolumeGroup(one, view, [two]));
      assert.notEqual(end.kind, 'step');
      for (const step of steps) {
        if (step.kind !== 'wipe-device') continue;
        wipes += 1;
        const target = node.devices.find((device) => device.path === step.device);
        const above = node.devices.filter((device) => target?.holders.includes(device.path));
        assert.equal(step.permit.target, step.device);
        assert.ok(wasAllowed(target, one, node), step.device);
        for (const device of [target, ...above]) {
          assert.deepEqual(device?.mountPoints, []);
          assert.equal(device?.isSwap, false);
          assert.equal(device?.exclusiveOpen, 'free');
          assert.notEqual(device?.label.kind, 'member');
        }
      }
    }),
    { numRuns: 500 },
  );
  assert.ok(wipes > 0, `the hosts were hopeless: ${wipes} wipes`);
});

/** The disk was named, and wiping allowed, unless all that is on it is what we left half made. */
function wasAllowed(target: ObservedDevice | undefined, vg: DesiredVg, node: ObservedNode) {
  const disk = node.devices.find((device) => device.holders.includes(target?.path ?? ''));
  const names = [target, disk].flatMap((device) => [device?.path, ...(device?.links ?? [])]);
  const { selector } = vg;
  if (selector.kind === 'any') return false;
  const isNamed = [...selector.required, ...selector.optional].some((path) => names.includes(path));
  return isNamed && (selector.forceWipe || target?.label.kind === 'half-made');
}

const full = samplePv({ device: '/dev/sdb', freeBytes: extents(400) });
const roomy = samplePv({ device: '/dev/sdc' });
const leaving = desiredVgOf({ release: ['pv-/dev/sdb'] });
const linked = sampleDevice({ path: '/dev/sdb', links: ['/dev/disk/by-id/b'] });

test('a device that shall leave is emptied, taken out, and not taken again', () => {
  const node = nodeOf([linked, sdc], { vgs: [sampleVg({ pvs: [full, roomy] })] });
  const { steps, end, host } = follow(node, (view) => plan(leaving, view));
  assert.deepEqual(
    steps.map((step) => step.kind),
    ['evacuate-pv', 'reduce-vg'],
  );
  assertRest(end);
  const [vg] = host.vgs;
  assert.deepEqual(
    vg?.pvs.map((pv) => [pv.device, pv.freeBytes]),
    [['/dev/sdc', extents(400)]],
  );
});

test('a device that was named, and shall leave, is bare in the end', () => {
  const node = nodeOf([linked, sdc], { vgs: [sampleVg({ pvs: [full, roomy] })] });
  const named = { ...desiredVgOn(['/dev/sdc']), release: leaving.release };
  const { steps, end, host } = follow(node, (view) => plan(named, view));
  assert.deepEqual(
    steps.map((step) => step.kind),
    ['evacuate-pv', 'reduce-vg', 'remove-pv'],
  );
  assertRest(end);
  assert.deepEqual(host.devices[0]?.label, { kind: 'none' });
});

test('another device at the path of one that shall leave stays', () => {
  const other = { ...full, uuid: 'another' };
  const node = nodeOf([linked, sdc], { vgs: [sampleVg({ pvs: [other, roomy] })] });
  const named = { ...desiredVgOn(['/dev/sdc']), release: leaving.release };
  assertRest(plan(named, node));
});

test('a device stays while the others have no room for what is on it', () => {
  const tight = { ...roomy, freeBytes: extents(599) };
  const node = nodeOf([linked, sdc], { vgs: [sampleVg({ pvs: [full, tight] })] });
  const numbers = /\/dev\/sdb holds 2.34 GiB, and the other devices of vg1 have 2.33 GiB free/;
  assertBlocked(plan(leaving, node), 'DeviceStays', numbers);
});

test('a device that comes makes room for one that leaves', () => {
  const tight = { ...roomy, freeBytes: extents(599) };
  const fresh = sampleDevice({ path: '/dev/sdd' });
  const node = nodeOf([linked, sdc, fresh], { vgs: [sampleVg({ pvs: [full, tight] })] });
  const { steps, end } = follow(node, (view) => plan(leaving, view));
  assert.deepEqual(
    steps.map((step) => step.kind),
    ['extend-vg', 'evacuate-pv', 'reduce-vg'],
  );
  assertRest(end);
});

test('a device that is wanted by another of its names stays', () => {
  const selector = {
    kind: 'paths',
    required: ['/dev/sdb'],
    optional: [],
    forceWipe: false,
  } as const;
  const node = nodeOf([linked, sdc], { vgs: [sampleVg({ pvs: [full, roomy] })] });
  assertRest(plan({ ...leaving, selector }, node));
});

test('room on a device that gives none away does not count', () => {
  const closed = { ...roomy, isAllocatable: false };
  const node = nodeOf([linked, sdc], { vgs: [sampleVg({ pvs: [full, closed] })] });
  assertBlocked(plan(leaving, node), 'DeviceStays', /\/dev\/sdb/);
});

test('the last device never leaves', () => {
  const node = nodeOf([linked], { vgs: [sampleVg({ pvs: [member] })] });
  assertBlocked(plan(leaving, node), 'DeviceStays', /\/dev\/sdb .*last/);
});

test('a label left behind is cleared only where LVM shows an orphan that was named', () => {
  const orphan = sampleDevice({
    path: '/dev/sdb',
    label: { kind: 'orphan', pvUuid: 'pv-/dev/sdb' },
  });
  const orphanPvs = [member];
  const named = desiredVgOn(['/dev/sdb']);
  const step = stepOf(planLabelRemoval(named, nodeOf([orphan], { orphanPvs })), 'remove-pv');
  assert.equal(step.permit.target, 'pv-/dev/sdb');
  const { end } = follow(nodeOf([orphan], { orphanPvs }), (node) => planLabelRemoval(named, node));
  assertRest(end);
  for (const [desired, node] of [
    [desiredVgOf(), nodeOf([orphan], { orphanPvs })],
    [desiredVgOn(['/dev/sdc']), nodeOf([orphan], { orphanPvs })],
    [named, nodeOf([sdb], { orphanPvs })],
    [named, nodeOf([orphan])],
  ] as const) {
    assertRest(planLabelRemoval(desired, node));
  }
});

test('a label that is noted as ours is cleared also where lvm was cut off before it listed it', () => {
  const orphan = sampleDevice({ label: { kind: 'orphan', pvUuid: 'pv-/dev/sdb' } });
  const noted = desiredVgOf({ release: ['pv-/dev/sdb'] });
  const step = stepOf(planLabelRemoval(noted, nodeOf([orphan])), 'remove-pv');
  assert.deepEqual([step.pvUuid, step.isUnlisted], ['pv-/dev/sdb', true]);
  const listed = nodeOf([orphan], { orphanPvs: [member] });
  assert.equal(stepOf(planLabelRemoval(noted, listed), 'remove-pv').isUnlisted, undefined);
  const { end } = follow(nodeOf([orphan]), (node) => planLabelRemoval(noted, node));
  assertRest(end);
});

test('a group that is given up leaves no labels on the devices that were named for it', () => {
  const orphan = sampleDevice({ label: { kind: 'orphan', pvUuid: 'pv-/dev/sdb' } });
  const node = nodeOf([orphan], { orphanPvs: [member] });
  const gone = { ...desiredVgOn(['/dev/sdb']), presence: 'absent' } as const;
  const { steps, end } = follow(node, (view) => plan(gone, view));
  assert.deepEqual(
    steps.map((step) => step.kind),
    ['remove-pv'],
  );
  assertRest(end);
  assertRest(plan({ ...desiredVgOf(), presence: 'absent' }, node));
});

const states: readonly (readonly [string, DesiredVg, ObservedNode, string, RegExp])[] = [
  ['a complete group', desiredVgOf(), nodeWith({}), 'Ready', /^$/],
  ['a group to be made', desiredVgOf(), nodeOf([sdb]), 'Progressing', /^next: create-vg$/],
  ['a group without devices', desiredVgOf(), nodeOf([]), 'Failed', /^NoUsableDevices: /],
  [
    'a group that misses a device',
    desiredVgOf(),
    nodeWith({ isPartial: true }),
    'Degraded',
    /Partial: /,
  ],
  ['a group that is gone', desiredVgOf({ presence: 'absent' }), nodeOf([]), 'Absent', /^$/],
];

for (const [title, desired, node, state, reason] of states) {
  test(`${title} is ${state}`, () => {
    const status = volumeGroupStatus(desired, node, []);
    assert.equal(status.state, state, text(plan(desired, node)));
    assert.match(status.reason, reason);
    assert.equal(status.sizeBytes, node.vgs[0]?.sizeBytes);
    assert.equal(status.freeBytes, node.vgs[0]?.freeBytes);
  });
}
