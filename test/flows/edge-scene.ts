import { load, loadAll } from 'js-yaml';
import type { DaemonSet } from '../../src/api/objects/edge-workload.ts';
import { OperationError } from '../../src/base/failures.ts';
import { applyEdge } from '../../src/cli/edge-apply.ts';
import { edgeHealth } from '../../src/cli/edge-health.ts';
import type { EdgeDoors } from '../../src/cli/edge-sight.ts';
import { checksumAnnotation } from '../../src/core/edge/plan.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { KubeError } from '../../src/kube/errors.ts';
import { manifestFiles, readRelease } from '../../tools/manifests.ts';
import { Life, mortalTransport } from '../cluster/snapshots-world.ts';
import { FakeApi, type Stored } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { MemoryTransport } from '../kube/memory-transport.ts';
import { Stage } from './stage.ts';

export const namespace = 'openshift-storage';
export const file = '/etc/microshift/lvmd.yaml';

type Ended = {
  /** The exit code, or what was thrown; nothing of one that was killed. */
  readonly code: number | OperationError | KubeError | undefined;
  readonly text: string;
};

/** The objects of a manifest in the tree. */
export function manifest(path: string): readonly Stored[] {
  const text = manifestFiles(readRelease())[path];
  if (text === undefined) throw new Error(`there is no ${path}`);
  return loadAll(text) as Stored[];
}

/** A host with the volume group `data`, a cluster of its own, and `quarry edge` on it. */
export class EdgeScene {
  readonly stage = new Stage();
  readonly api = new FakeApi();
  readonly files = new Map<string, string>();
  #silence: () => void = () => undefined;
  defaultGroup = 'rhel';
  /** How lvm was wanted to be run. */
  lvm: readonly string[] = [];

  /** What MicroShift applies by itself was applied. */
  static async begin(): Promise<EdgeScene> {
    const scene = new EdgeScene();
    await scene.stage.setUp();
    scene.install();
    return scene;
  }

  install(): void {
    for (const object of manifest('deploy/microshift/quarry.yaml')) {
      if (object['kind'] === 'PodTemplate') this.put(collections.podTemplates, object);
    }
  }

  put(collection: string, object: object): Stored {
    return this.api.put(collection, object as Stored);
  }

  /** Killed right after so many writes, or one of them is done without an answer. */
  apply({ writes = Number.POSITIVE_INFINITY, lost = 0, replacesTopolvm = false } = {}) {
    const life = new Life(writes);
    life.loses = lost;
    return this.#run((doors) => applyEdge(doors, { ...this.#options, replacesTopolvm }), life);
  }

  health(timeoutMs = 30_000): Promise<Ended> {
    return this.#run((doors) => edgeHealth(doors, { ...this.#options, timeoutMs }), new Life());
  }

  get #options() {
    return { file, defaultGroup: this.defaultGroup, namespace };
  }

  async #run(work: (doors: EdgeDoors) => Promise<number>, life: Life): Promise<Ended> {
    const lines: string[] = [];
    const say = (text: string) => lines.push(text);
    const { clock } = this.stage.world;
    this.stage.restart();
    const transport = mortalTransport(new MemoryTransport(this.api, clock), life);
    const client = new KubeClient({ transport, clock, chance: () => 0.5 });
    let code: Ended['code'];
    let isOver = false;
    life.onDeath = () => {
      isOver = true;
    };
    const doors: EdgeDoors = {
      ...{ print: say, warn: say, clock, connect: async () => client },
      readText: async (path) => this.files.get(path),
      hostFor: (lvm) => {
        this.lvm = lvm;
        return this.stage.host;
      },
    };
    work(doors).then(
      (ended) => {
        code = ended;
        isOver = true;
      },
      (error: unknown) => {
        code = error as OperationError;
        isOver = true;
      },
    );
    for (let turn = 0; turn < 10_000 && !isOver; turn += 1) await clock.advance(100);
    if (code !== undefined && typeof code !== 'number') {
      if (!(code instanceof OperationError) && !(code instanceof KubeError)) throw code;
      lines.push(code.message);
    }
    return { code, text: lines.join('\n') };
  }

  get lvmd(): string | undefined {
    const found = this.api.one(collections.configMaps, 'lvmd', namespace);
    return (found?.['data'] as Record<string, string> | undefined)?.['lvmd.yaml'];
  }

  get daemonSet(): (DaemonSet & Stored) | undefined {
    return this.api.one(collections.daemonSets, 'vg-manager', namespace) as
      | (DaemonSet & Stored)
      | undefined;
  }

  /** Pods start anew when this one is another. */
  get template(): string {
    return JSON.stringify(this.daemonSet?.spec.template);
  }

  get checksum(): string | undefined {
    return this.daemonSet?.spec.template.metadata?.annotations?.[checksumAnnotation];
  }

  /** `create configmaps`, for each write that was asked for. */
  get writes(): readonly string[] {
    return this.api.writes.map(({ verb, collection }) => `${verb} ${collection.split('/').at(-1)}`);
  }

  /** What controllers, kubelet and the agent do when all is well. */
  play(classes: readonly string[] = lvmdClasses(this.lvmd)): void {
    const metadata = { name: 'n1', annotations: capacities(classes) };
    this.put(collections.nodes, { metadata });
    const drivers = [{ name: 'topolvm.io', nodeID: 'n1' }];
    this.put(collections.csiNodes, { metadata: { name: 'n1' }, spec: { drivers } });
    this.lead();
    this.roll({ ready: 1 });
    this.pod([{ type: 'Ready', status: 'True' }]);
  }

  /** As an operator renews its lease. */
  lead(holderIdentity = 'n1'): void {
    this.#silence();
    const metadata = { name: '1136b8a6.topolvm.io', namespace };
    this.put(collections.leases, { metadata, spec: { holderIdentity } });
    this.#silence = this.stage.world.clock.after(2_000, () => this.lead(holderIdentity));
  }

  /** The process is gone, and nobody has noticed yet. */
  die(): void {
    this.#silence();
  }

  roll({ ready, newest = 1 }: { readonly ready: number; readonly newest?: number }): void {
    const set = this.daemonSet;
    if (set === undefined) throw new Error('there is no DaemonSet');
    const status = {
      ...{ observedGeneration: set.metadata.generation, desiredNumberScheduled: 1 },
      ...{ updatedNumberScheduled: newest, numberReady: ready },
    };
    this.put(collections.daemonSets, { ...set, status });
  }

  pod(conditions: readonly object[], containerStatuses: readonly object[] = []): void {
    const { labels = {} } = this.daemonSet?.spec.template.metadata ?? {};
    const metadata = { name: 'vg-manager-x7k2p', namespace, labels };
    const status = { phase: 'Running', conditions, containerStatuses };
    this.put(collections.pods, { metadata, status });
  }
}

function lvmdClasses(text = ''): readonly string[] {
  const { 'device-classes': classes = [] } = (load(text) ?? {}) as {
    readonly 'device-classes'?: readonly { readonly name: string }[];
  };
  return classes.map(({ name }) => name);
}

function capacities(classes: readonly string[]) {
  return Object.fromEntries(classes.map((name) => [`capacity.topolvm.io/${name}`, '1024']));
}
