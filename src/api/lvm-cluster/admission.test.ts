import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LvmCluster, LvmDeviceClass } from '../objects/lvm-cluster.ts';
import type { LvmVolumeGroup, LvmVolumeGroupSpec } from '../objects/lvm-volume-group.ts';
import { type AdmissionView, fillInCluster, judgeCluster, judgeVolumeGroup } from './admission.ts';

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

test('a volume group is judged like the class it came from', () => {
  const group = (spec: LvmVolumeGroupSpec): LvmVolumeGroup => ({ metadata, spec });
  const pool = { name: 'pool', overprovisionRatio: 10 };
  const named = { deviceSelector: { paths: ['/dev/sdb'] } };
  assert.ok(judgeVolumeGroup({ operation: 'CREATE', object: group(named) }, []).isAllowed);
  const wrong = group({ deviceSelector: { paths: ['sdb'] } });
  assert.match(
    judgeVolumeGroup({ operation: 'CREATE', object: wrong }, []).message,
    /starts with \/dev/,
  );
  const changed = judgeVolumeGroup(
    {
      ...{ operation: 'UPDATE', oldObject: group({ ...named, thinPoolConfig: pool }) },
      object: group({ ...named, thinPoolConfig: { ...pool, name: 'other' } }),
    },
    [],
  );
  assert.match(changed.message, /thinPoolConfig.name is "other": keep it at "pool"/);
  const odd = { ...named, thinPoolConfig: { ...pool, chunkSize: '1Ki' } };
  const more = { ...odd, thinPoolConfig: { ...odd.thinPoolConfig, overprovisionRatio: 5 } };
  const known = { operation: 'UPDATE', oldObject: group(odd), object: group(more) };
  assert.ok(judgeVolumeGroup(known, []).isAllowed, 'what is there already may stay');
});

test('a volume group goes with its class, and not by itself', () => {
  const deletion = { operation: 'DELETE', oldObject: { metadata: { ...metadata, name: 'vg1' } } };
  assert.equal(
    judgeVolumeGroup(deletion, ['vg1']).message,
    'LVMVolumeGroup vg1 cannot be deleted: take the device class vg1 out of the LVMCluster instead',
  );
  assert.ok(judgeVolumeGroup(deletion, ['vg2']).isAllowed);
});
