import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import type { LvmVolumeGroupStatus } from '../../src/api/objects/lvm-volume-group.ts';
import type { Metadata } from '../../src/api/objects/metadata.ts';
import { clusterNoteAnnotation, clusterNoteText } from '../../src/core/lvm-cluster/cluster-note.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { AgentClusterScene, ownerReferences } from './agent-cluster-scene.ts';

test('a class of an administrator whose disk died keeps no other from coming or going', async (t) => {
  const scene = await AgentClusterScene.begin(t, true);
  scene.options = { makesGroups: true };
  const note = { [clusterNoteAnnotation]: clusterNoteText({ metadata: {} as Metadata }) };
  const metadata = { name: 'n1', namespace: 'ns', annotations: note };
  scene.api.put(collections.lvmNodeStatuses, { metadata, spec: {} });
  const put = (name: string, disk: string, changes: object = {}) =>
    scene.api.put(collections.lvmVolumeGroups, {
      metadata: {
        ...{ ...groupOf(scene, name)?.metadata, name, namespace: 'ns', ownerReferences },
        ...changes,
      },
      spec: { deviceSelector: { paths: [`/dev/${disk}`] } },
    });
  const { admin } = scene.stage.world;
  admin.run('lvm', 'vgcreate', 'data', '/dev/sda');
  await scene.configure('- {name: ssd, volume-group: data}');
  put('vg1', 'sdb');
  await scene.start();
  await scene.until('it is ready', () => isReady(scene, 'vg1'));
  admin.pull('/dev/sda');
  const { standalone } = scene.agent;
  const isAway = () => standalone.configuration.state.refused.some(({ name }) => name === 'ssd');
  await scene.until('its group is away', isAway);
  put('vg2', 'sdc');
  await scene.until('the new one is ready', () => isReady(scene, 'vg2'));
  put('vg1', 'sdb', { deletionTimestamp: '2026-01-01T00:00:00Z' });
  await scene.until('the old one is gone', () => groupOf(scene, 'vg1') === undefined);
  const names = () => standalone.configuration.classes.map(({ name }) => name).join(' ');
  await scene.until('it is not served', () => names() === 'ssd vg2');
  const stored = await readFile(scene.path('state', 'configuration.json'), 'utf8');
  assert.match(stored, /name: vg2/, 'so that a start knows it');
});

function groupOf({ api }: AgentClusterScene, name: string) {
  return api.one(collections.lvmVolumeGroups, name, 'ns');
}

function isReady({ api }: AgentClusterScene, group: string): boolean {
  const report = api.one(collections.lvmNodeStatuses, 'n1', 'ns')?.['spec'] as {
    readonly nodeStatus?: readonly LvmVolumeGroupStatus[];
  };
  return report.nodeStatus?.find(({ name }) => name === group)?.status === 'Ready';
}
