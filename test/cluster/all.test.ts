import assert from 'node:assert/strict';
import test from 'node:test';
import { ourAll } from './our-all.ts';
import { ourOperator } from './our-operator.ts';
import { assertSound, runs } from './scene.ts';
import { ClusterStage } from './stage.ts';

/** One node, and nothing of ours but one process on it. */
async function edge(seed = 1): Promise<ClusterStage> {
  const stage = new ClusterStage({ seed, nodes: 1, agent: ourAll, operator: ourOperator });
  await stage.start([]);
  return stage;
}

function volumesOf(stage: ClusterStage): number {
  return stage.admin.volumes.length;
}

test('one process makes a volume of a claim, shows it to a pod, and takes it away', async () => {
  const stage = await edge();
  stage.claim('data', { size: '300Mi' });
  stage.pod('p', 'data');
  await stage.until('the pod runs', runs(stage, 'p'));
  await assertSound(stage);
  stage.pods.delete('p');
  stage.deleteClaim('data');
  await stage.until('all is gone', () => volumesOf(stage) === 0);
  await assertSound(stage);
  assert.deepEqual(stage.admin.logicalVolumes, []);
});

test('the process is killed anywhere in between; the next one ends what it began', async () => {
  for (let seed = 1; seed <= 12; seed += 1) {
    const stage = await edge(seed);
    stage.claim('data', { size: '300Mi' });
    stage.pod('p', 'data');
    await stage.advance(seed * 60);
    stage.machine('n1').killAgent();
    await stage.until('the pod runs', runs(stage, 'p'));
    assert.equal(stage.machine('n1').lives, 2, `SEED=${seed}`);
    await assertSound(stage);
    assert.equal(volumesOf(stage), 1, `SEED=${seed}`);
    stage.pods.delete('p');
    stage.deleteClaim('data');
    await stage.advance(seed * 60);
    stage.machine('n1').killAgent();
    await stage.until('all is gone', () => volumesOf(stage) === 0);
    await assertSound(stage);
    assert.deepEqual(stage.admin.logicalVolumes, [], `SEED=${seed}`);
  }
});

test('the only node loses power while a claim is being met', async () => {
  for (let seed = 1; seed <= 6; seed += 1) {
    const stage = await edge(seed);
    stage.claim('data', { className: 'thick', size: '300Mi' });
    stage.pod('p', 'data');
    await stage.advance(seed * 120);
    stage.cutPower('n1');
    await stage.advance(5_000);
    stage.powerOn('n1');
    await stage.until('the pod runs', runs(stage, 'p'));
    await assertSound(stage);
    assert.equal(volumesOf(stage), 1, `SEED=${seed}`);
  }
});
