import { createHash } from 'node:crypto';
import { decodeLvmdFile } from '../api/lvmd-file/decode.ts';
import { type DesiredEdge, desiredEdge } from '../core/edge/desired.ts';
import { type EdgeSight, edgeNames } from '../core/edge/plan.ts';
import { observeHost } from '../engine/look.ts';
import type { Host } from '../engine/ports.ts';
import type { KubeClient } from '../kube/client.ts';
import { daemonSetKind, lvmdConfigMapKind, podTemplateKind } from '../kube/edge-kinds.ts';
import type { Clock } from '../kube/ports.ts';
import type { Environment } from './context.ts';

export type EdgeOptions = {
  /** lvmd.yaml of the administrator. */
  readonly file: string;
  readonly defaultGroup: string;
  readonly namespace: string;
};

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
export type EdgeLook = EdgeSight & { readonly desired: DesiredEdge };

export async function lookAtEdge(
  { hostFor, readText }: EdgeDoors,
  client: KubeClient,
  options: EdgeOptions,
  signal?: AbortSignal,
): Promise<EdgeLook> {
  const { file, defaultGroup } = options;
  const text = await readText(file);
  const sight = await sightOf(client, options, signal);
  const before = sight.configMap?.data?.[edgeNames.key];
  const host = await observeHost(hostFor(lvmCommandIn(text)), signal);
  return { ...sight, desired: desiredEdge({ file, text, defaultGroup, host, before }) };
}

/** The objects as the API server has them now. */
export async function sightOf(
  client: KubeClient,
  { namespace }: Pick<EdgeOptions, 'namespace'>,
  signal?: AbortSignal,
): Promise<EdgeSight> {
  const { configMap, agent } = edgeNames;
  const [text, daemonSet, template] = await Promise.all([
    client.find(lvmdConfigMapKind, { namespace, name: configMap }, { signal }),
    client.find(daemonSetKind, { namespace, name: agent }, { signal }),
    client.find(podTemplateKind, { namespace, name: agent }, { signal }),
  ]);
  return { configMap: text, daemonSet, template };
}

export function checksumOf(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

function lvmCommandIn(text = ''): readonly string[] {
  const decoded = decodeLvmdFile({ file: '', text });
  return decoded.kind === 'lvmd' ? decoded.spec.lvmCommandPrefix : [];
}
