import { createHash } from 'node:crypto';
import { groups } from '../api/crds/logical-volume.ts';
import { decodeLvmdFile } from '../api/lvmd-file/decode.ts';
import type { LvmCluster } from '../api/objects/lvm-cluster.ts';
import { type DesiredEdge, desiredEdge } from '../core/edge/desired.ts';
import {
  checksumAnnotation,
  type EdgeSight,
  edgeNames,
  type OldProgram,
  oldNames,
} from '../core/edge/plan.ts';
import { observeHost } from '../engine/look.ts';
import type { Host } from '../engine/ports.ts';
import type { KubeClient } from '../kube/client.ts';
import {
  daemonSetKind,
  deploymentKind,
  lvmdConfigMapKind,
  podKind,
  podTemplateKind,
} from '../kube/edge-kinds.ts';
import { KubeError } from '../kube/errors.ts';
import type { Kind, KubeObject } from '../kube/kind.ts';
import { logicalVolumeKind } from '../kube/kinds.ts';
import { lvmClusterKind } from '../kube/lvms-kinds.ts';
import type { Clock } from '../kube/ports.ts';
import type { Environment } from './context.ts';

export type EdgeOptions = {
  /** lvmd.yaml of the administrator. */
  readonly file: string;
  readonly defaultGroup: string;
  readonly namespace: string;
};

export type ApplyOptions = EdgeOptions & { readonly replacesTopolvm: boolean };

/** The world around the command; tests bring another one. */
export type EdgeDoors = Pick<Environment, 'print' | 'warn'> & {
  /** As lvmd.yaml wants lvm to be run. */
  readonly hostFor: (lvm: readonly string[]) => Host;
  /** Undefined where there is no such file. */
  readonly readText: (path: string) => Promise<string | undefined>;
  readonly clock: Clock;
  readonly connect: () => Promise<KubeClient>;
};

/** What shall be, and what is. */
export type EdgeLook = EdgeSight & {
  readonly desired: DesiredEdge;
  readonly clusters: readonly LvmCluster[];
};

export async function lookAtEdge(
  { hostFor, readText }: EdgeDoors,
  client: KubeClient,
  options: EdgeOptions,
  signal?: AbortSignal,
): Promise<EdgeLook> {
  const { file, defaultGroup, namespace } = options;
  const text = await readText(file);
  const sight = await sightOf(client, options, signal);
  const before = textInForce(sight);
  const host = await observeHost(hostFor(lvmCommandIn(text)), signal);
  const clusters = await listed(client, lvmClusterKind, { namespace }, signal);
  const volumes = await listed(client, logicalVolumeKind(groups.current), {}, signal);
  const desired = desiredEdge({ file, text, defaultGroup, host, before, clusters, volumes });
  return { ...sight, desired, clusters };
}

/** Nothing where the pods of an LVMCluster write a file themselves. */
function textInForce({ configMap, daemonSet }: EdgeSight): string | undefined {
  const marks = daemonSet?.spec.template.metadata?.annotations ?? {};
  const isForText = daemonSet === undefined || marks[checksumAnnotation] !== undefined;
  return isForText ? configMap?.data?.[edgeNames.key] : undefined;
}

export type Scope = { readonly namespace?: string; readonly labelSelector?: string };

/** Of a kind that is not installed there is none. */
export async function listed<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  scope: Scope,
  signal?: AbortSignal,
): Promise<readonly T[]> {
  try {
    return (await client.list(kind, scope, { kind: 'newest' }, { signal })).items;
  } catch (error) {
    if (error instanceof KubeError && error.code === 'KindMissing') return [];
    throw error;
  }
}

/** The objects as the API server has them now. */
export async function sightOf(
  client: KubeClient,
  { namespace }: Pick<EdgeOptions, 'namespace'>,
  signal?: AbortSignal,
): Promise<EdgeSight> {
  const { configMap, agent } = edgeNames;
  const [text, daemonSet, template, ...old] = await Promise.all([
    client.find(lvmdConfigMapKind, { namespace, name: configMap }, { signal }),
    client.find(daemonSetKind, { namespace, name: agent }, { signal }),
    client.find(podTemplateKind, { namespace, name: agent }, { signal }),
    oldProgram(client, { kind: 'Deployment', namespace }, signal),
    oldProgram(client, { kind: 'DaemonSet', namespace }, signal),
  ]);
  const pods = await listed(client, podKind, { namespace }, signal);
  const oldPods = pods.map(({ metadata }) => metadata.name).filter(isOldPod);
  return { configMap: text, daemonSet, template, old: old.flat(), oldPods };
}

async function oldProgram(
  client: KubeClient,
  { kind, namespace }: { readonly kind: OldProgram['kind']; readonly namespace: string },
  signal?: AbortSignal,
): Promise<readonly OldProgram[]> {
  const name = oldNames[kind];
  const found = await client.find<KubeObject>(oldKinds[kind], { namespace, name }, { signal });
  return found === undefined ? [] : [{ kind, name, uid: found.metadata.uid ?? '' }];
}

export const oldKinds = { Deployment: deploymentKind, DaemonSet: daemonSetKind } as const;

function isOldPod(name: string): boolean {
  return Object.values(oldNames).some((old) => name.startsWith(`${old}-`));
}

export function checksumOf(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

function lvmCommandIn(text = ''): readonly string[] {
  const decoded = decodeLvmdFile({ file: '', text });
  return decoded.kind === 'lvmd' ? decoded.spec.lvmCommandPrefix : [];
}
