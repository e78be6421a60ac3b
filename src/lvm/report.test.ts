import assert from 'node:assert/strict';
import test from 'node:test';
import { readRecorded, recordedNames, type Suite, suites } from '../../test/fixtures/recorded.ts';
import { type Bytes, KiB, MiB, sum, times } from '../base/bytes.ts';
import { OperationError } from '../base/failures.ts';
import type { ObservedHost, ObservedLv, ObservedVg } from '../core/observed.ts';
import { parseHost, parseLabels } from './report.ts';

function hostOf(suite: Suite, name: string): ObservedHost {
  return parseHost(readRecorded(suite, `host-${name}`).stdout);
}

/** The only volume group of a recorded host. */
function vgOf(suite: Suite, name: string): ObservedVg {
  const { vgs } = hostOf(suite, name);
  const [vg] = vgs;
  assert.ok(vg !== undefined && vgs.length === 1, `${vgs.length} groups`);
  return vg;
}

function lvOf(vg: ObservedVg, name: string): ObservedLv {
  const lv = vg.lvs.find((candidate) => candidate.name === name);
  assert.ok(lv !== undefined, `no volume ${name}`);
  return lv;
}

function mebibytes(count: number): Bytes {
  return times(MiB, count);
}

/** What a test says of a value; everything else in it is free. */
function assertIs<T extends object>(actual: T, expected: Partial<T>, of = ''): void {
  for (const [key, value] of Object.entries(expected)) {
    assert.deepEqual(actual[key as keyof T], value, `${of} ${key}`);
  }
}

const uuid = /^[A-Za-z0-9]{6}(-[A-Za-z0-9]{4}){5}-[A-Za-z0-9]{6}$/;

const inThePool = { kind: 'thin', pool: 'pool', sizeBytes: mebibytes(64), dataPercent: 12.5 };

/** One volume of each layout, as the scene `layouts` makes them. */
const layouts: Readonly<Record<string, Partial<ObservedLv>>> = {
  linear: { kind: 'linear', sizeBytes: mebibytes(16), stripes: 1, dataColumns: 1 },
  striped: { kind: 'striped', sizeBytes: mebibytes(16), stripes: 2, dataColumns: 2 },
  raid1: { kind: 'raid1', sizeBytes: mebibytes(16), stripes: 2, dataColumns: 1, syncPercent: 100 },
  'raid1-three': { kind: 'raid1', sizeBytes: mebibytes(16), stripes: 3, dataColumns: 1 },
  raid4: { kind: 'raid4', sizeBytes: mebibytes(16), stripes: 3, dataColumns: 2, syncPercent: 100 },
  raid5: { kind: 'raid5', sizeBytes: mebibytes(16), stripes: 3, dataColumns: 2, syncPercent: 100 },
  raid6: { kind: 'raid6', sizeBytes: mebibytes(24), stripes: 5, dataColumns: 3, syncPercent: 100 },
  raid10: { kind: 'raid10', sizeBytes: mebibytes(16), stripes: 4, dataColumns: 2 },
  sleeping: { kind: 'linear', isActive: false, isOpen: false },
  pool: {
    ...{ kind: 'thin-pool', sizeBytes: mebibytes(32), isInternal: false, dataPercent: 25 },
    ...{ metadataSizeBytes: mebibytes(4), chunkSizeBytes: times(KiB, 64), tags: ['quarry'] },
  },
  thin: { ...inThePool, kind: 'thin', origin: undefined, isReadOnly: false },
  'thin-read-only': { ...inThePool, kind: 'thin', origin: 'thin', isReadOnly: true },
  'thin-clone': { ...inThePool, kind: 'thin', origin: 'thin', isReadOnly: false },
  'origin-good': { kind: 'linear', sizeBytes: mebibytes(32), origin: undefined },
  'snap-good': {
    ...{ kind: 'cow-snapshot', origin: 'origin-good', isReadOnly: true, isInvalid: false },
    ...{ sizeBytes: mebibytes(32), ownSizeBytes: mebibytes(16) },
  },
  'origin-spilled': { kind: 'linear', sizeBytes: mebibytes(32) },
  'snap-spilled': {
    ...{ kind: 'cow-snapshot', origin: 'origin-spilled', isInvalid: true, dataPercent: 100 },
    ...{ sizeBytes: mebibytes(32), ownSizeBytes: mebibytes(4) },
  },
};

/** What a broken or unusual group shows, and what of it a decision needs. */
const groups: readonly (readonly [string, Partial<ObservedVg>])[] = [
  ['exported', { isExported: true, isWritable: true }],
  ['read-only', { isExported: false, isWritable: false }],
  ['partial', { isPartial: true }],
  ['raid-degraded', { isPartial: true }],
  ['pulled', { isPartial: true }],
  ['dead-disk', { isPartial: true }],
  ['raid-leg-back', { isPartial: false }],
  ['lost-device', { isPartial: true, lvs: [] }],
  ['lost-device-dropped', { isPartial: false, lvs: [] }],
  ['steps', { isPartial: false, tags: ['quarry', 'quarry.class=ssd/1:a!20.b'], lockType: '' }],
];

const volumes: readonly (readonly [string, string, Partial<ObservedLv>])[] = [
  ['partial', 'broken', { health: 'partial', isActive: false }],
  ['partial', 'whole', { health: '', isActive: true, tags: ['a', 'quarry', 'quarry.pending'] }],
  ['raid-degraded', 'mirror', { kind: 'raid1', health: 'partial', isActive: true }],
  ['raid-failed-leg', 'mirror', { kind: 'raid1', health: 'partial', isActive: true }],
  ['raid-leg-back', 'mirror', { kind: 'raid1', health: 'refresh needed', isActive: true }],
  ['dead-disk', 'one', { kind: 'linear', health: 'partial', isActive: true }],
  ['pool-full', 'pool', { health: 'out_of_data', dataPercent: 100, isInvalid: false }],
  ['pool-metadata-full', 'pool', { health: 'metadata_read_only', metadataPercent: 100 }],
  ['pool-broken', 'pool', { isActive: false, dataPercent: undefined, health: '' }],
  ['suspended', 'one', { isSuspended: true, isActive: true }],
  ['in-use', 'mounted', { isOpen: true }],
  ['in-use', 'opened', { isOpen: true }],
  ['in-use', 'held', { isOpen: true }],
  // LVM hides the volume that moves the extents, and the moved one keeps its layout.
  ['evacuating', 'one', { kind: 'linear', isActive: true, sizeBytes: mebibytes(128) }],
  ['killed-create-lv', 'one', { isActive: false, tags: ['quarry', 'quarry.pending'] }],
  ['killed-create-raid1', 'whole', { kind: 'raid1', isActive: false, isInternal: false }],
  [
    'killed-create-raid1',
    'whole_rmeta_0',
    { isInternal: true, tags: ['quarry', 'quarry.pending'] },
  ],
  ['killed-create-raid1', 'whole_rmeta_1', { isInternal: true }],
  // It has no name of ours and no tags, and yet it is known what it was to become.
  [
    'killed-create-thin-pool',
    'lvol0',
    { kind: 'linear', isInternal: false, tags: [], madeFor: 'whole' },
  ],
  // The metadata has grown, the suspended device has not: LVM cannot tell its state.
  ['killed-extend-lv', 'one', { isActive: false, sizeBytes: mebibytes(32) }],
];

for (const suite of suites) {
  test(`${suite}: a host without LVM has nothing`, () => {
    assert.deepEqual(hostOf(suite, 'blank'), { vgs: [], orphanPvs: [] });
  });

  for (const [name, expected] of Object.entries(layouts)) {
    test(`${suite}: ${name} is read as what it is`, () => {
      const lv = lvOf(vgOf(suite, 'layouts'), name);
      assertIs(lv, { isInternal: false, isSuspended: false, health: '', ...expected }, name);
      assert.match(lv.uuid, uuid);
    });
  }

  test(`${suite}: a group of every layout adds up, and no sub-volume is in it`, () => {
    const vg = vgOf(suite, 'layouts');
    assertIs(vg, { name: 'data', tags: ['quarry'], extentSizeBytes: mebibytes(4) });
    assertIs(vg, { isPartial: false, isExported: false, isWritable: true, systemId: '' });
    assert.deepEqual(vg.lvs.map((lv) => lv.name).toSorted(), Object.keys(layouts).toSorted());
    assert.equal(vg.freeBytes, sum(...vg.pvs.map((pv) => pv.freeBytes)));
    assert.equal(vg.sizeBytes, sum(...vg.pvs.map((pv) => pv.sizeBytes)));
    assert.equal(vg.pvs.length, 6);
    for (const pv of vg.pvs) assertIs(pv, { isMissing: false, isAllocatable: true }, pv.device);
    assert.ok(vg.sequence > 0n && vg.metadataFreeBytes < vg.metadataSizeBytes);
  });

  test(`${suite}: a snapshot names its origin by UUID too`, () => {
    const vg = vgOf(suite, 'layouts');
    assert.equal(lvOf(vg, 'snap-good').originUuid, lvOf(vg, 'origin-good').uuid);
    assert.equal(lvOf(vg, 'thin-clone').originUuid, lvOf(vg, 'thin').uuid);
    assert.equal(lvOf(vg, 'thin').originUuid, undefined);
  });

  test(`${suite}: a CoW snapshot tells how full it is`, () => {
    const { dataPercent = 0 } = lvOf(vgOf(suite, 'layouts'), 'snap-good');
    assert.ok(dataPercent > 10 && dataPercent < 20, `${dataPercent} %`);
  });

  test(`${suite}: a PV without a group is an orphan`, () => {
    const { disks } = readRecorded(suite, 'host-layouts');
    const { orphanPvs } = hostOf(suite, 'layouts');
    assert.deepEqual(
      orphanPvs.map((pv) => pv.device),
      [disks['g']],
    );
    assert.deepEqual(hostOf(suite, 'orphan').vgs, []);
    assert.equal(hostOf(suite, 'orphan').orphanPvs.length, 1);
  });

  for (const [name, expected] of groups) {
    test(`${suite}: the group of "${name}" is read as what it is`, () => {
      assertIs(vgOf(suite, name), expected, name);
    });
  }

  for (const [host, name, expected] of volumes) {
    test(`${suite}: ${name} of "${host}" is read as what it is`, () => {
      assertIs(lvOf(vgOf(suite, host), name), expected, name);
    });
  }

  test(`${suite}: a RAID that is not in sync says so`, () => {
    const { syncPercent } = lvOf(vgOf(suite, 'raid-syncing'), 'mirror');
    assert.ok(syncPercent !== undefined && syncPercent < 100, `${syncPercent} %`);
  });

  for (const name of ['partial', 'raid-degraded', 'pulled', 'dead-disk']) {
    test(`${suite}: the missing device of "${name}" keeps its UUID and its size`, () => {
      const missing = vgOf(suite, name).pvs.filter((pv) => pv.isMissing);
      assert.equal(missing.length, 1);
      for (const pv of missing) {
        assert.equal(pv.device, '[unknown]');
        assert.match(pv.uuid, uuid);
        assert.ok(pv.sizeBytes > 0n);
      }
    });
  }

  test(`${suite}: a device that may not be allocated from is told from the others`, () => {
    const { disks } = readRecorded(suite, 'host-not-allocatable');
    const byDevice = vgOf(suite, 'not-allocatable').pvs.map((pv) => [pv.device, pv.isAllocatable]);
    assert.deepEqual(Object.fromEntries(byDevice), {
      [disks['a'] ?? '']: true,
      [disks['b'] ?? '']: false,
    });
  });

  test(`${suite}: two groups of one name are two groups`, () => {
    const { vgs } = hostOf(suite, 'same-name');
    assert.deepEqual(
      vgs.map((vg) => vg.name),
      ['data', 'data'],
    );
    assert.equal(new Set(vgs.map((vg) => vg.uuid)).size, 2);
  });

  // Their devices are no orphans either: `lookLabels` does not list them, see devices.test.ts.
  for (const name of ['foreign', 'shared']) {
    test(`${suite}: a group that is ${name} is not shown, nor are its devices`, () => {
      assert.deepEqual(hostOf(suite, name), { vgs: [], orphanPvs: [] });
    });
  }

  test(`${suite}: the devices file hides a group from the look at the host`, () => {
    const { vgs, orphanPvs } = hostOf(suite, 'devices-file');
    assert.deepEqual([vgs.length, orphanPvs.length], [0, 1]);
  });

  test(`${suite}: full metadata shows as no free metadata`, () => {
    const vg = vgOf(suite, 'metadata-full');
    assert.ok(vg.metadataFreeBytes < 1024n && vg.metadataSizeBytes > 1_000_000n);
  });

  test(`${suite}: a volume that could not be activated is taken back by lvm`, () => {
    const names = vgOf(suite, 'dm-name-taken').lvs.map((lv) => lv.name);
    assert.deepEqual(names, ['copy', 'one']);
  });

  test(`${suite}: removing a half-made RAID takes its parts along`, () => {
    assert.deepEqual(vgOf(suite, 'half-made-removed').lvs, []);
  });

  test(`${suite}: every recorded look at a host is readable, and half of it never is`, () => {
    for (const name of recordedNames(suite).filter((candidate) => candidate.startsWith('host-'))) {
      const { stdout, exitCode } = readRecorded(suite, name);
      assert.equal(exitCode, 0, name);
      parseHost(stdout);
      const cut = stdout.slice(0, Math.floor(stdout.length / 2));
      assert.throws(() => parseHost(cut), isUnreadable, name);
    }
  });
}

function isUnreadable(error: unknown): boolean {
  return error instanceof OperationError && error.code === 'UnreadableReport';
}

const good = readRecorded('trixie', 'host-steps').stdout;

const spoiled: readonly (readonly [string, string])[] = [
  ['nothing at all', ''],
  ['a list', '[]'],
  ['an empty object', '{}'],
  ['a group without volumes', good.replace('"lv": [', '"lv_": [')],
  ['a group without devices', good.replace('"pv": [', '"pv_": [')],
  ['a report that is no list', '{"report": {}}'],
  ['rows that are no objects', '{"report": [1]}'],
  ['a size with a unit', good.replace(/"vg_size":"(\d+)"/, '"vg_size":"$1B"')],
  ['a size below nothing', good.replace(/"lv_size":"(\d+)"/, '"lv_size":"-1"')],
  ['a percentage in words', good.replace(/"data_percent":"0.00"/, '"data_percent":"full"')],
  ['attributes of another length', good.replace(/("lv_attr":"[^"]*)."/, '$1"')],
  ['a name that is missing', good.replace(/"lv_name":"one", /, '')],
  ['a UUID that is a number', good.replace(/"vg_uuid":"[^"]*"/, '"vg_uuid":1')],
];

for (const [what, output] of spoiled) {
  test(`refuses ${what} in a report`, () => {
    assert.throws(() => parseHost(output), isUnreadable);
  });
}

test('refuses labels without a report', () => {
  for (const output of ['', '{}', '{"report": []}', '{"report": [{"pv": [{}]}]}']) {
    assert.throws(() => parseLabels(output), isUnreadable, output);
  }
});
