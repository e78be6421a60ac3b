import type { Pod, Workload } from '../../api/objects/workload.ts';
import { componentLabel, components } from '../cluster/installed.ts';
import type { ClusterNames } from '../cluster/names.ts';

/** Who runs us, read from Deployments, DaemonSets and pods. */
export type Role = 'operator' | 'agent';

/** Undefined for what is neither, such as the scheduler's extender. */
export function roleOf({ metadata }: Pick<Pod, 'metadata'>): Role | undefined {
  const component = metadata.labels?.[componentLabel];
  if (component === components.operator) return 'operator';
  return component === components.agent ? 'agent' : undefined;
}

/** Pods of a role that are to stay. */
export function podsOf(pods: readonly Pod[], role: Role): readonly Pod[] {
  return pods.filter((pod) => roleOf(pod) === role && pod.metadata.deletionTimestamp === undefined);
}

export function argsOf({ spec }: Workload): readonly string[] {
  return spec?.template?.spec?.containers?.[0]?.args ?? [];
}

/** One process for both roles, on a cluster of one node. */
export function isAll(workload: Workload): boolean {
  return argsOf(workload)[0] === 'all';
}

/** What an installation calls itself, by how it is started. */
export function namesOf(workloads: readonly Workload[]): ClusterNames {
  const variables = workloads.flatMap(
    ({ spec }) => spec?.template?.spec?.containers?.[0]?.env ?? [],
  );
  const isLegacy = variables.some(({ name, value = '' }) => name === 'USE_LEGACY' && value !== '');
  const domain = isLegacy ? 'topolvm.cybozu.com' : 'topolvm.io';
  const words = workloads.flatMap(argsOf).flatMap((word) => word.split('='));
  const at = words.indexOf('--driver-name');
  return { domain, driver: (at < 0 ? undefined : words[at + 1]) ?? domain };
}

export function isReady({ status }: Pod): boolean {
  return (status?.conditions ?? []).some(
    ({ type, status: word }) => type === 'Ready' && word === 'True',
  );
}

/** What keeps a pod from being ready, in the words of whoever runs it; '' when it does not say. */
export function podTrouble({ status }: Pod): string {
  for (const { state, lastState } of status?.containerStatuses ?? []) {
    const { waiting } = state ?? {};
    const ended = state?.terminated ?? lastState?.terminated;
    const last = ended === undefined ? '' : `it ended with ${ended.exitCode ?? '?'} before`;
    if (waiting !== undefined) return joined([waiting.reason, waiting.message, last]);
    if (state?.terminated !== undefined) return joined([ended?.reason, ended?.message, last]);
  }
  const condition = (status?.conditions ?? []).find(
    ({ type, status: word }) => word === 'False' && /^(Ready|PodScheduled)$/.test(type),
  );
  return joined([status?.reason ?? condition?.reason, status?.message ?? condition?.message]);
}

function joined(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== '').join(': ');
}

export function imageOf({ spec }: Pod): string {
  return spec?.containers?.[0]?.image ?? '';
}

/** What people call an image: its tag, or the beginning of its digest. */
export function versionOf(image: string): string {
  const [named = '', digest = ''] = image.split('@');
  const tag = /:([^/:]+)$/.exec(named)?.[1];
  return tag ?? (digest === '' ? 'latest' : digest.slice(0, 'sha256:'.length + 12));
}
