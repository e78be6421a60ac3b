import {
  diagnosticsPort,
  labelsOf,
  type Manifest,
  names,
  type Role,
  type Settings,
  selectorOf,
} from './manifests-settings.ts';

/** What OpenShift needs beside the rest, under the names that LVMS gives it. */

const rbac = 'rbac.authorization.k8s.io';

/** LVMS was there before it had a namespace of its own. */
export const openshiftNamespace = 'openshift-storage';

/** Read by OpenShift's own Prometheus, and left alone by what lowers the rights of namespaces. */
export function openshiftNamespaceOf({ namespace: name }: Settings): Manifest {
  const levels = ['enforce', 'warn', 'audit'].map(
    (level) => [`pod-security.kubernetes.io/${level}`, 'privileged'] as const,
  );
  const labels = {
    ...Object.fromEntries(levels),
    'security.openshift.io/scc.podSecurityLabelSync': 'false',
    'openshift.io/cluster-monitoring': 'true',
  };
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

/** What pods of an account may ask for on a node: what agents do, and no more. */
export function securityConstraints({ namespace }: Settings, account: Role): Manifest {
  return {
    apiVersion: 'security.openshift.io/v1',
    kind: 'SecurityContextConstraints',
    metadata: { name: 'lvms-vgmanager' },
    ...{ allowPrivilegedContainer: true, allowHostPID: true, allowHostDirVolumePlugin: true },
    ...{ allowHostIPC: false, allowHostNetwork: false, allowHostPorts: false },
    ...{ allowedCapabilities: null, defaultAddCapabilities: null, requiredDropCapabilities: null },
    ...{ readOnlyRootFilesystem: false, priority: null },
    runAsUser: { type: 'RunAsAny' },
    seLinuxContext: { type: 'RunAsAny' },
    fsGroup: { type: 'RunAsAny' },
    supplementalGroups: { type: 'RunAsAny' },
    // lvmd.yaml may come from a ConfigMap, and the token of the account is projected.
    volumes: ['configMap', 'hostPath', 'projected'],
    users: [`system:serviceaccount:${namespace}:${names[account]}`],
    groups: [],
  };
}

/** The operator has a user of its own, and OpenShift would give it one of the namespace's. */
export function operatorConstraints({ namespace }: Settings): readonly Manifest[] {
  const metadata = { name: `${names.operator}-user`, namespace };
  return bound(metadata, {
    rules: [
      {
        apiGroups: ['security.openshift.io'],
        resources: ['securitycontextconstraints'],
        resourceNames: ['nonroot-v2'],
        verbs: ['use'],
      },
    ],
    subject: { kind: 'ServiceAccount', name: names.operator, namespace },
  });
}

/** Where Prometheus finds what the monitor names. */
const services = {
  operator: { name: 'lvms-operator-metrics-service', port: 'http' },
  agent: { name: 'vg-manager-metrics-service', port: 'vg-manager-http' },
} as const;

const roles = ['operator', 'agent'] as const;
const isMetrics = { 'app.kubernetes.io/compose': 'metrics' } as const;

/** OpenShift has a Prometheus, which reads what these say. */
export function openshiftMetrics(settings: Settings): readonly Manifest[] {
  const { namespace } = settings;
  return [
    ...roles.map((role) => metricsService(settings, role)),
    {
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'ServiceMonitor',
      metadata: { name: 'lvms-operator-metrics-monitor', namespace, labels: isMetrics },
      spec: {
        selector: { matchLabels: isMetrics },
        endpoints: roles.map((role) => ({
          ...{ port: services[role].port, path: '/metrics', scheme: 'http', interval: '30s' },
          // The job that our alerts ask for, as a PodMonitor has it.
          relabelings: [{ targetLabel: 'job', replacement: `${namespace}/${names[role]}` }],
        })),
      },
    },
    ...bound(
      { name: 'prometheus-k8s', namespace },
      {
        rules: [
          {
            apiGroups: [''],
            resources: ['services', 'endpoints', 'pods'],
            verbs: ['get', 'list', 'watch'],
          },
          {
            apiGroups: ['discovery.k8s.io'],
            resources: ['endpointslices'],
            verbs: ['get', 'list', 'watch'],
          },
        ],
        subject: {
          ...{ kind: 'ServiceAccount', name: 'prometheus-k8s', namespace: 'openshift-monitoring' },
        },
      },
    ),
  ];
}

function metricsService({ namespace }: Settings, role: Role): Manifest {
  const { name, port } = services[role];
  const labels = { ...labelsOf(role), ...isMetrics };
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels },
    spec: {
      selector: selectorOf(role),
      ports: [{ name: port, port: diagnosticsPort, targetPort: diagnosticsPort, protocol: 'TCP' }],
    },
  };
}

type Grant = { readonly rules: readonly object[]; readonly subject: object };

function bound(
  metadata: { readonly name: string; readonly namespace: string },
  { rules, subject }: Grant,
): readonly Manifest[] {
  const roleRef = { apiGroup: rbac, kind: 'Role', name: metadata.name };
  return [
    { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules },
    {
      ...{ apiVersion: `${rbac}/v1`, kind: 'RoleBinding', metadata, roleRef },
      subjects: [subject],
    },
  ];
}
