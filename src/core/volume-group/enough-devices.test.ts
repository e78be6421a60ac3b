import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBlocked, assertRest, follow, stepOf } from '../../../test/samples/decisions.ts';
import { desiredVgOf } from '../../../test/samples/desired-vg.ts';
import {
  extents,
  nodeOf,
  sampleDevice,
  samplePv,
  sampleVg,
} from '../../../test/samples/observed.ts';
import type { ObservedDevice, ObservedNode, ObservedPv } from '../observed.ts';
import type { DesiredVg } from './desired.ts';
import { planVolumeGroup } from './plan.ts';

const plan = (desired: DesiredVg, node: ObservedNode) => planVolumeGroup(desired, node, []);
const full = samplePv({ device: '/dev/sdb', freeBytes: extents(400) });
const bare = samplePv({ device: '/dev/sdb' });
const roomy = samplePv({ device: '/dev/sdc' });
const mirrored = desiredVgOf({ release: ['pv-/dev/sdb'], devicesMin: 2 });
const few = /\/dev\/sdb stays in vg1: .* need 2 devices, and 1 would be left: name another/;

function nodeWith(pvs: readonly ObservedPv[], more: readonly ObservedDevice[] = []): ObservedNode {
  const devices = pvs.map(({ device }) => sampleDevice({ path: device }));
  return nodeOf([...devices, ...more], { vgs: [sampleVg({ pvs })] });
}

test('a device stays where too few for the volumes of the class would be left', () => {
  for (const pv of [full, bare]) {
    assertBlocked(plan(mirrored, nodeWith([pv, roomy])), 'DeviceStays', few);
  }
});

test('a device that gives nothing away does not count as one that is left', () => {
  const third = samplePv({ device: '/dev/sdd' });
  const closed = { ...third, isAllocatable: false };
  assertBlocked(plan(mirrored, nodeWith([full, roomy, closed])), 'DeviceStays', few);
  stepOf(plan(mirrored, nodeWith([full, roomy, third])), 'evacuate-pv');
});

test('a device that comes lets another leave where both are needed', () => {
  const fresh = sampleDevice({ path: '/dev/sdd' });
  const node = nodeWith([full, roomy], [fresh]);
  const { steps, end } = follow(node, (view) => plan(mirrored, view));
  assert.deepEqual(
    steps.map((step) => step.kind),
    ['extend-vg', 'evacuate-pv', 'reduce-vg'],
  );
  assertRest(end);
});

test('a move that was begun goes on to its end, and the device stays then', () => {
  const mapped = '/dev/mapper/vg1-pvmove0';
  const moving = sampleDevice({ path: mapped, type: 'lvm' });
  const vgs = [sampleVg({ pvs: [full, roomy] })];
  const emptied = sampleDevice({ path: '/dev/sdb', holders: [mapped] });
  const filled = sampleDevice({ path: '/dev/sdc', holders: [mapped] });
  stepOf(plan(mirrored, nodeOf([emptied, filled, moving], { vgs })), 'evacuate-pv');
  assertBlocked(plan(mirrored, nodeWith([bare, roomy])), 'DeviceStays', few);
});

test('too few devices do not keep a group from being made', () => {
  const node = nodeOf([sampleDevice({ path: '/dev/sdb' })]);
  stepOf(plan(desiredVgOf({ devicesMin: 3 }), node), 'create-vg');
});
