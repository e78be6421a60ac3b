import { limits } from '../src/base/limits.ts';
import {
  diagnosticsPort,
  extenderPort,
  labelsOf,
  type Manifest,
  names,
  type Role,
  type Settings,
  selectorOf,
  tcp,
  webhookPort,
} from './manifests-settings.ts';

const program = ['/usr/bin/quarry'] as const;

/** Two replicas: one leads, the other takes over within seconds. Neither needs any rights on a node. */
export function operatorDeployment(settings: Settings): Manifest {
  const labels = labelsOf('operator');
  const { lvmsFlags, webhookFlags } = settings;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: names.operator, namespace: settings.namespace, labels },
    spec: {
      replicas: 2,
      selector: { matchLabels: selectorOf('operator') },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: names.operator,
          priorityClassName: 'system-cluster-critical',
          nodeSelector: { 'kubernetes.io/os': 'linux' },
          tolerations: [
            { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' },
            { key: 'node-role.kubernetes.io/master', operator: 'Exists' },
          ],
          affinity: { podAntiAffinity: preferOtherNodes },
          securityContext: {
            ...{ runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532 },
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              // LVMS' name: its tooling looks for it.
              name: 'manager',
              image: settings.image,
              command: program,
              args: ['operator', ...lvmsFlags, ...webhookFlags, ...settings.flags],
              env: environment(settings),
              ports: [
                { name: 'metrics', containerPort: diagnosticsPort },
                { name: 'webhook', containerPort: webhookPort },
              ],
              ...probes,
              resources: settings.resources.operator,
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
              volumeMounts: [{ name: 'socket', mountPath: '/run/topolvm' }],
            },
          ],
          volumes: [{ name: 'socket', emptyDir: {} }],
        },
      },
    },
  };
}

/** On every node, also on those that take no new pods: what is mounted there must come off again. */
export function agentDaemonSet(settings: Settings): Manifest {
  return daemonSet(settings, { account: 'agent', args: agentArguments(settings) });
}

/** Both roles in one process, for a cluster of one node. */
export function allDaemonSet(settings: Settings): Manifest {
  return daemonSet(settings, { account: 'operator', args: allArguments(settings) });
}

/**
 * The same pod for `quarry edge apply`, which renders the DaemonSet: nobody runs it from here. It
 * is an object, because a program cannot know the digest of the image that it is in.
 */
export function allPodTemplate(settings: Settings): Manifest {
  const { metadata, spec } = allDaemonSet(settings);
  const { template } = spec as { readonly template: object };
  return { apiVersion: 'v1', kind: 'PodTemplate', metadata, template };
}

type Process = { readonly account: Role; readonly args: readonly string[] };

function daemonSet(settings: Settings, { account, args }: Process): Manifest {
  const { namespace, kubeletRoot } = settings;
  const labels = labelsOf('agent');
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: names.agent, namespace, labels },
    spec: {
      selector: { matchLabels: selectorOf('agent') },
      // Never two on one node at a time: kubelet knows one socket.
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: names[account],
          priorityClassName: 'system-node-critical',
          nodeSelector: { 'kubernetes.io/os': 'linux' },
          tolerations: [{ operator: 'Exists' }],
          // lvm, mkfs and mount run in the namespaces of the host's first process.
          hostPID: true,
          terminationGracePeriodSeconds: graceSeconds,
          containers: [
            {
              name: names.agent,
              image: settings.image,
              command: program,
              args,
              env: environment(settings),
              ports: [{ name: 'metrics', containerPort: diagnosticsPort }],
              ...probes,
              // What it says last is why it ended: `kubectl describe pod` has it.
              terminationMessagePolicy: 'FallbackToLogsOnError',
              resources: settings.resources.agent,
              securityContext: { privileged: true, runAsUser: 0 },
              volumeMounts: agentMounts(kubeletRoot),
            },
          ],
          volumes: agentVolumes(settings),
        },
      },
    },
  };
}

/** A command that changes something is never killed: what is under way at the end may take its time. */
const graceSeconds = limits.changeTimeoutMs / 1000 + 30;

/** Mounts happen on the host and are seen in here; none is made in here. */
function agentMounts(kubeletRoot: string) {
  const mountPropagation = 'HostToContainer';
  return [
    { name: 'registration', mountPath: `${kubeletRoot}/plugins_registry` },
    { name: 'sockets', mountPath: '/run/topolvm' },
    { name: 'pods', mountPath: `${kubeletRoot}/pods`, mountPropagation },
    { name: 'staging', mountPath: `${kubeletRoot}/plugins/kubernetes.io/csi`, mountPropagation },
    { name: 'devices', mountPath: '/dev' },
    { name: 'lvmd', mountPath: '/etc/topolvm' },
    { name: 'state', mountPath: '/var/lib/quarry' },
  ];
}

function agentVolumes({ kubeletRoot, domain, lvmdVolume }: Settings) {
  const folder = (name: string, path: string, type = 'DirectoryOrCreate') => ({
    name,
    hostPath: { path, type },
  });
  return [
    folder('registration', `${kubeletRoot}/plugins_registry`, 'Directory'),
    // TopoLVM's layout: what kubelet remembers of the driver stays true.
    folder('sockets', `${kubeletRoot}/plugins/${domain}/node`),
    folder('pods', `${kubeletRoot}/pods`),
    folder('staging', `${kubeletRoot}/plugins/kubernetes.io/csi`),
    folder('devices', '/dev', 'Directory'),
    { name: 'lvmd', ...lvmdVolume },
    folder('state', '/var/lib/quarry'),
  ];
}

function agentArguments(settings: Settings): readonly string[] {
  const { kubeletRoot, domain, lvmsFlags, agentFlags } = settings;
  return [
    'agent',
    '--nsenter',
    `--kubelet-root=${kubeletRoot}`,
    `--host-socket=${kubeletRoot}/plugins/${domain}/node/csi-topolvm.sock`,
    `--daemonset=${names.agent}`,
    ...lvmsFlags,
    ...agentFlags,
  ];
}

function allArguments(settings: Settings): readonly string[] {
  const [, ...flags] = agentArguments(settings);
  return ['all', ...flags, ...settings.webhookFlags, ...settings.flags];
}

function environment({ useLegacy }: Settings) {
  const field = (name: string, fieldPath: string) => ({
    name,
    valueFrom: { fieldRef: { fieldPath } },
  });
  return [
    field('NODE_NAME', 'spec.nodeName'),
    field('NAMESPACE', 'metadata.namespace'),
    // As TopoLVM has it: anything but nothing chooses the group that it had before.
    { name: 'USE_LEGACY', value: useLegacy },
  ];
}

const probes = {
  // At a start commands of an earlier life are waited for.
  startupProbe: { ...probe('/healthz'), periodSeconds: 2, failureThreshold: graceSeconds },
  // A busy node makes it slow, and a new start slower: only what is stuck for minutes is ended.
  livenessProbe: {
    ...probe('/healthz'),
    ...{ periodSeconds: 20, timeoutSeconds: 15 },
    failureThreshold: 6,
  },
  readinessProbe: { ...probe('/readyz'), periodSeconds: 10, timeoutSeconds: 5 },
};

function probe(path: string) {
  return { httpGet: { path, port: 'metrics' } };
}

const preferOtherNodes = {
  preferredDuringSchedulingIgnoredDuringExecution: [
    {
      weight: 100,
      podAffinityTerm: {
        labelSelector: { matchLabels: selectorOf('operator') },
        topologyKey: 'kubernetes.io/hostname',
      },
    },
  ],
};

/**
 * Beside each kube-scheduler that still asks TopoLVM's extender. It knows nothing but what it is
 * asked, so it has no account.
 */
export function extenderDaemonSet({ namespace, image, useLegacy }: Settings): Manifest {
  const selector = {
    'app.kubernetes.io/name': 'topolvm',
    'app.kubernetes.io/component': 'scheduler',
  };
  const labels = { ...selector, 'app.kubernetes.io/part-of': 'quarry' };
  const host = '127.0.0.1';
  const health = { httpGet: { host, port: extenderPort, path: '/status' } };
  const controlPlane = 'node-role.kubernetes.io/control-plane';
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'quarry-extender', namespace, labels },
    spec: {
      selector: { matchLabels: selector },
      template: {
        metadata: { labels },
        spec: {
          ...{ priorityClassName: 'system-cluster-critical', hostNetwork: true },
          automountServiceAccountToken: false,
          nodeSelector: { 'kubernetes.io/os': 'linux', [controlPlane]: '' },
          tolerations: [{ key: controlPlane, operator: 'Exists' }],
          securityContext: {
            ...{ runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532 },
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              ...{ name: 'extender', image, command: program },
              args: ['extender', `--listen=${host}:${extenderPort}`],
              env: [{ name: 'USE_LEGACY', value: useLegacy }],
              ...{ livenessProbe: health, readinessProbe: health },
              resources: { requests: { cpu: '10m', memory: '60Mi' }, limits: { memory: '256Mi' } },
              securityContext: {
                ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
                capabilities: { drop: ['ALL'] },
              },
            },
          ],
        },
      },
    },
  };
}

/** A drain leaves one that can take over. */
export function operatorBudget({ namespace }: Settings): Manifest {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: names.operator, namespace },
    spec: { maxUnavailable: 1, selector: { matchLabels: selectorOf('operator') } },
  };
}

/** LVMS' names. Its third one denies the rest, which these do already. */
const policyNames = { operator: 'lvms-operator-allow', agent: 'lvms-vg-manager-allow' } as const;

/** Out: to the API server. In: who reads metrics, probes, and API servers that ask. Nothing else. */
export function networkPolicies({ namespace, apiServerPorts }: Settings): readonly Manifest[] {
  return (['operator', 'agent'] as const).map((role: Role) => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: policyNames[role], namespace },
    spec: {
      podSelector: { matchLabels: selectorOf(role) },
      policyTypes: ['Ingress', 'Egress'],
      // On a single node the agent answers API servers, too.
      ingress: [{ ports: [diagnosticsPort, webhookPort].map(tcp) }],
      egress: [{ ports: apiServerPorts }],
    },
  }));
}
