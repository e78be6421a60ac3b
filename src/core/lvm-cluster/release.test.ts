import assert from 'node:assert/strict';
import { test } from 'node:test';
import { desiredVgOn } from '../../../test/samples/desired-vg.ts';
import { nodeOf, sampleDevice, samplePv, sampleVg } from '../../../test/samples/observed.ts';
import type { ObservedVg } from '../observed.ts';
import { noteAfterLook, type ReleaseNote } from './release.ts';

const devices = [
  sampleDevice({ path: '/dev/sdb' }),
  sampleDevice({ path: '/dev/sdc', links: ['/dev/disk/by-id/c'] }),
];
const [sdb, sdc] = [samplePv({ device: '/dev/sdb' }), samplePv({ device: '/dev/sdc' })];
const desired = { ...desiredVgOn(['/dev/sdb']), uuid: 'known' };

function after(note: ReleaseNote, ...vgs: readonly ObservedVg[]): ReleaseNote {
  return noteAfterLook(note, desired, nodeOf(devices, { vgs }));
}

const whole = sampleVg({ uuid: 'known', pvs: [sdb, sdc] });
const gone = { ...sdc, device: '[unknown]', isMissing: true };

test('a path becomes the PV that is found there, once', () => {
  assert.deepEqual(after({ '/dev/disk/by-id/c': '' }, whole), { '/dev/disk/by-id/c': sdc.uuid });
  const other = sampleVg({ uuid: 'known', pvs: [sdb, { ...sdc, uuid: 'another' }] });
  assert.deepEqual(after({ '/dev/sdc': sdc.uuid }, other), {}, 'another one is there by now');
});

test('what has left, was never there, or is named by another path is struck out', () => {
  const left = sampleVg({ uuid: 'known', pvs: [sdb] });
  assert.deepEqual(after({ '/dev/sdc': sdc.uuid, '/dev/sdd': '' }, left), {});
  assert.deepEqual(after({ '/dev/sdc': '' }, left), {});
  const partial = sampleVg({ uuid: 'known', pvs: [sdb, gone], isPartial: true });
  assert.deepEqual(after({ '/dev/sdc': '' }, partial), {}, 'nobody knows what was there');
  assert.deepEqual(after({ '/dev/x': sdb.uuid }, whole), {}, 'it is named after all');
});

test('a PV that is away, and a group that is away or doubtful, is waited for', () => {
  const note = { '/dev/sdc': sdc.uuid, '/dev/sdd': '' };
  assert.deepEqual(after(note), note);
  assert.deepEqual(after(note, sampleVg({ uuid: 'another', pvs: [] })), note);
  assert.deepEqual(after(note, whole, { ...whole, uuid: 'twin' }), note);
  const partial = sampleVg({ uuid: 'known', pvs: [sdb, gone], isPartial: true });
  assert.deepEqual(after(note, partial), { '/dev/sdc': sdc.uuid });
});

test('what has left and still bears its label is not struck out before that is cleared', () => {
  const label = { kind: 'orphan', pvUuid: sdc.uuid } as const;
  const [first, second] = devices;
  assert.ok(first !== undefined && second !== undefined);
  const vgs = [sampleVg({ uuid: 'known', pvs: [sdb] })];
  const note = { '/dev/sdc': sdc.uuid };
  const left = nodeOf([first, { ...second, label }], { vgs, orphanPvs: [sdc] });
  assert.deepEqual(noteAfterLook(note, desired, left), note);
  const busy = nodeOf([first, { ...second, label, isSwap: true }], { vgs, orphanPvs: [sdc] });
  assert.deepEqual(noteAfterLook(note, desired, busy), {}, 'somebody else has it by now');
});

test('a device that is named again is struck out when nothing is moved any more', () => {
  const again = { ...desiredVgOn(['/dev/sdb', '/dev/sdc']), uuid: 'known' };
  const note = { '/dev/sdc': sdc.uuid };
  const move = sampleDevice({ path: '/dev/mapper/vg1-pvmove0', type: 'lvm' });
  const moving = nodeOf([...devices, move], { vgs: [whole] });
  assert.deepEqual(noteAfterLook(note, again, moving), note);
  assert.deepEqual(noteAfterLook({ '/dev/sdc': '' }, again, moving), {}, 'it was not begun');
  assert.deepEqual(noteAfterLook(note, again, nodeOf(devices, { vgs: [whole] })), {});
});

test('where the group never was nothing leaves it', () => {
  const fresh = { ...desired, uuid: undefined };
  assert.deepEqual(noteAfterLook({ '/dev/sdc': '' }, fresh, nodeOf(devices)), {});
});
