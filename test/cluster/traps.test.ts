import assert from 'node:assert/strict';
import test from 'node:test';
import { leftovers, type Signature } from '../world/content.ts';
import { type Lv, virtualBytes } from '../world/model.ts';
import { assertSound, cluster, runs } from './scene.ts';
import type { ClaimWish, ClusterStage } from './stage.ts';
import { volumesOn } from './truth.ts';

const mib = 1024 ** 2;

test('trap 12: a volume that was lost is not made anew behind its old PersistentVolume', async () => {
  const stage = await withPod({ className: 'thick' });
  const machine = stage.machine(nodeOf(stage, 'p'));
  const { name: id } = volumeOf(stage, 'data');
  stage.pods.delete('p');
  await stage.until('it is taken away', () => stage.pods.get('p') === undefined);
  machine.world.admin.run('lvm', 'lvremove', '--yes', `data/${id}`);
  machine.killAgent();
  stage.killOperator('o1');
  await stage.advance(5_000);
  stage.pod('q', 'data');
  await stage.advance(180_000);
  assert.deepEqual(volumesOn(machine), []);
  assert.equal(stage.pods.get('q')?.isRunning, false);
  assert.match(stage.pods.get('q')?.why ?? '', /NOT_FOUND/);
});

test('trap 13: what former tenants left in the blocks of a volume is shown to nobody', async () => {
  const stage = await withPod({ className: 'thick', isRaw: true });
  const first = volumeOf(stage, 'data');
  assert.deepEqual(leftovers(first.content), []);
  stage.machine(nodeOf(stage, 'p')).world.write(first, 0, 8 * mib);
  stage.pods.delete('p');
  stage.deleteClaim('data');
  await stage.until('it is gone', () => stage.admin.logicalVolumes.length === 0);
  await withPod({ className: 'thick', isRaw: true }, stage);
  assert.deepEqual(leftovers(volumeOf(stage, 'data').content), []);
  stage.resize('data', '500Mi');
  await stage.until('it has grown', () => capacityOf(stage, 'data') === '500Mi');
  assert.equal(virtualBytes(volumeOf(stage, 'data')), 500 * mib);
  assert.deepEqual(leftovers(volumeOf(stage, 'data').content), []);
  await assertSound(stage);
});

test('trap 13: zeroes for a raw volume do not fill a snapshot that was taken before them', async () => {
  const stage = await cluster({ nodes: 1 });
  const { world } = stage.machine('n1');
  const mend = world.faults.always('blkdiscard', { kind: 'fail', exitCode: 1, stderr: 'no' });
  stage.claim('data', { className: 'thick', size: '400Mi', isRaw: true });
  stage.pod('p', 'data');
  await stage.until('it is bound', () => stage.admin.claim('data')?.status?.phase === 'Bound');
  stage.snapshot('s', 'data');
  await stage.until('it is ready', () => stage.admin.snapshot('s')?.status?.readyToUse === true);
  mend();
  await stage.until('the pod runs', runs(stage, 'p'));
  const source = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' };
  stage.claim('copy', { className: 'thick', size: '400Mi', isRaw: true, source });
  stage.pod('q', 'copy');
  await stage.until('the pod runs', runs(stage, 'q'));
  assert.deepEqual(leftovers(volumeOf(stage, 'copy').content), []);
  await assertSound(stage);
});

for (const program of ['blkid', 'wipefs']) {
  test(`trap 14: nothing is formatted while ${program} cannot tell what is there`, async () => {
    const stage = await cluster({ nodes: 1 });
    const { world } = stage.machine('n1');
    const mend = world.faults.always(program, { kind: 'fail', exitCode: 4, stderr: 'I/O error' });
    stage.claim('data', { className: 'thick', size: '300Mi' });
    stage.pod('p', 'data');
    await stage.advance(120_000);
    assert.deepEqual(volumeOf(stage, 'data').content.signatures, []);
    assert.equal(stage.pods.get('p')?.isRunning, false);
    mend();
    await stage.until('the pod runs', runs(stage, 'p'));
    assert.equal(fileSystemOf(stage, 'data').type, 'ext4');
    await assertSound(stage);
  });
}

for (const source of ['snapshot', 'claim'] as const) {
  test(`trap 15: an XFS from a ${source} is mounted beside the first one, and as large as asked`, async () => {
    const stage = await withPod({ className: 'xfs' });
    stage.snapshot('s', 'data');
    await stage.until('it is ready', () => stage.admin.snapshot('s')?.status?.readyToUse === true);
    const copyOf =
      source === 'claim'
        ? { kind: 'PersistentVolumeClaim', name: 'data' }
        : { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' };
    stage.claim('copy', { className: 'xfs', size: '700Mi', source: copyOf });
    stage.pod('q', 'copy');
    await stage.until('the pod runs', runs(stage, 'q'));
    assert.equal(nodeOf(stage, 'q'), nodeOf(stage, 'p'));
    assert.ok(stage.pods.get('p')?.isRunning);
    assert.equal(fileSystemOf(stage, 'copy').uuid, fileSystemOf(stage, 'data').uuid);
    assert.equal(fileSystemOf(stage, 'copy').fsBytes, 700 * mib);
    await assertSound(stage);
  });
}

/** A running pod `p` with the claim `data`. */
async function withPod(wish: ClaimWish, given?: ClusterStage): Promise<ClusterStage> {
  const stage = given ?? (await cluster());
  stage.claim('data', { size: '400Mi', ...wish });
  stage.pod('p', 'data');
  await stage.until('the pod runs', runs(stage, 'p'));
  return stage;
}

function nodeOf(stage: ClusterStage, pod: string): string {
  return stage.pods.get(pod)?.node ?? assert.fail(`${pod} is nowhere`);
}

function capacityOf(stage: ClusterStage, claim: string): string | undefined {
  return stage.admin.claim(claim)?.status?.capacity?.storage;
}

/** The LV behind a claim. */
function volumeOf(stage: ClusterStage, claim: string): Lv {
  const volume = stage.admin.volume(stage.admin.claim(claim)?.spec.volumeName ?? '');
  const lvs = [...stage.machines.values()].flatMap(volumesOn);
  const lv = lvs.find(({ name }) => name === volume?.spec.csi?.volumeHandle);
  return lv ?? assert.fail(`${claim} has no LV`);
}

function fileSystemOf(stage: ClusterStage, claim: string): Signature {
  return volumeOf(stage, claim).content.signatures[0] ?? assert.fail(`${claim} has none`);
}
