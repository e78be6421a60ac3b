import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import type { LvmVolumeGroupStatus } from '../../src/api/objects/lvm-volume-group.ts';
import type { Metadata } from '../../src/api/objects/metadata.ts';
import { forget } from '../../src/cli/forget.ts';
import { clusterNoteAnnotation, clusterNoteText } from '../../src/core/lvm-cluster/cluster-note.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { AgentClusterScene, ownerReferences } from './agent-cluster-scene.ts';
import { GroupScene } from './agent-groups-scene.ts';

/** A disk of another node is put in, with a group on it that has the name of one of ours. */

const onSdb = { deviceSelector: { optionalPaths: ['/dev/sdb'] } };
const isGoing = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };

async function made(spec: object = onSdb): Promise<GroupScene> {
  const scene = new GroupScene();
  scene.group('vg1', spec);
  scene.start();
  await scene.until('it is ready', () => scene.isReady('vg1'));
  return scene;
}

function stranger({ stage: { world } }: GroupScene): string {
  world.admin.run('lvm', 'vgcreate', '--addtag', 'lvms', 'vg1', '/dev/sdc');
  const found = world.machine.vgs.find(({ pvs }) =>
    pvs.some(({ device }) => device === '/dev/sdc'),
  );
  assert.ok(found !== undefined);
  return found.uuid;
}

function isThere({ stage }: GroupScene, uuid: string): boolean {
  return stage.world.machine.vgs.some((vg) => vg.uuid === uuid);
}

for (const { when, spec } of [
  { when: 'a group', spec: onSdb },
  {
    when: 'a group with a thin pool',
    spec: { ...onSdb, thinPoolConfig: { name: 'pool', overprovisionRatio: 10 } },
  },
]) {
  test(`who died when ${when} was removed leaves one of that name alone, and ends`, async () => {
    const scene = await made(spec);
    const { world } = scene.stage;
    world.faults.next('vgremove', { kind: 'crash', when: 'after' });
    scene.change('vg1', isGoing);
    await scene.until('it is removed', () => world.vg('vg1') === undefined);
    await scene.settle();
    scene.kill();
    const uuid = stranger(scene);
    scene.start();
    await scene.settle(90_000);
    assert.ok(isThere(scene, uuid), 'it is not ours to remove');
    assert.ok(world.machine.device('/dev/sdc')?.label !== undefined);
    assert.deepEqual(scene.object('vg1')?.metadata.finalizers ?? [], []);
  });
}

test('who died before the removal, and whose disk is away, leaves one of that name alone', async () => {
  const scene = await made();
  const { world } = scene.stage;
  world.faults.next('vgremove', { kind: 'crash', when: 'before' });
  scene.change('vg1', isGoing);
  await scene.until('it is noted', () => scene.leaving.size > 0);
  await scene.settle();
  scene.kill();
  world.admin.pull('/dev/sdb');
  const uuid = stranger(scene);
  scene.start();
  await scene.settle(90_000);
  assert.ok(isThere(scene, uuid), 'it is not ours to remove');
});

test('a group of our name that misses a disk is not mended', async () => {
  const scene = await made({ deviceSelector: { optionalPaths: ['/dev/sda'] } });
  const { world } = scene.stage;
  world.admin.run('lvm', 'vgremove', 'vg1');
  world.admin.run('lvm', 'vgcreate', '--addtag', 'lvms', 'vg1', '/dev/sdb', '/dev/sdc');
  world.admin.pull('/dev/sdc');
  await scene.settle(90_000);
  assert.equal(world.machine.vgs.find(({ name }) => name === 'vg1')?.pvs.length, 2);
  assert.deepEqual(
    scene.ran().filter((line) => line.includes('vgreduce')),
    [],
  );
});

for (const tag of ['lvms', 'theirs']) {
  test(`no volume is made in a group of our name, tagged ${tag}`, async (t: TestContext) => {
    const scene = await served(t);
    const { world } = scene.stage;
    world.admin.pull('/dev/sdb');
    world.admin.run('lvm', 'vgcreate', '--addtag', tag, 'vg1', '/dev/sdc');
    await scene.until('it is told', () => told(scene)?.status !== 'Ready');
    scene.volume('one', { deviceClass: 'vg1' });
    const isTold = () => scene.log.some(({ message }) => /another volume group now/.test(message));
    await scene.until('it waits', isTold);
    assert.equal(said(scene), '{}', 'what an earlier life made may come back with the group');
    assert.deepEqual(world.vg('vg1')?.lvs, []);
    world.admin.run('lvm', 'vgremove', 'vg1');
    world.admin.insert('/dev/sdb');
    await scene.until('the class is open', () => told(scene)?.status === 'Ready');
    await scene.until('it is answered', () => said(scene) !== '{}');
    scene.volume('two', { deviceClass: 'vg1' });
    await scene.until('it is made', () => (scene.status('two')['volumeID'] ?? '') !== '');
  });
}

test('a volume of a group that was given up is refused, and may go elsewhere', async (t) => {
  const scene = await served(t);
  scene.stage.world.admin.pull('/dev/sdb');
  await scene.until('it is told', () => told(scene)?.status !== 'Ready');
  scene.volume('one', { deviceClass: 'vg1' });
  await scene.until('it waits', () => scene.log.some(({ name }) => name === 'one'));
  assert.equal(said(scene), '{}');
  await forget(scene.path('state'), ['vg1']);
  await scene.until('it is refused', () => /vg1 was given up here/.test(said(scene)));
});

function said(scene: AgentClusterScene): string {
  return JSON.stringify(scene.status('one'));
}

function told({ api }: AgentClusterScene): LvmVolumeGroupStatus | undefined {
  const report = api.one(collections.lvmNodeStatuses, 'n1', 'ns')?.['spec'] as {
    readonly nodeStatus?: readonly LvmVolumeGroupStatus[];
  };
  return report.nodeStatus?.find(({ name }) => name === 'vg1');
}

async function served(t: TestContext): Promise<AgentClusterScene> {
  const scene = await AgentClusterScene.begin(t, true);
  scene.options = { makesGroups: true };
  const note = { [clusterNoteAnnotation]: clusterNoteText({ metadata: {} as Metadata }) };
  const metadata = { name: 'n1', namespace: 'ns', annotations: note };
  scene.api.put(collections.lvmNodeStatuses, { metadata, spec: {} });
  scene.api.put(collections.lvmVolumeGroups, {
    metadata: { name: 'vg1', namespace: 'ns', ownerReferences },
    spec: { default: true, deviceSelector: { paths: ['/dev/sdb'] } },
  });
  await scene.start();
  await scene.until('it is ready', () => told(scene)?.status === 'Ready');
  return scene;
}
