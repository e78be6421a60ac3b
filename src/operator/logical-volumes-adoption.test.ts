import assert from 'node:assert/strict';
import test from 'node:test';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { twoNodes } from '../../test/operator/scene.ts';
import { Adoption } from './logical-volumes-adoption.ts';

const spec = { name: 'pvc-a', nodeName: 'n1', size: '1Gi' };

test('a LogicalVolume of TopoLVM gets label and finalizer in one write, and keeps its own', async (t) => {
  const at = await twoNodes(t);
  const metadata = { name: 'pvc-a', labels: { a: 'b' }, finalizers: ['x.io/y'] };
  at.api.put(collections.logicalVolumes, { metadata, spec });
  at.run(new Adoption(at.cluster));
  await at.pass(1_000);
  const volume = at.volume('pvc-a') ?? assert.fail();
  assert.deepEqual(volume.metadata.labels, { a: 'b', 'topolvm.io/node': 'n1' });
  assert.deepEqual(volume.metadata.finalizers, ['x.io/y', 'topolvm.io/logicalvolume']);
  assert.equal(at.api.writesTo(collections.logicalVolumes), 1);
});

test('trap 16: a finalizer that somebody adds meanwhile is not lost', async (t) => {
  const at = await twoNodes(t);
  at.api.put(collections.logicalVolumes, { metadata: { name: 'pvc-a', finalizers: [] }, spec });
  await at.settle();
  at.transport.isHeld = true;
  at.api.put(collections.logicalVolumes, {
    metadata: { name: 'pvc-a', finalizers: ['x.io/y'] },
    spec,
  });
  at.run(new Adoption(at.cluster));
  await at.settle();
  at.transport.isHeld = false;
  await at.pass(2_000);
  const finalizers = at.volume('pvc-a')?.metadata.finalizers;
  assert.deepEqual(finalizers, ['x.io/y', 'topolvm.io/logicalvolume']);
});

test('what is being deleted gets the label only', async (t) => {
  const at = await twoNodes(t);
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  const metadata = { name: 'pvc-a', finalizers: ['x.io/y'], deletionTimestamp };
  at.api.put(collections.logicalVolumes, { metadata, spec });
  at.run(new Adoption(at.cluster));
  await at.pass(1_000);
  assert.deepEqual(at.volume('pvc-a')?.metadata.finalizers, ['x.io/y']);
  assert.equal(at.volume('pvc-a')?.metadata.labels?.['topolvm.io/node'], 'n1');
});
