import assert from 'node:assert/strict';
import test from 'node:test';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { Town } from '../../test/operator/town.ts';
import type { LogicalVolume } from '../api/objects/logical-volume.ts';
import type { PersistentVolume } from '../api/objects/persistent-volume.ts';

/** A node with the driver, a class, and an agent that does at once what it is told. */
function furnish({ api }: Town): void {
  const key = 'topology.topolvm.io/node';
  api.put(collections.nodes, { metadata: { name: 'n1', labels: { [key]: 'n1' } } });
  const drivers = [{ name: 'topolvm.io', nodeID: 'n1', topologyKeys: [key] }];
  api.put(collections.csiNodes, { metadata: { name: 'n1' }, spec: { drivers } });
  api.put(collections.classes, {
    ...{ metadata: { name: 'fast' }, provisioner: 'topolvm.io', reclaimPolicy: 'Delete' },
    volumeBindingMode: 'WaitForFirstConsumer',
  });
  api.listeners.add(({ collection, after }) => {
    if (collection !== collections.logicalVolumes || after === undefined) return;
    const { metadata, spec, status } = after as unknown as LogicalVolume;
    queueMicrotask(() => {
      if (metadata.deletionTimestamp !== undefined) api.delete(collection, metadata.name);
      else if (status?.currentSize !== spec.size) {
        const now = api.one(collection, metadata.name) ?? assert.fail();
        const made = { volumeID: metadata.uid, currentSize: spec.size };
        api.put(collection, { ...now, status: made });
      }
    });
  });
}

function claim({ api }: Town, name: string): string {
  const annotations = {
    'volume.kubernetes.io/storage-provisioner': 'topolvm.io',
    'volume.kubernetes.io/selected-node': 'n1',
  };
  const made = api.put(collections.claims, {
    metadata: { name, namespace: 'ns', annotations },
    spec: {
      ...{ accessModes: ['ReadWriteOnce'], storageClassName: 'fast', volumeMode: 'Filesystem' },
      resources: { requests: { storage: '1Gi' } },
    },
    status: { phase: 'Pending' },
  });
  return made.metadata.uid;
}

const volumesIn = ({ api }: Town) =>
  api.all(collections.volumes) as unknown as readonly PersistentVolume[];

test('with all its duties the operator turns claims into PersistentVolumes, and back', async (t) => {
  const town = new Town();
  furnish(town);
  const operator = await town.operator(t, 'a', 'all');
  await town.pass(3_000);
  assert.equal(operator.isLeading, true);
  const uids = Array.from({ length: 20 }, (_, index) => claim(town, `data-${index}`));
  await town.pass(5_000);
  assert.deepEqual(
    volumesIn(town)
      .map(({ metadata }) => metadata.name)
      .toSorted(),
    uids.map((uid) => `pvc-${uid}`).toSorted(),
  );
  const objects = town.api.all(collections.logicalVolumes) as unknown as readonly LogicalVolume[];
  assert.ok(objects.every(({ metadata }) => !metadata.annotations?.['quarry.io/unpublished']));
  for (const volume of volumesIn(town)) {
    town.api.delete(collections.claims, volume.spec.claimRef?.name ?? '', 'ns');
    town.api.put(collections.volumes, { ...volume, status: { phase: 'Released' } });
  }
  await town.pass(10_000);
  assert.deepEqual(town.api.all(collections.logicalVolumes), []);
});

test('trap 3: what an operator left that died before it published goes; what was published stays', async (t) => {
  const town = new Town();
  furnish(town);
  const left = (name: string, annotations: Record<string, string>) =>
    town.api.put(collections.logicalVolumes, {
      metadata: { name, annotations, finalizers: ['topolvm.io/logicalvolume'] },
      spec: { name, nodeName: 'n1', size: '1Gi' },
    });
  const claimed = { 'quarry.io/claim': 'ns/data' };
  left('pvc-never', { ...claimed, 'quarry.io/unpublished': 'gone' });
  left('pvc-once', claimed);
  const operator = await town.operator(t, 'b', 'all');
  await town.pass(600_000);
  const names = town.api.all(collections.logicalVolumes).map(({ metadata }) => metadata.name);
  assert.deepEqual(names, ['pvc-once']);
  const text = operator.metrics.text();
  assert.match(text, /^quarry_orphan_volumes\{reason="no-persistent-volume"\} 1$/m);
  const events = town.api.all(collections.events).map((event) => String(event['reason']));
  assert.deepEqual(events.toSorted(), ['OrphanRemoved', 'OrphanedVolume']);
});
