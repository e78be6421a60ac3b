import type { TestContext } from 'node:test';
import type { AgentOptions } from '../../src/agent/agent.ts';
import { type All, startAll } from '../../src/all/all.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { MemoryTransport } from '../kube/memory-transport.ts';
import { AgentClusterScene } from './agent-cluster-scene.ts';

type Single = { readonly scene: AgentClusterScene; readonly all: All; readonly port: number };

/** The whole process, with real files and sockets, on the stage's node. */
export async function beginAll(
  t: TestContext,
  options: Partial<AgentOptions> = {},
): Promise<Single> {
  const scene = await AgentClusterScene.begin(t);
  return { scene, ...(await startOn(scene, options)) };
}

/** One life of it. */
export async function startOn(
  scene: AgentClusterScene,
  options: Partial<AgentOptions> = {},
): Promise<Omit<Single, 'scene'>> {
  const { world } = scene.stage;
  scene.stage.restart();
  const labels = { 'topology.topolvm.io/node': 'n1' };
  scene.api.put(collections.nodes, { metadata: { name: 'n1', labels } });
  const drivers = [
    { name: 'topolvm.io', nodeID: 'n1', topologyKeys: ['topology.topolvm.io/node'] },
  ];
  scene.api.put(collections.csiNodes, { metadata: { name: 'n1' }, spec: { drivers } });
  const all = await startAll(
    {
      agent: {
        ...{ lvmdFile: scene.path('lvmd.yaml'), stateDirectory: scene.path('state') },
        ...{ csiSocket: scene.path('csi.sock'), hostSocket: '/host/csi.sock' },
        ...{ node: 'n1', names: { domain: 'topolvm.io', driver: 'topolvm.io' }, daemonSet: '' },
        ...{ kubeletRoot: scene.path('kubelet'), namespace: 'ns', hasSchedulerExtender: false },
        ...{ version: '0', prefix: [], path: '', metricsAddress: '127.0.0.1:0', ...options },
      },
      ...{ host: 'n1', controllerSocket: scene.path('controller.sock') },
      isSnapshotController: false,
    },
    (event) => scene.log.push(event),
    {
      host: () => scene.stage.host,
      ...{ transport: new MemoryTransport(scene.api) },
      ...{ leaseTransport: new MemoryTransport(scene.api) },
      ...{ clock: world.clock, wall: () => world.clock.nowMs(), chance: () => 0.5 },
      sinceBootMs: () => 0,
    },
  );
  scene.others.push(all);
  const told = scene.log.find(({ message }) => message.startsWith('serving metrics'));
  return { all, port: Number(told?.['port'] ?? 0) };
}

export function claim({ api }: AgentClusterScene, name: string): string {
  const { metadata } = api.put(collections.claims, {
    metadata: {
      ...{ name, namespace: 'ns' },
      annotations: {
        'volume.kubernetes.io/storage-provisioner': 'topolvm.io',
        'volume.kubernetes.io/selected-node': 'n1',
      },
    },
    spec: {
      ...{ accessModes: ['ReadWriteOnce'], storageClassName: 'fast', volumeMode: 'Filesystem' },
      resources: { requests: { storage: '100Mi' } },
    },
    status: { phase: 'Pending' },
  });
  return metadata.uid;
}
