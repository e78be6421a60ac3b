import type { Cluster } from '../../lab/cluster/index.ts';
import { until } from './burst.ts';
import type { NameOf } from './processes.ts';

/** Who makes the volumes: each has a volume group of its own, and only one is installed. */
export type Side = {
  readonly name: string;
  /** Where its service accounts and capacity objects are. */
  readonly namespace: string;
  readonly nameOf: NameOf;
  install(): Promise<void>;
  uninstall(): Promise<void>;
};

export const driver = 'topolvm.io';

export function lvmdFile(group: string): string {
  return `device-classes:\n- {name: thick, volume-group: ${group}, spare-gb: 0, default: true}\n`;
}

/** Kubelets know the driver, and the scheduler knows what it can give. */
export async function isServing(cluster: Cluster, { namespace }: Side): Promise<void> {
  for (const { name } of cluster.nodes) {
    await until(`the driver on ${name}`, () => hasDriver(cluster, name));
  }
  const path = `/apis/storage.k8s.io/v1/namespaces/${namespace}/csistoragecapacities`;
  await until('capacity of all nodes', async () => {
    const list = await cluster.api.get<{ readonly items: readonly object[] }>(path);
    return (list?.items.length ?? 0) >= cluster.nodes.length;
  });
}

/** No kubelet knows the driver any more, and nobody tells the scheduler of it. */
export async function isForgotten(cluster: Cluster, { namespace }: Side): Promise<void> {
  for (const { name } of cluster.nodes) {
    await until(`no driver on ${name}`, async () => !(await hasDriver(cluster, name)));
  }
  const words = ['delete', 'csistoragecapacities', '--all', `--namespace=${namespace}`];
  await cluster.kubectl(words);
}

type CsiNode = {
  readonly spec: { readonly drivers: readonly { readonly name: string }[] | null };
};

export async function hasDriver(cluster: Cluster, node: string): Promise<boolean> {
  const found = await cluster.api.get<CsiNode>(`/apis/storage.k8s.io/v1/csinodes/${node}`);
  return (found?.spec.drivers ?? []).some(({ name }) => name === driver);
}
