import assert from 'node:assert/strict';
import test from 'node:test';
import { nodeOf, sampleDevice } from '../../../test/samples/observed.ts';
import { MiB } from '../../base/bytes.ts';
import type { LvmLabel } from '../observed.ts';
import type { CreateVg } from '../step.ts';
import { labelledFor, labelsAfterLook, withLabelling } from './labels.ts';

const sdb = sampleDevice({ path: '/dev/sdb', serial: 'B' });
const sdc = sampleDevice({ path: '/dev/sdc', serial: 'C' });
const ours: LvmLabel = { kind: 'orphan', pvUuid: 'ours' };
const step: CreateVg = {
  ...{ kind: 'create-vg', vg: 'va', devices: ['/dev/sdb', '/dev/sdc'] },
  ...{ tags: [], metadataBytes: MiB },
};
const key = 'va/serial Disk B';

test('disks that bear no label are noted by what they are, and no others', () => {
  const node = nodeOf([sdb, { ...sdc, label: ours }, sampleDevice({ path: '/dev/sdd' })]);
  assert.deepEqual(withLabelling(new Map(), step, node), new Map([[key, '']]));
});

test('a second attempt without a disk forgets nothing of the first', () => {
  const node = nodeOf([{ ...sdb, label: ours }, sdc]);
  const noted = withLabelling(new Map([[key, 'ours']]), { ...step, devices: ['/dev/sdc'] }, node);
  assert.deepEqual([...noted.keys()], [key, 'va/serial Disk C']);
  assert.deepEqual(labelledFor('va', noted), ['ours']);
  assert.deepEqual(labelledFor('v', noted), []);
});

test('the first look learns which PV it is, whatever the disk is called now', () => {
  const node = nodeOf([{ ...sdb, path: '/dev/sdx', label: ours }]);
  assert.deepEqual(labelsAfterLook(new Map([[key, '']]), node), new Map([[key, 'ours']]));
});

const looks: readonly (readonly [string, LvmLabel, boolean])[] = [
  ['a label that is still there stays noted', ours, true],
  ['a label that nobody can read stays noted', { kind: 'unknown', why: 'no' }, true],
  ['a label that is gone is struck out', { kind: 'none' }, false],
  ['another label is not ours', { kind: 'orphan', pvUuid: 'theirs' }, false],
  ['what is in a group is struck out', { kind: 'member', pvUuid: 'ours', vg: 'va' }, false],
];
for (const [outcome, label, stays] of looks) {
  test(outcome, () => {
    const noted = new Map([[key, 'ours']]);
    const after = labelsAfterLook(noted, nodeOf([{ ...sdb, label }]));
    assert.deepEqual(after, stays ? noted : new Map());
  });
}

test('what is away, or one of two that are alike, is not judged', () => {
  const noted = new Map([[key, '']]);
  assert.deepEqual(labelsAfterLook(noted, nodeOf([sdc])), noted);
  const twin = { ...sdb, path: '/dev/sdy', label: ours };
  assert.deepEqual(labelsAfterLook(noted, nodeOf([sdb, twin])), noted);
});
