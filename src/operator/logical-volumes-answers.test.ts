import assert from 'node:assert/strict';
import test from 'node:test';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { gib, outcome, twoNodes, withVolume } from '../../test/operator/scene.ts';
import { GiB } from '../base/bytes.ts';

test('a deletion that is refused is not called done', async (t) => {
  const at = await twoNodes(t);
  const { id } = await withVolume(at, 'pvc-a');
  at.transport.faults.push(409);
  const removed = outcome(at.book.remove('volume', id));
  await at.settle();
  assert.equal(removed.error?.code, 'StaleView');
  assert.notEqual(at.volume('pvc-a'), undefined);
});

test('a size that was only asked for is not called given', async (t) => {
  const at = await twoNodes(t);
  const { id } = await withVolume(at, 'pvc-a');
  const volume = at.volume('pvc-a') ?? assert.fail();
  // As old versions of TopoLVM left it in the middle of a growth.
  at.api.put(collections.logicalVolumes, {
    ...volume,
    spec: { ...volume.spec, size: '2Gi' },
    status: { volumeID: id },
  });
  const grown = outcome(at.book.expand(id, gib(2)));
  await at.settle();
  assert.equal(grown.isSettled, false);
  at.made('pvc-a');
  await at.settle();
  assert.equal(grown.value?.sizeBytes, 2n * GiB);
});
