import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { show } from '../../base/show.ts';
import { showProblem } from '../decode.ts';
import type { LvmCluster, LvmDeviceClass } from '../objects/lvm-cluster.ts';
import { judgeVolumeGroup } from './admission.ts';
import { checkCreation, checkUpdate, type Surroundings } from './check.ts';

/** What LVM would refuse is refused before anything is made of it: nobody can change it later. */

const around: Surroundings = { ...{ namespace: 'ns', others: [], nodes: [], reports: [] } };
const metadata = { name: 'mine', namespace: 'ns', uid: 'u', resourceVersion: '1' };

type Parts = Partial<LvmDeviceClass>;

function of(parts: Parts, others: readonly LvmDeviceClass[] = []): LvmCluster {
  const deviceSelector = { paths: ['/dev/a'] };
  const one: LvmDeviceClass = { name: 'vg1', default: true, deviceSelector, ...parts };
  return { metadata, spec: { storage: { deviceClasses: [one, ...others] } } };
}

function pool(changes: Partial<NonNullable<Parts['thinPoolConfig']>>): Parts {
  return { thinPoolConfig: { name: 'pool', overprovisionRatio: 10, ...changes } };
}

const at = 'spec.storage.deviceClasses[vg1]';
const otherName = 'write another name, such as thin-pool-1';
const letters = 'only letters, digits and . _ + - are allowed, and no - in front';

function raid(raidConfig: NonNullable<Parts['raidConfig']>, disks: number): Parts {
  const paths = Array.from({ length: disks }, (_, index) => `/dev/disk${index}`);
  return { raidConfig, deviceSelector: { paths } };
}

type Row = readonly [parts: Parts, field: string, value: unknown, remedy: string];

const names: readonly (readonly [name: string, why: string])[] = [
  ['', 'it is empty or dots'],
  ['..', 'it is empty or dots'],
  ['my pool', letters],
  ['-x', letters],
  ['a/b', letters],
  ['pool\n', letters],
  ['pvmove0', 'LVM keeps this name for itself'],
  ['snapshot1', 'LVM keeps this name for itself'],
  ['x_tmeta', 'LVM keeps this name for itself'],
  ['x'.repeat(130), 'it is longer than 127 characters'],
  ['x'.repeat(125), 'with its group vg1 it makes a device name of more than 127 characters'],
];

const ofNames: readonly Row[] = names.map(([name, why]) => [
  pool({ name }),
  'thinPoolConfig.name',
  name,
  `${otherName}: ${why}`,
]);

// The schema lets numbers pass as sizes, too.
const ofChunks: readonly Row[] = ['100Ki', '65537', 65_537 as never, '32Ki', '2Gi', '1'].map(
  (chunkSize) => [
    pool({ chunkSize }),
    'thinPoolConfig.chunkSize',
    chunkSize,
    'write a multiple of 64Ki from 64Ki to 1Gi',
  ],
);

const ofStripeSizes: readonly Row[] = ['1', '512', '2Ki'].map((stripeSize) => [
  raid({ type: 'raid5', stripeSize }, 3),
  'raidConfig.stripeSize',
  stripeSize,
  'write at least 4Ki: lvm makes no smaller stripes',
]);

const eleven = raid({ type: 'raid1', mirrors: 11 }, 12);

/** As lvcreate counts: 64 disks with parity and copies. */
const mostStripes = { raid4: 63, raid5: 63, raid6: 62, raid10: 32 };

const ofCounts: readonly Row[] = [
  [eleven, 'raidConfig.mirrors', 11, 'write at most 10: no more copies are made'],
  ...Object.entries(mostStripes).map(([type, most]): Row => {
    const parts = raid({ type: type as never, stripes: most + 1 }, 130);
    return [parts, 'raidConfig.stripes', most + 1, `write at most ${most}: lvm takes no more`];
  }),
];

const rows = [...ofNames, ...ofChunks, ...ofStripeSizes, ...ofCounts];

describe('what LVM takes in no class is refused', () => {
  for (const [parts, field, value, remedy] of rows) {
    test(`${field} ${show(value).slice(0, 40)}`, () => {
      const told = `${at}.${field} is ${show(value)}: ${remedy}`;
      assert.deepEqual(checkCreation(of(parts), around).problems.map(showProblem), [told]);
      const { name: _name, ...spec } = of(parts).spec?.storage?.deviceClasses?.[0] ?? { name: '' };
      const object = { metadata: { ...metadata, name: 'vg1' }, spec: { ...spec, default: true } };
      const { message } = judgeVolumeGroup({ operation: 'CREATE', object }, of(parts));
      assert.equal(message, told, 'and in its volume group');
    });
    test(`${field} ${show(value).slice(0, 40)} may stay where it is, and is told`, () => {
      const more = of(parts, [{ name: 'vg2', deviceSelector: { paths: ['/dev/b'] } }]);
      const { problems, warnings } = checkUpdate(of(parts), more, around);
      assert.deepEqual(problems.map(showProblem), []);
      assert.deepEqual(warnings, [`${at}.${field} is ${show(value)}: ${remedy}`]);
    });
  }
});

const right: readonly Parts[] = [
  pool({ name: 'thin-pool-1' }),
  pool({ name: '_.+-' }),
  pool({ name: 'x'.repeat(123) }),
  pool({ chunkSize: '64Ki' }),
  pool({ chunkSize: '192Ki' }),
  pool({ chunkSize: 65_536 as never }),
  pool({ chunkSize: '1Gi' }),
  raid({ type: 'raid5', stripeSize: '4Ki' }, 3),
  raid({ type: 'raid5', stripeSize: '4096' }, 3),
  raid({ type: 'raid1', mirrors: 10 }, 11),
  raid({ type: 'raid5', stripes: 63 }, 64),
  raid({ type: 'raid6', stripes: 62 }, 64),
  raid({ type: 'raid10', stripes: 32 }, 64),
];

test('what LVM takes is not refused', () => {
  for (const parts of right) {
    assert.deepEqual(checkCreation(of(parts), around).problems.map(showProblem), [], show(parts));
  }
});
