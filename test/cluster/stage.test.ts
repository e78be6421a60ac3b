import assert from 'node:assert/strict';
import test from 'node:test';
import { collections } from '../kube/fake-api-rules.ts';
import { audit, unmarked } from './audit.ts';
import { assertSound, cluster, runs } from './scene.ts';

test('a pod runs with its volume, and both go again', async () => {
  const stage = await cluster();
  stage.claim('data', { size: '300Mi' });
  stage.pod('p', 'data');
  await stage.until('the pod runs', runs(stage, 'p'));
  await assertSound(stage);
  assert.equal(stage.admin.volumes.length, 1);
  stage.pods.delete('p');
  stage.deleteClaim('data');
  await stage.until('all is gone', () => stage.admin.volumes.length === 0);
  await assertSound(stage);
  assert.deepEqual(stage.admin.logicalVolumes, []);
});

test('a claim costs few writes to its LogicalVolume', async () => {
  const stage = await cluster();
  stage.claim('data', { size: '300Mi' });
  stage.pod('p', 'data');
  await stage.until('the pod runs', runs(stage, 'p'));
  await stage.advance(30_000);
  assert.ok(stage.api.writesTo(collections.logicalVolumes) <= 3);
});

test('a volume that is kept stays when its claim goes', async () => {
  const stage = await cluster();
  stage.claim('data', { className: 'kept', size: '300Mi' });
  stage.pod('p', 'data');
  await stage.until('the pod runs', runs(stage, 'p'));
  stage.pods.delete('p');
  stage.deleteClaim('data');
  await stage.until('it is released', () => stage.admin.volumes[0]?.status?.phase === 'Released');
  await assertSound(stage);
  assert.equal(stage.admin.logicalVolumes.length, 1);
});

test('a claim that waits for nobody is bound at once', async () => {
  const stage = await cluster();
  stage.claim('data', { className: 'at-once', size: '300Mi' });
  await stage.until('it is bound', () => stage.admin.claim('data')?.status?.phase === 'Bound');
  stage.pod('p', 'data');
  await stage.until('the pod runs', runs(stage, 'p'));
  await assertSound(stage);
});

test('trap 7: a full node sends the claim to another one', async () => {
  const stage = await cluster();
  // The figures of n1 are old: it is full, and says that it is empty.
  stage.network.cut('n2');
  await stage.advance(1_000);
  const { world } = stage.machine('n1');
  stage.claim('data', { className: 'thick', size: '4Gi' });
  stage.pod('p', 'data');
  world.admin.run('lvm', 'lvcreate', '--yes', '--size', '4500m', '--name', 'theirs', 'data');
  await stage.until('n1 is chosen', () => stage.pods.get('p')?.assumed === 'n1');
  stage.network.mend();
  await stage.until('the pod runs', runs(stage, 'p'));
  assert.equal(stage.pods.get('p')?.node, 'n2');
  world.admin.run('lvm', 'lvremove', '--yes', 'data/theirs');
  await assertSound(stage, 90_000);
});

test('trap 3: an operator that dies anywhere leaves no volume behind a claim that goes', async () => {
  let cleared = 0;
  for (let seed = 1; seed <= 12; seed += 1) {
    const stage = await cluster({ seed });
    stage.claim('data', { size: '300Mi' });
    stage.pod('p', 'data');
    await stage.advance(seed * 60);
    stage.killOperator('o1');
    stage.pods.delete('p');
    stage.deleteClaim('data');
    await stage.advance(600_000);
    const findings = audit(stage);
    // Who dies when the mark is off and the PersistentVolume is not made is told of, no more.
    const isTold = stage.lines.some((line) => line.includes('"OrphanedVolume"'));
    const expected = isTold ? findings.filter((finding) => finding.endsWith(unmarked)) : [];
    assert.deepEqual(findings, expected, `SEED=${seed}`);
    cleared += stage.admin.logicalVolumes.length === 0 ? 1 : 0;
  }
  assert.ok(cleared >= 10, `${cleared} of 12 were cleared`);
});

test('an agent that dies, or a node that loses power, goes on where it was', async () => {
  for (let seed = 1; seed <= 8; seed += 1) {
    const stage = await cluster({ seed });
    stage.claim('data', { size: '300Mi' });
    stage.claim('more', { className: 'thick', size: '300Mi' });
    stage.pod('p', 'data', 'more');
    await stage.advance(seed * 100);
    if (seed % 2 === 0) for (const name of ['n1', 'n2']) stage.machine(name).killAgent();
    else {
      for (const name of ['n1', 'n2']) stage.cutPower(name);
      await stage.advance(5_000);
      for (const name of ['n1', 'n2']) stage.powerOn(name);
    }
    await stage.until('the pod runs', runs(stage, 'p'));
    await assertSound(stage);
  }
});

test('trap 22: of two operators one acts, and the other one takes over', async () => {
  const stage = await cluster({ operators: ['o1', 'o2'] });
  stage.claim('a', { size: '300Mi' });
  stage.pod('pa', 'a');
  await stage.until('the pod runs', runs(stage, 'pa'));
  const leader = stage.api.all(collections.leases)[0]?.['spec'] as { holderIdentity: string };
  const name = leader.holderIdentity.startsWith('o1') ? 'o1' : 'o2';
  // It does not hear that it lost its lease, and goes on when the other one leads.
  stage.operators.get(name)?.holdUp(20_000);
  stage.claim('b', { size: '300Mi' });
  stage.pod('pb', 'b');
  await stage.until('the pod runs', runs(stage, 'pb'));
  await assertSound(stage);
});

test('the API server is away for an hour: what runs goes on, and work resumes', async () => {
  const stage = await cluster();
  stage.claim('a', { size: '300Mi' });
  stage.pod('pa', 'a');
  await stage.until('the pod runs', runs(stage, 'pa'));
  stage.claim('b', { size: '300Mi' });
  stage.pod('pb', 'b');
  stage.network.isAway = true;
  await stage.advance(3_600_000);
  stage.pods.delete('pa');
  await stage.until('the volume is taken away', () => stage.pods.get('pa') === undefined);
  stage.network.isAway = false;
  await stage.until('the pod runs', runs(stage, 'pb'));
  await assertSound(stage);
});

test('a snapshot, what is restored from it, and a copy', async () => {
  const stage = await cluster();
  stage.claim('data', { size: '300Mi' });
  stage.pod('p', 'data');
  await stage.until('the pod runs', runs(stage, 'p'));
  stage.snapshot('s', 'data');
  await stage.until('it is ready', () => stage.admin.snapshot('s')?.status?.readyToUse === true);
  const snapshot = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' };
  stage.claim('restored', { size: '400Mi', source: snapshot });
  stage.claim('copy', { size: '300Mi', source: { kind: 'PersistentVolumeClaim', name: 'data' } });
  stage.pod('q', 'restored', 'copy');
  await stage.until('the pod runs', runs(stage, 'q'));
  await assertSound(stage);
  for (const pod of ['p', 'q']) stage.pods.delete(pod);
  stage.deleteSnapshot('s');
  for (const claim of ['data', 'restored', 'copy']) stage.deleteClaim(claim);
  await stage.until('all is gone', () => stage.admin.logicalVolumes.length === 0);
  await assertSound(stage);
  assert.deepEqual(stage.admin.contents, []);
});

for (const [className, size] of [
  ['thick', '1G'],
  ['thin', '1G'],
  ['thick', '1Gi'],
  ['thick', '100000k'],
] as const) {
  test(`a copy of ${className} as large as its source was asked for: ${size}`, async () => {
    const stage = await cluster();
    stage.claim('data', { className, size });
    stage.pod('p', 'data');
    await stage.until('the pod runs', runs(stage, 'p'));
    const source = { kind: 'PersistentVolumeClaim', name: 'data' };
    stage.claim('copy', { className, size, source });
    stage.pod('q', 'copy');
    await stage.until('the copy is used', runs(stage, 'q'));
    await assertSound(stage);
  });
}

/** Binds stack at one path, and so do file systems with the mount of util-linux 2.39. */
for (const isRaw of [true, false]) {
  for (const seconds of [60, 300]) {
    const what = `${isRaw ? 'a bind' : 'a mount'} that hangs for ${seconds} s`;
    test(`an agent dies beside ${what}, and the pod has its volume once`, async () => {
      const stage = await cluster({ nodes: 1 });
      const machine = stage.machine('n1');
      const { faults, processes } = machine.world;
      faults.next('mount', { kind: 'hang' });
      stage.claim('data', { size: '300Mi', isRaw });
      stage.pod('p', 'data');
      const isMounting = () => processes.running.some(([name]) => name === 'mount');
      await stage.until('it is about to be shown', isMounting);
      machine.killAgent();
      await stage.advance(seconds * 1_000);
      faults.release();
      await stage.until('the pod runs', runs(stage, 'p'));
      await assertSound(stage);
    });
  }
}
