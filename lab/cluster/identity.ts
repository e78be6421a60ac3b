import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ApiClient, apiClientOf } from './api-client.ts';
import type { Cluster } from './cluster.ts';

export type ServiceAccount = {
  readonly namespace: string;
  readonly name: string;
  /** A pod of the account: its token then says on which node that runs. */
  readonly pod?: string;
};

type Kubeconfig = {
  readonly clusters: readonly [
    {
      readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string };
    },
  ];
};

const tokenLifetime = '24h';

/** The API as that account and nobody else. */
export async function apiOfAccount(cluster: Cluster, account: ServiceAccount): Promise<ApiClient> {
  const { gateway } = cluster;
  const [{ cluster: target }] = (await adminConfig(cluster)).clusters;
  const { hostname: host, port } = new URL(target.server);
  const ca = Buffer.from(target['certificate-authority-data'], 'base64');
  const token = await tokenOf(cluster, account);
  return apiClientOf({ gateway, host, port: Number(port || 443), secrets: { ca }, token });
}

/** A kubeconfig of that account: what is done with it has its rights and no more. */
export async function kubeconfigOfAccount(
  cluster: Cluster,
  account: ServiceAccount,
): Promise<string> {
  const token = await tokenOf(cluster, account);
  const path = join(dirname(cluster.kubeconfig), `${account.pod ?? account.name}.kubeconfig`);
  // The administrator's certificate would count for more than a token beside it.
  const users = [{ name: 'lab', user: { token } }];
  const config = { ...(await adminConfig(cluster)), users };
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

async function tokenOf(cluster: Cluster, account: ServiceAccount): Promise<string> {
  const { namespace, name, pod } = account;
  const bound = pod === undefined ? [] : ['--bound-object-kind=Pod', `--bound-object-name=${pod}`];
  const words = ['create', 'token', name, `--namespace=${namespace}`, ...bound];
  return (await cluster.kubectl([...words, `--duration=${tokenLifetime}`])).trim();
}

async function adminConfig({ kubeconfig }: Cluster): Promise<Kubeconfig> {
  return JSON.parse(await readFile(kubeconfig, 'utf8')) as Kubeconfig;
}
