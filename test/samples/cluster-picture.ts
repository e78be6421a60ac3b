import type { PersistentVolumeClaim } from '../../src/api/objects/claim.ts';
import type { LogicalVolume } from '../../src/api/objects/logical-volume.ts';
import type { LvmCluster, LvmDeviceClass } from '../../src/api/objects/lvm-cluster.ts';
import type {
  LvmVolumeGroup,
  LvmVolumeGroupNodeStatus,
  LvmVolumeGroupStatus,
} from '../../src/api/objects/lvm-volume-group.ts';
import type { Metadata } from '../../src/api/objects/metadata.ts';
import type { PersistentVolume } from '../../src/api/objects/persistent-volume.ts';
import type {
  CsiNode,
  CsiStorageCapacity,
  Node,
  StorageClass,
} from '../../src/api/objects/storage.ts';
import type { ClusterEvent, EndpointSlice, Pod, Workload } from '../../src/api/objects/workload.ts';
import type { ClusterPicture, Registration } from '../../src/core/doctor/picture.ts';

/** A cluster of two nodes that is well in every way, and parts to change it with. */

export const namespace = 'quarry-system';
/** Long before `settledBefore`. */
export const longAgo = '2020-01-01T00:00:00Z';
export const settledBefore = '2020-02-01T00:00:00Z';
export const justNow = '2020-02-01T00:01:00Z';

export const image = 'example/quarry:0.1.0@sha256:1111111111111111';

export function meta(name: string, more: Partial<Metadata> = {}): Metadata {
  return {
    ...{ name, uid: `uid-${name}`, resourceVersion: '1', creationTimestamp: longAgo },
    ...more,
  };
}

const labels = (component: string) => ({
  'app.kubernetes.io/component': component,
  'app.kubernetes.io/part-of': 'quarry',
});

export function workload(
  name: string,
  component: string,
  { args = [] as readonly string[], ...more }: Partial<Workload> & { args?: readonly string[] },
): Workload {
  const containers = [{ name: 'main', image, args, env: [{ name: 'USE_LEGACY', value: '' }] }];
  return {
    metadata: meta(name, { namespace, labels: labels(component) }),
    spec: { replicas: 2, template: { spec: { containers } } },
    ...more,
  };
}

export const operator = workload('lvms-operator', 'controller', {
  args: ['operator', '--lvm-clusters', '--webhook-address=:9443'],
  status: { readyReplicas: 2 },
});

export const agents = workload('vg-manager', 'node', {
  args: ['agent', '--nsenter', '--lvm-clusters'],
  status: { desiredNumberScheduled: 2, numberReady: 2 },
});

export function pod(
  name: string,
  component: 'controller' | 'node',
  { node = 'n1', ...more }: Partial<Pod> & { readonly node?: string } = {},
): Pod {
  return {
    metadata: meta(name, { namespace, labels: labels(component) }),
    spec: { nodeName: node, containers: [{ name: 'main', image }] },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    ...more,
  };
}

export const notReady = {
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }],
  containerStatuses: [
    {
      ...{ name: 'main', ready: false, restartCount: 7 },
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s' } },
      lastState: { terminated: { reason: 'Error', exitCode: 2 } },
    },
  ],
} as const;

export function node(name: string, more: Partial<Node> = {}): Node {
  const annotations = {
    'capacity.topolvm.io/vg1': '1000',
    'capacity.topolvm.io/safe': '1000',
    'capacity.topolvm.io/00default': '1000',
  };
  return { metadata: meta(name, { annotations }), ...more };
}

/** `vg1` takes what is free, `safe` is a RAID of named disks. */
export const deviceClasses: readonly LvmDeviceClass[] = [
  {
    ...{ name: 'vg1', default: true },
    thinPoolConfig: { name: 'pool', overprovisionRatio: 10 },
  },
  {
    name: 'safe',
    deviceSelector: { paths: ['/dev/sdd', '/dev/sde'] },
    raidConfig: { type: 'raid1' },
  },
];

export function cluster({
  classes = deviceClasses,
  ...more
}: Partial<LvmCluster> & { readonly classes?: readonly LvmDeviceClass[] } = {}): LvmCluster {
  const condition = (type: string) => ({
    ...({ type, status: 'True', reason: 'Fine', message: 'all is well' } as const),
    lastTransitionTime: longAgo,
  });
  return {
    metadata: meta('mine', { namespace }),
    spec: { storage: { deviceClasses: classes } },
    status: {
      ...{ ready: true, state: 'Ready' },
      conditions: [condition('ResourcesAvailable'), condition('VolumeGroupsReady')],
    },
    ...more,
  };
}

/** As an operator writes it while groups are not ready. */
export function lateCluster(reason = 'VGReadinessInProgress', since = longAgo): LvmCluster {
  const message = 'vg1 on n1: Progressing';
  const late = { type: 'VolumeGroupsReady', status: 'False', reason, message } as const;
  return cluster({
    status: { state: 'Progressing', conditions: [{ ...late, lastTransitionTime: since }] },
  });
}

export const systemDisk = { name: '/dev/sda', reasons: ['it has a gpt partition table'] };

export function groupStatus(more: Partial<LvmVolumeGroupStatus> = {}): LvmVolumeGroupStatus {
  return {
    ...({ name: 'vg1', status: 'Ready', deviceDiscoveryPolicy: 'RuntimeDynamic' } as const),
    ...{ size: '100Gi', free: '10Gi', devices: ['/dev/sdb', '/dev/sdc'], excluded: [systemDisk] },
    ...more,
  };
}

export function raidGroup(more: Partial<LvmVolumeGroupStatus> = {}): LvmVolumeGroupStatus {
  return groupStatus({
    ...({ name: 'safe', deviceDiscoveryPolicy: 'Preconfigured' } as const),
    devices: ['/dev/sdd', '/dev/sde'],
    excluded: [{ name: '/dev/sda', reasons: ['its path is not in the device selector'] }],
    raidStatus: { status: 'Healthy', memberCount: 2, degradedMemberCount: 0 },
    ...more,
  });
}

export function report(
  name: string,
  ...nodeStatus: readonly LvmVolumeGroupStatus[]
): LvmVolumeGroupNodeStatus {
  return { metadata: meta(name, { namespace }), spec: { nodeStatus } };
}

function group(one: LvmDeviceClass): LvmVolumeGroup {
  const { name, deviceSelector } = one;
  const finalizers = ['n1', 'n2'].map((each) => `cleanup.vgmanager.node.topolvm.io/${each}`);
  return {
    metadata: meta(name, { namespace, finalizers }),
    spec: deviceSelector === undefined ? {} : { deviceSelector },
  };
}

export function storageClass(deviceClass: string): StorageClass {
  return {
    metadata: meta(`lvms-${deviceClass}`),
    ...{ provisioner: 'topolvm.io', volumeBindingMode: 'WaitForFirstConsumer' },
    ...{ reclaimPolicy: 'Delete', parameters: { 'topolvm.io/device-class': deviceClass } },
  };
}

export function capacity(deviceClass: string, name: string): CsiStorageCapacity {
  return {
    metadata: meta(`cap-${deviceClass}-${name}`, { namespace }),
    storageClassName: `lvms-${deviceClass}`,
    nodeTopology: { matchLabels: { 'topology.topolvm.io/node': name } },
    ...{ capacity: '10Gi', maximumVolumeSize: '10Gi' },
  };
}

export function csiNode(name: string, ...drivers: readonly string[]): CsiNode {
  return {
    metadata: meta(name),
    spec: { drivers: drivers.map((each) => ({ name: each, nodeID: name })) },
  };
}

export function registration(kind: string, caBundle = 'QQ=='): Registration {
  const service = { name: 'lvms-webhook-service', namespace };
  return {
    metadata: meta('lvms.quarry.io'),
    webhooks: [{ name: 'vlvmcluster.kb.io', clientConfig: { caBundle, service } }],
    kind,
  };
}

export function slice(ready: boolean): EndpointSlice {
  const names = { 'kubernetes.io/service-name': 'lvms-webhook-service' };
  return {
    metadata: meta('lvms-webhook-service-abc', { namespace, labels: names }),
    endpoints: [{ conditions: { ready }, targetRef: { kind: 'Pod', name: 'lvms-operator-a' } }],
  };
}

export function claim(
  name: string,
  { phase = 'Bound', ...more }: Partial<PersistentVolumeClaim> & { readonly phase?: string } = {},
): PersistentVolumeClaim {
  return {
    metadata: meta(name, { namespace: 'default' }),
    spec: {
      ...{ storageClassName: 'lvms-vg1', resources: { requests: { storage: '1Gi' } } },
      ...(phase === 'Bound' ? { volumeName: `pv-${name}` } : {}),
    },
    status: { phase },
    ...more,
  };
}

export function persistentVolume(name: string): PersistentVolume {
  return {
    metadata: meta(`pv-${name}`),
    spec: {
      storageClassName: 'lvms-vg1',
      claimRef: { namespace: 'default', name, uid: `uid-${name}` },
      csi: { driver: 'topolvm.io', volumeHandle: `uid-lv-${name}` },
    },
    status: { phase: 'Bound' },
  };
}

export function logicalVolume(name: string, more: Partial<LogicalVolume> = {}): LogicalVolume {
  return {
    metadata: meta(`lv-${name}`),
    spec: { name: `pv-${name}`, nodeName: 'n1', size: '1Gi', deviceClass: 'vg1' },
    status: { volumeID: `uid-lv-${name}`, currentSize: '1Gi' },
    ...more,
  };
}

export function event(
  about: string,
  reason: string,
  message: string,
  more: Partial<ClusterEvent> = {},
): ClusterEvent {
  return {
    metadata: meta(`${about}.${reason}`, { namespace: 'default' }),
    involvedObject: { kind: 'PersistentVolumeClaim', namespace: 'default', uid: `uid-${about}` },
    ...{ type: 'Warning', reason, message, lastTimestamp: longAgo },
    source: { component: 'topolvm.io_host' },
    ...more,
  };
}

export const healthy: ClusterPicture = {
  ...{ names: { domain: 'topolvm.io', driver: 'topolvm.io' }, namespace, settledBefore },
  ...{ servesLogicalVolumes: true, leader: 'lvms-operator-a', unseen: [] },
  ...{ servesSnapshots: true, servesGroupSnapshots: true },
  ...{ snapshotContents: [], groupContents: [] },
  clusters: [cluster()],
  groups: deviceClasses.map(group),
  reports: ['n1', 'n2'].map((name) => report(name, groupStatus(), raidGroup())),
  nodes: [node('n1'), node('n2')],
  csiNodes: [csiNode('n1', 'topolvm.io'), csiNode('n2', 'other.io', 'topolvm.io')],
  csiDrivers: [{ metadata: meta('topolvm.io') }],
  classes: [...deviceClasses.map(({ name }) => storageClass(name)), otherClass()],
  capacities: deviceClasses.flatMap(({ name }) => ['n1', 'n2'].map((at) => capacity(name, at))),
  claims: [claim('data'), claim('theirs', theirs())],
  volumes: [persistentVolume('data')],
  logicalVolumes: [logicalVolume('data')],
  deployments: [operator],
  daemonSets: [agents],
  pods: [
    pod('lvms-operator-a', 'controller'),
    pod('lvms-operator-b', 'controller', { node: 'n2' }),
    pod('vg-manager-1', 'node'),
    pod('vg-manager-2', 'node', { node: 'n2' }),
  ],
  webhooks: [
    registration('ValidatingWebhookConfiguration'),
    registration('MutatingWebhookConfiguration'),
  ],
  endpoints: [slice(true)],
  events: [],
};

/** What is somebody else's is never spoken of. */
function otherClass(): StorageClass {
  return { metadata: meta('other'), provisioner: 'other.io' };
}

function theirs() {
  return { phase: 'Pending', spec: { storageClassName: 'other' } };
}
