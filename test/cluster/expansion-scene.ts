import { parseQuantity } from '../../src/api/quantity.ts';
import { type Bytes, bytes } from '../../src/base/bytes.ts';
import type { VolumeBook, VolumeView } from '../../src/csi/book.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { Informer } from '../../src/kube/informer.ts';
import type { Kind, KubeObject } from '../../src/kube/kind.ts';
import {
  claimKind,
  logicalVolumeKind,
  nodeKind,
  persistentVolumeKind,
} from '../../src/kube/kinds.ts';
import type { EventText } from '../../src/kube/recorder.ts';
import type { Cluster, Duty } from '../../src/operator/duty.ts';
import { Endings } from '../../src/operator/endings.ts';
import { FakeApi, type Stored } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { type Json, mergePatch } from '../kube/fake-patch.ts';
import { Chance } from '../world/chance.ts';
import { FakeClock } from '../world/clock.ts';
import { Life } from './life.ts';
import { Link } from './link.ts';
import { Network } from './network.ts';

/** The duties of this part on a whole API server, with informers and a network between them. */
export class DutyScene {
  readonly api: FakeApi;
  readonly clock: FakeClock;
  readonly network: Network;
  readonly events: (EventText & { readonly about: string })[] = [];
  readonly lvs = new Map<string, Bytes>();
  readonly #chance: Chance;
  readonly #duties: readonly (new (
    cluster: Cluster,
  ) => Duty)[];
  #life: Life;
  #stop = new AbortController();

  constructor(seed: number, ...duties: readonly (new (cluster: Cluster) => Duty)[]) {
    this.#chance = new Chance(seed);
    this.clock = new FakeClock(this.#chance, 0);
    this.network = new Network(this.#chance);
    this.api = new FakeApi({ nowMs: () => this.clock.nowMs() });
    this.#life = new Life(this.clock);
    this.#duties = duties;
  }

  /** A claim of 1Gi with its volume, LogicalVolume and LV. */
  claim(name: string, more: { readonly spec?: Json; readonly node?: string } = {}): void {
    const uid = `claim-${name}`;
    const size = { storage: '1Gi' };
    this.api.put(collections.claims, {
      metadata: { name, namespace: 'ns', uid },
      spec: { resources: { requests: size }, volumeName: `pv-${name}`, ...more.spec },
      status: { phase: 'Bound', capacity: size },
    });
    const stored = this.object(collections.claims, name, 'ns');
    this.api.put(collections.volumes, {
      metadata: { name: `pv-${name}` },
      spec: {
        ...{ capacity: size, claimRef: { namespace: 'ns', name, uid: stored.metadata.uid } },
        csi: { driver: 'topolvm.io', volumeHandle: `lv-${name}` },
      },
    });
    this.api.put(collections.logicalVolumes, {
      metadata: { name: `pv-${name}` },
      spec: { name: `pv-${name}`, nodeName: more.node ?? 'n1', size: '1Gi' },
      status: { volumeID: `lv-${name}`, currentSize: '1Gi' },
    });
    this.lvs.set(`lv-${name}`, parse('1Gi'));
  }

  node(name: string, taints: readonly string[] = []): void {
    const spec = { taints: taints.map((key) => ({ key, effect: 'NoExecute' })) };
    this.api.put(collections.nodes, { metadata: { name }, spec });
  }

  object(collection: string, name: string, namespace?: string): Stored {
    const found = this.api.one(collection, name, namespace);
    if (found === undefined) throw new Error(`there is no ${name}`);
    return found;
  }

  /** Somebody else's change, whatever it is. */
  change(collection: string, name: string, patch: Json): void {
    const namespace = collection === collections.claims ? 'ns' : undefined;
    const before = this.object(collection, name, namespace);
    this.api.put(collection, mergePatch(before, patch) as Stored);
  }

  /** Kubelet finishes what it is asked to. */
  kubelet(): void {
    for (const claim of this.api.all(collections.claims)) {
      const status = claim['status'] as { allocatedResourceStatuses?: { storage?: string } };
      if (status.allocatedResourceStatuses?.storage !== 'NodeResizePending') continue;
      const spec = claim['spec'] as { readonly volumeName: string };
      const volume = this.object(collections.volumes, spec.volumeName);
      const { capacity } = volume['spec'] as { readonly capacity: Json };
      this.change(collections.claims, claim.metadata.name, {
        status: { capacity, allocatedResourceStatuses: null, conditions: [] },
      });
    }
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  kill(): void {
    this.#life.die();
  }

  /** The lease is lost, and the process goes on. */
  stop(): void {
    this.#stop.abort();
  }

  /** Another operator, which knows nothing yet. */
  async start(): Promise<void> {
    this.#life = new Life(this.clock);
    const life = this.#life;
    const link = new Link({
      ...{ api: this.api, clock: this.clock, network: this.network, life },
      ...{ machine: 'control', who: 'operator', self: 'control' },
    });
    const chance = () => this.#chance.fraction();
    const client = new KubeClient({ transport: link, clock: life.clock, chance });
    this.#stop = new AbortController();
    const stop = this.#stop;
    const informers: Informer<never>[] = [];
    const watch = <T extends KubeObject>(kind: Kind<T>): Informer<T> => {
      const informer = new Informer({ client, kind, scopes: [{}], clock: life.clock, chance });
      informers.push(informer as unknown as Informer<never>);
      void informer.run(stop.signal);
      return informer;
    };
    const stores = {
      claims: watch(claimKind),
      volumes: watch(persistentVolumeKind),
      logicalVolumes: watch(logicalVolumeKind('topolvm.io')),
      nodes: watch(nodeKind),
    };
    const cluster = {
      ...{ client, stores, chance, clock: life.clock, wall: () => this.clock.nowMs() },
      names: { domain: 'topolvm.io', driver: 'topolvm.io' },
      book: this.#book(life),
      recorder: {
        event: ({ name }: { readonly name: string }, what: EventText) =>
          void this.events.push({ about: name, ...what }),
      },
      log: () => undefined,
      endings: new Endings(life.clock, () => undefined),
    } as unknown as Cluster;
    void Promise.all(informers.map(({ synced }) => synced)).then(() => {
      for (const Duty of this.#duties) void new Duty(cluster).run(stop.signal);
    });
    await this.pass(2_000);
  }

  /** LVs grow after a while, whoever still waits for it. */
  #book(life: Life): Pick<VolumeBook, 'expand'> {
    return {
      expand: (id, range) => {
        const grown = this.clock.sleep(this.#chance.between(10, 3_000)).then(() => {
          const before = this.lvs.get(id) ?? bytes(0n);
          const sizeBytes = range.requiredBytes > before ? bytes(range.requiredBytes) : before;
          this.lvs.set(id, sizeBytes);
          return { sizeBytes } as VolumeView;
        });
        return life.hold(grown);
      },
    };
  }
}

export function parse(text: string): Bytes {
  return parseQuantity(text) as Bytes;
}
