import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { assertBlocked } from '../../test/samples/decisions.ts';
import {
  areaExtents,
  checkLayout,
  devicesMin,
  geometryOf,
  type Layout,
  layouts,
  logicalExtents,
  physicalExtents,
} from './layouts.ts';

type Row = readonly [layout: Layout, devices: number, logical: bigint, physical: bigint];

/** What ten extents become, as LVM makes them. */
const rows: readonly Row[] = [
  [{ kind: 'linear' }, 1, 10n, 10n],
  [{ kind: 'striped', stripes: 1 }, 1, 10n, 10n],
  [{ kind: 'striped', stripes: 3 }, 3, 12n, 12n],
  [{ kind: 'raid1', mirrors: 1 }, 2, 10n, 22n],
  [{ kind: 'raid1', mirrors: 3 }, 4, 10n, 44n],
  [{ kind: 'raid4', stripes: 2 }, 3, 10n, 18n],
  [{ kind: 'raid5', stripes: 2 }, 3, 10n, 18n],
  [{ kind: 'raid5', stripes: 4 }, 5, 12n, 20n],
  [{ kind: 'raid6', stripes: 3 }, 5, 12n, 25n],
  [{ kind: 'raid10', stripes: 2, mirrors: 1 }, 4, 10n, 24n],
  [{ kind: 'raid10', stripes: 3, mirrors: 1 }, 6, 12n, 30n],
];

for (const [layout, devices, logical, physical] of rows) {
  const counts = Object.entries(layout).slice(1).flat().join(' ');
  test(`ten extents of ${layout.kind} ${counts} are ${physical} on ${devices} devices`, () => {
    assert.equal(devicesMin(layout), devices);
    const geometry = geometryOf(layout);
    assert.ok(geometry !== undefined);
    assert.equal(logicalExtents(geometry, 10n), logical);
    assert.equal(physicalExtents(geometry, 10n), physical);
  });
}

test('a thin volume takes nothing of its group', () => {
  assert.equal(geometryOf({ kind: 'thin', pool: 'p' }), undefined);
  assert.equal(devicesMin({ kind: 'thin', pool: 'p' }), 1);
});

test('what a volume gets holds what was asked for, in whole columns, and once only', () => {
  fc.assert(
    fc.property(fc.constantFrom(...rows), fc.bigInt({ min: 1n, max: 10_000n }), ([layout], ask) => {
      const geometry = geometryOf(layout);
      assert.ok(geometry !== undefined);
      const columns = BigInt(geometry.dataColumns);
      const logical = logicalExtents(geometry, ask);
      assert.ok(logical >= ask && logical - ask < columns);
      assert.equal(areaExtents(geometry, ask) * columns, logical);
      assert.equal(logicalExtents(geometry, logical), logical);
      assert.equal(physicalExtents(geometry, logical), physicalExtents(geometry, ask));
    }),
  );
});

const wrong: readonly (readonly [layout: Layout, names: RegExp])[] = [
  [{ kind: 'striped', stripes: 0 }, /striped: stripes is 0 .*from 1 to 128/],
  [{ kind: 'striped', stripes: 1.5 }, /stripes is 1.5/],
  [{ kind: 'striped', stripes: 129 }, /stripes is 129/],
  [{ kind: 'striped', stripes: 2, stripeSizeBytes: 5000n }, /stripe size is 5000 .*power of two/],
  [{ kind: 'striped', stripes: 2, stripeSizeBytes: 2048n }, /at least 4096/],
  [{ kind: 'striped', stripes: 2, stripeSizeBytes: 0n }, /stripe size is 0/],
  [{ kind: 'raid1', mirrors: 0 }, /raid1: mirrors is 0/],
  [{ kind: 'raid1', mirrors: 11 }, /mirrors is 11 .*from 1 to 10/],
  [{ kind: 'raid5', stripes: 1 }, /raid5: stripes is 1 .*from 2/],
  [{ kind: 'raid6', stripes: 2 }, /raid6: stripes is 2 .*from 3/],
  [{ kind: 'raid10', stripes: 2, mirrors: 2 }, /raid10: mirrors is 2 .*from 1 to 1/],
  [{ kind: 'raid10', stripes: 1, mirrors: 0 }, /stripes is 1.*; mirrors is 0/],
];

for (const [layout, names] of wrong) {
  test(`refuses ${layout.kind} with ${names.source}`, () => {
    assertBlocked(checkLayout(layout) ?? {}, 'InvalidLayout', names);
  });
}

for (const [layout] of rows) {
  test(`accepts ${Object.values(layout).join(' ')}`, () => {
    assert.equal(checkLayout(layout), undefined);
  });
}

test('only layouts that need no metadata of their own can be active on several nodes', () => {
  const shared = Object.entries(layouts).filter(([, can]) => can.sharedActivation);
  assert.deepEqual(
    shared.map(([kind]) => kind),
    ['linear', 'striped'],
  );
});

test('every layout grows online, has snapshots, and copies exactly where they are CoW', () => {
  for (const can of Object.values(layouts)) {
    assert.equal(can.growOnline, true);
    assert.equal(can.clone, can.snapshots === 'thin' ? 'instant' : 'copy');
    assert.equal(can.growWithSnapshots, can.snapshots === 'thin');
  }
});
