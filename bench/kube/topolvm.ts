import type { Cluster } from '../../lab/cluster/index.ts';
import type { Guest, Running } from '../../lab/index.ts';
import type { PeerName } from '../../lab/peer/build.ts';
import {
  accounts,
  hasSocket,
  home,
  isPeer,
  peerWords,
  placePeer,
  putKubeconfig,
  startOn,
  stopAll,
} from './peer.ts';
import { driver, isForgotten, isServing, lvmdFile, type Side } from './side.ts';

const nodeSocket = `/var/lib/kubelet/plugins/${driver}/node/csi-topolvm.sock`;
const controllerSocket = `${home}/controller.sock`;
const roles = ['node', 'controller', 'provisioner', 'resizer'] as const;

const programs = ['hypertopolvm', 'csi-provisioner', 'csi-resizer'] as const;
const names = /(topolvm-node|topolvm-controller|csi-provisioner|csi-resizer)\b/;

/** Their versions. */
export async function buildTopolvm(tell: (line: string) => void): Promise<readonly string[]> {
  const versions: string[] = [];
  for (const name of programs) versions.push(`${name} ${(await placePeer(name, tell)).version}`);
  return versions;
}

export type TopolvmOptions = {
  readonly namespace?: string;
  /** Its lvmd.yaml. */
  readonly lvmd?: string;
  /** lvmd is a program of its own, as in older releases, with this socket. */
  readonly lvmdSocket?: string;
};

/** Half of it may stand beside half of another. */
export type TopolvmSide = Side & {
  startNodes(): Promise<void>;
  startControllers(): Promise<void>;
  stopNodes(): Promise<void>;
  stopControllers(): Promise<void>;
};

/**
 * TopoLVM with the sidecars that claims need, as processes of the nodes and not in pods, with the
 * flags of its chart. No snapshotter, no liveness probes; kubelet is told of it by a program of
 * ours. All of that is to its advantage.
 */
export function topolvmSide(cluster: Cluster, options: TopolvmOptions = {}): TopolvmSide {
  const { namespace = 'topolvm-system', lvmd = lvmdFile('topolvm'), lvmdSocket } = options;
  const nodes: Running[] = [];
  const controllers: Running[] = [];
  const side: TopolvmSide = {
    name: 'topolvm',
    namespace,
    nameOf: (command) => (isPeer(command) ? names.exec(command)?.[1] : undefined),
    install: async () => {
      await side.startNodes();
      await side.startControllers();
      await isServing(cluster, side);
    },
    uninstall: async () => {
      await side.stopControllers();
      await side.stopNodes();
      await isForgotten(cluster, side);
    },
    startNodes: async () => {
      await cluster.apply(accounts(namespace, roles));
      await Promise.all(cluster.nodes.map((node) => prepare(cluster, node, { namespace, lvmd })));
      for (const node of cluster.nodes) nodes.push(...(await startNode(node, lvmdSocket)));
    },
    startControllers: async () => {
      const [first] = cluster.nodes;
      if (first === undefined) throw new Error('there is no node');
      controllers.push(...(await startController(first, namespace)));
    },
    stopNodes: () => stopAll(nodes.splice(0)),
    stopControllers: () => stopAll(controllers.splice(0)),
  };
  return side;
}

async function prepare(
  cluster: Cluster,
  node: Guest,
  { namespace, lvmd }: { readonly namespace: string; readonly lvmd: string },
): Promise<void> {
  await node.sh(`mkdir -p ${home} $(dirname ${nodeSocket})`);
  await node.sh(`cat >${home}/lvmd.yaml`, { stdin: lvmd });
  for (const name of roles) await putKubeconfig(cluster, node, { namespace, name });
}

async function startNode(node: Guest, lvmdSocket?: string): Promise<readonly Running[]> {
  const config = `--config=${home}/lvmd.yaml`;
  const lvmd = lvmdSocket === undefined ? [] : [await startLvmd(node, config, lvmdSocket)];
  const words = [
    ...['topolvm-node', `--csi-socket=${nodeSocket}`, '--metrics-bind-address=:18080'],
    ...(lvmdSocket === undefined ? ['--embed-lvmd', config] : [`--lvmd-socket=${lvmdSocket}`]),
  ];
  const env = { NODE_NAME: node.name, KUBECONFIG: `${home}/node.kubeconfig` };
  const driverOf = start(node, 'hypertopolvm', words, env);
  await hasSocket(node, nodeSocket);
  const interpreter = (await node.sh('ls -d /quarry/node_modules/node-linux-*/bin/node')).trim();
  const registrar = [interpreter, '/quarry/bench/kube/registrar.ts', driver, nodeSocket];
  return [...lvmd, driverOf, startOn(node, 'registrar', registrar, {})];
}

async function startLvmd(node: Guest, config: string, socket: string): Promise<Running> {
  await node.sh(`mkdir -p $(dirname ${socket}) && rm -f ${socket}`);
  const words = ['lvmd', config, '--metrics-bind-address=:18083'];
  const running = start(node, 'hypertopolvm', words, {});
  await hasSocket(node, socket);
  return running;
}

async function startController(node: Guest, namespace: string): Promise<readonly Running[]> {
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

function start(
  node: Guest,
  program: PeerName,
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): Running {
  const name = `${program}-${words[0]?.replaceAll(/\W+/g, '-')}`.slice(0, 40);
  return startOn(node, name, peerWords(program, words), env);
}
