import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import test, { type TestContext } from 'node:test';
import type { All } from '../../src/all/all.ts';
import { allArguments } from '../../src/all/arguments.ts';
import type { DaemonSet } from '../../src/api/objects/edge-workload.ts';
import { applyEdge } from '../../src/cli/edge-apply.ts';
import { edgeHealth } from '../../src/cli/edge-health.ts';
import type { EdgeDoors } from '../../src/cli/edge-sight.ts';
import { KubeClient } from '../../src/kube/client.ts';
import type { Stored } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { MemoryTransport } from '../kube/memory-transport.ts';
import { AgentClusterScene } from './agent-cluster-scene.ts';
import { claim, startOn } from './all-scene.ts';
import { manifest } from './edge-scene.ts';
import { thick, thin } from './standalone-scene.ts';

/** The walk-through of MicroShift's owner, with the whole program behind the DaemonSet. */

const namespace = 'ns';
const variables = {
  ...{ nodeName: 'n1', namespace, useLegacy: '', kubeconfig: '' },
  ...{ serviceHost: '', servicePort: '' },
};

class Boot {
  readonly scene: AgentClusterScene;
  readonly file: string;
  readonly #doors: EdgeDoors;
  /** What the pod that runs was started for. */
  #running: { readonly all: All; readonly template: string } | undefined;
  starts = 0;

  constructor(scene: AgentClusterScene) {
    this.scene = scene;
    this.file = scene.path('microshift-lvmd.yaml');
    const { clock } = scene.stage.world;
    const transport = new MemoryTransport(scene.api);
    const client = new KubeClient({ transport, clock, chance: () => 0.5 });
    this.#doors = {
      ...{ print: () => undefined, warn: () => undefined, clock, connect: async () => client },
      readText: (path) => readFile(path, 'utf8').catch(() => undefined),
      hostFor: () => scene.stage.world.host(),
    };
  }

  /** Everything that lies in the image of the host, and is applied before anybody runs. */
  static async begin(t: TestContext): Promise<Boot> {
    const scene = await AgentClusterScene.begin(t);
    // The one that the pod sees comes from the ConfigMap.
    await rm(scene.path('lvmd.yaml'));
    const { api } = scene;
    const laid = ['crds', 'quarry', 'storage'].flatMap((name) =>
      manifest(`deploy/microshift/${name}.yaml`),
    );
    const to: Readonly<Record<string, string>> = {
      CustomResourceDefinition: collections.definitions,
      PodTemplate: collections.podTemplates,
      LVMCluster: collections.lvmClusters,
      StorageClass: collections.classes,
    };
    for (const object of laid) {
      const collection = to[String(object['kind'])];
      const { metadata } = object;
      const inOurs = metadata.namespace === undefined ? metadata : { ...metadata, namespace };
      if (collection !== undefined) api.put(collection, { ...object, metadata: inOurs });
    }
    return new Boot(scene);
  }

  write(...classes: readonly string[]): Promise<void> {
    const socket = `socket-name: ${this.scene.path('lvmd.sock')}`;
    return writeFile(this.file, [socket, 'device-classes:', ...classes, ''].join('\n'));
  }

  async apply(): Promise<number> {
    const code = await applyEdge(this.#doors, { ...this.#options, replacesTopolvm: false });
    await this.#runPods();
    return code;
  }

  health(timeoutMs: number): Promise<number> {
    return edgeHealth(this.#doors, { ...this.#options, timeoutMs });
  }

  get #options() {
    return { file: this.file, defaultGroup: 'nowhere', namespace };
  }

  /** As the controller of DaemonSets and kubelet do it: another template, another pod. */
  async #runPods(): Promise<void> {
    const { api } = this.scene;
    const set = api.one(collections.daemonSets, 'vg-manager', namespace) as
      | (DaemonSet & Stored)
      | undefined;
    const template = JSON.stringify(set?.spec.template);
    if (set === undefined || template === this.#running?.template) return;
    await this.#running?.all.stop();
    const data = api.one(collections.configMaps, 'lvmd', namespace)?.['data'];
    const text = (data as Readonly<Record<string, string>>)['lvmd.yaml'] ?? '';
    await writeFile(this.scene.path('lvmd.yaml'), text);
    const [word, ...args] = set.spec.template.spec?.containers?.[0]?.args ?? [];
    assert.equal(word, 'all');
    const makesGroups = allArguments(args, variables)['lvm-clusters'];
    const { all } = await startOn(this.scene, { makesGroups });
    this.#running = { all, template };
    this.starts += 1;
    const counts = { desiredNumberScheduled: 1, updatedNumberScheduled: 1, numberReady: 1 };
    const status = { observedGeneration: set.metadata.generation, ...counts };
    api.put(collections.daemonSets, { ...set, status });
    const metadata = { name: 'p', namespace, labels: set.spec.template.metadata?.labels };
    const conditions = [{ type: 'Ready', status: 'True' }];
    api.put(collections.pods, { metadata, status: { phase: 'Running', conditions } });
  }

  get classes(): readonly string[] {
    const status = this.#running?.all.status() as {
      readonly agent: { readonly deviceClasses: readonly string[] };
    };
    return status.agent.deviceClasses;
  }

  get state(): string | undefined {
    const found = this.scene.api.one(collections.lvmClusters, 'lvms', namespace)?.['status'];
    return (found as { readonly state?: string } | undefined)?.state;
  }

  async bound(uid: string): Promise<void> {
    const isThere = () => this.scene.api.one(collections.volumes, `pvc-${uid}`) !== undefined;
    await this.scene.until('a PersistentVolume', isThere);
  }
}

test('all lies there before anything runs; a workload waits, and is bound untouched', async (t) => {
  const boot = await Boot.begin(t);
  const waiting = claim(boot.scene, 'data');
  assert.equal(await boot.health(2_000), 0, 'no file and no group: there shall be no storage');
  await boot.write(thick, thin);
  assert.equal(await boot.health(2_000), 1, 'the file is there, and nobody has read it');
  assert.equal(await boot.apply(), 0);
  await boot.bound(waiting);
  assert.equal(await boot.health(60_000), 0);
  assert.equal(boot.state, 'Ready');
  assert.equal(boot.starts, 1);
});

test('custom, malformed and corrected: pods start anew exactly when the content changed', async (t) => {
  const boot = await Boot.begin(t);
  await boot.write(thick, thin);
  await boot.apply();
  await boot.bound(claim(boot.scene, 'one'));
  await boot.apply();
  assert.equal(boot.starts, 1, 'nothing has changed');

  await boot.write(thick, thin, '- {name: bad, volume-group: non_existent_volume_group}');
  await assert.rejects(boot.apply(), /non_existent_volume_group": there is no such volume group/);
  assert.equal(boot.starts, 1, 'who runs goes on');
  assert.deepEqual(boot.classes, ['thick', 'thin']);
  await boot.bound(claim(boot.scene, 'two'));
  assert.equal(await boot.health(2_000), 1);

  await boot.write(thick.replace('spare-gb: 0', 'spare-gb: 1'), thin);
  assert.equal(await boot.apply(), 0);
  assert.equal(boot.starts, 2);
  await boot.bound(claim(boot.scene, 'three'));
  assert.equal(await boot.health(60_000), 0);
});
