import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LvmCluster, LvmDeviceClass } from '../objects/lvm-cluster.ts';
import type { LvmVolumeGroup, LvmVolumeGroupSpec } from '../objects/lvm-volume-group.ts';
import { type AdmissionView, fillInCluster, judgeCluster, judgeVolumeGroup } from './admission.ts';
import { askedAnnotations } from './asked.ts';

const metadata = { name: 'mine', namespace: 'ns', uid: 'u', resourceVersion: '1' };

function cluster(...names: readonly string[]): LvmCluster {
  const deviceClasses = names.map(
    (name, at): LvmDeviceClass => ({
      ...{ name, default: at === 0 },
      deviceSelector: { paths: [`/dev/${name}`] },
    }),
  );
  return { metadata, spec: { storage: { deviceClasses } } };
}

function view(volumes: Readonly<Record<string, readonly string[]>> = {}): AdmissionView {
  const inTheWay = (classes: readonly string[]) => classes.flatMap((name) => volumes[name] ?? []);
  const around = { namespace: 'ns', others: [], nodes: [], reports: [] };
  return { ...around, isMicroShift: false, inTheWay };
}

test('a class is filled in when its cluster is made, and never later', () => {
  const object = { metadata, spec: { storage: { deviceClasses: [{ name: 'vg1' }] } } };
  assert.equal(fillInCluster({ operation: 'CREATE', object }, view()).patch.length, 1);
  assert.deepEqual(fillInCluster({ operation: 'UPDATE', object }, view()).patch, []);
});

test('MicroShift may write its empty cluster again and again: it stays external', () => {
  const object: LvmCluster = { metadata, spec: {} };
  const filled: LvmCluster = { metadata, spec: { configurationPolicy: 'ExternalConfiguration' } };
  const there = { ...view(), isMicroShift: true };
  const path = '/spec/configurationPolicy';
  for (const operation of ['CREATE', 'UPDATE']) {
    const { patch } = fillInCluster({ operation, object }, there);
    assert.deepEqual(patch, [{ op: 'add', path, value: 'ExternalConfiguration' }]);
    assert.deepEqual(fillInCluster({ operation, object }, view()).patch, [], 'elsewhere');
    assert.deepEqual(fillInCluster({ operation, object: filled }, there).patch, []);
  }
  const going = { ...object, metadata: { ...metadata, deletionTimestamp: 'now' } };
  assert.deepEqual(fillInCluster({ operation: 'UPDATE', object: going }, there).patch, []);
  // One that LVMS made there says nothing, and meant the same.
  const update = { operation: 'UPDATE', oldObject: object, object: filled };
  assert.ok(judgeCluster(update, there).isAllowed);
  const back = { operation: 'UPDATE', oldObject: filled, object };
  assert.match(judgeCluster(back, there).message, /spec.configurationPolicy is "Managed": keep it/);
  const full = { operation: 'UPDATE', oldObject: filled, object: cluster('vg1') };
  assert.match(judgeCluster(full, there).message, /spec.configurationPolicy is "Managed": keep it/);
});

test('one that said nothing does not become one that manages nothing', () => {
  const was: LvmCluster = { metadata, spec: {} };
  const is: LvmCluster = { metadata, spec: { configurationPolicy: 'Managed' } };
  const update = { operation: 'UPDATE', oldObject: was, object: is };
  assert.match(judgeCluster(update, view()).message, /deviceClasses is missing: name at least one/);
  const same = {
    operation: 'UPDATE',
    oldObject: was,
    object: { metadata, spec: { tolerations: [] } },
  };
  assert.ok(judgeCluster(same, view()).isAllowed);
});

test('a class that is alone is the default: another one is named in its place', () => {
  const alone = (name: string, isDefault?: boolean): LvmCluster => {
    const one = { name, deviceSelector: { paths: [`/dev/${name}`] } };
    const deviceClasses = [isDefault === undefined ? one : { ...one, default: isDefault }];
    return { metadata, spec: { storage: { deviceClasses } } };
  };
  const update = { operation: 'UPDATE', oldObject: alone('vg1') };
  const { message } = judgeCluster({ ...update, object: alone('vg2') }, view());
  assert.match(message, /\[vg1\] is missing: leave it, or let another class be the default first/);
  assert.ok(judgeCluster({ ...update, object: alone('vg2', true) }, view()).isAllowed);
});

test('all that is wrong is told at once', () => {
  const object: LvmCluster = {
    metadata,
    spec: { storage: { deviceClasses: [{ name: 'vg1', default: true, fstype: 'none' }] } },
  };
  const elsewhere = { ...view(), namespace: 'other' };
  const { isAllowed, message, warnings } = judgeCluster({ operation: 'CREATE', object }, elsewhere);
  assert.equal(isAllowed, false);
  assert.equal(
    message,
    'spec.storage.deviceClasses[vg1].fstype is "none": write xfs or ext4; metadata.namespace is \
"ns": make it in other, where the operator looks for it',
  );
  assert.equal(warnings.length, 1);
});

test('a class with volumes is not taken away, and neither is a cluster with some', () => {
  const busy = view({ vg2: ['claim db/data', 'claim db/log'] });
  const [was, is] = [cluster('vg1', 'vg2'), cluster('vg1')];
  const { isAllowed, message } = judgeCluster(
    { operation: 'UPDATE', object: is, oldObject: was },
    busy,
  );
  assert.equal(isAllowed, false);
  assert.equal(
    message,
    'spec.storage.deviceClasses[vg2] is missing: keep it until they are deleted: it holds claim \
db/data and claim db/log',
  );
  assert.ok(judgeCluster({ operation: 'UPDATE', object: is, oldObject: was }, view()).isAllowed);
  const deletion = { operation: 'DELETE', oldObject: was, object: null };
  assert.equal(
    judgeCluster(deletion, busy).message,
    'LVMCluster mine cannot be deleted: it holds claim db/data and claim db/log; delete these first',
  );
  assert.ok(judgeCluster(deletion, view()).isAllowed);
  const many = view({ vg1: Array.from({ length: 9 }, (_, at) => `claim a/${at}`) });
  assert.match(judgeCluster(deletion, many).message, /claim a\/4 and 4 more;/);
});

test('marks, and the end of what is going, are never refused', () => {
  const long = cluster('a'.repeat(70));
  const marked = { ...long, metadata: { ...metadata, finalizers: ['lvmcluster.topolvm.io'] } };
  const update = { operation: 'UPDATE', oldObject: long };
  assert.ok(judgeCluster({ ...update, object: marked }, view()).isAllowed);
  assert.ok(
    judgeCluster(
      {
        ...{ operation: 'UPDATE', oldObject: cluster('vg1') },
        object: { metadata: { ...metadata, deletionTimestamp: 'now' }, spec: {} },
      },
      view(),
    ).isAllowed,
  );
});

const named = { deviceSelector: { paths: ['/dev/vg1'] } };

function group(
  name: string,
  spec: LvmVolumeGroupSpec,
  annotations: Readonly<Record<string, string>> = {},
): LvmVolumeGroup {
  return { metadata: { ...metadata, name, annotations }, spec };
}

function made(object: LvmVolumeGroup, of: LvmCluster | undefined) {
  return judgeVolumeGroup({ operation: 'CREATE', object }, of);
}

function changed(was: LvmVolumeGroup, is: LvmVolumeGroup, of: LvmCluster | undefined) {
  return judgeVolumeGroup({ operation: 'UPDATE', oldObject: was, object: is }, of);
}

test('a volume group is made as its LVMCluster asks for it, and no other one is', () => {
  const of = cluster('vg1', 'vg2');
  assert.ok(made(group('vg1', { ...named, default: true }), of).isAllowed);
  assert.equal(
    made(group('vg1', {}), of).message,
    [
      'LVMVolumeGroup vg1 spec.default is missing: write true, as the device class vg1 of the',
      'LVMCluster mine asks for it, or change it there; LVMVolumeGroup vg1 spec.deviceSelector',
      'is missing: write {"paths":["/dev/vg1"]}, as the device class vg1 of the LVMCluster mine',
      'asks for it, or change it there',
    ].join(' '),
  );
  assert.equal(
    made(group('x', {}), of).message,
    [
      'LVMVolumeGroup metadata.name is "x": name it as a device class in the LVMCluster mine',
      'instead: no other group is made on nodes',
    ].join(' '),
  );
  assert.match(made(group('vg1', named), undefined).message, /as a device class in an LVMCluster/);
  const going = { ...of, metadata: { ...metadata, deletionTimestamp: 'now' } };
  const late = made(group('vg1', { ...named, default: true }), going);
  assert.match(late.message, /wait until the LVMCluster mine is deleted/);
});

test('a class that takes every disk may leave it to the operator which', () => {
  const of: LvmCluster = { metadata, spec: { storage: { deviceClasses: [{ name: 'vg1' }] } } };
  const filled: LvmVolumeGroupSpec = { default: true, deviceDiscoveryPolicy: 'Static' };
  assert.ok(made(group('vg1', filled), of).isAllowed);
  assert.ok(made(group('vg1', { default: true }), of).isAllowed, 'as an older operator writes it');
  const open = group('vg1', { default: true, deviceDiscoveryPolicy: 'Dynamic' });
  assert.match(made(open, of).message, /deviceDiscoveryPolicy is "Dynamic": write "Static"/);
  const opened = changed(group('vg1', filled), group('vg1', { default: true }), of);
  assert.match(opened.message, /spec.deviceDiscoveryPolicy is missing: write "Static"/);
});

test('a volume group is changed in its LVMCluster, and the way back to that is open', () => {
  const of = cluster('vg1', 'vg2');
  const right = { ...named, default: true };
  const more = { ...right, deviceSelector: { paths: ['/dev/vg1', '/dev/z'] } };
  assert.match(
    changed(group('vg1', right), group('vg1', more), of).message,
    /^LVMVolumeGroup vg1 spec.deviceSelector is .*\/dev\/z.*: write {"paths":\["\/dev\/vg1"\]}, as/,
  );
  const terms = [{ matchExpressions: [{ key: 'a', operator: 'Exists' as const }] }];
  for (const altered of [
    ...[more, { default: true }, { ...right, nodeSelector: { nodeSelectorTerms: terms } }],
    { ...right, raidConfig: { type: 'raid1' } as const },
  ]) {
    const notes = askedAnnotations(right);
    assert.ok(changed(group('vg1', altered, notes), group('vg1', right), of).isAllowed);
    assert.ok(changed(group('vg1', altered), group('vg1', right), of).isAllowed);
    const marked = { ...group('vg1', altered), metadata: { ...metadata, finalizers: ['a/b'] } };
    assert.ok(changed(group('vg1', altered), marked, of).isAllowed, 'a mark is no wish');
  }
});

test('a volume group that nobody asks for any more is left as it is', () => {
  const of = cluster('vg2');
  const was = group('vg1', { ...named, default: true });
  assert.ok(changed(was, group('vg1', named), of).isAllowed, 'another one is the default');
  const { message } = changed(was, group('vg1', { default: true }), of);
  assert.match(
    message,
    /^LVMVolumeGroup vg1 spec is .*: leave it as it is, or name it as a device/,
  );
});

test('a volume group that cannot be is not made, whoever asks for it', () => {
  const wrong = { name: 'vg1', default: true, deviceSelector: { paths: ['sdb'] } };
  const of: LvmCluster = { metadata, spec: { storage: { deviceClasses: [wrong] } } };
  const { name: _name, ...spec } = wrong;
  assert.match(made(group('vg1', spec), of).message, /starts with \/dev/);
});

test('a volume group goes with its class, and not by itself', () => {
  const deletion = { operation: 'DELETE', oldObject: group('vg1', named) };
  assert.equal(
    judgeVolumeGroup(deletion, cluster('vg1')).message,
    'LVMVolumeGroup vg1 cannot be deleted: take the device class vg1 out of the LVMCluster instead',
  );
  assert.ok(judgeVolumeGroup(deletion, cluster('vg2')).isAllowed);
  assert.ok(judgeVolumeGroup(deletion, undefined).isAllowed);
});
