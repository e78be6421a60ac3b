import { groups, logicalVolumeCrd } from '../src/api/crds/logical-volume.ts';
import { lvmsCrds, lvmsGroup } from '../src/api/crds/lvms.ts';
import { podMonitors, prometheusRule } from './manifests-monitoring.ts';
import {
  openshiftMetrics,
  openshiftNamespaceOf,
  operatorConstraints,
  securityConstraints,
} from './manifests-openshift.ts';
import { nodePolicy } from './manifests-policy.ts';
import { accessOf, accountOf, privilegedOf, userRoles } from './manifests-rbac.ts';
import {
  defaultResources,
  lvmdOnHost,
  lvmsFlags,
  type Manifest,
  type Release,
  type Settings,
  tcp,
  usualApiServerPorts,
  webhookFlags,
} from './manifests-settings.ts';
import { webhookOf } from './manifests-webhook.ts';
import {
  agentDaemonSet,
  allDaemonSet,
  allPodTemplate,
  extenderDaemonSet,
  networkPolicies,
  operatorBudget,
  operatorDeployment,
} from './manifests-workloads.ts';

export function defaultSettings({ image }: Release): Settings {
  const { repository, tag, digest } = image;
  return {
    namespace: 'quarry-system',
    domain: groups.current,
    useLegacy: '',
    image: `${repository}:${tag}${digest === '' ? '' : `@${digest}`}`,
    kubeletRoot: '/var/lib/kubelet',
    lvmdVolume: lvmdOnHost,
    ...{ lvmsFlags, webhookFlags, flags: [], agentFlags: [] },
    apiServerPorts: usualApiServerPorts.map(tcp),
    resources: defaultResources,
  };
}

/** The group that TopoLVM had before. LVMS never used it, so there are no LVMClusters. */
export const legacyChoice = {
  ...{ domain: groups.legacy, useLegacy: 'true' },
  ...{ lvmsFlags: [], webhookFlags: [] },
} as const satisfies Partial<Settings>;

/** On MicroShift `quarry edge apply` writes lvmd.yaml for its only node, and the DaemonSet. */
export function microShiftSettings(release: Release): Settings {
  return {
    ...defaultSettings(release),
    namespace: 'openshift-storage',
    lvmdVolume: { configMap: { name: 'lvmd' } },
    webhookFlags: [],
  };
}

/** The objects of each file, by its topic. */
export function manifests(settings: Settings) {
  return {
    crds: [logicalVolumeCrd({ group: settings.domain, hasSelectableFields: true })],
    lvmsCrds,
    webhook: webhookOf(settings, 'operator'),
    webhookOfAll: webhookOf(settings, 'agent'),
    namespace: [namespaceOf(settings)],
    driver: [driverOf(settings)],
    roles: userRoles(settings),
    operator: [
      accountOf('operator', settings),
      ...accessOf('operator', settings, 'operator'),
      operatorDeployment(settings),
      operatorBudget(settings),
    ],
    agent: [
      accountOf('agent', settings),
      ...accessOf('agent', settings, 'agent'),
      agentDaemonSet(settings),
    ],
    // The operator's account, which the policy for agents does not bind.
    all: [
      accountOf('operator', settings),
      ...accessOf('operator', settings, 'operator'),
      ...accessOf('agent', settings, 'operator'),
      allDaemonSet(settings),
    ],
    // Without what runs: that is rendered on the node.
    edge: [
      accountOf('operator', settings),
      ...accessOf('operator', settings, 'operator'),
      ...accessOf('agent', settings, 'operator'),
      ...privilegedOf(settings, 'operator'),
      allPodTemplate(settings),
    ],
    edgeStorage: [edgeClassOf(settings), externalClusterOf(settings)],
    snapshots: accessOf('snapshots', settings, 'operator'),
    policy: nodePolicy(settings),
    network: networkPolicies(settings),
    monitors: podMonitors(settings),
    alerts: [prometheusRule(settings)],
    openshiftNamespace: [openshiftNamespaceOf(settings)],
    constraints: [securityConstraints(settings, 'agent'), ...operatorConstraints(settings)],
    // One account acts in both roles.
    constraintsOfAll: [securityConstraints(settings, 'operator')],
    openshiftMetrics: openshiftMetrics(settings),
    samples: samplesOf(settings),
    snapshotClass: [snapshotClassOf(settings)],
    extender: [extenderDaemonSet(settings)],
  } as const satisfies Readonly<Record<string, readonly Manifest[]>>;
}

function namespaceOf({ namespace: name }: Settings): Manifest {
  // The agent is privileged, and clusters may forbid that by default.
  const labels = { 'pod-security.kubernetes.io/enforce': 'privileged' };
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

/** As TopoLVM has it: `attachRequired` and the modes can never be changed. */
function driverOf({ domain }: Settings): Manifest {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: domain },
    spec: {
      attachRequired: false,
      podInfoOnMount: true,
      storageCapacity: true,
      volumeLifecycleModes: ['Persistent'],
    },
  };
}

function samplesOf({ domain }: Settings): readonly Manifest[] {
  return [
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'topolvm-provisioner' },
      provisioner: domain,
      parameters: { 'csi.storage.k8s.io/fstype': 'xfs' },
      // The scheduler looks for a node with room before a volume is made.
      volumeBindingMode: 'WaitForFirstConsumer',
      allowVolumeExpansion: true,
    },
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'topolvm-provisioner-thin' },
      provisioner: domain,
      parameters: { 'csi.storage.k8s.io/fstype': 'xfs', [`${domain}/device-class`]: 'thin' },
      volumeBindingMode: 'WaitForFirstConsumer',
      allowVolumeExpansion: true,
    },
  ];
}

/** Claims that name no class get the default class of lvmd.yaml, as MicroShift has it. */
function edgeClassOf({ domain }: Settings): Manifest {
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'topolvm-provisioner', annotations },
    provisioner: domain,
    parameters: { 'csi.storage.k8s.io/fstype': 'xfs' },
    volumeBindingMode: 'WaitForFirstConsumer',
    allowVolumeExpansion: true,
  };
}

/** MicroShift's name for it. */
function externalClusterOf({ namespace }: Settings): Manifest {
  return {
    apiVersion: `${lvmsGroup}/v1alpha1`,
    kind: 'LVMCluster',
    metadata: { name: 'lvms', namespace },
    spec: { configurationPolicy: 'ExternalConfiguration' },
  };
}

/** Apart from the rest: a cluster without the kinds of snapshots refuses it. */
function snapshotClassOf({ domain }: Settings): Manifest {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    metadata: { name: 'topolvm-provisioner-thin' },
    driver: domain,
    deletionPolicy: 'Delete',
  };
}
