import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  extents,
  hostOf,
  nodeOf,
  sampleCow,
  sampleDevice,
  sampleLv,
  samplePool,
  samplePv,
  sampleThin,
  sampleVg,
  vgWithFree,
} from '../../test/samples/observed.ts';
import { sampleSteps } from '../../test/samples/steps.ts';
import { bytes, MiB, times } from '../base/bytes.ts';
import { limits } from '../base/limits.ts';
import { geometryOf, type Layout, physicalExtents } from './layouts.ts';
import type { ObservedHost, ObservedVg } from './observed.ts';
import { foreseen, isForeseen, predict } from './predict.ts';
import { staleReason } from './stale.ts';
import type { Step, StepKind } from './step.ts';

const lvs = [sampleLv(), samplePool(), sampleCow(), sampleThin({ name: 't1' })];
const used = samplePv({ freeBytes: extents(600) });
const other = samplePv({ device: '/dev/sdc', freeBytes: extents(500) });
const disk = sampleDevice({ path: '/dev/sdb' });
const world = (given: Partial<ObservedVg> = {}) =>
  nodeOf([disk], { vgs: [sampleVg({ lvs, pvs: [used, other], ...given })] });

function vgAfter(step: Step, host: ObservedHost = world()): ObservedVg {
  const vg = predict(host, step).vgs.find((candidate) => candidate.name === 'vg1');
  assert.ok(vg !== undefined);
  return vg;
}

/** Steps that make or move something. None may leave more room than there was. */
const takers: readonly (readonly [kind: StepKind, extents: number])[] = [
  ['create-thin-pool', 22],
  ['extend-thin-pool', 20],
  ['extend-thin-pool-metadata', 4],
  ['create-lv', 5],
  ['extend-lv', 5],
  ['create-thin-snapshot', 0],
  ['create-cow-snapshot', 4],
  ['activate-lv', 0],
  ['change-tags', 0],
  ['copy-range', 0],
  ['evacuate-pv', 0],
  ['remove-lv', 0],
];

for (const [kind, count] of takers) {
  test(`${kind} is foreseen to take ${count} extents`, () => {
    const before = world().vgs[0];
    const after = vgAfter(sampleSteps[kind]);
    assert.equal((before?.freeBytes ?? 0n) - after.freeBytes, extents(count));
    assert.equal(after.sizeBytes, before?.sizeBytes);
  });
}

test('other groups are left as they are by every step on one', () => {
  const second = sampleVg({ name: 'vg3', lvs });
  for (const step of Object.values<Step>(sampleSteps)) {
    const node = { ...world(), vgs: [...world().vgs, second] };
    assert.ok(predict(node, step).vgs.includes(second), step.kind);
  }
});

const layout: fc.Arbitrary<Layout> = fc.constantFrom<Layout>(
  ...([
    { kind: 'linear' },
    { kind: 'striped', stripes: 2 },
    { kind: 'raid1', mirrors: 1 },
    { kind: 'raid5', stripes: 2 },
    { kind: 'raid10', stripes: 2, mirrors: 1 },
    { kind: 'thin', pool: 'pool0' },
  ] as const),
);

test('making a volume never frees anything, and takes from usable devices only', () => {
  const worlds = fc.record({
    free: fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 5 }),
    closed: fc.nat({ max: 4 }),
    layout,
    size: fc.integer({ min: 1, max: 60 }),
  });
  fc.assert(
    fc.property(worlds, ({ free, closed, layout: shape, size }) => {
      const open = vgWithFree(free, { lvs: [samplePool()] });
      const pvs = open.pvs.map((pv, index) => ({ ...pv, isAllocatable: index !== closed }));
      const vg = { ...open, pvs };
      const step = { ...sampleSteps['create-lv'], layout: shape, sizeBytes: extents(size) };
      const after = vgAfter(step, hostOf(vg));
      after.pvs.forEach((pv, index) => {
        const before = vg.pvs[index];
        assert.ok(before !== undefined && pv.freeBytes >= 0n);
        assert.ok(pv.freeBytes <= before.freeBytes);
      });
      const geometry = geometryOf(shape);
      const cost = geometry === undefined ? 0n : physicalExtents(geometry, BigInt(size));
      const taken = vg.freeBytes - after.freeBytes;
      // A step that cannot fit is foreseen to leave nothing, never to cost nothing.
      if (after.freeBytes === 0n) return;
      assert.equal(taken, extents(cost));
      assert.deepEqual(after.pvs[closed], pvs[closed]);
    }),
    { numRuns: 300 },
  );
});

test('the areas of a mirror are taken from different devices', () => {
  const vg = vgWithFree([10, 2, 2]);
  const raid1 = { kind: 'raid1', mirrors: 1 } as const;
  const step = { ...sampleSteps['create-lv'], layout: raid1, sizeBytes: extents(1) };
  assert.deepEqual(
    vgAfter(step, hostOf(vg)).pvs.map((pv) => pv.freeBytes),
    [extents(8), extents(0), extents(2)],
  );
});

test('a new volume is foreseen with its size, marks and shape, active, and without identity', () => {
  const raid5 = { kind: 'raid5', stripes: 2 } as const;
  const after = vgAfter({ ...sampleSteps['create-lv'], layout: raid5, sizeBytes: extents(6) });
  const lv = after.lvs.find((candidate) => candidate.name === 'v2');
  assert.ok(lv !== undefined && isForeseen(lv.uuid));
  const { kind, sizeBytes, tags, isActive, stripes, dataColumns, pool } = lv;
  assert.deepEqual(
    { kind, sizeBytes, tags, isActive, stripes, dataColumns, pool },
    {
      kind: 'raid5',
      sizeBytes: extents(6),
      tags: ['quarry'],
      isActive: true,
      stripes: 3,
      dataColumns: 2,
      pool: undefined,
    },
  );
});

test('a thin volume is foreseen in its pool, and so is a thin snapshot', () => {
  const thin = { kind: 'thin', pool: 'pool0' } as const;
  const made = vgAfter({ ...sampleSteps['create-lv'], layout: thin });
  assert.equal(made.lvs.at(-1)?.pool, 'pool0');
  const step = { ...sampleSteps['create-thin-snapshot'], origin: 't1', originUuid: 'uuid-t1' };
  const snapshot = vgAfter(step).lvs.at(-1);
  assert.deepEqual(
    [snapshot?.name, snapshot?.pool, snapshot?.origin, snapshot?.sizeBytes],
    ['s2', 'pool0', 't1', extents(10)],
  );
});

test('a CoW snapshot is foreseen with the size of its origin and its own room', () => {
  const snapshot = vgAfter(sampleSteps['create-cow-snapshot']).lvs.at(-1);
  assert.deepEqual(
    [snapshot?.kind, snapshot?.origin, snapshot?.sizeBytes, snapshot?.ownSizeBytes],
    ['cow-snapshot', 'v1', extents(10), extents(4)],
  );
});

test('a thin volume grows without taking anything of its group', () => {
  const step = { ...sampleSteps['extend-lv'], lv: 't1', lvUuid: 'uuid-t1', sizeBytes: extents(90) };
  const vg = vgAfter(step);
  assert.equal(vg.lvs.find((lv) => lv.name === 't1')?.sizeBytes, extents(90));
  assert.equal(vg.freeBytes, extents(1100));
});

test('a CoW snapshot grows in room, not in size', () => {
  const step = { ...sampleSteps['extend-lv'], lv: 's1', lvUuid: 'uuid-s1', sizeBytes: extents(30) };
  const vg = vgAfter(step);
  const snapshot = vg.lvs.find((lv) => lv.name === 's1');
  assert.deepEqual(
    [snapshot?.sizeBytes, snapshot?.ownSizeBytes, snapshot?.dataPercent],
    [extents(10), extents(30), 0],
  );
  assert.equal(vg.freeBytes, extents(1100 - 10));
});

const effects: readonly (readonly [StepKind, (vg: ObservedVg) => unknown, unknown])[] = [
  ['extend-lv', (vg) => vg.lvs[0]?.sizeBytes, extents(15)],
  ['extend-thin-pool', (vg) => vg.lvs[1]?.sizeBytes, extents(120)],
  ['extend-thin-pool-metadata', (vg) => vg.lvs[1]?.metadataSizeBytes, extents(3)],
  ['change-tags', (vg) => vg.lvs[0]?.tags, ['a']],
  ['copy-range', (vg) => vg.lvs[0]?.tags, ['quarry', 'quarry.copied=4194304']],
  ['remove-lv', (vg) => vg.lvs.map((lv) => lv.name), ['pool0', 's1', 't1']],
  ['evacuate-pv', (vg) => vg.pvs.map((pv) => pv.freeBytes), [extents(100), extents(1000)]],
  ['reduce-vg', (vg) => vg.pvs.map((pv) => pv.device), ['/dev/sdc']],
  ['create-thin-pool', (vg) => vg.lvs.at(-1)?.kind, 'thin-pool'],
];

for (const [kind, read, expected] of effects) {
  test(`${kind} is foreseen to have its effect`, () => {
    assert.deepEqual(read(vgAfter(sampleSteps[kind])), expected);
  });
}

test('a group without what it misses is foreseen whole', () => {
  const host = world({ isPartial: true, pvs: [used, { ...other, isMissing: true }] });
  const vg = vgAfter(sampleSteps['drop-missing'], host);
  assert.equal(vg.isPartial, false);
  assert.deepEqual(vg.pvs, [used]);
  assert.equal(vg.sizeBytes, used.sizeBytes);
});

test('activation is foreseen', () => {
  const host = world({ lvs: [sampleLv({ isActive: false })] });
  assert.equal(vgAfter(sampleSteps['activate-lv'], host).lvs[0]?.isActive, true);
});

test('a group is foreseen with what its devices leave beside the metadata', () => {
  const { vgs } = predict(nodeOf([disk]), sampleSteps['create-vg']);
  const [vg] = vgs;
  assert.ok(vg !== undefined && isForeseen(vg.uuid));
  assert.deepEqual([vg.name, vg.tags, vg.lvs], ['vg2', ['lvms'], []]);
  const most = disk.sizeBytes - limits.vgMetadataBytes - MiB;
  assert.ok(vg.sizeBytes <= most && vg.sizeBytes > most - vg.extentSizeBytes);
  assert.equal(vg.sizeBytes % vg.extentSizeBytes, 0n);
  assert.equal(vg.freeBytes, vg.sizeBytes);
});

test('an extended group is foreseen with the new device', () => {
  const vg = vgAfter(sampleSteps['extend-vg']);
  assert.deepEqual(
    vg.pvs.map((pv) => pv.device),
    ['/dev/sda', '/dev/sdc', '/dev/sdb'],
  );
  assert.ok(vg.sizeBytes > times(bytes(extents(2000)), 1));
});

test('a removed group is foreseen to be gone', () => {
  assert.deepEqual(predict(world(), sampleSteps['remove-vg']).vgs, []);
});

test('a wiped device is foreseen empty, its partitions gone', () => {
  const node = nodeOf([
    sampleDevice({
      path: '/dev/sdb',
      holders: ['/dev/sdb1'],
      partitionTable: 'gpt',
      signatures: { kind: 'found', types: ['gpt'] },
    }),
    sampleDevice({ path: '/dev/sdb1', type: 'part' }),
    sampleDevice({ path: '/dev/sdc', fileSystem: 'xfs' }),
  ]);
  const { devices } = predict(node, sampleSteps['wipe-device']);
  assert.deepEqual(devices, [sampleDevice({ path: '/dev/sdb' }), node.devices[2]]);
});

test('a step is stale in the world it is foreseen to make, where doing it twice would harm', () => {
  for (const kind of ['create-lv', 'create-vg', 'create-thin-pool', 'remove-lv'] as const) {
    const step = sampleSteps[kind];
    assert.notEqual(staleReason(step, predict(world(), step)), undefined, kind);
  }
});

test('a step on what is not there is foreseen to change nothing', () => {
  const before = world({ lvs: [] });
  for (const kind of ['extend-lv', 'extend-thin-pool', 'activate-lv', 'remove-lv'] as const) {
    assert.deepEqual(predict(before, sampleSteps[kind]), before, kind);
  }
  const elsewhere = { ...sampleSteps['evacuate-pv'], pvUuid: 'other' };
  assert.deepEqual(predict(before, elsewhere), before);
});

test('what LVM has not yet named is never mistaken for an identity of LVM', () => {
  assert.ok(isForeseen(foreseen('v1')));
  assert.ok(!isForeseen('qUlN3i-uJZ4-Kx3F-Wc9v-8gtR-jXvJ-1h4dXs'));
});

test('a group that goes leaves the labels of its devices', () => {
  const vg = sampleVg({ pvs: [samplePv({ device: '/dev/disk/by-id/a' })] });
  const devices = [sampleDevice({ path: '/dev/sda', links: ['/dev/disk/by-id/a'] })];
  const node = { vgs: [vg], orphanPvs: [], devices };
  const after = predict(node, { ...sampleSteps['remove-vg'], vgUuid: vg.uuid });
  assert.deepEqual(after.vgs, []);
  assert.deepEqual(after.orphanPvs, vg.pvs);
  assert.deepEqual(after.devices[0]?.label, { kind: 'orphan', pvUuid: vg.pvs[0]?.uuid });
});
