import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { busyboxImage, type Cluster, startCluster } from '../../lab/cluster/index.ts';
import { type Look, waitUntil } from '../../lab/cluster/wait.ts';
import { GiB } from '../../lab/index.ts';
import { buildInstallation, byName } from './image.ts';

const lvmdFile = `device-classes:
- {name: thick, volume-group: data, spare-gb: 0, default: true}
- name: thin
  volume-group: data
  type: thin
  thin-pool: {name: pool, overprovision-ratio: 5}
`;

export type ClaimSpec = {
  readonly className?: string;
  readonly size?: string;
  readonly volumeMode?: 'Filesystem' | 'Block';
  readonly dataSource?: {
    readonly apiGroup?: string;
    readonly kind: string;
    readonly name: string;
  };
};

type Claim = {
  readonly metadata: { readonly uid: string };
  readonly spec: { readonly volumeName?: string };
  readonly status: { readonly phase: string; readonly capacity?: { readonly storage: string } };
};

/** A real Kubernetes with two nodes, and Quarry on it as its own manifests install it. */
export class E2eStage {
  readonly cluster: Cluster;
  readonly timings: string[] = [];

  private constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  static async open(): Promise<E2eStage> {
    const { archive, manifests } = await buildInstallation();
    const disks = ['a', 'b'].map((name) => ({ name, sizeBytes: 4n * GiB }));
    const nodes = ['n1', 'n2'].map((name) => ({ name, disks }));
    const cluster = await startCluster({ nodes, images: [archive] });
    const stage = new E2eStage(cluster);
    try {
      await Promise.all(cluster.nodes.map((node) => stage.#prepare(node.name)));
      const { crds, namespace, driver, operator, agent, policy } = manifests;
      await cluster.apply(byName(crds));
      await cluster.apply(byName([...namespace, ...driver, ...operator, ...agent, ...policy]));
      await cluster.apply([...classes()]);
      await stage.isServing();
    } catch (error) {
      const what = await stage.describe();
      await stage.close();
      throw new Error(what, { cause: error });
    } finally {
      await rm(dirname(archive), { recursive: true });
    }
    return stage;
  }

  async close(): Promise<void> {
    await this.cluster.stop();
  }

  /** Every node has the driver, and has told what it can give. */
  async isServing(): Promise<void> {
    for (const { name } of this.cluster.nodes) {
      await this.until(`the driver on ${name}`, async () => {
        const node = await this.cluster.api.get<{
          readonly spec: { readonly drivers: readonly { readonly name: string }[] | null };
        }>(`/apis/storage.k8s.io/v1/csinodes/${name}`);
        return (node?.spec.drivers ?? []).some((one) => one.name === 'topolvm.io');
      });
    }
    await this.until('capacity of both classes on all nodes', async () => {
      const path = '/apis/storage.k8s.io/v1/namespaces/quarry-system/csistoragecapacities';
      const list = await this.cluster.api.get<{ readonly items: readonly object[] }>(path);
      return (list?.items.length ?? 0) >= 2 * this.cluster.nodes.length;
    });
  }

  async claim(name: string, spec: ClaimSpec = {}): Promise<void> {
    const { className = 'thin', size = '200Mi', volumeMode = 'Filesystem', dataSource } = spec;
    await this.cluster.apply([
      {
        ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name } },
        spec: {
          ...{ accessModes: ['ReadWriteOnce'], volumeMode, storageClassName: className },
          resources: { requests: { storage: size } },
          ...(dataSource === undefined ? {} : { dataSource }),
        },
      },
    ]);
  }

  /** A pod that keeps the claims mounted at /data/NAME, or as the device /dev/NAME. */
  async pod(name: string, claims: readonly string[], node?: string): Promise<void> {
    await this.apply(name, claims, node);
    await this.ready(name);
  }

  async apply(name: string, claims: readonly string[], node?: string): Promise<void> {
    await this.cluster.apply([podObject(name, claims, node)]);
  }

  async ready(name: string): Promise<void> {
    const ready = this.cluster.waitForPod({ name }, { timeoutMs: 180_000 });
    await ready.catch((error: unknown) => this.#tell(error));
  }

  async nodeOf(pod: string): Promise<string> {
    return this.cluster.kubectl(['get', 'pod', pod, '--output=jsonpath={.spec.nodeName}']);
  }

  /** Operator and agents at once, without a word before. */
  async killOurs(): Promise<void> {
    const words = ['delete', 'pod', '--namespace=quarry-system', '--all', '--force'];
    await this.cluster.kubectl([...words, '--grace-period=0']);
  }

  async cutPower(name: string): Promise<void> {
    await this.cluster.node(name).cutPower({ loseUnflushed: true });
    await this.cluster.startNode(name);
  }

  exec(pod: string, script: string): Promise<string> {
    return this.cluster.kubectl(['exec', pod, '--', 'sh', '-c', script]);
  }

  async remove(kind: string, ...names: readonly string[]): Promise<void> {
    await this.cluster.kubectl(['delete', kind, ...names, '--timeout=120s']);
  }

  async boundClaim(name: string): Promise<Claim> {
    return waitUntil(`the claim ${name} is bound`, async (): Promise<Look<Claim>> => {
      const path = `/api/v1/namespaces/default/persistentvolumeclaims/${name}`;
      const claim = await this.cluster.api.get<Claim>(path);
      return claim?.status.phase === 'Bound' ? { found: claim } : { missing: 'not bound' };
    });
  }

  async until(what: string, isTrue: () => Promise<boolean>, timeoutMs = 120_000): Promise<void> {
    const look = async (): Promise<Look<true>> =>
      (await isTrue()) ? { found: true } : { missing: 'not yet' };
    await waitUntil(what, look, { timeoutMs }).catch((error: unknown) => this.#tell(error));
  }

  async #tell(error: unknown): Promise<never> {
    throw new Error(`${String(error)}\n${await this.describe()}`, { cause: error });
  }

  async timed<T>(what: string, work: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    const result = await work();
    this.timings.push(`${what}: ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
    return result;
  }

  /** Volumes on all nodes, without their pools. */
  async lvs(): Promise<readonly string[]> {
    const found = await Promise.all(
      this.cluster.nodes.map((node) =>
        node.sh('lvm lvs --noheadings --options lv_name --select lv_name!=pool data'),
      ),
    );
    return found.flatMap((text) => text.split(/\s+/).filter((word) => word !== ''));
  }

  /** Nothing is leaked, nothing is lost, nothing is stuck: every object has its LV and its peers. */
  async audit(): Promise<void> {
    await this.until('everything at rest', async () => (await this.#findings()).length === 0).catch(
      async () => assert.deepEqual(await this.#findings(), []),
    );
  }

  async #findings(): Promise<readonly string[]> {
    const [volumes, logical, lvs] = await Promise.all([
      this.#list<Volume>('/api/v1/persistentvolumes'),
      this.#list<Logical>('/apis/topolvm.io/v1/logicalvolumes'),
      this.lvs(),
    ]);
    const handles = new Set(volumes.map(({ spec }) => spec.csi?.volumeHandle ?? ''));
    const contents = await this.#list<Content>(
      '/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents',
    );
    for (const { status } of contents) handles.add(status?.snapshotHandle ?? '');
    const uids = new Set(logical.map(({ metadata }) => metadata.uid));
    return [
      ...lvs.filter((name) => !uids.has(name)).map((name) => `LV ${name} has no LogicalVolume`),
      ...logical
        .filter(({ metadata }) => !lvs.includes(metadata.uid))
        .map(({ metadata }) => `LogicalVolume ${metadata.name} has no LV`),
      ...logical
        .filter(({ metadata }) => !handles.has(metadata.uid))
        .map(({ metadata }) => `LogicalVolume ${metadata.name} belongs to nothing`),
      ...volumes
        .filter(({ spec }) => !uids.has(spec.csi?.volumeHandle ?? ''))
        .map(({ metadata }) => `PersistentVolume ${metadata.name} has no LogicalVolume`),
      ...volumes
        .filter(({ status }) => status.phase !== 'Bound')
        .map(({ metadata, status }) => `PersistentVolume ${metadata.name} is ${status.phase}`),
      ...[...volumes, ...logical]
        .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
        .map(({ metadata }) => `${metadata.name} is stuck in deletion`),
    ];
  }

  async #list<T>(path: string): Promise<readonly T[]> {
    return (await this.cluster.api.get<{ readonly items: readonly T[] }>(path))?.items ?? [];
  }

  async describe(): Promise<string> {
    const args = [
      ['get', 'pods,pvc,pv,logicalvolumes.topolvm.io,csistoragecapacities', '--all-namespaces'],
      ['get', 'events', '--all-namespaces', '--sort-by=.lastTimestamp'],
      ['get', 'pvc', '--output=yaml'],
      [
        ...['logs', '--namespace=quarry-system', '--tail=60', '--prefix'],
        '--selector=app.kubernetes.io/name=topolvm',
      ],
    ];
    const said = await Promise.all(args.map((words) => this.cluster.tryKubectl(words)));
    return said.map(({ stdout, stderr }) => `${stdout}${stderr}`).join('\n');
  }

  async #prepare(name: string): Promise<void> {
    const node = this.cluster.node(name);
    const devices = await Promise.all(['a', 'b'].map((disk) => node.devicePath(disk)));
    await node.sh(
      `
      lvm vgcreate --yes data ${devices.join(' ')}
      lvm lvcreate --yes --type thin-pool --size 2g --name pool data
      mkdir -p /etc/topolvm && cat > /etc/topolvm/lvmd.yaml`,
      { stdin: lvmdFile },
    );
  }
}

type Meta = {
  readonly name: string;
  readonly uid: string;
  readonly deletionTimestamp?: string;
};
type Volume = {
  readonly metadata: Meta;
  readonly spec: { readonly csi?: { readonly volumeHandle: string } };
  readonly status: { readonly phase: string };
};
type Logical = { readonly metadata: Meta };
type Content = { readonly status?: { readonly snapshotHandle?: string } };

function classes(): readonly object[] {
  return ['thin', 'thick'].map((name) => ({
    ...{ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name } },
    ...{ provisioner: 'topolvm.io', volumeBindingMode: 'WaitForFirstConsumer' },
    allowVolumeExpansion: true,
    parameters: { 'csi.storage.k8s.io/fstype': 'ext4', 'topolvm.io/device-class': name },
  }));
}

function podObject(name: string, claims: readonly string[], node: string | undefined): object {
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
    spec: {
      ...(node === undefined ? {} : { nodeSelector: { 'kubernetes.io/hostname': node } }),
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          ...{ name: 'main', image: busyboxImage, imagePullPolicy: 'Never' },
          command: ['sh', '-c', 'exec sleep 1000000'],
          volumeMounts: claims.map((claim) => ({ name: claim, mountPath: `/data/${claim}` })),
        },
      ],
      volumes: claims.map((claim) => ({
        ...{ name: claim, persistentVolumeClaim: { claimName: claim } },
      })),
    },
  };
}
