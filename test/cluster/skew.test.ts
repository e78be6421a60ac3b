import assert from 'node:assert/strict';
import test from 'node:test';
import type { Protocols } from '../../src/core/cluster/protocol.ts';
import { agentBuildAnnotation, operatorBuildAnnotation } from '../../src/core/cluster/skew.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { assertSound, cluster, runs } from './scene.ts';
import type { ClusterStage } from './stage.ts';

const first: Protocols = { newest: 1, oldest: 1 };
const next: Protocols = { newest: 2, oldest: 1 };
const apart: Protocols = { newest: 3, oldest: 3 };

/** The next life of a process is of another version, and begins now. */
async function becomes(stage: ClusterStage, name: string, protocols: Protocols): Promise<void> {
  stage.builds.set(name, { version: `0.${protocols.newest}.0`, protocols });
  if (stage.operators.has(name)) stage.killOperator(name);
  else stage.machine(name).killAgent();
  await stage.advance(60_000);
}

function isBound(stage: ClusterStage, claim: string): boolean {
  return stage.admin.claim(claim)?.status?.phase === 'Bound';
}

function tells(stage: ClusterStage, what: RegExp): boolean {
  return stage.lines.some((line) => line.startsWith('event') && what.test(line));
}

function hasRoom(stage: ClusterStage, node: string): boolean {
  const own = stage.admin.capacities.filter(
    ({ nodeTopology }) => nodeTopology?.matchLabels?.['topology.topolvm.io/node'] === node,
  );
  return own.some(({ capacity = '0' }) => capacity !== '0');
}

/** A claim of its own for each node, whichever node the scheduler likes best. */
function immediate(stage: ClusterStage, name: string, node: string): void {
  stage.claim(name, { className: 'thin', size: '100Mi' });
  const annotations = { 'volume.kubernetes.io/selected-node': node };
  stage.admin.patch(collections.claims, { name, namespace: 'ns' }, { metadata: { annotations } });
}

test('both sides tell what they are on the Node, once', async () => {
  const stage = await cluster({ nodes: 1 });
  await becomes(stage, 'o1', next);
  const annotations = () => stage.admin.node('n1')?.metadata.annotations ?? {};
  assert.match(annotations()[operatorBuildAnnotation] ?? '', /"version":"0\.2\.0","protocol":2/);
  assert.match(annotations()[agentBuildAnnotation] ?? '', /"version":"0","protocol":1/);
  const { resourceVersion } = stage.admin.node('n1')?.metadata ?? assert.fail();
  await stage.advance(600_000);
  assert.equal(stage.admin.node('n1')?.metadata.resourceVersion, resourceVersion);
});

test('versions that know a protocol in common do everything, half-way and back', async () => {
  const stage = await cluster();
  for (const [name, protocols] of [
    ['o1', next],
    ['n1', next],
    ['o1', first],
  ] as const) {
    await becomes(stage, name, protocols);
    const claim = `${name}-${protocols.newest}`;
    stage.claim(claim, { size: '100Mi' });
    stage.pod(claim, claim);
    await stage.until('the pod runs', runs(stage, claim));
    await assertSound(stage);
  }
});

test('half-way between versions apart: what is there is served, and nothing new is done', async () => {
  const stage = await cluster();
  immediate(stage, 'kept', 'n2');
  stage.pod('p', 'kept');
  await stage.until('the pod runs', runs(stage, 'p'));
  await becomes(stage, 'o1', apart);
  await becomes(stage, 'n1', apart);

  immediate(stage, 'new', 'n2');
  stage.resize('kept', '200Mi');
  stage.snapshot('shot', 'kept');
  await stage.advance(120_000);
  assert.equal(isBound(stage, 'new'), false);
  assert.equal(stage.admin.logicalVolumes.length, 1);
  const both = /operator is 0\.3\.0 \(protocol 3\) and the agent of n2 is 0 \(protocol 1\)/;
  for (const reason of [
    'VersionSkew',
    'ProvisioningFailed',
    'VolumeResizeFailed',
    'SnapshotCreationFailed',
  ]) {
    assert.ok(tells(stage, new RegExp(`"${reason}".*${both.source}`)), reason);
  }

  // Mounted, unmounted and mounted again.
  stage.pods.delete('p');
  stage.pod('again', 'kept');
  await stage.until('the pod runs', runs(stage, 'again'));
  // Where both go together new pods have a place.
  assert.equal(hasRoom(stage, 'n1'), true);
  assert.equal(hasRoom(stage, 'n2'), false);
  stage.claim('elsewhere', { size: '100Mi' });
  stage.pod('elsewhere', 'elsewhere');
  await stage.until('the pod runs', runs(stage, 'elsewhere'));
  assert.equal(stage.pods.get('elsewhere')?.node, 'n1');

  await becomes(stage, 'n2', apart);
  await stage.until('it is bound', () => isBound(stage, 'new'));
  await stage.until('it is taken', () => stage.admin.logicalVolumes.length === 4);
  await assertSound(stage);
});

test('nothing is removed half-way, whoever asks, and everything when it is undone', async () => {
  const stage = await cluster({ nodes: 1 });
  immediate(stage, 'data', 'n1');
  await stage.until('it is bound', () => isBound(stage, 'data'));
  await becomes(stage, 'n1', apart);
  const [volume] = stage.admin.logicalVolumes;
  const lvs = () =>
    stage
      .machine('n1')
      .world.vgs()
      .flatMap((vg) => vg.lvs.map(({ name }) => name));
  const id = volume?.metadata.uid ?? '';

  stage.deleteClaim('data');
  await stage.advance(120_000);
  assert.ok(tells(stage, /"VolumeFailedDelete".*agent of n1 is 0\.3\.0 \(protocol 3\)/));
  assert.equal(stage.admin.logicalVolumes[0]?.metadata.deletionTimestamp, undefined);

  // Somebody by hand: the agent itself does not follow.
  stage.admin.delete(collections.logicalVolumes, { name: volume?.metadata.name ?? '' });
  await stage.advance(120_000);
  assert.equal(stage.admin.logicalVolumes.length, 1);
  assert.ok(lvs().includes(id));

  await becomes(stage, 'n1', first);
  await stage.until('all is gone', () => {
    return stage.admin.logicalVolumes.length + stage.admin.volumes.length === 0;
  });
  assert.ok(!lvs().includes(id));
  await assertSound(stage);
});
