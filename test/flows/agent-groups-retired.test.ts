import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import type { LvmVolumeGroupStatus } from '../../src/api/objects/lvm-volume-group.ts';
import type { Metadata } from '../../src/api/objects/metadata.ts';
import { forget } from '../../src/cli/forget.ts';
import { clusterNoteAnnotation, clusterNoteText } from '../../src/core/lvm-cluster/cluster-note.ts';
import { KubeError } from '../../src/kube/errors.ts';
import type { Stored } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { AgentClusterScene, ownerReferences } from './agent-cluster-scene.ts';

/** A class goes while volumes are in it, and its only disk dies. */

const isGoing = { deletionTimestamp: '2026-01-01T00:00:00Z' };

function told({ api }: AgentClusterScene, group: string): LvmVolumeGroupStatus | undefined {
  const report = api.one(collections.lvmNodeStatuses, 'n1', 'ns')?.['spec'] as {
    readonly nodeStatus?: readonly LvmVolumeGroupStatus[];
  };
  return report.nodeStatus?.find(({ name }) => name === group);
}

function isReady(scene: AgentClusterScene): boolean {
  return ['vg1', 'vg2'].every((group) => told(scene, group)?.status === 'Ready');
}

function groupOf({ api }: AgentClusterScene, name: string): Stored | undefined {
  return api.one(collections.lvmVolumeGroups, name, 'ns');
}

function put({ api }: AgentClusterScene, name: string, spec: object, metadata: object = {}): void {
  const before = api.one(collections.lvmVolumeGroups, name, 'ns');
  api.put(collections.lvmVolumeGroups, {
    metadata: { ...before?.metadata, name, namespace: 'ns', ownerReferences, ...metadata },
    spec: { ...(before?.['spec'] as object), ...spec },
  });
}

function remove({ api }: AgentClusterScene, name: string): void {
  const before = api.one(collections.logicalVolumes, name);
  assert.ok(before !== undefined);
  const metadata = { ...before.metadata, ...isGoing };
  api.put(collections.logicalVolumes, { ...before, metadata });
}

/** Two classes, and a volume in the first, which was the default when it was made. */
async function served(t: TestContext): Promise<AgentClusterScene> {
  const scene = await AgentClusterScene.begin(t, true);
  scene.options = { makesGroups: true };
  const note = { [clusterNoteAnnotation]: clusterNoteText({ metadata: {} as Metadata }) };
  const metadata = { name: 'n1', namespace: 'ns', annotations: note };
  scene.api.put(collections.lvmNodeStatuses, { metadata, spec: {} });
  put(scene, 'vg1', { default: true, deviceSelector: { paths: ['/dev/sdb'] } });
  put(scene, 'vg2', { deviceSelector: { paths: ['/dev/sdc'] } });
  await scene.start();
  await scene.until('it is ready', () => isReady(scene));
  scene.volume('one', { deviceClass: '' });
  await scene.until('it is made', () => (scene.status('one')['volumeID'] ?? '') !== '');
  put(scene, 'vg1', { default: false });
  put(scene, 'vg2', { default: true });
  const isInForce = () =>
    scene.agent.standalone.configuration.classes.some(
      ({ name, isDefault }) => name === 'vg2' && isDefault,
    );
  await scene.until('the other is the default', isInForce);
  return scene;
}

function retired({ agent }: AgentClusterScene): readonly string[] {
  return agent.standalone.configuration.current.retired.map(({ name }) => name);
}

test('a volume is not called gone whose class went while its group was away', async (t) => {
  const scene = await served(t);
  const { world } = scene.stage;
  world.admin.pull('/dev/sdb');
  await scene.until('it is told', () => told(scene, 'vg1')?.status !== 'Ready');
  put(scene, 'vg1', {}, isGoing);
  await scene.until('it is kept', () => retired(scene).includes('vg1'));
  remove(scene, 'one');
  const waits = /may be in vg1, which cannot be read/;
  await scene.until('it waits', () => scene.log.some(({ message }) => waits.test(message)));
  world.admin.insert('/dev/sdb');
  await scene.until('both are gone', () => groupOf(scene, 'vg1') === undefined);
  assert.equal(scene.api.one(collections.logicalVolumes, 'one'), undefined);
  assert.equal(world.vg('vg1'), undefined);
  await scene.until('it is not kept', () => retired(scene).length === 0);
});

/** Until the answer is called no LogicalVolume can be written. */
function cutOff({ transport }: AgentClusterScene): () => void {
  const send = transport.send.bind(transport);
  transport.send = async (call) => {
    const isIt = call.method === 'PATCH' && call.path.includes('/logicalvolumes/');
    if (isIt) throw new KubeError('Unreachable', 'no route');
    return send(call);
  };
  return () => {
    transport.send = send;
  };
}

for (const isRestarted of [false, true]) {
  const when = isRestarted ? ', also by the next life' : '';
  test(`a volume is let go whose class and group went before that was told${when}`, async (t) => {
    const scene = await served(t);
    scene.volume('two', { deviceClass: 'vg1' });
    await scene.until('it is made', () => (scene.status('two')['volumeID'] ?? '') !== '');
    put(scene, 'vg1', {}, isGoing);
    await scene.until('it is kept', () => retired(scene).includes('vg1'));
    const back = cutOff(scene);
    for (const name of ['one', 'two']) remove(scene, name);
    await scene.until('the group is gone', () => groupOf(scene, 'vg1') === undefined);
    assert.deepEqual(retired(scene), []);
    assert.equal(scene.stage.world.vg('vg1'), undefined);
    if (isRestarted) {
      await scene.agent.stop();
      await scene.start();
    }
    const isThere = (name: string) => scene.api.one(collections.logicalVolumes, name) !== undefined;
    assert.ok(isThere('two'));
    back();
    await scene.until('both are let go', () => !isThere('one') && !isThere('two'));
  });
}

test('a class that was kept for its volumes goes with a group that is given up', async (t) => {
  const scene = await served(t);
  put(scene, 'vg1', {}, isGoing);
  await scene.until('it is kept', () => retired(scene).includes('vg1'));
  scene.stage.world.admin.pull('/dev/sdb');
  await scene.until('it is told', () => /Lost/.test(told(scene, 'vg1')?.reason ?? ''));
  await forget(scene.path('state'), ['vg1']);
  remove(scene, 'one');
  const isGone = () => scene.api.one(collections.logicalVolumes, 'one') === undefined;
  await scene.until('both are gone', () => isGone() && groupOf(scene, 'vg1') === undefined);
  await scene.agent.stop();
  await scene.start();
  scene.volume('big', { deviceClass: 'vg2', size: '900Gi' });
  await scene.until('it is refused', () => (scene.status('big')['code'] ?? 0) !== 0);
  assert.deepEqual(retired(scene), []);
});
