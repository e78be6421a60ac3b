import assert from 'node:assert/strict';
import test from 'node:test';
import { assertRest, stepOf } from '../../../test/samples/decisions.ts';
import { desiredVgOf } from '../../../test/samples/desired-vg.ts';
import { nodeOf, sampleDevice, samplePv, sampleVg } from '../../../test/samples/observed.ts';
import type { ObservedVg } from '../observed.ts';
import type { DesiredVg } from './desired.ts';
import { planBegunMove } from './plan.ts';

const pvs = [samplePv({ device: '/dev/sdb' }), samplePv({ device: '/dev/sdc' })];
const mapped = '/dev/mapper/vg1-pvmove0';

/** The group shall go, and a move stands on one of its devices. */
function plan(desired: Partial<DesiredVg>, vg: Partial<ObservedVg> = {}, onSdc = mapped) {
  const devices = [
    sampleDevice({ path: '/dev/sdb', holders: ['/dev/mapper/vg1-data'] }),
    sampleDevice({ path: '/dev/sdc', holders: [onSdc] }),
    sampleDevice({ path: onSdc, type: 'lvm' }),
  ];
  const node = nodeOf(devices, { vgs: [sampleVg({ pvs, ...vg })] });
  return planBegunMove(desiredVgOf({ presence: 'absent', ...desired }), node);
}

test('the device is emptied that a move was begun on', () => {
  const release = ['pv-/dev/sdb', 'pv-/dev/sdc'];
  const { vgUuid, device, pvUuid } = stepOf(plan({ release }), 'evacuate-pv');
  assert.deepEqual([vgUuid, device, pvUuid], ['uuid-vg1', '/dev/sdc', 'pv-/dev/sdc']);
});

test('what is moved by somebody else, or not at all, is left alone', () => {
  const release = ['pv-/dev/sdc'];
  assertRest(plan({ release: ['pv-/dev/sdb'] }));
  assertRest(plan({ release }, {}, '/dev/mapper/vg1-pvmove0-x'));
  assertRest(plan({ release }, {}, '/dev/mapper/vg10-pvmove0'));
  assertRest(plan({ release }, { tags: [] }));
  assertRest(plan({ release }, { isExported: true }));
});
