import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedAnnotation, askedAnnotations } from '../../api/lvm-cluster/asked.ts';
import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import type { LvmCluster, LvmDeviceClass } from '../../api/objects/lvm-cluster.ts';
import type {
  LvmVolumeGroup,
  LvmVolumeGroupNodeStatus,
  LvmVolumeGroupSpec,
} from '../../api/objects/lvm-volume-group.ts';
import type { Metadata } from '../../api/objects/metadata.ts';
import type { PersistentVolume } from '../../api/objects/persistent-volume.ts';
import type { Node, StorageClass } from '../../api/objects/storage.ts';
import { clusterNoteAnnotation, clusterNoteOf, clusterNoteText } from './cluster-note.ts';
import { ownedByLabels, storageClassesOf } from './objects.ts';
import { appliedKey, type ClusterView, type Deed, planCluster } from './plan.ts';

function metadata(name: string, changes: Partial<Metadata> = {}): Metadata {
  return { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: '1', ...changes };
}

const disks = { deviceSelector: { paths: ['/dev/a', '/dev/b'] } };
const vg1: LvmDeviceClass = { name: 'vg1', default: true, ...disks };
const vg2: LvmDeviceClass = { name: 'vg2', deviceSelector: { paths: ['/dev/c'] } };

function cluster(classes: readonly LvmDeviceClass[], changes: Partial<Metadata> = {}): LvmCluster {
  return {
    metadata: metadata('mine', { finalizers: ['lvmcluster.topolvm.io'], ...changes }),
    spec: { storage: { deviceClasses: classes } },
  };
}

const mark = (name: string) => `cleanup.vgmanager.node.topolvm.io/${name}`;

const ownerReferences = [
  { apiVersion: 'lvm.topolvm.io/v1alpha1', kind: 'LVMCluster', name: 'mine', uid: 'uid-mine' },
];

function group(
  name: string,
  spec: LvmVolumeGroupSpec,
  changes: Partial<Metadata> = {},
): LvmVolumeGroup {
  const annotations = { ...askedAnnotations(spec), ...changes.annotations };
  return { metadata: metadata(name, { ownerReferences, ...changes, annotations }), spec };
}

function node(name: string): Node {
  return { metadata: metadata(name) };
}

/** Of nodes of a cluster that tolerates nothing. */
function report(name: string, changes: Partial<Metadata> = {}): LvmVolumeGroupNodeStatus {
  const annotations = { [clusterNoteAnnotation]: clusterNoteText(cluster([vg1])) };
  return { metadata: metadata(name, { annotations, ...changes }) };
}

function classesFor(of: LvmCluster): readonly StorageClass[] {
  return storageClassesOf(of, 'topolvm.io', []).map((one) => ({
    ...one,
    metadata: { ...metadata(one.metadata.name), ...one.metadata },
  }));
}

const both = cluster([vg1, vg2]);
const settled: ClusterView = {
  cluster: both,
  nodes: [node('n1'), node('n2')],
  groups: [group('vg1', { ...disks, default: true }), group('vg2', vg2Spec())],
  reports: [report('n1'), report('n2')],
  classes: classesFor(both),
  applied: new Map(),
  snapshotClasses: [],
  claims: [],
  volumes: [],
  logicalVolumes: [],
  driver: 'topolvm.io',
};

function vg2Spec(): LvmVolumeGroupSpec {
  const { name: _name, ...spec } = vg2;
  return spec;
}

function claim(name: string, storageClassName: string): PersistentVolumeClaim {
  return { metadata: metadata(name), spec: { storageClassName } };
}

function volume(name: string, claimUid: string): PersistentVolume {
  const csi = { driver: 'topolvm.io', volumeHandle: `handle-${name}` };
  const spec = { storageClassName: 'lvms-vg2', csi, claimRef: { uid: claimUid } };
  return { metadata: metadata(name), spec };
}

function logicalVolume(name: string, volumeID: string): LogicalVolume {
  const spec = { name, nodeName: 'n1', size: '1Gi', deviceClass: 'vg2' };
  return { metadata: metadata(name), spec, status: { volumeID } };
}

/** Of every VolumeSnapshotClass that LVMS makes. */
const ofLvms = { driver: 'topolvm.io', deletionPolicy: 'Delete' } as const;

/** What would be done, in short. */
function deeds(changes: Partial<ClusterView>): readonly string[] {
  return planCluster({ ...settled, ...changes }).deeds.map(shown);
}

function shown(deed: Deed): string {
  switch (deed.kind) {
    case 'apply-class':
    case 'apply-snapshot-class':
      return `${deed.kind} ${deed.object.metadata.name}`;
    case 'make-group':
    case 'delete-class':
    case 'delete-snapshot-class':
      return `${deed.kind} ${deed.name}`;
    case 'change-group':
      return [deed.kind, deed.group.metadata.name, ...notesOf(deed)].join(' ');
    case 'delete-group':
      return `${deed.kind} ${deed.group.metadata.name}`;
    case 'free-group':
      return `${deed.kind} ${deed.group.metadata.name} of ${deed.nodes.join(',')}`;
    case 'make-report':
      return `${deed.kind} ${deed.node}`;
    case 'note-report':
    case 'delete-report':
      return `${deed.kind} ${deed.report.metadata.name}`;
    default:
      return deed.kind;
  }
}

/** What was asked goes with every change. */
function notesOf({ notes }: Extract<Deed, { kind: 'change-group' }>) {
  return notes.filter(([key]) => key !== askedAnnotation).flat();
}

test('a cluster that is as it should be needs nothing', () => {
  assert.deepEqual(planCluster(settled), { deeds: [], troubles: [], waits: [] });
});

test('what agents must know of the cluster stands on their reports', () => {
  const tolerations = [{ key: 'storage', operator: 'Exists' }];
  const changed = { ...both, spec: { ...both.spec, tolerations } };
  assert.deepEqual(deeds({ cluster: changed }), ['note-report n1', 'note-report n2']);
  const note = clusterNoteText(changed);
  const noted = report('n1', { annotations: { [clusterNoteAnnotation]: note } });
  assert.deepEqual(clusterNoteOf(noted), { isUnmanaged: false, tolerations });
  assert.deepEqual(deeds({ cluster: changed, reports: [noted, report('n2')] }), ['note-report n2']);
  // LVMS made it, or somebody wrote something else there.
  for (const text of [undefined, '', '{}', 'null', '[]', '{"tolerations":1}']) {
    const annotations = text === undefined ? {} : { [clusterNoteAnnotation]: text };
    const strange = report('n1', { annotations });
    assert.equal(clusterNoteOf(strange), undefined, text);
    assert.deepEqual(deeds({ reports: [strange, report('n2')] }), ['note-report n1']);
  }
});

test('a new cluster is marked first, and then everything is made', () => {
  const empty = { groups: [], reports: [], classes: [] };
  assert.deepEqual(deeds({ ...empty, cluster: cluster([vg1, vg2], { finalizers: [] }) }), [
    'mark-cluster',
  ]);
  assert.deepEqual(deeds(empty), [
    ...['make-group vg1', 'make-group vg2', 'apply-class lvms-vg1', 'apply-class lvms-vg2'],
    ...['make-report n1', 'make-report n2'],
  ]);
});

test('snapshot classes are made for thin classes, where there is such a kind', () => {
  const thin = cluster([{ ...vg1, thinPoolConfig: { name: 'p', overprovisionRatio: 2 } }]);
  const view = { cluster: thin, groups: [], classes: classesFor(thin) };
  assert.deepEqual(deeds(view), ['make-group vg1', 'apply-snapshot-class lvms-vg1']);
  assert.deepEqual(deeds({ ...view, snapshotClasses: undefined }), ['make-group vg1']);
  const labels = ownedByLabels(thin);
  const made = [{ ...ofLvms, metadata: { name: 'lvms-vg1', labels } }];
  assert.deepEqual(deeds({ ...view, snapshotClasses: made }), ['make-group vg1']);
});

test('a device that is taken out of a class is to leave, and one that comes back stays', () => {
  const less = cluster([{ ...vg1, deviceSelector: { paths: ['/dev/b'] } }, vg2]);
  assert.deepEqual(deeds({ cluster: less }), ['change-group vg1'], 'no node has the group');
  const [first, second] = settled.groups;
  assert.ok(first !== undefined && second !== undefined);
  const finalizers = [mark('n1'), 'of/another'];
  const marked = group('vg1', first.spec ?? {}, { finalizers });
  const key = 'release.devices.quarry.io/n1';
  assert.deepEqual(deeds({ cluster: less, groups: [marked, second] }), [
    `change-group vg1 ${key} {"/dev/a":""}`,
  ]);
  const spec = { deviceSelector: { paths: ['/dev/b'] }, default: true };
  const noted = (note: string, on = [mark('n1'), mark('n2')]) =>
    group('vg1', spec, { finalizers: on, annotations: { [key]: note } });
  const leaving = noted('{"/dev/a":"one"}');
  assert.deepEqual(deeds({ cluster: less, groups: [leaving, second] }), []);
  const unseen = noted('{"/dev/a":""}');
  assert.deepEqual(deeds({ groups: [unseen, second] }), [`change-group vg1 ${key} `]);
  assert.deepEqual(deeds({ groups: [leaving, second] }), ['change-group vg1'], 'it may be begun');
  for (const stale of [noted('{"/dev/a":"one"}', []), noted('{}'), noted('null'), noted('x')]) {
    assert.deepEqual(deeds({ cluster: less, groups: [stale, second] }), [
      `change-group vg1 ${key} `,
    ]);
  }
});

test('what a webhook that was away let pass is not done', () => {
  const pool = { name: 'pool', overprovisionRatio: 2 };
  const changed = planCluster({
    ...settled,
    cluster: cluster([{ ...vg1, thinPoolConfig: pool }, vg2]),
  });
  assert.deepEqual(changed.deeds.map(shown), []);
  assert.match(changed.troubles.join(), /thinPoolConfig is "pool": leave it out/);
  const wrong = planCluster({
    ...settled,
    ...{ cluster: cluster([{ ...vg1, deviceSelector: { paths: ['sdb'] } }, vg2]), groups: [] },
  });
  assert.deepEqual(wrong.deeds, []);
  assert.match(wrong.troubles.join(), /write a path that starts with/);
  const long = planCluster({
    ...settled,
    cluster: cluster([vg1, { ...vg2, name: 'a'.repeat(70) }]),
  });
  assert.deepEqual(long.deeds.map(shown), ['delete-class lvms-vg2'], 'only the old class goes');
  assert.match(long.troubles.join(), /write at most 63 characters/);
});

test('a class of storage that differs is left alone, and told', () => {
  const [first, ...others] = settled.classes;
  assert.ok(first !== undefined);
  const other = { ...first, reclaimPolicy: 'Retain' };
  const { deeds: done, troubles } = planCluster({ ...settled, classes: [other, ...others] });
  assert.deepEqual(done, []);
  assert.match(troubles.join(), /^StorageClass lvms-vg1 has another reclaimPolicy/);
  const unmarked = { ...first, metadata: { ...first.metadata, annotations: {} } };
  assert.deepEqual(deeds({ classes: [unmarked, ...others] }), ['apply-class lvms-vg1']);
});

test('a class that was taken out goes step by step, once it holds nothing', () => {
  const one = { cluster: cluster([vg1]), groups: settled.groups };
  const claims = [claim('data', 'lvms-vg2')];
  const busy = planCluster({ ...settled, ...one, claims });
  assert.deepEqual(busy.deeds, []);
  assert.deepEqual(busy.waits, ['device class vg2 stays while it holds claim ns/data']);
  assert.deepEqual(deeds(one), ['delete-class lvms-vg2']);
  const [first] = settled.classes;
  assert.ok(first !== undefined);
  assert.deepEqual(deeds({ ...one, classes: [first] }), ['delete-group vg2']);
  const [kept] = settled.groups;
  assert.ok(kept !== undefined);
  const going = group('vg2', vg2Spec(), { deletionTimestamp: 'now' });
  assert.deepEqual(deeds({ ...one, groups: [kept, going], classes: [first] }), []);
  const foreign = group('other', {}, { ownerReferences: [] });
  assert.deepEqual(deeds({ groups: [...settled.groups, foreign] }), [], 'it is not ours');
});

test('a class that was taken out and stays is not the default beside another one', () => {
  const claims = [claim('data', 'lvms-vg2')];
  const second = { ...vg2Spec(), default: true };
  const groups = settled.groups.map((one) =>
    one.metadata.name === 'vg2' ? group('vg2', second) : one,
  );
  const { deeds: done, waits } = planCluster({
    ...settled,
    ...{ cluster: cluster([vg1]), groups, claims },
  });
  assert.deepEqual(done.map(shown), ['change-group vg2']);
  const [change] = done;
  assert.ok(change?.kind === 'change-group');
  assert.deepEqual(change.spec, vg2Spec());
  assert.equal(waits.length, 1);
  const going = groups.map(({ metadata: { name }, spec = {} }) =>
    group(name, spec, name === 'vg2' ? { deletionTimestamp: 'now' } : {}),
  );
  const last = planCluster({ ...settled, cluster: cluster([vg1]), groups: going, claims });
  assert.deepEqual(last.deeds, [], 'agents serve nothing of it any more');
});

test('retained volumes and LVs that nothing else tells of hold a class too', () => {
  const one = { ...settled, cluster: cluster([vg1]) };
  const { waits } = planCluster({
    ...one,
    volumes: [volume('kept', 'gone')],
    logicalVolumes: [logicalVolume('lv1', 'handle-kept'), logicalVolume('lv2', 'lost')],
  });
  assert.deepEqual(waits, [
    'device class vg2 stays while it holds volume kept and LogicalVolume lv2',
  ]);
  const bound = planCluster({
    ...one,
    ...{ claims: [claim('data', 'lvms-vg2')], volumes: [volume('kept', 'uid-data')] },
  });
  assert.deepEqual(bound.waits, ['device class vg2 stays while it holds claim ns/data']);
});

test('a node that is gone holds nothing back', () => {
  const finalizers = ['n1', 'n3'].map((name) => `cleanup.vgmanager.node.topolvm.io/${name}`);
  const [first, second] = settled.groups;
  assert.ok(first !== undefined && second !== undefined);
  const held = group('vg2', second.spec ?? {}, { finalizers });
  const reports = [...settled.reports, report('n3')];
  assert.deepEqual(deeds({ groups: [first, held], reports }), [
    'delete-report n3',
    'free-group vg2 of n3',
  ]);
});

test('a cluster is deleted in order, and never with volumes in it', () => {
  const going = cluster([vg1, vg2], { deletionTimestamp: 'now' });
  const view = { cluster: going };
  const busy = planCluster({ ...settled, ...view, claims: [claim('data', 'lvms-vg1')] });
  assert.deepEqual(busy.deeds, []);
  assert.deepEqual(busy.waits, ['device class vg1 holds claim ns/data']);
  assert.deepEqual(deeds(view), ['delete-class lvms-vg1', 'delete-class lvms-vg2']);
  assert.deepEqual(deeds({ ...view, classes: [] }), ['delete-group vg1', 'delete-group vg2']);
  const leaving = settled.groups.map(({ metadata: { name }, spec = {} }) =>
    group(name, spec, { deletionTimestamp: 'now' }),
  );
  assert.deepEqual(deeds({ ...view, classes: [], groups: leaving }), [], 'agents clean up first');
  assert.deepEqual(deeds({ ...view, classes: [], groups: [] }), [
    'delete-report n1',
    'delete-report n2',
  ]);
  assert.deepEqual(deeds({ ...view, classes: [], groups: [], reports: [] }), ['release-cluster']);
});

test('volumes of other storage classes, and of no class, hold a class too', () => {
  const one = { ...settled, cluster: cluster([vg1]) };
  const other = { ...volume('static', 'gone') };
  const spec = { ...other.spec, storageClassName: 'mine' };
  const { waits } = planCluster({
    ...one,
    volumes: [{ ...other, spec }],
    logicalVolumes: [logicalVolume('lv1', 'handle-static')],
  });
  assert.deepEqual(waits, ['device class vg2 stays while it holds LogicalVolume lv1']);
  const unnamed = {
    ...logicalVolume('lv2', 'x'),
    spec: { name: 'lv2', nodeName: 'n1', size: '1' },
  };
  assert.equal(planCluster({ ...one, logicalVolumes: [unnamed] }).waits.length, 1);
});

test('a cluster that lost all its classes at once loses nothing else', () => {
  const { deeds: done, troubles } = planCluster({ ...settled, cluster: cluster([]) });
  assert.deepEqual(done, []);
  assert.match(troubles.join(), /leave at least one class/);
});

test('what somebody else made for a class is taken over, and an old mark goes', () => {
  const [first, second] = settled.groups;
  assert.ok(first !== undefined && second !== undefined);
  const unowned = group('vg1', first.spec ?? {}, { ownerReferences: [] });
  assert.deepEqual(deeds({ groups: [unowned, second] }), ['change-group vg1']);
  const finalizers = ['lvm.openshift.io/lvmvolumegroup'];
  const old = group('vg1', first.spec ?? {}, { finalizers });
  assert.deepEqual(deeds({ groups: [old, second] }), ['change-group vg1']);
});

test('an old mark keeps nothing that shall go', () => {
  const finalizers = ['lvm.openshift.io/lvmvolumegroup'];
  const [first] = settled.groups;
  assert.ok(first !== undefined);
  const going = group('vg2', vg2Spec(), { finalizers, deletionTimestamp: 'now' });
  const groups = [first, going];
  assert.deepEqual(deeds({ groups }), ['free-group vg2 of ']);
  const cluster1 = cluster([vg1, vg2], { deletionTimestamp: 'now' });
  assert.deepEqual(deeds({ cluster: cluster1, classes: [], groups }), [
    'delete-group vg1',
    'free-group vg2 of ',
  ]);
});

test('a snapshot class without marks is taken over if LVMS made it, and left alone if not', () => {
  const thin = cluster([{ ...vg1, thinPoolConfig: { name: 'p', overprovisionRatio: 2 } }]);
  const view = { ...settled, cluster: thin, groups: [], classes: classesFor(thin) };
  const made = { metadata: { name: 'lvms-vg1' }, ...ofLvms };
  const old = planCluster({ ...view, snapshotClasses: [made] });
  assert.deepEqual(old.deeds.map(shown), ['make-group vg1', 'apply-snapshot-class lvms-vg1']);
  assert.deepEqual(old.troubles, []);
  for (const change of [{ driver: 'other' }, { deletionPolicy: 'Retain' }] as const) {
    const { deeds: done, troubles } = planCluster({
      ...view,
      snapshotClasses: [{ ...made, ...change }],
    });
    assert.deepEqual(done.map(shown), ['make-group vg1']);
    assert.deepEqual(troubles, ["VolumeSnapshotClass lvms-vg1 is somebody else's: it stays"]);
  }
});

test('storage classes of a class that never had a group go too', () => {
  const { classes } = settled;
  assert.deepEqual(
    deeds({ cluster: cluster([vg1]), groups: settled.groups.slice(0, 1), classes }),
    ['delete-class lvms-vg2'],
  );
});

test('all nodes that are gone are taken off a group at once', () => {
  const finalizers = ['n3', 'n4'].map((name) => `cleanup.vgmanager.node.topolvm.io/${name}`);
  const [first, second] = settled.groups;
  assert.ok(first !== undefined && second !== undefined);
  const held = group('vg2', second.spec ?? {}, { finalizers });
  assert.deepEqual(deeds({ groups: [first, held] }), ['free-group vg2 of n3,n4']);
});

test('a label more than there should be is a reason to apply a class, once', () => {
  const [first, ...others] = settled.classes;
  assert.ok(first !== undefined);
  const { metadata: marks } = first;
  const more = { ...first, metadata: { ...marks, labels: { ...marks.labels, old: 'x' } } };
  const view = { ...settled, classes: [more, ...others] };
  const [deed] = planCluster(view).deeds;
  assert.ok(deed?.kind === 'apply-class');
  const applied = new Map([['lvms-vg1', appliedKey(more, deed.object)]]);
  assert.deepEqual(planCluster({ ...view, applied }).deeds, []);
});
