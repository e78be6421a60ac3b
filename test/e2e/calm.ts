import { conditionOf, type PodObject } from '../../lab/cluster/index.ts';
import type { E2eStage } from './stage.ts';

export const namespace = 'quarry-system';

/** The API server alone cannot tell that it is away, so every look forgives. */
export async function untilCalm(
  stage: E2eStage,
  what: string,
  isTrue: () => Promise<boolean>,
): Promise<void> {
  await stage.until(what, () => isTrue().catch(() => false), 240_000);
}

/** Servers answer, nodes are Ready, and operator and agents too. */
export async function settled(stage: E2eStage): Promise<void> {
  await untilCalm(stage, 'the API server is ready', async () => {
    const { status, text } = await stage.cluster.api.request('/readyz');
    return status === 200 && text === 'ok';
  });
  for (const { name } of stage.cluster.nodes) {
    await stage.cluster.waitForNode(name, { timeoutMs: 240_000 });
  }
  await untilCalm(stage, 'operator and agents are ready', async () => {
    const pods = await ourPods(stage);
    const ready = pods.filter((pod) => conditionOf(pod, 'Ready')?.status === 'True');
    return pods.length === 2 * stage.cluster.nodes.length && ready.length === pods.length;
  });
  await untilCalm(stage, 'somebody leads', async () => {
    const leader = await leaderOf(stage);
    return (await ourPods(stage)).some(({ metadata }) => metadata.name === leader);
  });
}

export async function ourPods(stage: E2eStage): Promise<readonly PodObject[]> {
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const list = await stage.cluster.api.get<{ readonly items: readonly PodObject[] }>(path);
  return list?.items ?? [];
}

/** The pod that holds the lease; '' where nobody does. */
export async function leaderOf(stage: E2eStage): Promise<string> {
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  const lease = await stage.cluster.api.get<{
    readonly spec: { readonly holderIdentity?: string };
  }>(`${leases}/1136b8a6.topolvm.io`);
  return (lease?.spec.holderIdentity ?? '').split('_')[0] ?? '';
}
