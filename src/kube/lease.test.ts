import assert from 'node:assert/strict';
import test from 'node:test';
import { givenBack, heldBy, type Lease, type LeaseSpec, mayTake, sight } from './lease.ts';

function lease(version: number, spec: LeaseSpec = {}): Lease {
  return { metadata: { name: 'l', uid: 'u', resourceVersion: String(version) }, spec };
}

const rows: readonly (readonly [what: string, spec: LeaseSpec, ageMs: number, may: boolean])[] = [
  ['nobody holds it', {}, 0, true],
  ['it was given back', { holderIdentity: '', leaseDurationSeconds: 1 }, 0, true],
  ['it is ours', { holderIdentity: 'me', leaseDurationSeconds: 15 }, 0, true],
  ['it was renewed just now', { holderIdentity: 'b', leaseDurationSeconds: 15 }, 0, false],
  ['its time is almost over', { holderIdentity: 'b', leaseDurationSeconds: 15 }, 14_999, false],
  ['its time is over', { holderIdentity: 'b', leaseDurationSeconds: 15 }, 15_000, true],
  ['its holder asked for more', { holderIdentity: 'b', leaseDurationSeconds: 137 }, 136_999, false],
  ['its holder asked for less', { holderIdentity: 'b', leaseDurationSeconds: 5 }, 14_999, false],
  ['its holder said nothing', { holderIdentity: 'b' }, 15_000, true],
];

for (const [what, spec, ageMs, may] of rows) {
  test(`${what}: ${may ? 'it may be taken' : 'it may not be taken'}`, () => {
    const sighting = { lease: lease(1, spec), changedAtMs: 1_000 };
    assert.equal(mayTake(sighting, 'me', 15_000, 1_000 + ageMs), may);
  });
}

test('a lease is as old as its last change that we saw, whatever its times say', () => {
  const first = sight(undefined, lease(1, { renewTime: '2001-01-01T00:00:00.000000Z' }), 100);
  assert.equal(sight(first, lease(1), 200).changedAtMs, 100);
  assert.equal(sight(first, lease(2), 200).changedAtMs, 200);
  const again = { ...lease(1), metadata: { ...lease(1).metadata, uid: 'another' } };
  assert.equal(sight(first, again, 200).changedAtMs, 200);
});

test('taking counts a transition, renewing does not, and what others added stays', () => {
  const theirs = lease(1, { holderIdentity: 'b', leaseTransitions: 4, acquireTime: 'then' });
  const taken = heldBy('me', theirs, 14_500, 0);
  assert.deepEqual(taken, {
    ...{ holderIdentity: 'me', leaseDurationSeconds: 15, leaseTransitions: 5 },
    acquireTime: '1970-01-01T00:00:00.000000Z',
    renewTime: '1970-01-01T00:00:00.000000Z',
  });
  const renewed = heldBy('me', lease(2, { ...taken, ...{ strategy: 'x' } }), 14_500, 60_000);
  assert.deepEqual(renewed, {
    ...{ ...taken, strategy: 'x', renewTime: '1970-01-01T00:01:00.000000Z' },
  });
  assert.equal(heldBy('me', undefined, 15_000, 0).leaseTransitions, 0);
  assert.equal(givenBack(lease(3, renewed), 0).leaseTransitions, 5);
});
