import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../../lab/cache.ts';
import type { Cluster } from '../../lab/cluster/index.ts';
import { shared } from '../../lab/cluster/node-config.ts';
import type { Guest, Running } from '../../lab/index.ts';
import { ensurePeer, type PeerName, type PeerProgram } from '../../lab/peer/build.ts';
import { until } from './burst.ts';

/** Below the project, which guests see as /quarry. */
const programs = 'build/bench/peer';
const foreverMs = 2 ** 31 - 1;

/** What runs as processes of the nodes has its files here. */
export const home = '/run/peer';

/** Builds a program of somebody else, and puts it where guests see it. */
export async function placePeer(
  name: PeerName,
  tell: (line: string) => void,
): Promise<PeerProgram> {
  await mkdir(join(projectDirectory, programs), { recursive: true });
  const peer = await ensurePeer(name, tell);
  await copyFile(peer.path, join(projectDirectory, programs, name));
  return peer;
}

export function isPeer(command: string): boolean {
  return command.startsWith(`/quarry/${programs}/`);
}

/** A namespace with accounts that may do everything. */
export function accounts(namespace: string, roles: readonly string[]): readonly object[] {
  const apiGroup = 'rbac.authorization.k8s.io';
  const group = { apiGroup, kind: 'Group', name: `system:serviceaccounts:${namespace}` };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    ...roles.map((name) => ({
      ...{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    })),
    {
      ...{
        apiVersion: `${apiGroup}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name: namespace },
      },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [group],
    },
  ];
}

/** The administrator's kubeconfig in `home`, with a token of the account for the certificate. */
export async function putKubeconfig(
  cluster: Cluster,
  node: Guest,
  account: { readonly namespace: string; readonly name: string },
): Promise<void> {
  const { namespace, name } = account;
  const words = ['create', 'token', name, `--namespace=${namespace}`, '--duration=24h'];
  const token = (await cluster.kubectl(words)).trim();
  const admin = JSON.parse(await readFile(cluster.kubeconfig, 'utf8')) as {
    readonly users: readonly { readonly name: string }[];
  };
  const users = admin.users.map((user) => ({ name: user.name, user: { token } }));
  const stdin = JSON.stringify({ ...admin, users });
  await node.sh(`mkdir -p ${home} && cat >${home}/${name}.kubeconfig`, { stdin });
}

export function hasSocket(node: Guest, path: string): Promise<void> {
  return until(path, async () => (await node.run(['test', '-S', path])).exitCode === 0);
}

/** The words of a program that was placed. */
export function peerWords(program: PeerName, words: readonly string[]): readonly string[] {
  return [`/quarry/${programs}/${program}`, ...words];
}

/** What it says is in the log directory of the lab. */
export function startOn(
  node: Guest,
  name: string,
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
): Running {
  const shell = ['sh', '-c', `exec "$@" >>${shared}/log/${node.name}.${name}.log 2>&1`, name];
  const running = node.spawn([...shell, ...argv], { timeoutMs: foreverMs, env });
  running.endInput();
  running.result.catch(() => undefined);
  return running;
}

export async function stopAll(running: readonly Running[]): Promise<void> {
  for (const one of running) one.kill('SIGTERM');
  await Promise.all(running.map((one) => one.result.catch(() => undefined)));
}
