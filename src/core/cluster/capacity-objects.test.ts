import assert from 'node:assert/strict';
import test from 'node:test';
import type { CsiStorageCapacity } from '../../api/objects/storage.ts';
import { bytes, GiB, MiB } from '../../base/bytes.ts';
import { adoptableSelector, type CapacityView, decideCapacity } from './capacity-objects.ts';

const names = { domain: 'topolvm.io', driver: 'topolvm.io' };
const meta = { uid: 'u', resourceVersion: '1' };
const room = { availableBytes: bytes(2n * GiB), largestBytes: bytes(1536n * MiB) };
const own = {
  'csi.storage.k8s.io/drivername': 'topolvm.io',
  'csi.storage.k8s.io/managed-by': 'external-provisioner',
  'quarry.io/node': 'n1',
};

function view(change: Partial<CapacityView> = {}): CapacityView {
  return {
    ...{ names, node: 'n1', namespace: 'ns', owner: undefined, className: 'fast', room },
    storageClass: { metadata: { ...meta, name: 'fast' }, provisioner: 'topolvm.io' },
    existing: [],
    ...change,
  };
}

function object(name: string, change: Partial<CsiStorageCapacity> = {}): CsiStorageCapacity {
  return {
    metadata: { ...meta, uid: `u-${name}`, name, namespace: 'ns', labels: own },
    storageClassName: 'fast',
    nodeTopology: { matchLabels: { 'topology.topolvm.io/node': 'n1' } },
    ...{ capacity: '2Gi', maximumVolumeSize: '1536Mi' },
    ...change,
  };
}

test('a class gets one object, with the largest volume that fits and a name that never changes', () => {
  const [action, ...rest] = decideCapacity(view());
  assert.deepEqual(rest, []);
  assert.ok(action?.kind === 'create');
  const { metadata, capacity, maximumVolumeSize, nodeTopology } = action.object;
  assert.deepEqual(metadata.labels, own);
  assert.deepEqual([capacity, maximumVolumeSize], ['2Gi', '1536Mi']);
  assert.deepEqual(nodeTopology, { matchLabels: { 'topology.topolvm.io/node': 'n1' } });
  const [again] = decideCapacity(view({ room: undefined }));
  assert.ok(again?.kind === 'create');
  assert.equal(again.object.metadata.name, metadata.name);
  assert.equal(again.object.capacity, '0', 'a class that this node has not gives nothing');
  const [other] = decideCapacity(view({ node: 'n2' }));
  assert.ok(other?.kind === 'create' && other.object.metadata.name !== metadata.name);
});

test('what is true is not written, however its size is spelled', () => {
  assert.deepEqual(decideCapacity(view({ existing: [object('a')] })), []);
  const spelled = object('a', { capacity: '2048Mi', maximumVolumeSize: '1610612736' });
  assert.deepEqual(decideCapacity(view({ existing: [spelled] })), []);
});

test('a change names sizes and nothing else', () => {
  const existing = [object('a', { capacity: '1Gi' })];
  assert.deepEqual(decideCapacity(view({ existing })), [
    {
      kind: 'patch',
      object: existing[0],
      body: { metadata: { uid: 'u-a' }, capacity: '2Gi', maximumVolumeSize: '1536Mi' },
    },
  ]);
});

test('trap 26: one of a provisioner before us is adopted, a second one goes', () => {
  const { 'quarry.io/node': _own, ...stock } = own;
  const foreign = object('csisc-x', {
    metadata: { ...meta, uid: 'u-x', name: 'csisc-x', namespace: 'ns', labels: stock },
  });
  const [adopted, ...none] = decideCapacity(view({ existing: [foreign] }));
  assert.deepEqual(none, []);
  assert.ok(adopted?.kind === 'patch');
  assert.deepEqual((adopted.body as { metadata: object }).metadata, { uid: 'u-x', labels: own });
  const actions = decideCapacity(view({ existing: [foreign, object('a')] }));
  assert.deepEqual(actions, [{ kind: 'delete', object: foreign }]);
});

test('what belongs to a class that is gone or not ours goes, if it is ours', () => {
  const existing = [object('a')];
  const gone = [{ kind: 'delete', object: existing[0] }];
  assert.deepEqual(decideCapacity(view({ existing, storageClass: undefined })), gone);
  const other = { metadata: { ...meta, name: 'fast' }, provisioner: 'somebody.else' };
  assert.deepEqual(decideCapacity(view({ existing, storageClass: other })), gone);
  const unlabelled = [object('x', { metadata: { ...meta, name: 'x', labels: {} } })];
  assert.deepEqual(decideCapacity(view({ existing: unlabelled, storageClass: undefined })), []);
});

test('it goes with what installed us, where that was told', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'd' };
  const [made] = decideCapacity(view({ owner }));
  assert.ok(made?.kind === 'create');
  assert.deepEqual(made.object.metadata.ownerReferences, [owner]);
  const [patched] = decideCapacity(view({ owner, existing: [object('a')] }));
  assert.ok(patched?.kind === 'patch');
});

test('the first look asks only for what nobody adopted yet', () => {
  assert.equal(
    adoptableSelector(names, 'n1'),
    'csi.storage.k8s.io/drivername=topolvm.io,csi.storage.k8s.io/managed-by in ' +
      '(external-provisioner,external-provisioner-n1),!quarry.io/node',
  );
});
