import assert from 'node:assert/strict';
import test from 'node:test';
import { desiredVgOn } from '../../../test/samples/desired-vg.ts';
import { nodeOf, sampleDevice } from '../../../test/samples/observed.ts';
import type { ObservedDevice } from '../observed.ts';
import { diskId } from './wipeable.ts';
import { planWipes, type Wipe } from './wipes.ts';

const desired = desiredVgOn(['/dev/sdb'], { forceWipe: true });

function disk(given: Partial<ObservedDevice> = {}): ObservedDevice {
  const signatures = { kind: 'found', types: ['ext4'], uuids: ['one'] } as const;
  return sampleDevice({ path: '/dev/sdb', wwn: '0x5', fileSystem: 'ext4', signatures, ...given });
}

function plan(device: ObservedDevice, known?: Wipe) {
  const before = new Map(known === undefined ? [] : [['wwn 0x5', known]]);
  const { wipes, allowed, kept } = planWipes(
    desired,
    { node: nodeOf([device]), others: [] },
    before,
  );
  return { wipe: wipes.get('wwn 0x5'), allowed, kept };
}

test('a disk is written down with what is on it, and may be wiped', () => {
  assert.deepEqual(plan(disk()), {
    ...{ wipe: { found: ['ext4', 'one'], isDone: false }, allowed: ['wwn 0x5'], kept: [] },
  });
});

test('a wipe that was cut off goes on with what was there, and with nothing else', () => {
  const begun = { found: ['ext4', 'one'], isDone: false };
  assert.deepEqual(plan(disk(), begun).allowed, ['wwn 0x5']);
  const signatures = { kind: 'found', types: ['ext4'], uuids: ['two'] } as const;
  assert.deepEqual(plan(disk({ signatures }), begun).kept, ['/dev/sdb'], 'made after it');
  const other = { kind: 'found', types: ['xfs'] } as const;
  assert.deepEqual(plan(disk({ signatures: other, fileSystem: 'xfs' }), begun).kept, ['/dev/sdb']);
});

test('a disk that was found bare or in a group after it was wiped is never wiped again', () => {
  const begun = { found: ['ext4'], isDone: false };
  const bare = disk({ signatures: { kind: 'none' }, fileSystem: '' });
  assert.deepEqual(plan(bare, begun).wipe, { found: ['ext4'], isDone: true });
  const label = { kind: 'member', vg: 'vg1', pvUuid: 'p' } as const;
  assert.equal(plan(disk({ ...bare, label }), begun).wipe?.isDone, true);
  const done = { found: ['ext4', 'one'], isDone: true };
  assert.deepEqual(plan(disk(), done), { wipe: done, allowed: [], kept: ['/dev/sdb'] });
});

test('a disk in use is neither wiped nor written down', () => {
  assert.deepEqual(plan(disk({ mountPoints: ['/data'] })), {
    ...{ wipe: undefined, allowed: [], kept: [] },
  });
});

test('a disk is known by the best that it says of itself', () => {
  const plain = { wwn: '', serial: '', model: '', links: [] };
  assert.equal(diskId(disk()), 'wwn 0x5');
  assert.equal(diskId(disk({ ...plain, serial: 'S1', model: 'M' })), 'serial M S1');
  const links = ['/dev/disk/by-path/x', '/dev/disk/by-id/b', '/dev/disk/by-id/a'];
  assert.equal(diskId(disk({ ...plain, links })), '/dev/disk/by-id/a');
  assert.equal(diskId(disk(plain)), '/dev/sdb');
  // udev names it by its LVM label, too, which comes and goes.
  assert.equal(diskId(disk({ ...plain, links: ['/dev/disk/by-id/lvm-pv-uuid-a'] })), '/dev/sdb');
  assert.equal(diskId(disk({ path: '/dev/sdb12', type: 'part' })), 'wwn 0x5 part 12');
});
