import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBlocked, assertRest, follow, stepOf } from '../../../test/samples/decisions.ts';
import {
  extents,
  hostOf,
  sampleLv,
  samplePool,
  sampleVg,
  vgWithFree,
} from '../../../test/samples/observed.ts';
import type { ObservedLv } from '../observed.ts';
import type { DesiredThinPool } from './desired.ts';
import { hostNameForMaking, poolMadeOn } from './making.ts';
import { planThinPool } from './plan.ts';

const wanted: DesiredThinPool = {
  ...{ vg: 'vg1', vgUuid: undefined, name: 'pool0', presence: 'present', sizePercent: 90 },
  ...{ chunkSizeBytes: undefined, metadataBytes: extents(1), vgOwnerTag: 'lvms' },
};
const gone: DesiredThinPool = { ...wanted, presence: 'absent' };

const part = { name: 'lvol0', tags: [], sizeBytes: extents(1), madeFor: 'pool0' };

const volumes: readonly (readonly [string, Partial<ObservedLv>, boolean])[] = [
  ['the spare copy', {}, true],
  ['the metadata', { name: 'pool_metadata0' }, true],
  ['metadata of another size', { sizeBytes: extents(7) }, true],
  ['what an administrator made without a name', { madeFor: undefined }, false],
  ['a part of another pool', { madeFor: 'pool1' }, false],
  ['what got a name since', { name: 'lvol0b' }, false],
  ['what got a tag since', { tags: ['mine'] }, false],
  ['what became a part of something', { isInternal: true }, false],
];

for (const [what, given, isTaken] of volumes) {
  for (const desired of [wanted, gone]) {
    const { presence } = desired;
    test(`${what} is ${isTaken ? 'removed' : 'left'} while no pool is there: ${presence}`, () => {
      const host = hostOf(vgWithFree([999], { lvs: [sampleLv({ ...part, ...given })] }));
      const { steps, end } = follow(host, (view) => planThinPool(desired, view));
      assert.deepEqual(
        steps.map((step) => step.kind),
        [
          ...(isTaken ? ['remove-lv'] : []),
          ...(presence === 'present' ? ['create-thin-pool', 'activate-lv'] : []),
        ],
      );
      assertRest(end);
    });
  }
}

test('beside a pool that is half made it is removed first', () => {
  const half = sampleLv({ name: 'pool0', tags: ['quarry', 'quarry.role=thin-pool'] });
  const host = hostOf(vgWithFree([990], { lvs: [half, sampleLv(part)] }));
  const { steps } = follow(host, (view) => planThinPool(wanted, view));
  assert.deepEqual(
    steps.map((step) => ('lv' in step ? step.lv : step.kind)),
    ['lvol0', 'pool0', 'create-thin-pool', 'pool0'],
  );
});

test('what udev or somebody else has open for now is waited for, and no pool made beside it', () => {
  const half = sampleLv({ name: 'pool0', tags: ['quarry', 'quarry.role=thin-pool'] });
  for (const pool of [[], [half]]) {
    const lvs = [...pool, sampleLv({ ...part, isOpen: true })];
    const host = hostOf(vgWithFree([990], { lvs }));
    for (const desired of [wanted, gone]) {
      assertBlocked(planThinPool(desired, host), 'VolumeInUse', /vg1\/lvol0 .* lvrename/);
    }
  }
});

test('what an administrator took out of a whole pool is left alone', () => {
  for (const isOpen of [false, true]) {
    const lvs = [samplePool(), sampleLv({ ...part, isOpen })];
    const host = hostOf(vgWithFree([99], { lvs }));
    assert.deepEqual(follow(host, (view) => planThinPool(wanted, view)).steps, []);
    assertBlocked(planThinPool(gone, host), 'NotOurs', /vg1\/lvol0 .* lvrename$/);
  }
});

test('what was taken out of a pool that has another name since is left alone', () => {
  const renamed = samplePool({ name: 'broken', madeFor: 'pool0' });
  const host = hostOf(vgWithFree([990], { lvs: [renamed, sampleLv(part)] }));
  for (const desired of [wanted, gone]) {
    const { steps } = follow(host, (view) => planThinPool(desired, view));
    assert.ok(!steps.some((step) => step.kind === 'remove-lv'));
  }
});

test('a pool that was made asleep is woken, and by then its parts are parts', () => {
  const { steps } = follow(hostOf(vgWithFree([999])), (view) => planThinPool(wanted, view));
  assert.deepEqual(
    steps.map((step) => step.kind),
    ['create-thin-pool', 'activate-lv'],
  );
});

test('a pool is made on a host of its own name, by which its parts are known', () => {
  const step = stepOf(planThinPool(wanted, hostOf(vgWithFree([999]))), 'create-thin-pool');
  assert.equal(step.hostName, 'quarry.pool.pool0');
  assert.equal(poolMadeOn('quarry.pool.pool0'), 'pool0');
  assert.equal(poolMadeOn('node1.example.com'), undefined);
});

test('a group that may be known by the name of its host is left its host', () => {
  const vg = sampleVg({ ...vgWithFree([999]), systemId: 'n1' });
  const step = stepOf(planThinPool(wanted, hostOf(vg)), 'create-thin-pool');
  assert.equal(step.hostName, undefined);
});

test('a name that no host can have is not tried', () => {
  assert.equal(hostNameForMaking('p'.repeat(52))?.length, 64);
  assert.equal(hostNameForMaking('p'.repeat(53)), undefined);
});
