import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedAnnotations } from '../../api/lvm-cluster/asked.ts';
import type { LvmCluster, LvmDeviceClass } from '../../api/objects/lvm-cluster.ts';
import type {
  LvmVolumeGroup,
  LvmVolumeGroupNodeStatus,
  LvmVolumeGroupSpec,
} from '../../api/objects/lvm-volume-group.ts';
import type { Metadata } from '../../api/objects/metadata.ts';
import { type ClusterView, type Deed, planCluster } from './plan.ts';

/** Here no webhook runs: what it would refuse is not done. */

function metadata(name: string, changes: Partial<Metadata> = {}): Metadata {
  return { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: '1', ...changes };
}

const disks = { deviceSelector: { paths: ['/dev/a', '/dev/b'] } };
const vg1: LvmDeviceClass = { name: 'vg1', default: true, ...disks };
const others = { deviceSelector: { paths: ['/dev/c'] } };
const vg2: LvmDeviceClass = { name: 'vg2', ...others };

function cluster(...deviceClasses: readonly LvmDeviceClass[]): LvmCluster {
  return {
    metadata: metadata('mine', { finalizers: ['lvmcluster.topolvm.io'] }),
    spec: { storage: { deviceClasses } },
  };
}

function group(name: string, spec: LvmVolumeGroupSpec): LvmVolumeGroup {
  const owner = { kind: 'LVMCluster', name: 'mine', uid: 'uid-mine' };
  const ownerReferences = [{ apiVersion: 'lvm.topolvm.io/v1alpha1', ...owner }];
  const annotations = askedAnnotations(spec);
  return { metadata: metadata(name, { ownerReferences, annotations }), spec };
}

function report(
  name: string,
  nodeStatus: NonNullable<LvmVolumeGroupNodeStatus['spec']>['nodeStatus'] = [],
): LvmVolumeGroupNodeStatus {
  return { metadata: metadata(name), spec: { nodeStatus } };
}

const both = [group('vg1', { ...disks, default: true }), group('vg2', others)];

function planned(of: LvmCluster, changes: Partial<ClusterView> = {}) {
  const { deeds, troubles } = planCluster({
    ...{ cluster: of, nodes: [], groups: both, reports: [], classes: [] },
    ...{ snapshotClasses: undefined, claims: [], volumes: [], logicalVolumes: [] },
    ...{ driver: 'topolvm.io', ...changes },
  });
  return { deeds, shown: deeds.flatMap(shown), troubles };
}

/** Reports and StorageClasses follow from the rest. */
function shown(deed: Deed): readonly string[] {
  if (deed.kind === 'make-group') return [`make ${deed.name}`];
  if (deed.kind === 'change-group') return [`change ${deed.group.metadata.name}`];
  return deed.kind === 'delete-group' ? [`delete ${deed.group.metadata.name}`] : [];
}

test('a new class that takes every disk takes none that comes later', () => {
  const made = (one: LvmDeviceClass) => {
    const { deeds } = planned(cluster(one), { groups: [] });
    const make = deeds.find(({ kind }) => kind === 'make-group');
    return make?.kind === 'make-group' ? make.spec.deviceDiscoveryPolicy : 'none was made';
  };
  assert.equal(made({ name: 'vg1' }), 'Static');
  assert.equal(made({ name: 'vg1', deviceDiscoveryPolicy: 'Dynamic' }), 'Dynamic');
  assert.equal(made(vg1), undefined, 'one with paths has no use for it');
});

test('a class that was there before takes the disks that it always took', () => {
  const changed = (known: LvmVolumeGroupSpec, wanted: Partial<LvmDeviceClass> = {}) => {
    const groups = [group('vg1', { ...known, default: true })];
    return planned(cluster({ name: 'vg1', default: true, ...wanted }), { groups }).shown;
  };
  assert.deepEqual(changed({}), []);
  assert.deepEqual(changed({ deviceDiscoveryPolicy: 'Static' }), []);
  assert.deepEqual(changed({}, { deviceDiscoveryPolicy: 'Static' }), ['change vg1']);
});

test('a class that took every disk names those that it has, or stays as it is', () => {
  const groups = [group('vg1', { default: true, deviceDiscoveryPolicy: 'Static' })];
  const told = (...devices: readonly string[]) => ({
    groups,
    reports: [
      report('n1', [{ name: 'vg1', devices, deviceDiscoveryPolicy: 'RuntimeStatic' }]),
      report('n2'),
    ],
  });
  const unlike = planned(cluster(vg1), told('/dev/a', '/dev/z'));
  assert.deepEqual(unlike.shown, []);
  assert.match(
    unlike.troubles.join(),
    /deviceSelector is .*: name exactly the devices that it has, .*: n1 has \/dev\/a and \/dev\/z/,
  );
  assert.deepEqual(planned(cluster(vg1), told('/dev/a', '/dev/b')).shown, ['change vg1']);
});

test('the default class is not lost, and nothing is begun in its place', () => {
  const lost = planned(cluster(vg2));
  assert.deepEqual(lost.deeds, []);
  assert.deepEqual(lost.troubles, [
    'spec.storage.deviceClasses[vg1] is missing: leave it, or let another class be the \
default first',
  ]);
  const named = planned(cluster({ ...vg2, default: true }));
  assert.deepEqual(named.shown, ['delete vg1', 'change vg2']);
  const moved = [group('vg1', disks), group('vg2', { ...others, default: true })];
  assert.deepEqual(planned(cluster(vg2), { groups: moved }).shown, ['delete vg1']);
});

test('who says Managed and names no class is told what to write', () => {
  const of: LvmCluster = { ...cluster(), spec: { configurationPolicy: 'Managed' } };
  const n1 = { metadata: metadata('n1') };
  const { deeds, troubles } = planned(of, { groups: [], nodes: [n1] });
  assert.deepEqual(deeds, []);
  assert.deepEqual(troubles, [
    [
      'spec.storage.deviceClasses is missing: name at least one class, or write',
      'ExternalConfiguration for spec.configurationPolicy when lvmd.yaml on each node is yours',
    ].join(' '),
  ]);
  const empty = planned({ ...of, spec: {} }, { groups: [], nodes: [n1] });
  assert.deepEqual(empty.troubles, [], 'as MicroShift makes it');
  assert.deepEqual(
    empty.deeds.map(({ kind }) => kind),
    ['make-report'],
  );
});

test('a class is not given the disk of another one, in whatever order they stand', () => {
  const on = (...values: readonly string[]) => {
    const matchFields = [{ key: 'metadata.name', operator: 'In' as const, values }];
    return { nodeSelector: { nodeSelectorTerms: [{ matchFields }] } };
  };
  const nodes = ['n1', 'n2'].map((name) => ({ metadata: metadata(name) }));
  const first = { ...vg1, ...on('n1', 'n2') };
  const known = group('vg1', { ...disks, ...on('n1', 'n2'), default: true });
  const second = { ...vg2, ...on('n2'), deviceSelector: { paths: ['/dev/c', '/dev/a'] } };
  const { name, ...spec } = second;
  for (const classes of [
    [first, second],
    [second, first],
  ]) {
    for (const groups of [[known], [known, group('vg2', { ...others, ...on('n2') })]]) {
      const contested = planned(cluster(...classes), { nodes, groups });
      assert.deepEqual(contested.shown, []);
      assert.match(contested.troubles.join(), /\[vg2\].* is "\/dev\/a": name it in one class/);
    }
    const there = planned(cluster(...classes), { nodes, groups: [known, group(name, spec)] });
    assert.deepEqual(there.troubles, [], 'what is there already may stay');
  }
});
