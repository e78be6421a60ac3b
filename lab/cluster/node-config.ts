import { pauseImage } from './images.ts';

/** Where a node finds the cluster's files, see `shareWithGuests`. */
export const shared = '/run/cluster';

/** State that must be on a real disk: overlay cannot be stacked on the guest's own root. */
export const dataDirectory = '/data';

export const containerdSocket = '/run/containerd/containerd.sock';

export function containerdConfig(): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  const unused = ['aufs', 'blockfile', 'btrfs', 'devmapper', 'zfs'];
  return [
    'version = 2',
    `root = "${dataDirectory}/containerd"`,
    'state = "/run/containerd"',
    `disabled_plugins = ${JSON.stringify(unused.map((name) => `io.containerd.snapshotter.v1.${name}`))}`,
    `[${cri}]`,
    `sandbox_image = "${pauseImage}"`,
    `[${cri}.containerd]`,
    'snapshotter = "overlayfs"',
    `[${cri}.containerd.runtimes.runc]`,
    'runtime_type = "io.containerd.runc.v2"',
    `[${cri}.containerd.runtimes.runc.options]`,
    'SystemdCgroup = false',
    `[${cri}.cni]`,
    'bin_dir = "/usr/lib/cni"',
    'conf_dir = "/etc/cni/net.d"',
    '',
  ].join('\n');
}

export function cniConfig(podRange: string): string {
  const config = {
    cniVersion: '0.4.0',
    name: 'lab',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        ipMasq: false, // user-mode Linux has no NAT; every route in the lab is known
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet: podRange }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
    ],
  };
  return JSON.stringify(config);
}

export function kubeletConfig(nodeDirectory: string): string {
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: `${nodeDirectory}/ca.crt` },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: `${nodeDirectory}/serving.crt`,
    tlsPrivateKeyFile: `${nodeDirectory}/serving.key`,
    containerRuntimeEndpoint: `unix://${containerdSocket}`,
    cgroupDriver: 'cgroupfs',
    // User-mode Linux has one CPU and no cpuset controller to divide it with.
    enforceNodeAllocatable: [],
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    resolvConf: '', // there is no DNS
    evictionHard: {},
    imageGCHighThresholdPercent: 100, // images cannot be fetched again
    nodeStatusUpdateFrequency: '4s',
    nodeLeaseDurationSeconds: 12,
    syncFrequency: '10s',
    // Whoever is killed again and again is back at once: tests have no five minutes to wait.
    crashLoopBackOff: { maxContainerRestartPeriod: '1s' },
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

/** Runs once after each boot, before anything of Kubernetes. */
export function prepareScript(node: {
  readonly dataDevice: string;
  readonly nodeDirectory: string;
  readonly routes: readonly { readonly range: string; readonly via: string }[];
}): string {
  const { dataDevice } = node;
  const onDisk = [
    ['kubelet', '/var/lib/kubelet'],
    ['pod-logs', '/var/log/pods'],
    // What an administrator and a driver leave on a node is there after the next boot.
    ['etc-topolvm', '/etc/topolvm'],
    ['quarry', '/var/lib/quarry'],
  ] as const;
  return [
    'set -e',
    'modprobe -a loop overlay bridge veth',
    `blkid ${dataDevice} >/dev/null || mkfs.ext4 -q ${dataDevice}`,
    `mount --mkdir -o noatime ${dataDevice} ${dataDirectory}`,
    ...onDisk.flatMap(([name, path]) => [
      `mkdir -p ${dataDirectory}/${name} ${path}`,
      `mount --bind ${dataDirectory}/${name} ${path}`,
    ]),
    // Mounts made by a driver in a container must be seen by kubelet and the other way round.
    'mount --make-rshared /var/lib/kubelet',
    'mkdir -p /etc/cni/net.d',
    `cp ${node.nodeDirectory}/cni.conflist /etc/cni/net.d/10-lab.conflist`,
    'echo 1 >/proc/sys/net/ipv4/ip_forward',
    ...node.routes.map(({ range, via }) => `ip route add ${range} via ${via}`),
  ].join('\n');
}

/** Waits for containerd, then brings in the archives it does not have from an earlier boot. */
export function importScript(archives: readonly string[]): string {
  const marks = `${dataDirectory}/imported`;
  return [
    'set -e',
    `until ctr version >/dev/null 2>&1; do sleep 0.1; done`,
    `mkdir -p ${marks}`,
    ...archives.map((name) =>
      [
        `if ! [ -e ${marks}/${name} ]; then`,
        `ctr -n k8s.io images import ${shared}/images/${name} >/dev/null`,
        // containerd does not sync what it unpacks; a power cut would leave images half there.
        `sync -f ${dataDirectory}; touch ${marks}/${name}`,
        'fi',
      ].join('\n'),
    ),
  ].join('\n');
}
