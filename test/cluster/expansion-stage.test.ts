import assert from 'node:assert/strict';
import test from 'node:test';
import { collections } from '../kube/fake-api-rules.ts';
import { parse } from './expansion-scene.ts';
import { assertSound, cluster, runs } from './scene.ts';
import type { ClusterStage } from './stage.ts';

test('a mounted volume grows while its pod runs', async () => {
  const stage = await withClaim();
  stage.resize('data', '500Mi');
  await stage.until('the claim has it', has(stage, '500Mi'));
  await assertSound(stage);
  assert.equal(stage.admin.volumes[0]?.spec.capacity?.storage, '500Mi');
  assert.equal(stage.admin.logicalVolumes[0]?.spec.size, '500Mi');
  assert.ok(stage.pods.get('p')?.isRunning);
});

test('a volume that is mounted nowhere grows, and its file system with the next pod', async () => {
  const stage = await withClaim();
  stage.pods.delete('p');
  await stage.until('it is taken away', () => stage.pods.get('p') === undefined);
  stage.resize('data', '500Mi');
  await stage.advance(30_000);
  assert.equal(stage.admin.volumes[0]?.spec.capacity?.storage, '500Mi');
  assert.equal(stage.admin.claim('data')?.status?.capacity?.storage, '300Mi');
  stage.pod('q', 'data');
  await stage.until('the claim has it', has(stage, '500Mi'));
  await assertSound(stage);
});

test('a raw volume grows', async () => {
  const stage = await withClaim({ isRaw: true });
  stage.resize('data', '500Mi');
  await stage.until('the claim has it', has(stage, '500Mi'));
  await assertSound(stage);
});

test('trap 5: a full group, and then a user who asks for less', async () => {
  const stage = await withClaim({ className: 'thick' });
  stage.resize('data', '900Gi');
  const state = () =>
    stage.admin.claim('data')?.status?.allocatedResourceStatuses?.storage ===
    'ControllerResizeInfeasible';
  await stage.until('it is said', state);
  const { conditions = [] } = stage.admin.claim('data')?.status ?? {};
  const error = conditions.find(({ type }) => type === 'ControllerResizeError');
  assert.match(
    error?.message ?? '',
    /^900 GiB cannot be given yet\. InsufficientCapacityToExpand:/,
  );
  assert.match(error?.message ?? '', /Remedy: Add a device to the volume group/);
  assert.equal(stage.admin.logicalVolumes[0]?.spec.size, '300Mi');
  stage.resize('data', '400Mi');
  await stage.until('the claim has it', has(stage, '400Mi'));
  await assertSound(stage);
});

test('operators, agents and machines may die while a volume grows', async () => {
  for (let seed = 1; seed <= 6; seed += 1) {
    const stage = await withClaim({ seed });
    stage.network.rates({ lostAnswer: 0.02, failed: 0.02, refused: 0.02, reset: 0.02 });
    stage.resize('data', '500Mi');
    await stage.advance(seed * 60);
    const node = stage.pods.get('p')?.node ?? '';
    if (seed % 3 === 0) stage.killOperator('o1');
    else if (seed % 3 === 1) stage.machine(node).killAgent();
    else {
      stage.cutPower(node);
      await stage.advance(5_000);
      stage.powerOn(node);
    }
    await stage.advance(10_000);
    stage.network.rates({});
    await stage.until('the claim has it', has(stage, '500Mi'));
    await assertSound(stage, 60_000);
  }
});

test('a request that is lowered while nobody answers is met with what was begun', async () => {
  const stage = await withClaim();
  const node = stage.pods.get('p')?.node ?? '';
  stage.network.cut(node);
  stage.resize('data', '700Mi');
  await stage.advance(90_000);
  stage.resize('data', '400Mi');
  await stage.advance(90_000);
  assert.equal(stage.admin.claim('data')?.status?.allocatedResources?.storage, '700Mi');
  stage.network.mend();
  await stage.until('the claim has it', has(stage, '700Mi'));
  await assertSound(stage, 60_000);
});

test('a node that is cut off is told to its claims, and when it is back', async () => {
  const stage = await withClaim();
  const node = stage.pods.get('p')?.node ?? '';
  const taint = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' };
  stage.admin.patch(collections.nodes, { name: node }, { spec: { taints: [taint] } });
  await stage.until('it is told', told(stage, 'NodeFailed'));
  stage.admin.patch(collections.nodes, { name: node }, { spec: { taints: null } });
  await stage.until('it is told', told(stage, 'NodeRecovered'));
  await assertSound(stage);
});

test('a volume that somebody removed behind us is told to its claim', async () => {
  const stage = await withClaim({ className: 'thick' });
  const { world } = stage.machine(stage.pods.get('p')?.node ?? '');
  stage.pods.delete('p');
  await stage.until('it is taken away', () => stage.pods.get('p') === undefined);
  const id = stage.admin.logicalVolumes[0]?.status?.volumeID;
  world.admin.run('lvm', 'lvremove', '--yes', `data/${id}`);
  await stage.until('it is told', told(stage, 'VolumeConditionAbnormal'));
});

/** What `kubectl describe` would show, as the log has it too. */
function told(stage: ClusterStage, reason: string): () => boolean {
  return () => stage.lines.some((line) => line.includes(`"reason":"${reason}"`));
}

/** At least so much: sizes are whole extents. */
function has(stage: ClusterStage, text: string): () => boolean {
  const wanted = parse(text);
  return () => parse(stage.admin.claim('data')?.status?.capacity?.storage ?? '0') >= wanted;
}

async function withClaim(
  wish: { readonly seed?: number; readonly className?: string; readonly isRaw?: boolean } = {},
): Promise<ClusterStage> {
  const { seed = 1, ...claim } = wish;
  const stage = await cluster({ seed });
  stage.claim('data', { size: '300Mi', ...claim });
  stage.pod('p', 'data');
  await stage.until('the pod runs', runs(stage, 'p'));
  return stage;
}
