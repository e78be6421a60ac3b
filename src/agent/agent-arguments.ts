import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import { OperationError } from '../base/failures.ts';
import { show } from '../base/show.ts';
import { checkArguments, inOneSpelling, nodeFlags, withoutOldFlags } from './arguments.ts';

export const agentUsage = `quarry agent: the driver on one node of a cluster

  --node-name NAME        the Node (default: NODE_NAME, or the host's name)
  --kubelet-root DIR      where kubelet has its directories (default /var/lib/kubelet)
  --csi-socket PATH       where CSI is served (default /run/topolvm/csi-topolvm.sock)
  --host-socket PATH      the same socket as kubelet finds it (default: --csi-socket)
  --config FILE           lvmd.yaml (default /etc/topolvm/lvmd.yaml)
  --state-dir DIR         what must outlive a restart (default /var/lib/quarry)
  --metrics-address ADDR  metrics and probes over HTTP; 0 for none (default :8080)
  --kubeconfig FILE       the way to the API server (default: KUBECONFIG, or that of a pod)
  --namespace NAME        where capacity is told (default: NAMESPACE, or that of the pod)
  --daemonset NAME        what objects about capacity are deleted with
  --driver-name NAME      (default: topolvm.io, or topolvm.cybozu.com where USE_LEGACY is set)
  --lvm-clusters          make volume groups as LVMClusters ask for them, and write lvmd.yaml
  --scheduler-extender    write the annotations of the Node at once: TopoLVM's scheduler reads them
  --nsenter               run programs in the namespaces of process 1 (inside a container)
  --version               the version, and nothing else

Other spellings of --state-dir and --csi-socket are --state and --socket.
`;

/** What the environment says of the cluster; '' where it says nothing. */
export type ClusterVariables = {
  readonly nodeName: string;
  readonly namespace: string;
  readonly useLegacy: string;
  readonly kubeconfig: string;
  readonly serviceHost: string;
  readonly servicePort: string;
};

export type AgentArguments = ReturnType<typeof agentArguments>;

/** What every process takes that is the agent of a node. */
export function agentFlags(variables: ClusterVariables) {
  return {
    ...nodeFlags,
    'node-name': { type: 'string', default: variables.nodeName || hostname() },
    'kubelet-root': { type: 'string', default: '/var/lib/kubelet' },
    'host-socket': { type: 'string', default: '' },
    kubeconfig: { type: 'string', default: variables.kubeconfig },
    namespace: { type: 'string', default: variables.namespace },
    daemonset: { type: 'string', default: '' },
    'driver-name': { type: 'string', default: domainOf(variables) },
    'lvm-clusters': { type: 'boolean', default: false },
    'scheduler-extender': { type: 'boolean', default: false },
  } as const;
}

/** In which group the objects are: TopoLVM's, or the one it had before. */
export function domainOf({ useLegacy }: ClusterVariables): string {
  return useLegacy === '' ? 'topolvm.io' : 'topolvm.cybozu.com';
}

export function agentArguments(argv: readonly string[], variables: ClusterVariables) {
  const { kept, ignored } = withoutOldFlags(argv);
  const { values } = parseArgs({ args: kept.map(inOneSpelling), options: agentFlags(variables) });
  return { ...values, domain: domainOf(variables), ignored };
}

export function checkAgentArguments(values: AgentArguments): void {
  checkArguments({ ...values, 'node-id': 'node' });
  const node = values['node-name'];
  const paths = ['kubelet-root', 'host-socket'] as const;
  for (const flag of paths) {
    const path = values[flag];
    if (path.startsWith('/') || (flag === 'host-socket' && path === '')) continue;
    throw wrong(flag, path, 'write an absolute path');
  }
  // Kubelet makes a label of it.
  if (!/^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/.test(node)) {
    throw wrong('node-name', node, 'write the name of a Node, at most 63 characters');
  }
}

function wrong(flag: string, value: string, remedy: string): OperationError {
  return new OperationError('InvalidConfiguration', `--${flag} is ${show(value)}: ${remedy}`);
}
