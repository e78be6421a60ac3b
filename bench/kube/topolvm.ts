import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../../lab/cache.ts';
import type { Cluster } from '../../lab/cluster/index.ts';
import { shared } from '../../lab/cluster/node-config.ts';
import type { Guest, Running } from '../../lab/index.ts';
import { ensurePeer, type PeerName, peerNames } from '../../lab/peer/build.ts';
import { until } from './burst.ts';
import { driver, isForgotten, isServing, lvmdFile, type Side } from './side.ts';

/** Below the project, which guests see as /quarry. */
const programs = 'build/bench/peer';
const home = '/run/peer';
const namespace = 'topolvm-system';
const nodeSocket = `/var/lib/kubelet/plugins/${driver}/node/csi-topolvm.sock`;
const controllerSocket = `${home}/controller.sock`;
const foreverMs = 2 ** 31 - 1;

const names = /(topolvm-node|topolvm-controller|csi-provisioner|csi-resizer)\b/;

/** Their versions, in the order of their names. */
export async function buildTopolvm(tell: (line: string) => void): Promise<readonly string[]> {
  const versions: string[] = [];
  await mkdir(join(projectDirectory, programs), { recursive: true });
  for (const name of peerNames) {
    const { path, version } = await ensurePeer(name, tell);
    await copyFile(path, join(projectDirectory, programs, name));
    versions.push(`${name} ${version}`);
  }
  return versions;
}

/**
 * TopoLVM with the sidecars that claims need, as processes of the nodes and not in pods, with the
 * flags of its chart. No snapshotter, no liveness probes; kubelet is told of it by a program of
 * ours. All of that is to its advantage.
 */
export function topolvmSide(cluster: Cluster): Side {
  const running: Running[] = [];
  const side: Side = {
    name: 'topolvm',
    namespace,
    nameOf: (command) =>
      command.startsWith('/quarry/build/') ? names.exec(command)?.[1] : undefined,
    install: async () => {
      await cluster.apply(accounts());
      const [first] = cluster.nodes;
      if (first === undefined) throw new Error('there is no node');
      await Promise.all(cluster.nodes.map((node) => prepare(cluster, node)));
      for (const node of cluster.nodes) running.push(...(await startNode(node)));
      running.push(...(await startController(first)));
      await isServing(cluster, side);
    },
    uninstall: async () => {
      for (const one of running) one.kill('SIGTERM');
      await Promise.all(running.map((one) => one.result.catch(() => undefined)));
      await isForgotten(cluster, side);
    },
  };
  return side;
}

const roles = ['node', 'controller', 'provisioner', 'resizer'] as const;

function accounts(): readonly object[] {
  const group = { kind: 'Group', name: `system:serviceaccounts:${namespace}` };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    ...roles.map((name) => ({
      ...{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    })),
    {
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding' },
      metadata: { name: namespace },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: 'cluster-admin',
      },
      subjects: [{ ...group, apiGroup: 'rbac.authorization.k8s.io' }],
    },
  ];
}

async function prepare(cluster: Cluster, node: Guest): Promise<void> {
  await node.sh(`mkdir -p ${home} $(dirname ${nodeSocket})`);
  await node.sh(`cat >${home}/lvmd.yaml`, { stdin: lvmdFile('topolvm') });
  for (const role of roles) {
    const stdin = await kubeconfigFor(cluster, role);
    await node.sh(`cat >${home}/${role}.kubeconfig`, { stdin });
  }
}

/** The administrator's, with a token of the account in place of the certificate. */
async function kubeconfigFor(cluster: Cluster, account: string): Promise<string> {
  const words = ['create', 'token', account, `--namespace=${namespace}`, '--duration=24h'];
  const token = (await cluster.kubectl(words)).trim();
  const admin = JSON.parse(await readFile(cluster.kubeconfig, 'utf8')) as {
    readonly users: readonly { readonly name: string }[];
  };
  return JSON.stringify({
    ...admin,
    users: admin.users.map(({ name }) => ({ name, user: { token } })),
  });
}

async function startNode(node: Guest): Promise<readonly Running[]> {
  const words = [
    ...['topolvm-node', '--embed-lvmd', `--config=${home}/lvmd.yaml`],
    ...[`--csi-socket=${nodeSocket}`, '--metrics-bind-address=:18080'],
  ];
  const env = { NODE_NAME: node.name, KUBECONFIG: `${home}/node.kubeconfig` };
  const driverOf = start(node, 'hypertopolvm', words, env);
  await hasSocket(node, nodeSocket);
  const interpreter = (await node.sh('ls -d /quarry/node_modules/node-linux-*/bin/node')).trim();
  const registrar = [interpreter, '/quarry/bench/kube/registrar.ts', driver, nodeSocket];
  return [driverOf, spawn(node, 'registrar', registrar, {})];
}

async function startController(node: Guest): Promise<readonly Running[]> {
  const leading = ['--leader-election', `--leader-election-namespace=${namespace}`];
  const controller = start(
    node,
    'hypertopolvm',
    [
      ...['topolvm-controller', `--csi-socket=${controllerSocket}`, '--enable-webhooks=false'],
      ...[`--leader-election-namespace=${namespace}`, '--metrics-bind-address=:18081'],
      '--health-probe-bind-address=:18082',
    ],
    { KUBECONFIG: `${home}/controller.kubeconfig` },
  );
  await hasSocket(node, controllerSocket);
  const sidecar = (role: string) => [
    ...[`--csi-address=${controllerSocket}`, `--kubeconfig=${home}/${role}.kubeconfig`],
    ...leading,
  ];
  const capacity = ['--enable-capacity', '--capacity-ownerref-level=-1'];
  const words = [...sidecar('provisioner'), '--feature-gates=Topology=true', ...capacity];
  return [
    controller,
    start(node, 'csi-provisioner', words, { NAMESPACE: namespace }),
    start(node, 'csi-resizer', sidecar('resizer'), {}),
  ];
}

function hasSocket(node: Guest, path: string): Promise<void> {
  return until(path, async () => (await node.run(['test', '-S', path])).exitCode === 0);
}

function start(
  node: Guest,
  program: PeerName,
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): Running {
  const name = `${program}-${words[0]?.replaceAll(/\W+/g, '-')}`.slice(0, 40);
  return spawn(node, name, [`/quarry/${programs}/${program}`, ...words], env);
}

/** What it says is in the log directory of the lab. */
function spawn(
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
