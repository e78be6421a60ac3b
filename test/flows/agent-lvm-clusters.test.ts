import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test, { type TestContext } from 'node:test';
import type { LvmVolumeGroupStatus } from '../../src/api/objects/lvm-volume-group.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { AgentClusterScene } from './agent-cluster-scene.ts';

const namespace = 'ns';
const { lvmVolumeGroups, lvmNodeStatuses, logicalVolumes } = collections;
const mark = 'cleanup.vgmanager.node.topolvm.io/n1';

async function begin(t: TestContext): Promise<AgentClusterScene> {
  const scene = await AgentClusterScene.begin(t, true);
  scene.options = { makesGroups: true };
  scene.api.put(lvmNodeStatuses, { metadata: { name: 'n1', namespace }, spec: {} });
  return scene;
}

function ask(scene: AgentClusterScene, metadata: object = {}): void {
  const spec = { default: true, deviceSelector: { paths: ['/dev/sdb', '/dev/sdc'] } };
  scene.api.put(lvmVolumeGroups, { metadata: { name: 'vg1', namespace, ...metadata }, spec });
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
  ask(scene);
  await scene.until('it is there again', () => stateOf(scene) === 'Ready');
  scene.volume('one', { deviceClass: 'vg1' });
  await scene.until('the volume is made', () => isMade(scene));
  assert.equal(scene.api.all(logicalVolumes).length, 1);
});

test('without the flag a file without classes is refused, as ever', async (t) => {
  const scene = await begin(t);
  scene.options = {};
  await assert.rejects(scene.start(), /list at least one device class/);
});
