import assert from 'node:assert/strict';
import test from 'node:test';
import { policy, refusal, type Write } from './policy.ts';

const volume = (nodeName: string) => ({ spec: { nodeName } });
const capacity = (node: string) => ({
  nodeTopology: { matchLabels: { 'topology.topolvm.io/node': node } },
});

test('an agent may change the volumes, the capacities and the Node that are its own', () => {
  const own: readonly Write[] = [
    { resource: 'logicalvolumes', object: volume('a'), oldObject: volume('a') },
    { resource: 'csistoragecapacities', object: capacity('a'), oldObject: null },
    { resource: 'csistoragecapacities', object: capacity('a'), oldObject: capacity('a') },
    { resource: 'csistoragecapacities', object: null, oldObject: capacity('a') },
    { resource: 'nodes', name: 'a', object: { spec: {} }, oldObject: { spec: {} } },
  ];
  for (const write of own) assert.equal(refusal(write), undefined, JSON.stringify(write));
});

test('an agent may change nothing of another node, nor make it its own', () => {
  const foreign: readonly (readonly [Write, RegExp])[] = [
    [{ resource: 'logicalvolumes', object: volume('b'), oldObject: volume('b') }, /LogicalVolumes/],
    [{ resource: 'logicalvolumes', object: volume('a'), oldObject: volume('b') }, /LogicalVolumes/],
    [{ resource: 'logicalvolumes', object: volume('b'), oldObject: volume('a') }, /LogicalVolumes/],
    [{ resource: 'csistoragecapacities', object: capacity('b'), oldObject: null }, /capacities/],
    [{ resource: 'csistoragecapacities', object: null, oldObject: capacity('b') }, /capacities/],
    [{ resource: 'nodes', name: 'b', object: { spec: {} }, oldObject: { spec: {} } }, /Nodes/],
  ];
  for (const [write, reason] of foreign) {
    assert.match(refusal(write) ?? 'allowed', reason, JSON.stringify(write));
  }
});

const group = (metadata: object, spec: object = {}) => ({ metadata, spec });
const finalizer = (node: string) => `cleanup.vgmanager.node.topolvm.io/${node}`;
const wiped = (node: string) => ({ [`wiped.devices.lvms.openshift.io/${node}`]: '' });
const release = (node: string, note: string) => ({ [`release.devices.quarry.io/${node}`]: note });

test('of a volume group an agent may set the marks of its own node, and of reports write its own', () => {
  const own: readonly (readonly [object, object])[] = [
    [{}, { finalizers: [finalizer('a')] }],
    [{ finalizers: [finalizer('b'), finalizer('a')] }, { finalizers: [finalizer('b')] }],
    [{ finalizers: [finalizer('a')] }, {}],
    [{ annotations: wiped('b') }, { annotations: { ...wiped('b'), ...wiped('a') } }],
    [{ annotations: release('a', '1') }, { annotations: release('a', '2') }],
    [{ annotations: release('a', '1') }, {}],
  ];
  const resource = 'lvmvolumegroups';
  for (const [before, after] of own) {
    const write = { resource, operation: 'UPDATE', object: group(after), oldObject: group(before) };
    assert.equal(refusal(write), undefined, JSON.stringify(after));
  }
  const foreign: readonly (readonly [object, object, string?])[] = [
    [group({ finalizers: [finalizer('b')] }), group({})],
    [group({}), group({ finalizers: [finalizer('b')] })],
    [group({ annotations: wiped('b') }), group({})],
    [group({ annotations: release('b', '1') }), group({ annotations: release('b', '2') })],
    [group({ annotations: { one: '1' } }), group({ annotations: { one: '2' } })],
    [group({}, { default: true }), group({}, { default: false })],
    [group({ ownerReferences: [{ uid: 'x' }] }), group({})],
    [group({}), group({}), 'DELETE'],
  ];
  for (const [oldObject, object, operation = 'UPDATE'] of foreign) {
    const write = {
      resource,
      operation,
      object: operation === 'DELETE' ? null : object,
      oldObject,
    };
    assert.match(refusal(write) ?? 'allowed', /marks of its own node/, JSON.stringify(write));
  }
  const reports = 'lvmvolumegroupnodestatuses';
  const report = { resource: reports, object: group({}), oldObject: group({}) };
  assert.equal(refusal({ ...report, name: 'a' }), undefined);
  assert.match(refusal({ ...report, name: 'b' }) ?? 'allowed', /reports of other nodes/);
});

test('a capacity for every node is of no node, and refused', () => {
  for (const object of [{}, { nodeTopology: {} }, { nodeTopology: { matchLabels: {} } }]) {
    const write = { resource: 'csistoragecapacities', object, oldObject: null };
    assert.match(refusal(write) ?? 'allowed', /capacities/);
  }
});

test('an agent may not take the taints off its own Node', () => {
  const [object, oldObject] = [{ spec: {} }, { spec: { taints: [{ key: 'x' }] } }];
  assert.match(
    refusal({ resource: 'nodes', name: 'a', object, oldObject }) ?? 'allowed',
    /the spec of its own/,
  );
});

test('a token without a node may change nothing, and is told what is needed', () => {
  const write = { resource: 'logicalvolumes', object: volume('a'), oldObject: volume('a') };
  assert.match(refusal({ ...write, node: '' }) ?? 'allowed', /Kubernetes 1\.30/);
});

test('nobody else is bound by it', () => {
  const write = { resource: 'logicalvolumes', object: volume('b'), oldObject: volume('b') };
  const username = 'system:serviceaccount:quarry-system:lvms-operator';
  assert.equal(refusal({ ...write, username }), undefined);
});

test('it is asked about every kind that agents may write, and counts when it cannot be judged', () => {
  const { failurePolicy, matchConstraints } = policy.spec;
  assert.equal(failurePolicy, 'Fail');
  const asked = matchConstraints.resourceRules.flatMap(({ apiGroups, resources, operations }) => {
    assert.deepEqual(operations, ['CREATE', 'UPDATE', 'DELETE']);
    return resources.map((resource) => `${apiGroups.join()}/${resource}`);
  });
  assert.deepEqual(asked, [
    'topolvm.io/logicalvolumes',
    'topolvm.io/logicalvolumes/status',
    '/nodes',
    'storage.k8s.io/csistoragecapacities',
    'lvm.topolvm.io/lvmvolumegroups',
    'lvm.topolvm.io/lvmvolumegroupnodestatuses',
  ]);
});
