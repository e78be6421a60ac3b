import assert from 'node:assert/strict';
import test from 'node:test';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { type OperatorScene, twoNodes, withVolume } from '../../test/operator/scene.ts';
import { strayAnnotation } from '../core/cluster/strays.ts';
import type { Stores } from './duty.ts';
import { LostVolumes, lostTimes } from './lost-volumes.ts';

const claim = { namespace: 'ns', name: 'data', uid: 'claim-uid' };

function bound(at: OperatorScene, volumeHandle: string, more: object = {}): void {
  const csi = { driver: 'topolvm.io', volumeHandle };
  at.api.put(collections.volumes, {
    ...{ metadata: { name: 'pv' }, spec: { csi, claimRef: claim }, status: { phase: 'Bound' } },
    ...more,
  });
}

async function rounds(at: OperatorScene, count: number): Promise<void> {
  for (let round = 0; round < count; round += 1) await at.pass(lostTimes.everyMs);
}

const graceRounds = lostTimes.graceMs / lostTimes.everyMs;

function stray(at: OperatorScene, id: string): void {
  const told = JSON.stringify({ ours: [`data/${id}`], others: [] });
  at.node('n1', { [strayAnnotation]: told });
}

test('a claim and its volume are told once that the LogicalVolume is gone', async (t) => {
  const at = await twoNodes(t);
  const { id } = await withVolume(at, 'pvc-a');
  bound(at, id);
  at.run(new LostVolumes(at.cluster));
  await rounds(at, 2);
  at.release('pvc-a');
  stray(at, id);
  await rounds(at, graceRounds);
  assert.equal(at.events.length, 0);
  await rounds(at, 20);
  assert.deepEqual(
    at.events.map(({ kind, name, reason }) => [kind, name, reason]),
    [
      ['PersistentVolume', 'pv', 'LogicalVolumeMissing'],
      ['PersistentVolumeClaim', 'data', 'LogicalVolumeMissing'],
    ],
  );
  assert.match(at.events[0]?.message ?? '', new RegExp(`LV is data/${id} on n1\\. Remedy: copy`));
});

test('nothing is told of what is not in use, or is somebody else’s', async (t) => {
  const at = await twoNodes(t);
  bound(at, 'gone', { status: { phase: 'Released' } });
  const csi = { driver: 'other.io', volumeHandle: 'x' };
  const spec = { csi, claimRef: claim };
  const other = { metadata: { name: 'other' }, spec, status: { phase: 'Bound' } };
  at.api.put(collections.volumes, other);
  await at.settle();
  at.run(new LostVolumes(at.cluster));
  await rounds(at, 20);
  assert.equal(at.events.length, 0);
});

test('a LogicalVolume that our watch has missed is asked for before anybody is told', async (t) => {
  const at = await twoNodes(t);
  const { id } = await withVolume(at, 'pvc-a');
  bound(at, id);
  await at.settle();
  const unseen = { values: () => [] } as unknown as Stores['logicalVolumes'];
  const stores = { ...at.cluster.stores, logicalVolumes: unseen };
  at.run(new LostVolumes({ ...at.cluster, stores }));
  await rounds(at, 20);
  assert.equal(at.events.length, 0);
});

test('what no object names is not gone while its node still has the LV', async (t) => {
  const at = await twoNodes(t);
  const { id } = await withVolume(at, 'pvc-a');
  at.release('pvc-a');
  stray(at, id);
  await at.settle();
  await assert.rejects(at.book.remove('volume', id), {
    code: 'LogicalVolumeMissing',
    message: new RegExp(`n1 still has the LV data/${id}`),
  });
  at.node('n1');
  await at.settle();
  await at.book.remove('volume', id);
});
