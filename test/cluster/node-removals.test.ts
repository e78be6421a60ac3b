import assert from 'node:assert/strict';
import test from 'node:test';
import { audit } from './audit.ts';
import { assertSound, cluster, runs } from './scene.ts';
import type { ClusterStage } from './stage.ts';
import { volumesOn } from './truth.ts';

test('a node that was taken out and comes back has its volumes', async () => {
  const stage = await withVolume();
  stage.removals.remove('n1');
  await stage.until('the Node is gone', () => stage.removals.isGone('n1'));
  await stage.until('its pods are gone', () => stage.pods.using('data').length === 0);
  await stage.advance(1_200_000);
  assert.deepEqual(namesOf(stage), ['n2'], 'nobody tells the room of a node that is gone');
  assert.deepEqual(audit(stage), []);
  stage.removals.join('n1');
  stage.pod('again', 'data');
  await stage.until('a pod has the volume', runs(stage, 'again'));
  assert.equal(stage.pods.get('again')?.node, 'n1');
  await assertSound(stage);
  assert.deepEqual(namesOf(stage), ['n1', 'n2']);
});

test('trap 30: what is on a node that never comes back goes at the word of an administrator', async () => {
  const stage = await withVolume();
  stage.removals.remove('n1', { isForEver: true });
  await stage.until('its pods are gone', () => stage.pods.using('data').length === 0);
  stage.deleteClaim('data');
  await stage.advance(1_800_000);
  assert.deepEqual(audit(stage), []);
  const [record] = stage.admin.logicalVolumes;
  assert.equal(stage.admin.volumes.length, 1);
  assert.equal(volumesOn(stage.machine('n1')).length, 1);
  stage.removals.giveUp(record?.metadata.name ?? '');
  await stage.until('nothing is left of it', () => stage.admin.volumes.length === 0);
  assert.deepEqual(stage.admin.logicalVolumes, []);
  await assertSound(stage);
});

test('a volume that was begun on a node that is gone is made elsewhere once it is given up', async () => {
  const stage = await cluster();
  stage.network.cut('n2');
  await stage.advance(1_000);
  stage.machine('n1').holdUpAgent(600_000);
  stage.claim('data', { size: '300Mi' });
  stage.pod('p', 'data');
  await stage.until('it is begun on n1', () => stage.admin.logicalVolumes.length === 1);
  stage.removals.remove('n1', { isForEver: true });
  stage.cutPower('n1');
  stage.network.mend();
  await stage.advance(1_200_000);
  assert.deepEqual(audit(stage), []);
  const [record] = stage.admin.logicalVolumes;
  assert.equal(record?.spec.nodeName, 'n1', 'a volume never moves between two tries');
  assert.ok(stage.lines.some((line) => line.includes('NodeSilent')));
  stage.removals.giveUp(record?.metadata.name ?? '');
  await stage.until('the pod runs', runs(stage, 'p'));
  assert.equal(stage.pods.get('p')?.node, 'n2');
  await assertSound(stage);
});

async function withVolume(): Promise<ClusterStage> {
  const stage = await cluster();
  // There is no other choice yet.
  stage.network.cut('n2');
  await stage.advance(1_000);
  stage.claim('data', { size: '300Mi' });
  stage.pod('p', 'data');
  await stage.until('the pod runs', runs(stage, 'p'));
  assert.equal(stage.pods.get('p')?.node, 'n1');
  stage.network.mend();
  await stage.advance(120_000);
  return stage;
}

/** Nodes whose room the scheduler is told. */
function namesOf({ admin }: ClusterStage): readonly string[] {
  const labels = admin.capacities.map(({ nodeTopology }) => nodeTopology?.matchLabels ?? {});
  return [...new Set(labels.flatMap((each) => Object.values(each)))].toSorted();
}
