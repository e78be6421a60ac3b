import assert from 'node:assert/strict';
import test from 'node:test';
import { OperationError } from '../base/failures.ts';
import { type LvAttributes, parseLvAttributes } from './attributes.ts';

const idle: LvAttributes = {
  isActive: true,
  isSuspended: false,
  isOpen: false,
  isReadOnly: false,
  isInvalid: false,
};

const table: readonly (readonly [string, string, Partial<LvAttributes>])[] = [
  ['-wi-a-----', 'an active volume', {}],
  ['-wi-------', 'an inactive volume', { isActive: false }],
  ['-wi-ao----', 'an open volume', { isOpen: true }],
  ['-ri-a-----', 'a read-only volume', { isReadOnly: true }],
  ['-Ri-a-----', 'a volume that is read-only in the kernel alone', { isReadOnly: true }],
  ['-wi-s-----', 'a suspended volume', { isSuspended: true }],
  ['-wI-a-----', 'a volume whose extents are moved', {}],
  ['-wi-XX--X-', 'a volume whose device does not fit the metadata', { isActive: false }],
  ['-wi-d-----', 'a volume without tables', { isActive: false }],
  ['-wi-i-----', 'a volume with an inactive table', { isActive: false }],
  ['-wi-h-----', 'historical volume', { isActive: false }],
  ['owi-a-s---', 'the origin of a snapshot', {}],
  ['sri-a-s---', 'a snapshot', { isReadOnly: true }],
  ['sri-I-s---', 'a snapshot that overflowed', { isReadOnly: true, isInvalid: true }],
  ['swi-S-s---', 'one that is suspended too', { isInvalid: true, isSuspended: true }],
  ['Swi-m-s---', 'a snapshot whose merge failed', { isInvalid: true }],
  ['Swi-M-s---', 'one that is suspended too', { isInvalid: true, isSuspended: true }],
  ['twi-aotz--', 'a thin pool', { isOpen: true }],
  ['twi---tz--', 'an inactive thin pool', { isActive: false }],
  ['twi-aotzD-', 'a pool without room', { isOpen: true }],
  ['twi-aotzM-', 'a pool with read-only metadata', { isOpen: true }],
  ['twi-c-tz--', 'a pool that must be checked', { isInvalid: true }],
  ['twi-C-tz--', 'one that is suspended too', { isInvalid: true, isSuspended: true }],
  ['Vwi-a-tz--', 'a thin volume', {}],
  ['Vri-a-tz-k', 'one that activation skips', { isReadOnly: true }],
  ['rwi-a-r-p-', 'a RAID without one of its devices', {}],
  ['rwi-a-r-r-', 'a RAID that must be refreshed', {}],
  ['Cwi-c-C---', 'a cache, where c means something else', {}],
];

for (const [attributes, what, expected] of table) {
  test(`${attributes} is ${what}`, () => {
    assert.deepEqual(parseLvAttributes(attributes), { ...idle, ...expected });
  });
}

for (const attributes of [
  '',
  '-wi-a----',
  '-wi-a------',
  '-wi-a---- ',
  'unknown..',
  '0wi-a-----',
]) {
  test(`refuses "${attributes}"`, () => {
    assert.throws(
      () => parseLvAttributes(attributes),
      (error) => error instanceof OperationError && error.code === 'UnreadableReport',
    );
  });
}
