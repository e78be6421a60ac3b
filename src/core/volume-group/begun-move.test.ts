import assert from 'node:assert/strict';
import test from 'node:test';
import { assertRest, stepOf } from '../../../test/samples/decisions.ts';
import { desiredVgOf, desiredVgOn } from '../../../test/samples/desired-vg.ts';
import { nodeOf, sampleDevice, samplePv, sampleVg } from '../../../test/samples/observed.ts';
import type { ObservedVg } from '../observed.ts';
import type { DesiredVg } from './desired.ts';
import { planBegunMove, planVolumeGroup } from './plan.ts';

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

/** What is on /dev/sdc goes to /dev/sdb, and the kernel shows the move on both. */
const towardsSdb = [
  sampleDevice({ path: '/dev/sdb', number: '8:16', holders: [mapped] }),
  sampleDevice({ path: '/dev/sdc', number: '8:32', holders: [mapped] }),
  sampleDevice({ path: mapped, number: '253:9', type: 'lvm', emptied: '8:32' }),
];
const both = { release: ['pv-/dev/sdb', 'pv-/dev/sdc'] };

test('of two that shall leave the one goes on that is emptied, and not the one that is filled', () => {
  const used = pvs.map((pv) => ({ ...pv, freeBytes: pv.sizeBytes / 2n }) as typeof pv);
  const roomy = samplePv({ device: '/dev/sdd' });
  const devices = [...towardsSdb, sampleDevice({ path: '/dev/sdd', number: '8:48' })];
  const node = nodeOf(devices, { vgs: [sampleVg({ pvs: [...used, roomy] })] });
  const wishes = {
    'neither is wanted': { ...desiredVgOn(['/dev/sdd']), ...both },
    'the one that is filled is wanted again': { ...desiredVgOn(['/dev/sdb', '/dev/sdd']), ...both },
    'both are wanted again': { ...desiredVgOn(['/dev/sdb', '/dev/sdc', '/dev/sdd']), ...both },
  };
  for (const [what, desired] of Object.entries(wishes)) {
    assert.equal(
      stepOf(planVolumeGroup(desired, node, []), 'evacuate-pv').device,
      '/dev/sdc',
      what,
    );
  }
  const gone = desiredVgOf({ presence: 'absent', ...both });
  assert.equal(stepOf(planBegunMove(gone, node), 'evacuate-pv').device, '/dev/sdc');
});

test('a device that is wanted again is not emptied because another one is', () => {
  const desired = { ...desiredVgOn(['/dev/sdb', '/dev/sdc']), release: ['pv-/dev/sdb'] };
  assertRest(planVolumeGroup(desired, nodeOf(towardsSdb, { vgs: [sampleVg({ pvs })] }), []));
});
