import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../../lab/cluster/index.ts';
import { byName, type Installation } from '../../test/e2e/image.ts';
import type { AuditLog } from './audit.ts';
import { until } from './burst.ts';
import type { LvmClusterFigures } from './figures.ts';
import { lookAtProcesses } from './processes.ts';
import { hasDriver, isForgotten, type Side } from './side.ts';

type Around = {
  readonly cluster: Cluster;
  readonly manifests: Installation['manifests'];
  readonly audit: AuditLog;
  /** The disk of each node that becomes a group. */
  readonly disk: string;
  readonly side: Side;
  readonly idleSeconds: number;
  readonly tell: (line: string) => void;
};

const rounds = 5;
const name = 'bench';

/** From an LVMCluster that is applied to one that is Ready on all nodes, and an idle time after it. */
export async function measureLvmCluster(around: Around): Promise<LvmClusterFigures> {
  const { cluster, audit, side, idleSeconds, tell } = around;
  await install(around);
  const object = await lvmCluster(around);
  const [readyMs, goneMs]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    if (round > 0) goneMs.push(await timed(() => remove(around)));
    readyMs.push(await timed(() => apply(around, object)));
    tell(`LVMCluster: Ready after ${readyMs.at(-1)?.toFixed(0)} ms`);
  }
  // What is told of Nodes and capacity is told within a minute and a half of the last change.
  await sleep(90_000);
  tell(`LVMCluster: ${idleSeconds} s in which nothing changes`);
  const moment = await audit.now();
  const looks = cluster.nodes.map((node) => lookAtProcesses(node, side.nameOf, idleSeconds));
  const processes = (await Promise.all(looks)).flat();
  const writes = await audit.since(moment, side.namespace);
  await remove(around);
  await side.uninstall();
  return { nodes: cluster.nodes.length, readyMs, goneMs, idleSeconds, writes, processes };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return performance.now() - startedAtMs;
}

/** On nodes on which nothing is left of an installation before. */
async function install({ cluster, manifests, side }: Around): Promise<void> {
  await isForgotten(cluster, side);
  const clean = 'rm -rf /etc/topolvm/lvmd.yaml /var/lib/quarry/*';
  for (const node of cluster.nodes) await node.sh(clean);
  const { operator, agent, policy, webhook } = manifests;
  await cluster.apply(byName([...operator, ...agent, ...policy, ...webhook]));
  for (const node of cluster.nodes) {
    await until(`the driver on ${node.name}`, () => hasDriver(cluster, node.name));
  }
  const words = ['rollout', 'status', 'deployment/lvms-operator', `--namespace=${side.namespace}`];
  await cluster.kubectl(words);
}

async function lvmCluster({ cluster, disk, side }: Around): Promise<object> {
  // The same on all nodes: they have the same disks.
  const [first] = cluster.nodes;
  const paths = [(await first?.devicePath(disk)) ?? ''];
  const thinPoolConfig = { name: 'pool', sizePercent: 90, overprovisionRatio: 10 };
  const deviceClasses = [
    { name: 'vg1', default: true, deviceSelector: { paths }, thinPoolConfig },
  ] as const;
  return {
    ...{ apiVersion: 'lvm.topolvm.io/v1alpha1', kind: 'LVMCluster' },
    metadata: { name, namespace: side.namespace },
    spec: { storage: { deviceClasses } },
  };
}

function pathOf({ side }: Around): string {
  return `/apis/lvm.topolvm.io/v1alpha1/namespaces/${side.namespace}/lvmclusters`;
}

type Found = { readonly status?: { readonly state?: string } };

async function apply(around: Around, object: object): Promise<void> {
  const { api } = around.cluster;
  const path = pathOf(around);
  await until('the LVMCluster is taken', async () => {
    // The webhook answers a moment after the operator runs.
    const { status, text } = await api.request(path, { method: 'POST', body: object });
    if (status < 300) return true;
    if (!/failed calling webhook|not been read yet/.test(text)) throw new Error(text);
    return false;
  });
  await until('the LVMCluster is Ready', async () => {
    return (await api.get<Found>(`${path}/${name}`))?.status?.state === 'Ready';
  });
}

async function remove(around: Around): Promise<void> {
  const { api } = around.cluster;
  const path = `${pathOf(around)}/${name}`;
  await api.request(path, { method: 'DELETE' });
  await until('it is gone', async () => (await api.get<Found>(path)) === undefined);
}
