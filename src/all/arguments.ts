import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import { agentFlags, type ClusterVariables, domainOf } from '../agent/agent-arguments.ts';
import { inOneSpelling, withoutOldFlags } from '../agent/arguments.ts';

export const allUsage = `quarry all: agent and operator in one process, for a cluster of one node

  --node-name NAME          the Node (default: NODE_NAME, or the host's name)
  --kubelet-root DIR        where kubelet has its directories (default /var/lib/kubelet)
  --csi-socket PATH         where CSI is served to kubelet (default /run/topolvm/csi-topolvm.sock)
  --host-socket PATH        the same socket as kubelet finds it (default: --csi-socket)
  --controller-socket PATH  where the CSI controller is served (default: nowhere)
  --config FILE             lvmd.yaml (default /etc/topolvm/lvmd.yaml)
  --state-dir DIR           what must outlive a restart (default /var/lib/quarry)
  --metrics-address ADDR    metrics and probes over HTTP; 0 for none (default :8080)
  --kubeconfig FILE         the way to the API server (default: KUBECONFIG, or that of a pod)
  --namespace NAME          where leases and capacity are (default: NAMESPACE, or that of the pod)
  --daemonset NAME          what objects about capacity are deleted with
  --driver-name NAME        (default: topolvm.io, or topolvm.cybozu.com where USE_LEGACY is set)
  --lvm-clusters            make volume groups as LVMClusters ask for them, and write lvmd.yaml
  --webhook-address ADDR    where API servers ask about LVMClusters; 0 for nowhere (default 0)
  --scheduler-extender      write the annotations of the Node at once, for TopoLVM's scheduler
  --snapshot-controller     be the snapshot-controller of the cluster, where there is no other
  --nsenter                 run programs in the namespaces of process 1 (inside a container)
  --version                 the version, and nothing else

Other spellings of --state-dir and --csi-socket are --state and --socket.
`;

export type AllArguments = ReturnType<typeof allArguments>;

export function allArguments(argv: readonly string[], variables: ClusterVariables) {
  const { kept, ignored } = withoutOldFlags(argv);
  const { values } = parseArgs({
    args: kept.map(inOneSpelling),
    options: {
      ...agentFlags(variables),
      'controller-socket': { type: 'string', default: '' },
      'webhook-address': { type: 'string', default: '0' },
      'snapshot-controller': { type: 'boolean', default: false },
    },
  });
  return { ...values, domain: domainOf(variables), host: hostname(), ignored };
}
