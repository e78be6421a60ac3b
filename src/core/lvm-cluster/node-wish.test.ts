import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeOf, sampleVg } from '../../../test/samples/observed.ts';
import type { LvmVolumeGroup, LvmVolumeGroupSpec } from '../../api/objects/lvm-volume-group.ts';
import type { Metadata } from '../../api/objects/metadata.ts';
import type { Node } from '../../api/objects/storage.ts';
import type { ObservedVg } from '../observed.ts';
import { groupsHere, leavingNode, type NodeView, wishFor } from './node-wish.ts';

function metadata(name: string, changes: Partial<Metadata> = {}): Metadata {
  return { name, uid: name, resourceVersion: '1', ...changes };
}

const ownerReferences = [
  { apiVersion: 'lvm.topolvm.io/v1alpha1', kind: 'LVMCluster', name: 'mine', uid: 'mine' },
];

const mark = 'cleanup.vgmanager.node.topolvm.io/n1';

function group(
  name: string,
  spec: LvmVolumeGroupSpec = {},
  changes: Partial<Metadata> = {},
): LvmVolumeGroup {
  return { metadata: metadata(name, { finalizers: [mark], ownerReferences, ...changes }), spec };
}

const n1: Node = { metadata: metadata('n1', { labels: { disk: 'ssd' } }) };

const report = { metadata: metadata('n1') };
const nothing = { known: new Map(), givenUp: new Set<string>(), present: new Set<string>() };
const view = { node: n1, report, tolerations: [], ...nothing };

function wish(groups: readonly LvmVolumeGroup[], changes: Partial<NodeView> = {}) {
  return wishFor({ ...view, groups, ...changes });
}

function names(groups: readonly LvmVolumeGroup[]): readonly string[] {
  return groups.map((one) => one.metadata.name);
}

function on(disk: string): LvmVolumeGroupSpec {
  const matchExpressions = [{ key: 'disk', operator: 'In', values: [disk] }];
  return { nodeSelector: { nodeSelectorTerms: [{ matchExpressions }] } };
}

test('a node is asked for the groups that mean it, in one order', () => {
  const { served, unmarked, leaving, desired } = wish([
    group('c', on('hdd')),
    group('b', on('ssd')),
    group('a'),
    group('d', {}, { finalizers: [] }),
    group('e', {}, { deletionTimestamp: 'now' }),
    group('f', {}, { deletionTimestamp: 'now', finalizers: ['of/another'] }),
    group('g', {}, { finalizers: [], ownerReferences: [] }),
  ]);
  assert.deepEqual(names(served), ['a', 'b']);
  assert.deepEqual(names(unmarked), ['d'], 'it is marked first; and nobody asked for the last');
  assert.deepEqual(names(leaving), ['e']);
  assert.deepEqual(
    desired.volumeGroups.map(({ name, isManaged }) => [name, isManaged]),
    [
      ['a', true],
      ['b', true],
    ],
  );
});

test('a node that the operator has not named begins nothing, and still lets go', () => {
  const leaving = group('b', {}, { deletionTimestamp: 'now' });
  const wanted = wish([group('a'), leaving], { report: undefined });
  assert.deepEqual(names(wanted.served), []);
  assert.deepEqual(names(wanted.unmarked), []);
  assert.deepEqual(names(wanted.leaving), ['b']);
});

test('a shared group is never made on one node: it would be another on each of them', () => {
  const spec: LvmVolumeGroupSpec = { deviceAccessPolicy: 'shared' };
  const wanted = wish([group('a', spec), group('b', spec, { finalizers: [] })]);
  assert.deepEqual([names(wanted.served), names(wanted.unmarked)], [[], []]);
  assert.deepEqual(wanted.desired.volumeGroups, []);
  const local = wish([group('a', { deviceAccessPolicy: 'local' })]);
  assert.deepEqual(names(local.served), ['a']);
});

test('disks are wiped once, and those that shall leave are named', () => {
  const deviceSelector = { paths: ['/dev/b'], forceWipeDevicesAndDestroyAllData: true };
  const note = JSON.stringify({ '/dev/a': 'one', '/dev/c': '' });
  const release = {
    'release.devices.quarry.io/n1': note,
    'release.devices.quarry.io/n2': '{"/dev/a":"two"}',
  };
  const [fresh] = wish([group('a', { deviceSelector }, { annotations: release })]).desired
    .volumeGroups;
  assert.deepEqual(fresh?.selector, {
    ...{ kind: 'paths', required: ['/dev/b'], optional: [], forceWipe: true, onlyWipe: [] },
  });
  assert.deepEqual(fresh?.release, ['one'], 'what nobody has looked at stays');
  const annotations = { 'wiped.devices.lvms.openshift.io/n1': '' };
  const [wiped] = wish([group('a', { deviceSelector }, { annotations })]).desired.volumeGroups;
  assert.equal(wiped?.selector.forceWipe, false);
  const elsewhere = { 'wiped.devices.lvms.openshift.io/n2': '' };
  const [other] = wish([group('a', { deviceSelector }, { annotations: elsewhere })]).desired
    .volumeGroups;
  assert.equal(other?.selector.forceWipe, true);
});

test('nothing is wiped for a group that was ever here', () => {
  const deviceSelector = { paths: ['/dev/b'], forceWipeDevicesAndDestroyAllData: true };
  const mayWipe = (changes: Partial<NodeView>) =>
    wish([group('a', { deviceSelector })], changes).desired.volumeGroups[0]?.selector.forceWipe;
  assert.equal(mayWipe({}), true);
  assert.equal(mayWipe({ known: new Map([['a', 'uuid-a']]) }), false);
  assert.equal(mayWipe({ givenUp: new Set(['a']) }), false);
  assert.equal(mayWipe({ present: new Set(['a']) }), false);
});

test('on a node with a taint that is not tolerated nothing new is begun', () => {
  const taints = [{ key: 'dedicated', effect: 'NoSchedule' }];
  const node = { ...n1, spec: { taints } };
  const groups = [group('a'), group('b', {}, { finalizers: [] })];
  const tainted = wish(groups, { node });
  assert.deepEqual([names(tainted.served), names(tainted.unmarked)], [['a'], []]);
  const tolerated = wish(groups, { node, tolerations: [{ operator: 'Exists' }] });
  assert.deepEqual(names(tolerated.unmarked), ['b']);
});

test('a group that somebody told of, and that is away, is not made a second time', () => {
  const nodeStatus = [
    { name: 'a', devices: ['/dev/sdx'], deviceDiscoveryPolicy: 'RuntimeDynamic' },
  ] as const;
  const told = { metadata: metadata('n1'), spec: { nodeStatus } };
  const identity = (changes: Partial<NodeView>) =>
    wish([group('a')], { report: told, ...changes }).desired.volumeGroups[0]?.uuid;
  assert.equal(identity({}), 'the one with /dev/sdx');
  assert.equal(identity({ present: new Set(['a']) }), undefined, 'it is here');
  assert.equal(identity({ known: new Map([['a', 'uuid-a']]) }), 'uuid-a');
  assert.equal(identity({ report }), undefined, 'nobody told of it');
  assert.equal(identity({ givenUp: new Set(['a']) }), undefined, 'it never comes back');
  assert.equal(identity({ givenUp: new Set(['b']) }), 'the one with /dev/sdx');
});

test('a group is here by its name and our tag, whole or not, where no other has the name', () => {
  const { desired } = wish(['a', 'b', 'c', 'd'].map((name) => group(name)));
  const vg = (name: string, changes: Partial<ObservedVg> = {}) =>
    sampleVg({ name, uuid: `uuid-${name}`, tags: ['lvms'], ...changes });
  const vgs = [
    vg('a', { isPartial: true }),
    vg('b', { tags: [] }),
    ...[vg('c'), vg('c', { uuid: 'another' })],
    vg('e'),
  ];
  assert.deepEqual(groupsHere(desired, nodeOf([], { vgs })), new Map([['a', 'uuid-a']]));
});

test('new disks are taken where the class says so', () => {
  const takes = (spec: LvmVolumeGroupSpec) =>
    wish([group('a', spec)]).desired.volumeGroups[0]?.takesNewDevices;
  assert.equal(takes({}), true);
  assert.equal(takes({ deviceDiscoveryPolicy: 'Static' }), false);
  assert.equal(takes({ deviceSelector: { paths: ['/dev/a'] } }), true);
});

test('a group that leaves takes its pool along, and is known by its identity', () => {
  const thinPoolConfig = { name: 'pool', overprovisionRatio: 10 };
  const { volumeGroups, thinPools } = leavingNode(group('a', { thinPoolConfig }), {
    ...view,
    known: new Map([['a', 'uuid-a']]),
  });
  assert.deepEqual(
    volumeGroups.map(({ name, uuid, presence }) => [name, uuid, presence]),
    [['a', 'uuid-a', 'absent']],
  );
  assert.deepEqual(
    thinPools.map(({ vg, name, presence }) => [vg, name, presence]),
    [['a', 'pool', 'absent']],
  );
});
