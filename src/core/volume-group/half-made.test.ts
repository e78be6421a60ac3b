import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBlocked, assertRest, follow } from '../../../test/samples/decisions.ts';
import { desiredVgOf, desiredVgOn } from '../../../test/samples/desired-vg.ts';
import {
  nodeOf,
  sampleDevice,
  sampleLv,
  samplePv,
  sampleVg,
} from '../../../test/samples/observed.ts';
import type { FailureCode } from '../../base/failures.ts';
import type { ObservedDevice, ObservedNode, ObservedVg } from '../observed.ts';
import type { DesiredVg } from './desired.ts';
import { planVolumeGroup } from './plan.ts';

const plan = (desired: DesiredVg, node: ObservedNode) => planVolumeGroup(desired, node, []);
const sdb = sampleDevice({ path: '/dev/sdb' });
const sdc = sampleDevice({ path: '/dev/sdc' });
const member = samplePv({ device: '/dev/sdb' });
const nodeWith = (vg: Partial<ObservedVg>, devices = [sdb]) =>
  nodeOf(devices, { vgs: [sampleVg({ pvs: [member], ...vg })] });

const lost = samplePv({ device: '[unknown]', isMissing: true });
const cutOff = { isPartial: true, pvs: [member, lost] };

test('a group that a power cut left without a device it shall have is made whole', () => {
  const node = nodeWith(cutOff, [sdb, sdc]);
  const { steps, end } = follow(node, (view) => plan(desiredVgOn(['/dev/sdb', '/dev/sdc']), view));
  assert.deepEqual(
    steps.map((step) => step.kind),
    ['drop-missing', 'extend-vg'],
  );
  assertRest(end);
});

const unmended: readonly (readonly [string, DesiredVg, ObservedNode, FailureCode])[] = [
  [
    'a volume is in it',
    desiredVgOn(['/dev/sdb']),
    nodeWith({ ...cutOff, lvs: [sampleLv()] }),
    'VolumeGroupPartial',
  ],
  [
    'a named device is not here',
    desiredVgOn(['/dev/sdb', '/dev/sdx']),
    nodeWith(cutOff),
    'VolumeGroupPartial',
  ],
  ['no device was named', desiredVgOf(), nodeWith(cutOff), 'VolumeGroupPartial'],
  [
    'it is not ours',
    desiredVgOn(['/dev/sdb']),
    nodeWith({ ...cutOff, tags: [] }),
    'VolumeGroupPartial',
  ],
  [
    'it is exported',
    desiredVgOn(['/dev/sdb']),
    nodeWith({ ...cutOff, isExported: true }),
    'VolumeGroupNotUsable',
  ],
  [
    'another has its name',
    desiredVgOn(['/dev/sdb']),
    nodeOf([sdb], { vgs: [sampleVg(cutOff), sampleVg({ uuid: 'other' })] }),
    'VolumeGroupAmbiguous',
  ],
];

for (const [title, desired, node, code] of unmended) {
  test(`nothing is dropped from a group that misses a device when ${title}`, () => {
    assertBlocked(plan(desired, node), code, /vg1/);
  });
}

const halfMade = (given: Partial<ObservedDevice> = {}) =>
  sampleDevice({
    path: '/dev/sdb',
    label: { kind: 'half-made', pvUuid: 'u' },
    signatures: { kind: 'found', types: ['LVM2_member'] },
    fileSystem: 'LVM2_member',
    ...given,
  });

test('what a vgcreate of ours left half made is cleared and taken, without being told to', () => {
  const { steps, end } = follow(nodeOf([halfMade()]), (view) =>
    plan(desiredVgOn(['/dev/sdb']), view),
  );
  assert.deepEqual(
    steps.map((step) => step.kind),
    ['wipe-device', 'create-vg'],
  );
  assertRest(end);
});

test('what is half made is left alone where nobody named it, or something else is on it', () => {
  assertBlocked(plan(desiredVgOf(), nodeOf([halfMade()])), 'NoUsableDevices', /cut off/);
  const beside = halfMade({ signatures: { kind: 'found', types: ['LVM2_member', 'xfs'] } });
  assertBlocked(plan(desiredVgOn(['/dev/sdb']), nodeOf([beside])), 'DeviceNotUsable', /xfs/);
});
