import assert from 'node:assert/strict';
import test from 'node:test';
import { sampleDevice } from '../../../test/samples/observed.ts';
import type { ObservedDevice } from '../observed.ts';
import { permitFor } from '../permit.ts';
import { isBlocked } from '../usable-vg.ts';

const label = { kind: 'half-made', pvUuid: 'PVU' } as const;
const signatures = { kind: 'found', types: ['LVM2_member'] } as const;
const named = { kind: 'paths', required: ['/dev/sdb'], optional: [], forceWipe: false } as const;

function device(change: Partial<ObservedDevice>): ObservedDevice {
  const ours = { path: '/dev/sdb', label, signatures, fileSystem: 'LVM2_member' };
  return sampleDevice({ ...ours, ...change });
}

test('the leavings of our own vgcreate may be cleared without a word from anybody', () => {
  const permit = permitFor({ deed: 'wipe-device', device: device({}), selector: named });
  assert.ok(!isBlocked(permit));
});

const refused: readonly (readonly [name: string, change: Partial<ObservedDevice>])[] = [
  ['somebody else is on it too', { signatures: { kind: 'found', types: ['LVM2_member', 'xfs'] } }],
  ['a file system is on it', { fileSystem: 'ext4' }],
  ['a partition table is on it', { partitionTable: 'gpt' }],
  ['it was not probed', { signatures: { kind: 'unknown', why: 'hang' } }],
  ['it is in use', { exclusiveOpen: 'busy' }],
  ['it is mounted', { mountPoints: ['/srv'] }],
  ['its label is a member', { label: { kind: 'member', pvUuid: 'PVU', vg: 'other' } }],
  ['its label is unclear', { label: { kind: 'unknown', why: 'no group' } }],
  ['its label is an orphan', { label: { kind: 'orphan', pvUuid: 'PVU' } }],
  ['it is not named', { path: '/dev/sdc' }],
];

for (const [name, change] of refused) {
  test(`nothing is cleared when ${name}`, () => {
    const permit = permitFor({ deed: 'wipe-device', device: device(change), selector: named });
    assert.ok(isBlocked(permit));
  });
}
