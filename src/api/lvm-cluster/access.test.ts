import assert from 'node:assert/strict';
import { test } from 'node:test';
import { showProblem } from '../decode.ts';
import type { LvmCluster, LvmClusterSpec, LvmDeviceClass } from '../objects/lvm-cluster.ts';
import { fileSystemOf, isShared } from './access.ts';
import { checkCreation, checkUpdate } from './check.ts';

/** Who may use a volume group, and who says what is in it: neither ever changes. */

const around = { namespace: 'ns', others: [], nodes: [], reports: [] };

function cluster(spec: LvmClusterSpec): LvmCluster {
  return { metadata: { name: 'mine', namespace: 'ns', uid: 'u', resourceVersion: '1' }, spec };
}

function vg1(changes: Partial<LvmDeviceClass> = {}): LvmCluster {
  const one = { name: 'vg1', default: true, deviceSelector: { paths: ['/dev/sdb'] }, ...changes };
  return cluster({ storage: { deviceClasses: [one] } });
}

const external = cluster({ configurationPolicy: 'ExternalConfiguration' });

function refusals(was: LvmCluster | undefined, is: LvmCluster): readonly string[] {
  const { problems } = was === undefined ? checkCreation(is, around) : checkUpdate(was, is, around);
  return problems.map(showProblem);
}

const at = 'spec.storage.deviceClasses[vg1]';
const notYet = `${at}.deviceAccessPolicy is "shared": leave it out or write nodeLocal: shared \
device classes are not available yet`;
const cannot = 'it cannot be changed; make another device class';

test('a class has a file system, but for a shared one', () => {
  assert.equal(fileSystemOf({}), 'xfs');
  assert.equal(fileSystemOf({ fstype: '' }), 'xfs');
  assert.equal(fileSystemOf({ fstype: 'ext4', deviceAccessPolicy: 'local' }), 'ext4');
  assert.equal(fileSystemOf({ deviceAccessPolicy: 'shared' }), 'none');
  assert.equal(fileSystemOf({ deviceAccessPolicy: 'shared', fstype: '' }), 'none');
  assert.deepEqual(
    (['shared', 'nodeLocal', 'local'] as const).map((policy) =>
      isShared({ deviceAccessPolicy: policy }),
    ),
    [true, false, false],
  );
});

test('a shared class is refused for now, and whatever else is wrong with it is told as well', () => {
  const pool = { name: 'pool', overprovisionRatio: 10 };
  const shared = (changes: Partial<LvmDeviceClass> = {}) =>
    refusals(undefined, vg1({ deviceAccessPolicy: 'shared', ...changes }));
  assert.deepEqual(shared(), [notYet]);
  assert.deepEqual(shared({ fstype: '' }), [notYet]);
  assert.deepEqual(shared({ fstype: 'none' }), [notYet]);
  assert.deepEqual(shared({ thinPoolConfig: pool, fstype: 'xfs' }), [
    notYet,
    `${at}.thinPoolConfig is "pool": leave it out: a thin pool can be used by one node at a time \
only`,
    `${at}.fstype is "xfs": leave it out or write none: volumes of a shared class are block devices`,
  ]);
});

test('a class never changes between shared and local', () => {
  const [shared, local] = [
    vg1({ deviceAccessPolicy: 'shared' }),
    vg1({ deviceAccessPolicy: 'local' }),
  ];
  assert.deepEqual(refusals(local, shared), [
    notYet,
    `${at}.deviceAccessPolicy is "shared": keep it at "nodeLocal": ${cannot}`,
    `${at}.fstype is "none": keep it at "xfs": ${cannot}`,
  ]);
  assert.deepEqual(refusals(shared, local), [
    `${at}.deviceAccessPolicy is "nodeLocal": keep it at "shared": ${cannot}`,
    `${at}.fstype is "xfs": keep it at "none": ${cannot}`,
  ]);
  assert.deepEqual(refusals(local, vg1()), []);
  assert.deepEqual(refusals(vg1(), vg1({ deviceAccessPolicy: 'nodeLocal' })), []);
});

test('lvmd.yaml belongs to the administrator, or follows from classes, for ever', () => {
  const change = (from: string, to: string) =>
    `spec.configurationPolicy is "${to}": keep it at ${from}: delete the LVMCluster and make it \
anew to change it`;
  assert.deepEqual(refusals(external, vg1()), [change('ExternalConfiguration', 'Managed')]);
  assert.deepEqual(refusals(external, cluster({})), [change('ExternalConfiguration', 'Managed')]);
  assert.deepEqual(refusals(cluster({ configurationPolicy: 'Managed' }), external), [
    change('Managed', 'ExternalConfiguration'),
  ]);
  assert.deepEqual(refusals(cluster({}), external), [], 'one that said nothing meant the same');
  assert.deepEqual(refusals(vg1(), { ...vg1(), spec: { ...vg1().spec, ...external.spec } }), [
    'spec.storage.deviceClasses is ["vg1"]: leave the classes out: with configurationPolicy \
ExternalConfiguration lvmd.yaml on each node says what there is',
    change('Managed', 'ExternalConfiguration'),
  ]);
});

test('a ratio that LVMS let pass may stay, and no such ratio is new', () => {
  const thin = (overprovisionRatio: number, sizePercent?: number) =>
    vg1({
      thinPoolConfig: {
        ...{ name: 'pool', overprovisionRatio },
        ...(sizePercent === undefined ? {} : { sizePercent }),
      },
    });
  const remedy = 'write a number from 1 to 100';
  const field = `${at}.thinPoolConfig.overprovisionRatio`;
  assert.deepEqual(refusals(undefined, thin(100)), []);
  assert.deepEqual(refusals(undefined, thin(101)), [`${field} is 101: ${remedy}`]);
  assert.deepEqual(refusals(thin(200), thin(150)), [`${field} is 150: ${remedy}`]);
  assert.deepEqual(refusals(thin(200), thin(10)), []);
  const { problems, warnings } = checkUpdate(thin(200), thin(200, 90), around);
  assert.deepEqual(problems, []);
  assert.deepEqual(warnings, [`${field} is 200: ${remedy}`]);
});
