import { hostname } from 'node:os';
import { parseArgs } from 'node:util';

export const operatorUsage = `quarry operator: what is done once for a cluster

  --kubeconfig FILE       the way to the API server (default: KUBECONFIG, or that of a pod)
  --namespace NAME        where leases and capacity objects are (default: NAMESPACE, or the pod's)
  --driver-name NAME      (default: topolvm.io, or topolvm.cybozu.com where USE_LEGACY is set)
  --csi-socket PATH       where the CSI controller is served; '' for nowhere
                          (default /run/topolvm/csi-topolvm.sock)
  --metrics-address ADDR  metrics and probes over HTTP; 0 for none (default :8080)
  --lvm-clusters          act on LVMClusters
  --webhook-address ADDR  where API servers ask about LVMClusters; 0 for nowhere (default 0)
  --snapshot-controller   be the snapshot-controller of the cluster, where there is no other
  --version               the version, and nothing else

Another spelling of --csi-socket is --socket.
`;

/** What the environment says of the cluster; '' where it says nothing. */
export type OperatorVariables = {
  readonly namespace: string;
  readonly useLegacy: string;
  readonly kubeconfig: string;
  readonly serviceHost: string;
  readonly servicePort: string;
};

export type OperatorArguments = ReturnType<typeof operatorArguments>;

export function operatorArguments(argv: readonly string[], variables: OperatorVariables) {
  const domain = variables.useLegacy === '' ? 'topolvm.io' : 'topolvm.cybozu.com';
  const { values } = parseArgs({
    args: argv.map((word) => word.replace(/^--socket(?==|$)/, '--csi-socket')),
    options: {
      kubeconfig: { type: 'string', default: variables.kubeconfig },
      namespace: { type: 'string', default: variables.namespace },
      'driver-name': { type: 'string', default: domain },
      'csi-socket': { type: 'string', default: '/run/topolvm/csi-topolvm.sock' },
      'metrics-address': { type: 'string', default: ':8080' },
      'lvm-clusters': { type: 'boolean', default: false },
      'webhook-address': { type: 'string', default: '0' },
      'snapshot-controller': { type: 'boolean', default: false },
      version: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  return { ...values, domain, host: hostname(), ignored: [] };
}
