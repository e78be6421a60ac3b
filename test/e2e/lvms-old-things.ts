import assert from 'node:assert/strict';
import { lvmClusterPath, namespace } from '../../bench/kube/lvms.ts';
import type { Cluster } from '../../lab/cluster/index.ts';
import type { LvmCluster } from '../../src/api/objects/lvm-cluster.ts';
import { legacyGroupFinalizer } from '../../src/core/lvm-cluster/marks.ts';
import { ownerOf } from '../../src/core/lvm-cluster/objects.ts';
import { oldWorkloads } from '../../src/operator/old-workloads.ts';

const inNamespace = `--namespace=${namespace}`;

/** What versions of LVMS before 4.16 had, and newer ones clear away. Nothing of it runs here. */
export async function leaveOldThings(cluster: Cluster, group: string): Promise<void> {
  const owner = (await cluster.api.get<LvmCluster>(lvmClusterPath)) ?? assert.fail();
  const labels = { 'app.kubernetes.io/name': 'topolvm-old' };
  const pod = { nodeSelector: labels, containers: [{ name: 'old', image: 'topolvm:none' }] };
  const spec = { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } };
  const workload = (kind: string, name: string) => {
    const metadata = { name, namespace, ownerReferences: [ownerOf(owner)] };
    return { apiVersion: 'apps/v1', kind, metadata, spec };
  };
  await cluster.apply([
    workload('Deployment', oldWorkloads.deployment),
    workload('DaemonSet', oldWorkloads.daemonSet),
  ]);
  const operations = [{ op: 'add', path: '/metadata/finalizers/-', value: legacyGroupFinalizer }];
  const patch = ['--type=json', `--patch=${JSON.stringify(operations)}`];
  await cluster.kubectl(['patch', 'lvmvolumegroup', group, inNamespace, ...patch]);
  assert.equal((await oldThings(cluster)).length, 3);
}

export async function oldThings(cluster: Cluster): Promise<readonly string[]> {
  const kinds = 'deployments,daemonsets,lvmvolumegroups';
  const fields = '{range .items[*]}{.metadata.name} {.metadata.finalizers}{"\\n"}{end}';
  const said = await cluster.kubectl(['get', kinds, inNamespace, `--output=jsonpath=${fields}`]);
  const old = [...Object.values(oldWorkloads), legacyGroupFinalizer];
  return said.split('\n').filter((line) => old.some((name) => line.includes(name)));
}
