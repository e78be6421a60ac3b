import assert from 'node:assert/strict';
import { namespace } from '../../bench/kube/lvms.ts';
import type { Cluster } from '../../lab/cluster/index.ts';
import type { Guest } from '../../lab/index.ts';
import type { Metadata } from '../../src/api/objects/metadata.ts';
import { defaultClassKey } from '../../src/core/lvm-cluster/objects.ts';

/** What must stay as it is while one goes and the other comes, and a pod runs. */
export async function picture(cluster: Cluster, pod: string): Promise<object> {
  const lvms = `/apis/lvm.topolvm.io/v1alpha1/namespaces/${namespace}`;
  const storage = '/apis/storage.k8s.io/v1';
  const seen = async (path: string) => (await list(cluster, path)).map(marksOf);
  return {
    ...(await podPicture(cluster, pod)),
    nodes: await Promise.all(cluster.nodes.map(nodePicture)),
    clusters: await seen(`${lvms}/lvmclusters`),
    groups: await seen(`${lvms}/lvmvolumegroups`),
    // An agent tells in their spec what it sees, and LVMS' notes which groups it has seen there.
    reports: (await seen(`${lvms}/lvmvolumegroupnodestatuses`)).map(
      ({ generation: _generation, ownerReferences = [], ...rest }) => ({
        ...rest,
        controller: ownerReferences.find(({ controller }) => controller === true)?.uid,
      }),
    ),
    drivers: await seen(`${storage}/csidrivers`),
    classes: (await list(cluster, `${storage}/storageclasses`)).map((one) => ({
      ...{ ...marksOf(one), parameters: one.parameters },
      isDefault: one.metadata.annotations?.[defaultClassKey] === 'true',
    })),
    snapshotClasses: await seen('/apis/snapshot.storage.k8s.io/v1/volumesnapshotclasses'),
  };
}

type Seen = { readonly metadata: Metadata; readonly parameters?: object };

async function list({ api }: Cluster, path: string): Promise<readonly Seen[]> {
  const { items = [] } = (await api.get<{ readonly items: readonly Seen[] }>(path)) ?? {};
  assert.ok(items.length > 0, path);
  return items;
}

/** A spec that changes has another generation. */
function marksOf({ metadata }: Seen) {
  const { name, uid, generation, finalizers, labels, ownerReferences } = metadata;
  return { name, uid, generation, finalizers, labels, ownerReferences };
}

async function podPicture(cluster: Cluster, name: string): Promise<object> {
  const fields = '{.metadata.uid} {.spec.nodeName} {.status.containerStatuses}';
  const said = await cluster.kubectl(['get', 'pod', name, `--output=jsonpath=${fields}`]);
  const [uid = '', node = ''] = said.split(' ');
  const find = `grep 'pods/${uid}/volumes/kubernetes.io~csi' /proc/self/mountinfo | sort`;
  return { pod: said, mounts: await cluster.node(node).sh(find) };
}

async function nodePicture(node: Guest): Promise<object> {
  const pools = ['--select=lv_layout=pool', '--options=lv_name,lv_uuid,lv_size,chunk_size'];
  return {
    groups: await node.sh('lvm vgs --noheadings --options=vg_name,vg_uuid,vg_tags,pv_count'),
    pools: await node.sh(`lvm lvs --noheadings ${pools.join(' ')}`),
    lvmd: await node.sh('stat --format=%a /etc/topolvm/lvmd.yaml; cat /etc/topolvm/lvmd.yaml'),
  };
}
