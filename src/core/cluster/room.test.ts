import assert from 'node:assert/strict';
import test from 'node:test';
import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { CsiStorageCapacity, StorageClass } from '../../api/objects/storage.ts';
import { waitsForPod, whyNoRoom } from './room.ts';
import { selectedNodeAnnotation } from './topology.ts';

const names = { domain: 'topolvm.io', driver: 'topolvm.io' };
const metadata = { name: 'data', namespace: 'ns', uid: 'u', resourceVersion: '1' };
const storageClass: StorageClass = {
  ...{ metadata, provisioner: 'topolvm.io', volumeBindingMode: 'WaitForFirstConsumer' },
};

function claim(storage: string, more: Partial<PersistentVolumeClaim> = {}): PersistentVolumeClaim {
  const spec = { storageClassName: 'fast', resources: { requests: { storage } } };
  return { metadata, spec, status: { phase: 'Pending' }, ...more };
}

function rooms(...sizes: readonly (string | undefined)[]): readonly CsiStorageCapacity[] {
  return sizes.map((maximumVolumeSize, index) => ({
    ...{ metadata, storageClassName: 'fast', capacity: '100Gi' },
    ...(maximumVolumeSize === undefined ? {} : { maximumVolumeSize }),
    nodeTopology: { matchLabels: { 'topology.topolvm.io/node': `n${index + 1}` } },
  }));
}

test('a claim that no node has room for is told where most is', () => {
  assert.deepEqual(whyNoRoom(claim('5Gi'), rooms('1Gi', '4Gi'), names), {
    ...{ kind: 'blocked', code: 'InsufficientCapacity' },
    message:
      'no node can give 5 GiB in one volume of StorageClass fast: the largest is 4 GiB, on n2',
  });
});

const enough: readonly (readonly [string, string, readonly CsiStorageCapacity[]])[] = [
  ['one node has room', '5Gi', rooms('1Gi', '5Gi')],
  ['nobody has told anything', '5Gi', []],
  ['what is told cannot be read', '5Gi', rooms('much')],
  ['a driver tells the sum alone', '5Gi', rooms(undefined)],
  ['the size cannot be read', 'five', rooms('1Gi')],
];

for (const [title, size, told] of enough) {
  test(`where ${title} nothing is missing`, () => {
    assert.equal(whyNoRoom(claim(size), told, names), undefined);
  });
}

const waiting: readonly (readonly [string, boolean, Partial<PersistentVolumeClaim>])[] = [
  ['waits for a pod', true, {}],
  ['is going', false, { metadata: { ...metadata, deletionTimestamp: 'now' } }],
  ['is bound', false, { status: { phase: 'Bound' } }],
  [
    'has a node',
    false,
    { metadata: { ...metadata, annotations: { [selectedNodeAnnotation]: 'n1' } } },
  ],
];

for (const [title, waits, more] of waiting) {
  test(`a claim that ${title} ${waits ? 'counts' : 'does not count'}`, () => {
    assert.equal(waitsForPod(claim('1Gi', more), storageClass, names), waits);
  });
}

test('a class that binds at once, or is of somebody else, does not count', () => {
  const atOnce = { ...storageClass, volumeBindingMode: 'Immediate' };
  assert.equal(waitsForPod(claim('1Gi'), atOnce, names), false);
  assert.equal(waitsForPod(claim('1Gi'), { ...storageClass, provisioner: 'x' }, names), false);
  assert.equal(waitsForPod(claim('1Gi'), undefined, names), false);
});
