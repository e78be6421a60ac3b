import type { Cluster } from '../../lab/cluster/index.ts';
import type { Guest, Running } from '../../lab/index.ts';
import { lvmsKinds, type PeerProgram } from '../../lab/peer/build.ts';
import { installKinds } from '../../lab/snapshots/index.ts';
import { until } from './burst.ts';
import {
  accounts,
  home,
  isPeer,
  peerWords,
  placePeer,
  putKubeconfig,
  startOn,
  stopAll,
} from './peer.ts';
import { driver, isForgotten, isServing, type Side } from './side.ts';

/** Where LVMS and its LVMCluster are. */
export const namespace = 'openshift-lvm-storage';
const group = '/apis/lvm.topolvm.io/v1alpha1';
export const lvmClusterPath = `${group}/namespaces/${namespace}/lvmclusters/lvms`;
const roles = ['lvms-operator', 'vg-manager'] as const;
const kubelet = '/var/lib/kubelet';
const certificates = '/tmp/k8s-webhook-server/serving-certs';

export function buildLvms(tell: (line: string) => void): Promise<PeerProgram> {
  return placePeer('lvms', tell);
}

export type LvmsOptions = {
  /** Its group is made of this disk of each node. */
  readonly disk: string;
  readonly moreClasses?: readonly object[];
  /** What stands in /etc/topolvm is of the same groups. */
  readonly keepsLvmd?: boolean;
};

/**
 * LVMS as processes of the nodes and not in pods, with the limits that its manifests give them. It
 * makes its volume groups itself.
 */
export function lvmsSide(cluster: Cluster, program: PeerProgram, options: LvmsOptions): Side {
  const running: Running[] = [];
  const side: Side = {
    name: 'lvms',
    namespace,
    nameOf: (command) =>
      isPeer(command) ? /lvms (operator|vgmanager)\b/.exec(command)?.[1] : undefined,
    install: async () => {
      await installKinds(cluster, lvmsKinds(program));
      await cluster.apply([...accounts(namespace, roles), deployment]);
      const [first] = cluster.nodes;
      if (first === undefined) throw new Error('there is no node');
      for (const node of cluster.nodes) {
        for (const name of roles) await putKubeconfig(cluster, node, { namespace, name });
        if (options.keepsLvmd !== true) await node.sh('rm -f /etc/topolvm/*');
        running.push(await startVgManager(node));
      }
      running.push(await startOperator(first, await operatorPod(cluster)));
      // Somebody may have changed the one that is there.
      const isThere = (await cluster.api.get(lvmClusterPath)) !== undefined;
      if (!isThere) await cluster.apply([await lvmCluster(first, options)]);
      await isServing(cluster, side);
    },
    uninstall: async () => {
      await stopAll(running.splice(0));
      await isForgotten(cluster, side);
    },
  };
  return side;
}

const selected = { 'app.kubernetes.io/name': 'lvms-operator' };

/** It asks which image its own pod has: here is one that never starts. */
const deployment = {
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'lvms-operator', namespace } },
  spec: {
    selector: { matchLabels: selected },
    template: {
      metadata: { labels: selected },
      spec: {
        schedulerName: 'nobody',
        containers: [{ name: 'manager', image: 'lvms:none', imagePullPolicy: 'Never' }],
      },
    },
  },
};

async function operatorPod(cluster: Cluster): Promise<string> {
  const list = ['get', 'pods', `--namespace=${namespace}`, '--output=name'];
  let name = '';
  await until('a pod of the operator', async () => {
    name = (await cluster.kubectl(list)).trim().replace('pod/', '');
    return name !== '';
  });
  return name;
}

async function lvmCluster(node: Guest, { disk, moreClasses = [] }: LvmsOptions): Promise<object> {
  const paths = [await node.devicePath(disk)];
  return {
    ...{ apiVersion: 'lvm.topolvm.io/v1alpha1', kind: 'LVMCluster' },
    metadata: { name: 'lvms', namespace },
    spec: {
      storage: {
        deviceClasses: [
          { name: 'thick', default: true, fstype: 'ext4', deviceSelector: { paths } },
          ...moreClasses,
        ],
      },
    },
  };
}

/**
 * The places that its pod would have, and the variables that it is given there: nobody else sees
 * them, but what it mounts for pods is seen by all. It ends itself when its lvmd.yaml changes, and
 * a kubelet would start it again.
 */
function words(mounts: string, role: string, flags: readonly string[]): readonly string[] {
  const script = `set -e; mount --make-private /; mount --make-private /run; ${mounts}
    trap 'kill $child; wait $child; exit 0' TERM
    while :; do "$@" & child=$!; wait $child || true; sleep 1; done`;
  const apart = ['unshare', '--mount', '--propagation=unchanged', 'sh', '-c', script, 'lvms'];
  return [...apart, ...peerWords('lvms', [role, ...flags])];
}

async function startVgManager(node: Guest): Promise<Running> {
  const plugin = `${kubelet}/plugins/${driver}/node`;
  await node.sh(`mkdir -p /etc/topolvm /registration /run/topolvm ${plugin}`);
  const mounts = `mount --bind ${kubelet}/plugins_registry /registration
    mount --bind ${plugin} /run/topolvm`;
  const env = {
    ...{ KUBECONFIG: `${home}/vg-manager.kubeconfig`, NODE_NAME: node.name, NAMESPACE: namespace },
    ...{ GOMEMLIMIT: '45MiB', GOGC: '120', GOMAXPROCS: '2' },
  };
  const flags = ['--diagnosticsAddr=:18443', '--health-probe-bind-address=:18081'];
  return startOn(node, 'lvms-vgmanager', words(mounts, 'vgmanager', flags), env);
}

async function startOperator(node: Guest, pod: string): Promise<Running> {
  await node.sh(`mkdir -p ${certificates} && openssl req -x509 -newkey rsa:2048 -nodes -days 2 \\
    -subj /CN=lvms -keyout ${certificates}/tls.key -out ${certificates}/tls.crt 2>/dev/null`);
  const env = {
    ...{ KUBECONFIG: `${home}/lvms-operator.kubeconfig`, NAME: pod, NAMESPACE: namespace },
    ...{ GOMEMLIMIT: '50MiB', GOGC: '120', GOMAXPROCS: '2' },
  };
  const flags = ['--leader-elect=false', '--health-probe-bind-address=:18082'];
  const mounts = 'mkdir -p /run/topolvm; mount -t tmpfs none /run/topolvm';
  return startOn(node, 'lvms-operator', words(mounts, 'operator', flags), env);
}
