import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Pod } from '../api/objects/workload.ts';
import { workloadNames } from '../core/cluster/installed.ts';
import { oldLeases, ourLease } from '../core/cluster/leases.ts';
import type { ClusterPicture, Part } from '../core/doctor/picture.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/errors.ts';
import { apiVersionOf, type Kind, type KubeObject } from '../kube/kind.ts';
import {
  claimKind,
  csiDriverKind,
  csiNodeKind,
  csiStorageCapacityKind,
  logicalVolumeKind,
  persistentVolumeKind,
  storageClassKind,
} from '../kube/kinds.ts';
import { leaseKind } from '../kube/lease.ts';
import { lvmClusterKind, lvmNodeStatusKind, lvmVolumeGroupKind } from '../kube/lvms-kinds.ts';
import {
  clusterEventKind,
  daemonSetKind,
  deploymentKind,
  endpointSliceKind,
  nodeWithInfoKind,
  podKind,
} from '../kube/workload-kinds.ts';
import { redacted, shown } from './bundle-texts.ts';
import { UsageError } from './context.ts';
import { asYaml } from './output.ts';

/** Of each log so much from its end. */
const logLimits = { tailLines: '20000', limitBytes: String(8 * 1024 * 1024) } as const;

export type GatherParts = {
  readonly client: KubeClient;
  readonly picture: ClusterPicture;
  /** Files that are made of the picture, by name. */
  readonly texts: Readonly<Record<string, string>>;
};

/** Writes a support bundle. Gives how many files it has, and what could not be read. */
export async function gather(directory: string, parts: GatherParts) {
  await makeEmpty(directory);
  const bundle = new Bundle(directory);
  const { picture } = parts;
  for (const [name, text] of Object.entries(parts.texts)) await bundle.write(name, text);
  const objects = ownObjects(picture);
  for (const { kind, items } of objects) await bundle.writeObjects(kind, items);
  await writeRegistrations(bundle, picture);
  await gatherEvents(bundle, parts, objects);
  await gatherLeases(bundle, parts);
  for (const pod of picture.pods) await gatherLogs(bundle, parts.client, pod);
  const unseen = picture.unseen.map(({ part, message }) => `${part}: ${message}`);
  const notes = [...unseen, ...bundle.notes];
  if (notes.length > 0) await bundle.write('not-read.txt', notes.join('\n'));
  return { files: bundle.files, notes };
}

/** Nothing is ever written over: who names a directory of his own is asked to think again. */
async function makeEmpty(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const found = await readdir(directory);
    if (found.length === 0) return;
  } catch (error) {
    const { message } = error as Error;
    throw new UsageError(`--output ${directory} cannot be made: ${message}`);
  }
  throw new UsageError(
    `--output ${directory} is not empty: name a directory that is not there yet`,
  );
}

class Bundle {
  readonly #directory: string;
  readonly notes: string[] = [];
  files = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async write(name: string, text: string): Promise<void> {
    const path = join(this.#directory, name);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, `${redacted(text).trimEnd()}\n`, { mode: 0o600 });
    this.files += 1;
  }

  async writeObjects(kind: Kind<never>, items: readonly KubeObject[]): Promise<void> {
    if (items.length === 0) return;
    const head = { apiVersion: apiVersionOf(kind), kind: kind.kind };
    const texts = items.map((item) => asYaml({ ...head, ...shown(item) }));
    await this.write(`objects/${kind.plural}.yaml`, texts.join('\n---\n'));
  }

  /** What cannot be read is noted, and nothing else waits for it. */
  async try<T>(what: string, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof KubeError) || error.code === 'Unreachable') throw error;
      this.notes.push(`${what}: ${error.code}: ${error.message}`);
      return undefined;
    }
  }
}

type Objects = { readonly kind: Kind<never>; readonly items: readonly KubeObject[] };

/** What is ours, of all that was looked at. */
function ownObjects(picture: ClusterPicture): readonly Objects[] {
  const { names } = picture;
  const classes = picture.classes.filter(({ provisioner }) => provisioner === names.driver);
  const classNames = new Set(classes.map(({ metadata }) => metadata.name));
  const volumes = picture.volumes.filter(({ spec }) => spec.csi?.driver === names.driver);
  const volumeNames = new Set(volumes.map(({ metadata }) => metadata.name));
  const claims = picture.claims.filter(
    ({ spec }) =>
      classNames.has(spec.storageClassName ?? '') || volumeNames.has(spec.volumeName ?? ''),
  );
  const csiDrivers = picture.csiDrivers.filter(({ metadata }) => metadata.name === names.driver);
  const own = { ...picture, classes, volumes, claims, csiDrivers };
  return Object.entries(kindsOf(names.domain)).map(([part, kind]) => ({
    kind: kind as Kind<never>,
    items: own[part as Part],
  }));
}

function kindsOf(domain: string) {
  return {
    ...{ clusters: lvmClusterKind, groups: lvmVolumeGroupKind, reports: lvmNodeStatusKind },
    logicalVolumes: logicalVolumeKind(domain),
    ...{ classes: storageClassKind, volumes: persistentVolumeKind, claims: claimKind },
    ...{ csiDrivers: csiDriverKind, csiNodes: csiNodeKind, capacities: csiStorageCapacityKind },
    ...{ nodes: nodeWithInfoKind, deployments: deploymentKind, daemonSets: daemonSetKind },
    ...{ pods: podKind, endpoints: endpointSliceKind },
  } as const satisfies Partial<Record<Part, unknown>>;
}

async function writeRegistrations(bundle: Bundle, { webhooks }: ClusterPicture): Promise<void> {
  if (webhooks.length === 0) return;
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const texts = webhooks.map((one) => asYaml({ apiVersion, ...shown(one) }));
  await bundle.write('objects/webhookconfigurations.yaml', texts.join('\n---\n'));
}

/** Kinds that events of ours are about, wherever they are told. */
const eventKinds = [
  ...['LVMCluster', 'LVMVolumeGroup', 'LVMVolumeGroupNodeStatus', 'LogicalVolume'],
  ...['PersistentVolume', 'PersistentVolumeClaim', 'Pod', 'Deployment', 'DaemonSet'],
] as const;

const ownNames = Object.values(workloadNames);

async function gatherEvents(
  bundle: Bundle,
  { client, picture: { namespace } }: GatherParts,
  objects: readonly Objects[],
): Promise<void> {
  const uids = new Set(objects.flatMap(({ items }) => items.map(({ metadata }) => metadata.uid)));
  const inOwn = new Set<string>(['Pod', 'Deployment', 'DaemonSet']);
  const found = [];
  for (const kind of eventKinds) {
    const place = inOwn.has(kind) ? { namespace } : {};
    if (inOwn.has(kind) && namespace === undefined) continue;
    const scope = { ...place, fieldSelector: `involvedObject.kind=${kind}` };
    const list = await bundle.try(`events of ${kind}`, () => client.list(clusterEventKind, scope));
    found.push(...(list?.items ?? []));
  }
  const own = found.filter(({ involvedObject: { uid = '', kind = '', name = '' } }) => {
    // A pod that is gone has events too, and they may be the ones that count.
    const isOfGone = inOwn.has(kind) && ownNames.some((one) => name.startsWith(one));
    return uids.has(uid) || isOfGone;
  });
  await bundle.writeObjects(clusterEventKind as Kind<never>, own);
}

async function gatherLeases(
  bundle: Bundle,
  { client, picture: { namespace, names } }: GatherParts,
): Promise<void> {
  if (namespace === undefined) return;
  const found = [];
  for (const name of [ourLease, ...oldLeases(names)]) {
    const lease = await bundle.try(`lease ${name}`, () =>
      client.find(leaseKind, { namespace, name }),
    );
    // The kind is read whole, and so is what others wrote into it.
    if (lease !== undefined) {
      const { uid, resourceVersion, creationTimestamp = '' } = lease.metadata;
      const metadata = { name, namespace, uid, resourceVersion, creationTimestamp };
      found.push({ metadata, ...(lease.spec === undefined ? {} : { spec: lease.spec }) });
    }
  }
  await bundle.writeObjects(leaseKind as Kind<never>, found);
}

async function gatherLogs(bundle: Bundle, client: KubeClient, pod: Pod): Promise<void> {
  const { namespace, name } = pod.metadata;
  const log = { namespace, name, subresource: 'log' } as const;
  for (const container of pod.spec?.containers ?? []) {
    const query = { ...logLimits, container: container.name };
    const file = `logs/${name}_${container.name}`;
    const now = await bundle.try(file, () => client.text(podKind, log, query));
    if (now !== undefined) await bundle.write(`${file}.log`, now);
    const { restartCount = 0 } =
      pod.status?.containerStatuses?.find((one) => one.name === container.name) ?? {};
    if (restartCount === 0) continue;
    const before = await bundle.try(`${file}.previous`, () =>
      client.text(podKind, log, { ...query, previous: 'true' }),
    );
    if (before !== undefined) await bundle.write(`${file}.previous.log`, before);
  }
}
