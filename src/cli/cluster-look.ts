import type { LogicalVolume } from '../api/objects/logical-volume.ts';
import type { WebhookConfiguration } from '../api/objects/webhook.ts';
import type { ClusterEvent, Workload } from '../api/objects/workload.ts';
import { showList } from '../base/show.ts';
import { partOf, registrationName, webhookService } from '../core/cluster/installed.ts';
import { ourLease } from '../core/cluster/leases.ts';
import { groupOf, kindOf } from '../core/cluster/logical-volume.ts';
import { orphanGraceMs } from '../core/cluster/orphans.ts';
import { groupSnapshotVersions } from '../core/cluster/snapshot-content-marks.ts';
import type { ClusterPicture, Part, Registration, Unseen } from '../core/doctor/picture.ts';
import { waitingClaims } from '../core/doctor/rules-volumes.ts';
import { namesOf } from '../core/doctor/workloads.ts';
import type { KubeClient } from '../kube/client.ts';
import { type KubeCode, KubeError } from '../kube/errors.ts';
import type { Kind, KubeObject, ObjectName } from '../kube/kind.ts';
import {
  claimKind,
  csiDriverKind,
  csiNodeKind,
  csiStorageCapacityKind,
  logicalVolumeKind,
  persistentVolumeKind,
  storageClassKind,
  volumeGroupSnapshotContentKind,
  volumeSnapshotContentKind,
} from '../kube/kinds.ts';
import { leaseKind } from '../kube/lease.ts';
import { lvmClusterKind, lvmNodeStatusKind, lvmVolumeGroupKind } from '../kube/lvms-kinds.ts';
import { mutatingWebhookKind, validatingWebhookKind } from '../kube/webhook-kinds.ts';
import type { Scope } from '../kube/wire.ts';
import {
  clusterEventKind,
  daemonSetKind,
  deploymentKind,
  endpointSliceKind,
  nodeWithInfoKind,
  podKind,
} from '../kube/workload-kinds.ts';
import { UsageError } from './context.ts';

/** Of so many claims that wait the events are read. */
const claimsMax = 100;

export type LookOptions = {
  /** Where Quarry is, where somebody said so. */
  readonly namespace?: string | undefined;
  readonly nowMs: number;
};

/**
 * Reads all that is needed, and nothing that is secret: no Secrets, no values of variables, no
 * authorities. What may not be read is noted, and the rest is read all the same.
 */
export async function lookAtCluster(
  client: KubeClient,
  options: LookOptions,
): Promise<ClusterPicture> {
  const look = new Look(client);
  const workloads = await workloadsIn(look, options.namespace);
  const namespace = options.namespace ?? namespaceOf(Object.values(workloads).flat());
  const names = namesOf(Object.values(workloads).flat());
  const [own, kept, lvms, volumes] = await Promise.all([
    namespace === undefined ? nothingInstalled : installed(look, namespace),
    storage(look),
    clusters(look, options.namespace),
    look.list('logicalVolumes', logicalVolumeKind(names.domain)),
  ]);
  const servesLogicalVolumes = !look.missing.has('logicalVolumes');
  const snapshots = await contentsFor(look, volumes);
  const events = await eventsOf(look, { ...kept, names });
  return {
    ...{ names, namespace, servesLogicalVolumes, events, logicalVolumes: volumes },
    ...{ ...own, ...kept, ...lvms, ...snapshots, webhooks: await registrations(look) },
    deployments: workloads.deployments.map(withoutValues),
    daemonSets: workloads.daemonSets.map(withoutValues),
    settledBefore: timeText(options.nowMs - orphanGraceMs),
    unseen: look.unseen,
  };
}

async function workloadsIn(look: Look, namespace: string | undefined) {
  const scope = { namespace, labelSelector: ofOurs };
  const [deployments, daemonSets] = await Promise.all([
    look.list('deployments', deploymentKind, scope),
    look.list('daemonSets', daemonSetKind, scope),
  ]);
  return { deployments, daemonSets };
}

const ofOurs = `${partOf.key}=${partOf.value}`;

function namespaceOf(workloads: readonly Workload[]): string | undefined {
  const all = [...new Set(workloads.map(({ metadata }) => metadata.namespace ?? ''))].toSorted();
  if (all.length <= 1) return all[0];
  throw new UsageError(`Quarry is in ${showList(all)}: name one of them with --namespace`);
}

const nothingInstalled = { pods: [], capacities: [], endpoints: [], leader: undefined };

async function installed(look: Look, namespace: string) {
  const ofService = `kubernetes.io/service-name=${webhookService}`;
  const [pods, capacities, endpoints, lease] = await Promise.all([
    look.list('pods', podKind, { namespace, labelSelector: ofOurs }),
    look.list('capacities', csiStorageCapacityKind, { namespace }),
    look.list('endpoints', endpointSliceKind, { namespace, labelSelector: ofService }),
    look.find(undefined, leaseKind, { namespace, name: ourLease }),
  ]);
  return { pods, capacities, endpoints, leader: lease?.spec?.holderIdentity || undefined };
}

async function storage(look: Look) {
  const [nodes, csiNodes, csiDrivers, classes, claims, volumes] = await Promise.all([
    look.list('nodes', nodeWithInfoKind),
    look.list('csiNodes', csiNodeKind),
    look.list('csiDrivers', csiDriverKind),
    look.list('classes', storageClassKind),
    look.list('claims', claimKind),
    look.list('volumes', persistentVolumeKind),
  ]);
  return { nodes, csiNodes, csiDrivers, classes, claims, volumes };
}

/** Nothing that is not needed: who may not read them is told so only where there are snapshots. */
async function contentsFor(look: Look, volumes: readonly LogicalVolume[]) {
  const copies = volumes.filter((volume) => kindOf(volume) === 'snapshot');
  const [snapshotContents, groups] = await Promise.all([
    copies.length === 0 ? undefined : look.list('snapshotContents', volumeSnapshotContentKind),
    copies.some((volume) => groupOf(volume) !== undefined) ? groupContentsIn(look) : undefined,
  ]);
  return {
    snapshotContents: snapshotContents ?? [],
    servesSnapshots: snapshotContents !== undefined && !look.missing.has('snapshotContents'),
    groupContents: groups ?? [],
    servesGroupSnapshots: groups !== undefined,
  };
}

/** In the best version that is served, if any is. */
async function groupContentsIn(look: Look) {
  for (const version of groupSnapshotVersions) {
    look.missing.delete('groupContents');
    const found = await look.list('groupContents', volumeGroupSnapshotContentKind(version));
    if (!look.missing.has('groupContents')) return found;
  }
  return undefined;
}

/** In any namespace: one that is in the wrong place is worth a word. */
async function clusters(look: Look, namespace: string | undefined) {
  const [all, groups, reports] = await Promise.all([
    look.list('clusters', lvmClusterKind, { namespace }),
    look.list('groups', lvmVolumeGroupKind, { namespace }),
    look.list('reports', lvmNodeStatusKind, { namespace }),
  ]);
  return { clusters: all, groups, reports };
}

async function registrations(look: Look): Promise<readonly Registration[]> {
  const found = await Promise.all(
    [validatingWebhookKind, mutatingWebhookKind].map(async (kind) => {
      const one = await look.find('webhooks', kind, { name: registrationName });
      return one === undefined ? [] : [{ ...withoutAuthority(one), kind: kind.kind }];
    }),
  );
  return found.flat();
}

/** That there is one is enough. */
function withoutAuthority({ metadata, webhooks = [] }: WebhookConfiguration): WebhookConfiguration {
  return {
    metadata,
    webhooks: webhooks.map(({ name, clientConfig: { caBundle = '', service } = {} }) => ({
      name,
      clientConfig: {
        ...(caBundle === '' ? {} : { caBundle: '(left out)' }),
        ...(service === undefined ? {} : { service }),
      },
    })),
  };
}

/** Values of variables were needed for a moment; from here on nobody has them. */
function withoutValues(workload: Workload): Workload {
  const { replicas, template } = workload.spec ?? {};
  const containers = (template?.spec?.containers ?? []).map(({ env = [], ...rest }) => ({
    ...rest,
    env: env.map(({ name }) => ({ name })),
  }));
  const count = replicas === undefined ? {} : { replicas };
  return { ...workload, spec: { ...count, template: { spec: { containers } } } };
}

async function eventsOf(
  look: Look,
  view: Parameters<typeof waitingClaims>[0],
): Promise<readonly ClusterEvent[]> {
  const lists = await Promise.all(
    waitingClaims(view)
      .slice(0, claimsMax)
      .map(({ metadata: { namespace, uid } }) => {
        const fieldSelector = `involvedObject.uid=${uid}`;
        return look.list('events', clusterEventKind, { namespace, fieldSelector });
      }),
  );
  return lists.flat();
}

export function timeText(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Reads, and notes what could not be read. A cluster that does not answer at all is no cluster. */
class Look {
  readonly #client: KubeClient;
  readonly unseen: Unseen[] = [];
  /** Parts whose kinds are not served. */
  readonly missing = new Set<Part>();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  async list<T extends KubeObject>(
    part: Part,
    kind: Kind<T>,
    scope: Scope = {},
  ): Promise<readonly T[]> {
    const found = await this.#seen(part, async () => (await this.#client.list(kind, scope)).items);
    return found ?? [];
  }

  find<T extends KubeObject>(
    part: Part | undefined,
    kind: Kind<T>,
    name: ObjectName,
  ): Promise<T | undefined> {
    return this.#seen(part, () => this.#client.find(kind, name));
  }

  async #seen<T>(part: Part | undefined, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof KubeError) || isSilent(error)) throw error;
      if (part === undefined) return undefined;
      if (error.code === 'KindMissing') this.missing.add(part);
      else if (!this.unseen.some((one) => one.part === part)) {
        this.unseen.push({ part, message: `${error.code}: ${error.message}` });
      }
      return undefined;
    }
  }
}

const silent: ReadonlySet<KubeCode> = new Set<KubeCode>([
  ...(['Unreachable', 'Timeout', 'Untrusted', 'Unauthorized', 'NoCredentials'] as const),
  ...(['Cancelled', 'Unreadable'] as const),
]);

function isSilent({ code }: KubeError): boolean {
  return silent.has(code);
}
