import { isOfLvmCluster } from '../core/lvm-cluster/objects.ts';
import { isKubeError, KubeError } from '../kube/errors.ts';
import { daemonSetKind, deploymentKind } from '../kube/workload-kinds.ts';
import type { Log } from '../process/log.ts';
import type { LeaseParts } from './operator-leases.ts';

/** How LVMS ran TopoLVM before its version 4.16, which deletes them too. */
export const oldWorkloads = {
  deployment: 'topolvm-controller',
  daemonSet: 'topolvm-node',
} as const;

const retryMs = 5_000;

/**
 * They act as long as they are there, and hold leases that we wait for: this comes first. What
 * belongs to no LVMCluster is somebody else's, and stays.
 */
export async function deleteOldWorkloads(
  parts: LeaseParts & { readonly log: Log },
  signal: AbortSignal,
): Promise<void> {
  const { clock, trouble } = parts;
  while (!signal.aborted) {
    try {
      await deleteAll(parts, signal);
      return;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (!signal.aborted) trouble(error, retryMs);
      // Roles of another version: the leases keep us apart from whoever holds them.
      if (isKubeError(error, 'Forbidden')) return;
      await clock.sleep(retryMs, signal);
    }
  }
}

async function deleteAll(
  { client, namespace, log }: LeaseParts & { readonly log: Log },
  signal: AbortSignal,
): Promise<void> {
  const all = [
    [deploymentKind, oldWorkloads.deployment],
    [daemonSetKind, oldWorkloads.daemonSet],
  ] as const;
  for (const [kind, name] of all) {
    const found = await client.find(kind, { namespace, name }, { signal });
    if (found === undefined || !isOfLvmCluster(found)) continue;
    const { uid } = found.metadata;
    await client.delete(kind, { namespace, name }, { signal, uid, propagation: 'Background' });
    log({ level: 'info', message: `${kind.kind} ${name} of an older LVMS was deleted` });
  }
}
