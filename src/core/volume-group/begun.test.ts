import assert from 'node:assert/strict';
import test from 'node:test';
import { nodeOf, sampleDevice, sampleVg } from '../../../test/samples/observed.ts';
import { MiB } from '../../base/bytes.ts';
import type { CreateVg } from '../step.ts';
import { lostBegun, noteOfBegun, stillBegun } from './begun.ts';

const sdb = sampleDevice({ path: '/dev/sdb', serial: 'B' });
const sdc = sampleDevice({ path: '/dev/sdc', serial: 'C' });
const step: CreateVg = {
  ...{ kind: 'create-vg', vg: 'va', devices: ['/dev/sdb', '/dev/sdc'] },
  ...{ tags: [], metadataBytes: MiB },
};
const noted = noteOfBegun(step, nodeOf([sdc, sdb, sampleDevice({ path: '/dev/sdd' })]));
const begun = new Map([['va', noted]]);

test('a group is begun on disks by what they are', () => {
  assert.equal(noted, 'serial Disk B\nserial Disk C');
});

test('it is lost while one of its disks is away, whatever the others are called', () => {
  const node = nodeOf([{ ...sdb, path: '/dev/sdx' }, sampleDevice({ path: '/dev/sdc' })]);
  assert.deepEqual(stillBegun(begun, node), begun);
  assert.deepEqual(lostBegun(begun, node), new Map([['va', 'begun on serial Disk C']]));
});

test('one that is to be seen is not lost, and still nothing was learned of it', () => {
  const node = nodeOf([sdb], { vgs: [sampleVg({ name: 'va' })] });
  assert.deepEqual(stillBegun(begun, node), begun);
  assert.deepEqual(lostBegun(begun, node), new Map());
});

test('with all its disks here, one that is not to be seen was never made', () => {
  assert.deepEqual(stillBegun(begun, nodeOf([sdb, sdc])), new Map());
});
