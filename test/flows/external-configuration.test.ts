import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import test, { type TestContext } from 'node:test';
import type { LvmClusterStatus } from '../../src/api/objects/lvm-cluster.ts';
import type { LvmVolumeGroupStatus } from '../../src/api/objects/lvm-volume-group.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { AgentClusterScene } from './agent-cluster-scene.ts';
import { startOn } from './all-scene.ts';
import { thick, thin } from './standalone-scene.ts';

/** LVMCluster with ExternalConfiguration, from the object to the file and back: both roles. */

const namespace = 'ns';
const { lvmClusters, lvmVolumeGroups, lvmNodeStatuses, classes } = collections;
const external = { configurationPolicy: 'ExternalConfiguration' };

async function begin(t: TestContext, spec: object | undefined = external) {
  const scene = await AgentClusterScene.begin(t);
  for (const plural of ['lvmclusters', 'lvmvolumegroups', 'lvmvolumegroupnodestatuses']) {
    const versions = [{ name: 'v1alpha1', served: true }];
    const metadata = { name: `${plural}.lvm.topolvm.io` };
    scene.api.put(collections.definitions, { metadata, spec: { versions } });
  }
  scene.api.put(lvmClusters, { metadata: { name: 'lvms', namespace }, spec });
  return scene;
}

function start(scene: AgentClusterScene) {
  return startOn(scene, { makesGroups: true });
}

function statusOf({ api }: AgentClusterScene): LvmClusterStatus {
  return api.one(lvmClusters, 'lvms', namespace)?.['status'] ?? {};
}

/** `VGsUnmanaged: lvmd.yaml on each node says what there is`. */
function groupsOf(scene: AgentClusterScene): string {
  const found = statusOf(scene).conditions?.find(({ type }) => type === 'VolumeGroupsReady');
  return `${found?.reason}: ${found?.message}`;
}

/** `thick Ready`, one for each of what the node tells. */
function told({ api }: AgentClusterScene): readonly string[] {
  const { nodeStatus = [] } = (api.one(lvmNodeStatuses, 'n1', namespace)?.['spec'] ?? {}) as {
    readonly nodeStatus?: readonly LvmVolumeGroupStatus[];
  };
  return nodeStatus.map(({ name, status }) => `${name} ${status}`);
}

async function becomes(scene: AgentClusterScene, state: string): Promise<void> {
  await scene.until(`it is ${state}`, () => statusOf(scene).state === state);
}

for (const [what, spec] of [
  ['ExternalConfiguration', external],
  ['an empty spec, as MicroShift makes it,', {}],
  ['no spec', undefined],
] as const) {
  test(`with ${what} groups are unmanaged, and lvmd.yaml keeps every byte`, async (t) => {
    const scene = await begin(t, spec);
    const before = await readFile(scene.path('lvmd.yaml'), 'utf8');
    await start(scene);
    await becomes(scene, 'Ready');
    assert.match(groupsOf(scene), /^VGsUnmanaged: /);
    assert.deepEqual(told(scene), ['thick Ready', 'thin Ready']);
    assert.deepEqual(scene.api.all(lvmVolumeGroups), []);
    assert.deepEqual(
      scene.api.all(classes).map(({ metadata }) => metadata.name),
      ['fast'],
      'StorageClasses are the administrator’s, too',
    );
    scene.volume('one');
    await scene.until('a volume is made', () => (scene.status('one')['volumeID'] ?? '') !== '');
    assert.equal(await readFile(scene.path('lvmd.yaml'), 'utf8'), before);
  });
}

test('a node without a file is Failed by the path, serves nothing, and waits for it', async (t) => {
  const scene = await begin(t);
  const file = scene.path('lvmd.yaml');
  const good = await readFile(file, 'utf8');
  await rm(file);
  const { all } = await start(scene);
  await becomes(scene, 'Failed');
  assert.deepEqual(told(scene), [`${file} Failed`]);
  assert.equal(
    groupsOf(scene),
    `VGsFailed: ${file} on n1: there is no such file: write it, it says what this node has`,
  );
  assert.deepEqual(classesIn(all.status()), [], 'nothing is guessed');
  await assert.rejects(readFile(file), { code: 'ENOENT' }, 'nobody wrote one');
  await writeFile(file, good);
  await becomes(scene, 'Ready');
  assert.deepEqual(told(scene), ['thick Ready', 'thin Ready']);
  assert.deepEqual(classesIn(all.status()), ['thick', 'thin'], 'in the same life');
});

test('a file without a class is as good as none', async (t) => {
  const scene = await begin(t);
  await scene.configure('  []');
  await start(scene);
  await becomes(scene, 'Failed');
  assert.match(groupsOf(scene), /it has no device class: list at least one$/);
});

test('a file that is edited is reloaded in place; a faulty one is told and not taken', async (t) => {
  const scene = await begin(t);
  await scene.configure(thick);
  const { all } = await start(scene);
  await becomes(scene, 'Ready');
  assert.deepEqual(told(scene), ['thick Ready']);
  await scene.configure(thick, '- {name: bad, volume-group: nowhere}');
  await becomes(scene, 'Degraded');
  assert.match(
    groupsOf(scene),
    /^VGsDegraded: \S+lvmd\.yaml on n1: it is not in force.*:4: device-classes\[1\]\.volume-group is "nowhere": there is no such volume group.*vgcreate nowhere/,
  );
  assert.deepEqual(told(scene).slice(1), ['thick Ready']);
  assert.deepEqual(classesIn(all.status()), ['thick']);
  await scene.configure(thick, thin);
  await becomes(scene, 'Ready');
  assert.deepEqual(told(scene), ['thick Ready', 'thin Ready']);
  assert.deepEqual(classesIn(all.status()), ['thick', 'thin']);
});

test('a file that goes from a running node fails it, and what it said stays in force', async (t) => {
  const scene = await begin(t);
  const { all } = await start(scene);
  await becomes(scene, 'Ready');
  await rm(scene.path('lvmd.yaml'));
  await becomes(scene, 'Failed');
  assert.match(groupsOf(scene), /there is no such file, and what it said last stays in force/);
  await all.stop();
  // Also where no volume needs it: somebody has to be there to tell.
  const { all: next } = await start(scene);
  assert.deepEqual(classesIn(next.status()), ['thick', 'thin']);
  await becomes(scene, 'Failed');
});

test('who is started with a faulty file and serves nothing yet ends, and says what is wrong', async (t) => {
  const scene = await begin(t);
  await scene.configure('- {name: mine, volume-group: non_existent_volume_group}');
  await assert.rejects(start(scene), {
    code: 'InvalidConfiguration',
    message: /"non_existent_volume_group": there is no such volume group on this node: create it/,
  });
});

test('an LVMCluster that goes leaves the file, the groups and what is in them', async (t) => {
  const scene = await begin(t);
  const before = await readFile(scene.path('lvmd.yaml'), 'utf8');
  await start(scene);
  await becomes(scene, 'Ready');
  scene.volume('one');
  await scene.until('a volume is made', () => (scene.status('one')['volumeID'] ?? '') !== '');
  const cluster = scene.api.one(lvmClusters, 'lvms', namespace);
  assert.ok(cluster !== undefined);
  const metadata = { ...cluster.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
  scene.api.put(lvmClusters, { ...cluster, metadata });
  await scene.until('it is gone', () => scene.api.all(lvmClusters).length === 0);
  assert.deepEqual(scene.api.all(lvmNodeStatuses), []);
  assert.equal(await readFile(scene.path('lvmd.yaml'), 'utf8'), before);
  const id = scene.status('one')['volumeID'] as string;
  assert.ok(scene.stage.world.lv('data', id) !== undefined);
  assert.equal(await scene.publish(id, '/pods/a'), 'published');
});

test('nothing is written while nothing changes', async (t) => {
  const scene = await begin(t);
  await start(scene);
  await becomes(scene, 'Ready');
  const writes = () =>
    scene.api.writes.filter(({ collection }) => collection !== collections.leases).length;
  // What is told of the node itself is told once a minute.
  await scene.stage.world.clock.advance(90_000);
  await scene.until('it settles', () => scene.capacities().length > 0);
  const before = writes();
  await scene.stage.world.clock.advance(60_000);
  await scene.until('time passes', () => true);
  assert.equal(writes(), before);
});

function classesIn(status: object): readonly string[] {
  return (status as { readonly agent: { readonly deviceClasses: readonly string[] } }).agent
    .deviceClasses;
}
