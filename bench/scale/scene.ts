import type { CsiStorageCapacity } from '../../src/api/objects/storage.ts';
import { realClock } from '../../src/host/clock.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { isKubeError } from '../../src/kube/errors.ts';
import { fromKubeconfig } from '../../src/kube/from-kubeconfig.ts';
import { Informer } from '../../src/kube/informer.ts';
import type { Kind, KubeObject } from '../../src/kube/kind.ts';
import {
  claimKind,
  csiNodeKind,
  csiStorageCapacityKind,
  logicalVolumeKind,
  nodeKind,
  persistentVolumeKind,
} from '../../src/kube/kinds.ts';
import { readKubeconfig } from '../../src/kube/kubeconfig.ts';
import { HttpTransport } from '../../src/kube/transport.ts';
import { FleetNode, PlainClock } from './fleet.ts';
import {
  boundClaimObject,
  csiNodeObject,
  driver,
  nodeName,
  nodeObject,
  persistentVolumeObject,
  systemNamespace,
  volumeObject,
} from './objects.ts';

export const volumeKind = logicalVolumeKind(driver);

/** A real API server, nodes that are agents and nothing else, and an administrator who watches. */
export class ScaleScene {
  readonly client: KubeClient;
  readonly nodes: FleetNode[] = [];
  readonly volumes: Informer<Awaited<ReturnType<ScaleScene['volume']>>>;
  readonly capacities: Informer<CsiStorageCapacity>;
  readonly volumesPerNode: number;
  readonly #kubeconfig: string;
  readonly #clock = new PlainClock();
  readonly #stop = new AbortController();

  constructor(kubeconfig: string, volumesPerNode: number) {
    this.#kubeconfig = kubeconfig;
    this.volumesPerNode = volumesPerNode;
    const clock = realClock;
    const chance = Math.random;
    this.client = new KubeClient({ transport: this.#transport(), clock, chance });
    const { client } = this;
    this.volumes = new Informer({ client, kind: volumeKind, scopes: [{}], clock, chance });
    this.capacities = new Informer({
      ...{ client, kind: csiStorageCapacityKind, clock, chance },
      scopes: [{ namespace: systemNamespace }],
    });
  }

  async start(): Promise<void> {
    for (const informer of [this.volumes, this.capacities]) {
      void informer.run(this.#stop.signal);
      await informer.synced;
    }
  }

  stop(): void {
    for (const node of this.nodes) node.stop();
    this.#stop.abort();
  }

  /** More nodes, each with its volumes, and agents that find them to be made. */
  async growTo(count: number): Promise<void> {
    const names = Array.from({ length: count - this.nodes.length }, (_, index) =>
      nodeName(this.nodes.length + index),
    );
    await atOnce(names, async (name) => {
      await this.client.create(nodeKind, nodeObject(name));
      await this.client.create(csiNodeKind, csiNodeObject(name));
      for (let index = 0; index < this.volumesPerNode; index += 1) {
        await this.#boundVolume(`${name}-${index}`, name);
      }
    });
    for (const name of names) {
      const seed = this.nodes.length + 1;
      const node = new FleetNode(name, seed, this.#clock, () => this.#transport());
      this.nodes.push(node);
      node.start(crash);
      await pause(30);
    }
  }

  volume(name: string, node: string) {
    return this.client.create(volumeKind, volumeObject(name, node));
  }

  async #boundVolume(name: string, node: string): Promise<void> {
    const { metadata: volume } = await this.volume(name, node);
    const { metadata: claim } = await this.client.create(claimKind, boundClaimObject(name, node));
    const uids = { claim: claim.uid, volume: volume.uid };
    await this.client.create(persistentVolumeKind, persistentVolumeObject(name, node, uids));
  }

  #transport(): HttpTransport {
    const context = readKubeconfig([{ path: 'admin', text: this.#kubeconfig }]);
    const doors = { clock: realClock, wall: Date.now };
    const { endpoint, credentials } = fromKubeconfig(context, doors);
    return new HttpTransport(endpoint, credentials);
  }
}

function crash(error: unknown): void {
  console.error(error);
  process.exit(1);
}

/** So many as the client has connections for. */
export async function atOnce<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

export function pause(ms: number): Promise<void> {
  return realClock.sleep(ms);
}

export async function until(what: string, isTrue: () => boolean): Promise<void> {
  const giveUpAtMs = performance.now() + 600_000;
  while (!isTrue()) {
    if (performance.now() > giveUpAtMs) throw new Error(`waited in vain: ${what}`);
    await pause(50);
  }
}

/** A kind that was just defined is served a moment later. */
export async function served<T extends KubeObject>(client: KubeClient, kind: Kind<T>) {
  for (let tries = 0; tries < 600; tries += 1) {
    try {
      await client.list(kind);
      return;
    } catch (error) {
      if (!isKubeError(error, 'KindMissing')) throw error;
      await pause(100);
    }
  }
  throw new Error(`${kind.plural} are not served`);
}
