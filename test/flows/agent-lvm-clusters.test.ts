import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import test, { type TestContext } from 'node:test';
import type { LvmVolumeGroupStatus } from '../../src/api/objects/lvm-volume-group.ts';
import type { Metadata } from '../../src/api/objects/metadata.ts';
import { clusterNoteAnnotation, clusterNoteText } from '../../src/core/lvm-cluster/cluster-note.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { AgentClusterScene } from './agent-cluster-scene.ts';

const namespace = 'ns';
const { lvmVolumeGroups, lvmNodeStatuses, logicalVolumes } = collections;
const mark = 'cleanup.vgmanager.node.topolvm.io/n1';

async function begin(t: TestContext): Promise<AgentClusterScene> {
  const scene = await AgentClusterScene.begin(t, true);
  scene.options = { makesGroups: true };
  const annotations = { [clusterNoteAnnotation]: clusterNoteText({ metadata: {} as Metadata }) };
  scene.api.put(lvmNodeStatuses, { metadata: { name: 'n1', namespace, annotations }, spec: {} });
  return scene;
}

function ask(scene: AgentClusterScene, metadata: object = {}): void {
  const spec = { default: true, deviceSelector: { paths: ['/dev/sdb', '/dev/sdc'] } };
  const ownerReferences = [
    { apiVersion: 'lvm.topolvm.io/v1alpha1', kind: 'LVMCluster', name: 'mine', uid: 'mine' },
  ];
  const marks = { name: 'vg1', namespace, ownerReferences, ...metadata };
  scene.api.put(lvmVolumeGroups, { metadata: marks, spec });
}

function stateOf(scene: AgentClusterScene): string | undefined {
  const report = scene.api.one(lvmNodeStatuses, 'n1', namespace)?.['spec'] as {
    readonly nodeStatus?: readonly LvmVolumeGroupStatus[];
  };
  return report.nodeStatus?.find(({ name }) => name === 'vg1')?.status;
}

const isMade = (scene: AgentClusterScene) => (scene.status('one')['volumeID'] ?? '') !== '';

test('an agent without a class waits, and makes volumes when an LVMCluster gave it one', async (t) => {
  const scene = await begin(t);
  await scene.start();
  assert.deepEqual(await scene.agent.standalone.readiness(), []);
  assert.deepEqual(scene.agent.standalone.configuration.classes, []);
  ask(scene);
  await scene.until('it is ready', () => stateOf(scene) === 'Ready');
  assert.match(
    await readFile(scene.path('lvmd.yaml'), 'utf8'),
    /socket-name: .*\n(.*\n)*.*name: vg1/,
  );
  scene.volume('one', { deviceClass: 'vg1' });
  await scene.until('the volume is made', () => isMade(scene));
});

test('a class that goes is served no more, and comes back with its object', async (t) => {
  const scene = await begin(t);
  ask(scene);
  await scene.start();
  await scene.until('it is ready', () => stateOf(scene) === 'Ready');
  await scene.agent.stop();
  await scene.start();
  await scene.until('it is served', () => scene.agent.standalone.configuration.classes.length > 0);
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  ask(scene, { finalizers: [mark], deletionTimestamp });
  const { world } = scene.stage;
  await scene.until('the group is gone', () => world.vg('vg1') === undefined);
  await scene.until('the object may go', () => {
    const object = scene.api.one(lvmVolumeGroups, 'vg1', namespace);
    return !(object?.metadata.finalizers ?? []).includes(mark);
  });
  await scene.until(
    'no class is left',
    () => scene.agent.standalone.configuration.classes.length === 0,
  );
  await scene.until('nothing is told of it', () => stateOf(scene) === undefined);
  ask(scene);
  await scene.until('it is there again', () => stateOf(scene) === 'Ready');
  scene.volume('one', { deviceClass: 'vg1' });
  await scene.until('the volume is made', () => isMade(scene));
  assert.equal(scene.api.all(logicalVolumes).length, 1);
});

test('a server that still remembers a class that has gone does not bring it back', async (t) => {
  const scene = await begin(t);
  ask(scene, { finalizers: [mark] });
  const before = Number(scene.api.version);
  await scene.start();
  await scene.until('it is ready', () => stateOf(scene) === 'Ready');
  ask(scene, { finalizers: [mark], deletionTimestamp: '2026-01-01T00:00:00Z' });
  const { world } = scene.stage;
  await scene.until(
    'the object is gone',
    () => scene.api.one(lvmVolumeGroups, 'vg1', namespace) === undefined,
  );
  await scene.agent.stop();
  scene.api.cacheLag = Number(scene.api.version) - before;
  scene.transport.isHeld = true;
  await scene.start();
  const endMs = world.clock.nowMs() + 10_000;
  await scene.until('it has looked at all', () => world.clock.nowMs() > endMs);
  assert.equal(world.vg('vg1'), undefined);
  scene.transport.isHeld = false;
});

test('an agent starts beside a group whose disks are away, and says so', async (t) => {
  const scene = await begin(t);
  ask(scene);
  await scene.start();
  await scene.until('it is ready', () => stateOf(scene) === 'Ready');
  await scene.agent.stop();
  for (const path of ['/dev/sdb', '/dev/sdc']) scene.stage.world.admin.pull(path);
  await scene.start();
  await scene.until('it is told', () => stateOf(scene) === 'Failed');
  assert.match(await readFile(scene.path('lvmd.yaml'), 'utf8'), /name: vg1/);
});

test('a file that is broken or gone takes no class away', async (t) => {
  const scene = await begin(t);
  ask(scene);
  await scene.start();
  await scene.until('it is ready', () => stateOf(scene) === 'Ready');
  const { configuration } = scene.agent.standalone;
  const written = await readFile(scene.path('lvmd.yaml'), 'utf8');
  for (const text of ['', 'device-clases: []\n', undefined]) {
    if (text === undefined) await rm(scene.path('lvmd.yaml'));
    else await writeFile(scene.path('lvmd.yaml'), text);
    await configuration.reread();
    assert.deepEqual(
      configuration.classes.map(({ name }) => name),
      ['vg1'],
    );
    await writeFile(scene.path('lvmd.yaml'), written);
    await configuration.reread();
  }
});

test('without the flag a file without classes is refused, as ever', async (t) => {
  const scene = await begin(t);
  scene.options = {};
  await assert.rejects(scene.start(), /list at least one device class/);
});
