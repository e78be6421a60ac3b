import assert from 'node:assert/strict';
import test from 'node:test';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { type OperatorScene, twoNodes } from '../../test/operator/scene.ts';
import { Orphans, orphanTimes } from './orphans.ts';

const uid = '11111111-2222-3333-4444-555555555555';
const name = `pvc-${uid}`;
const later = orphanTimes.graceMs + 2 * orphanTimes.everyMs;

function logicalVolume(at: OperatorScene, annotations: Record<string, string> = {}): string {
  const finalizers = ['topolvm.io/logicalvolume'];
  const metadata = { name, finalizers, annotations };
  const spec = { name, nodeName: 'n1', size: '1Gi' };
  at.api.put(collections.logicalVolumes, { metadata, spec });
  at.made(name);
  return at.volume(name)?.metadata.uid ?? '';
}

function assertKept(at: OperatorScene): void {
  const { metadata } = at.volume(name) ?? assert.fail('it is gone');
  assert.equal(metadata.deletionTimestamp, undefined);
}

const mark = { 'quarry.io/unpublished': uid, 'quarry.io/claim': 'ns/data' };

test('trap 3: a volume that no PersistentVolume ever had goes when its claim is gone', async (t) => {
  const at = await twoNodes(t);
  logicalVolume(at, mark);
  const orphans = new Orphans(at.cluster);
  at.run(orphans);
  await at.pass(orphanTimes.graceMs - orphanTimes.everyMs);
  assertKept(at);
  for (let round = 0; round < 3; round += 1) await at.pass(orphanTimes.everyMs);
  assert.notEqual(at.volume(name)?.metadata.deletionTimestamp, undefined);
  assert.deepEqual(
    at.events.map(({ reason }) => reason),
    ['OrphanRemoved'],
  );
});

test('trap 3: without our mark it is told of, once, and never removed', async (t) => {
  const at = await twoNodes(t);
  logicalVolume(at, { 'quarry.io/claim': 'ns/data' });
  const orphans = new Orphans(at.cluster);
  at.run(orphans);
  for (let round = 0; round < 20; round += 1) await at.pass(orphanTimes.everyMs);
  assertKept(at);
  assert.equal(at.events.length, 1);
  assert.match(at.events[0]?.message ?? '', /1 GiB: its claim is gone\. Remedy: .*volumeHandle/);
  assert.deepEqual(
    orphans.figures().find(({ reason }) => reason === 'claim-gone'),
    { reason: 'claim-gone', count: 1 },
  );
});

test('a volume with a claim, or with a PersistentVolume, is nobody’s business', async (t) => {
  const at = await twoNodes(t);
  const id = logicalVolume(at, mark);
  const csi = { driver: 'topolvm.io', volumeHandle: id };
  at.api.put(collections.volumes, { metadata: { name: 'renamed' }, spec: { csi } });
  await at.settle();
  at.run(new Orphans(at.cluster));
  for (let round = 0; round < 20; round += 1) await at.pass(orphanTimes.everyMs);
  assertKept(at);
  assert.deepEqual(at.events, []);
});

test('trap 3: a claim that our cache has lost is asked for before anything is removed', async (t) => {
  const at = await twoNodes(t);
  logicalVolume(at, mark);
  await at.settle();
  at.transport.isHeld = true;
  at.api.put(collections.claims, { metadata: { name: 'data', namespace: 'ns', uid }, spec: {} });
  const [claim] = at.api.all(collections.claims);
  at.api.put(collections.logicalVolumes, {
    ...at.volume(name),
    metadata: {
      ...at.volume(name)?.metadata,
      annotations: { ...mark, 'quarry.io/unpublished': claim?.metadata.uid ?? '' },
    },
  });
  at.run(new Orphans(at.cluster));
  for (let passed = 0; passed < later; passed += orphanTimes.everyMs) {
    await at.pass(orphanTimes.everyMs);
  }
  assertKept(at);
});

test('trap 3: a volume that is published in the last moment stays', async (t) => {
  const at = await twoNodes(t);
  logicalVolume(at, mark);
  await at.settle();
  at.transport.isHeld = true;
  const { metadata } = at.volume(name) ?? assert.fail();
  at.api.put(collections.logicalVolumes, {
    ...at.volume(name),
    metadata: { ...metadata, annotations: { 'quarry.io/claim': 'ns/data' } },
  });
  at.run(new Orphans(at.cluster));
  for (let passed = 0; passed < later; passed += orphanTimes.everyMs) {
    await at.pass(orphanTimes.everyMs);
  }
  assertKept(at);
});
