import type { ApiClient } from './api-client.ts';
import type { ControlPlane } from './control-plane.ts';
import type { ClusterNode } from './node.ts';
import { conditionOf, type NodeObject, type PodObject } from './objects.ts';
import { type Look, type WaitOptions, waitUntil } from './wait.ts';

/**
 * Ready as this boot of the node: after a power cut the API still says Ready for a while, about a
 * node that is not there.
 */
export async function waitForNode(
  api: ApiClient,
  node: ClusterNode,
  options: WaitOptions = {},
): Promise<void> {
  const bootId = (await node.guest.sh('cat /proc/sys/kernel/random/boot_id')).trim();
  const look = async (): Promise<Look<true>> => {
    await node.check();
    const seen = await lookAt<NodeObject>(api, `/api/v1/nodes/${node.name}`);
    if ('missing' in seen) return seen;
    const object = seen.found;
    if (object.status.nodeInfo.bootID !== bootId) return { missing: 'no word since it booted' };
    const ready = conditionOf(object, 'Ready');
    return ready?.status === 'True' ? { found: true } : { missing: ready?.message ?? 'no status' };
  };
  await waitUntil(`node ${node.name} is Ready`, look, options);
}

/** Until then the API server refuses pods. */
export async function waitForServiceAccounts(
  api: ApiClient,
  plane: ControlPlane,
  options: WaitOptions = {},
): Promise<void> {
  const look = async (): Promise<Look<true>> => {
    await plane.check();
    const path = '/api/v1/namespaces/default/serviceaccounts/default';
    const seen = await lookAt<object>(api, path);
    return 'missing' in seen ? seen : { found: true };
  };
  await waitUntil('the default service account exists', look, options);
}

export type PodName = { readonly namespace?: string; readonly name: string };

export async function waitForPod(
  api: ApiClient,
  { namespace = 'default', name }: PodName,
  options: WaitOptions = {},
): Promise<PodObject> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const look = async (): Promise<Look<PodObject>> => {
    const seen = await lookAt<PodObject>(api, path);
    if ('missing' in seen) return seen;
    const pod = seen.found;
    const { phase, conditions, containerStatuses } = pod.status;
    if (phase === 'Failed' || phase === 'Succeeded') {
      throw new Error(`pod ${name} is ${phase}, not Ready: ${JSON.stringify(pod.status)}`);
    }
    if (conditionOf(pod, 'Ready')?.status === 'True') return { found: pod };
    const why = conditions?.filter(({ status }) => status !== 'True');
    return { missing: JSON.stringify({ phase, why, containerStatuses }) };
  };
  return waitUntil(`pod ${namespace}/${name} is Ready`, look, options);
}

/** An API server that is away for a moment is one more reason to wait. */
async function lookAt<T>(api: ApiClient, path: string): Promise<Look<T>> {
  try {
    const found = await api.get<T>(path);
    return found === undefined ? { missing: `there is no ${path}` } : { found };
  } catch (error) {
    return { missing: String(error) };
  }
}
