import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { loadAll } from 'js-yaml';
import { readRelease } from '../../tools/manifests.ts';
import { alerts } from '../../tools/manifests-monitoring.ts';
import { defaultSettings, manifests } from '../../tools/manifests-objects.ts';
import { defaultValues, type ReleaseFacts, renderTemplate } from './helm.ts';

type Labels = Readonly<Record<string, string>>;

type Port = {
  readonly name: string;
  readonly containerPort?: number;
  readonly targetPort?: number;
  readonly hostPort?: number;
};

type Pod = {
  readonly serviceAccountName: string;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly hostNetwork?: boolean;
  readonly securityContext: { readonly runAsUser: number; readonly seccompProfile: object };
  readonly volumes: readonly Readonly<Record<string, unknown>>[];
  readonly containers: readonly {
    readonly args: readonly string[];
    readonly ports: readonly Port[];
    readonly securityContext: Readonly<Record<string, unknown>>;
  }[];
};

type Endpoint = {
  readonly port: string;
  readonly scheme: string;
  readonly relabelings: readonly { readonly targetLabel: string; readonly replacement: string }[];
};

/** Whatever is looked at of any kind. */
type Any = {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Labels;
  };
  readonly spec: {
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: Pod };
    readonly selector: Labels & { readonly matchLabels: Labels };
    readonly ports: readonly Port[];
    readonly endpoints: readonly Endpoint[];
  };
  readonly webhooks: readonly { readonly clientConfig: { readonly service: Labels } }[];
  readonly rules: readonly object[];
  readonly roleRef: Labels;
  readonly subjects: readonly Labels[];
  readonly users: readonly string[];
  readonly volumes: readonly string[];
  readonly [right: string]: unknown;
};

const root = join(import.meta.dirname, '../..');

function objectsOf(file: string): readonly Any[] {
  return loadAll(readFileSync(join(root, 'deploy', file), 'utf8')) as Any[];
}

const [plain, metrics] = [objectsOf('openshift.yaml'), objectsOf('openshift-monitoring.yaml')];

function one(kind: string, name: string, of = [...plain, ...metrics]): Any {
  const [found, ...more] = of.filter((each) => each.kind === kind && each.metadata.name === name);
  assert.ok(found !== undefined && more.length === 0, `${kind} ${name}`);
  return found;
}

function kindsOf({ volumes }: Pod): readonly string[] {
  return volumes.flatMap(({ name: _name, ...volume }) => Object.keys(volume));
}

const security = 'security.openshift.io/v1';
const monitoring = 'monitoring.coreos.com/v1';
const facts: ReleaseFacts = { namespace: 'quarry-system', kubernetes: '1.34.1' };
const made = manifests(defaultSettings(readRelease()));

function rendered(name: string, changes: object, ...serves: readonly string[]) {
  return renderTemplate(name, { ...defaultValues(), ...changes }, { ...facts, serves });
}

test('a cluster that is no OpenShift gets nothing of it from the chart', () => {
  assert.deepEqual(rendered('openshift.yaml', {}), []);
  assert.deepEqual(rendered('openshift.yaml', { monitoring: true }, monitoring), []);
  assert.deepEqual(rendered('monitoring.yaml', {}, monitoring), []);
});

test('where its kinds are found the chart has what OpenShift needs', () => {
  const { constraints, constraintsOfAll, openshiftMetrics, alerts: rules } = made;
  const micro = (changes: object) => rendered('openshift.yaml', changes, security);
  assert.deepEqual(micro({}), constraints, 'MicroShift has no Prometheus');
  assert.deepEqual(micro({ singleNode: true }), constraintsOfAll);
  const all = [...constraints, ...openshiftMetrics];
  assert.deepEqual(rendered('openshift.yaml', {}, security, monitoring), all);
  assert.deepEqual(rendered('openshift.yaml', { openshift: true, monitoring: true }), all);
  for (const changes of [{}, { monitoring: true }]) {
    const found = rendered('monitoring.yaml', changes, security, monitoring);
    assert.deepEqual(found, rules, 'nothing is read twice');
  }
});

test('all of it is in the namespace that LVMS had, and that is not deleted with it', () => {
  for (const { kind, metadata } of [...plain, ...metrics]) {
    assert.ok([undefined, 'openshift-storage'].includes(metadata.namespace), kind);
    assert.ok(!['Namespace', 'CustomResourceDefinition'].includes(kind), kind);
  }
  const [namespace, ...more] = objectsOf('openshift-namespace.yaml');
  assert.deepEqual([namespace?.metadata.name, more], ['openshift-storage', []]);
  assert.equal(namespace?.metadata.labels?.['openshift.io/cluster-monitoring'], 'true');
});

test('what LVMS has there has the same names', () => {
  const names = [...plain, ...metrics].map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  for (const name of [
    ...['Deployment lvms-operator', 'DaemonSet vg-manager', 'CSIDriver topolvm.io'],
    ...['ServiceAccount lvms-operator', 'ServiceAccount vg-manager'],
    ...['SecurityContextConstraints lvms-vgmanager', 'Service lvms-webhook-service'],
    ...['Service lvms-operator-metrics-service', 'Service vg-manager-metrics-service'],
    'ServiceMonitor lvms-operator-metrics-monitor',
    ...['NetworkPolicy lvms-operator-allow', 'NetworkPolicy lvms-vg-manager-allow'],
  ]) {
    assert.ok(names.includes(name), name);
  }
});

test('LVMClusters are served there, and judged', () => {
  const args = (kind: string, name: string) =>
    one(kind, name).spec.template.spec.containers.flatMap((container) => container.args);
  assert.ok(args('Deployment', 'lvms-operator').includes('--lvm-clusters'));
  assert.ok(args('Deployment', 'lvms-operator').includes('--webhook-address=:9443'));
  assert.ok(args('DaemonSet', 'vg-manager').includes('--lvm-clusters'));
  for (const kind of ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration']) {
    for (const { clientConfig } of one(kind, 'lvms.quarry.io').webhooks) {
      assert.equal(clientConfig.service['namespace'], 'openshift-storage');
    }
  }
});

test('an agent is given what it asks for, and nothing else', () => {
  const pod = one('DaemonSet', 'vg-manager').spec.template.spec;
  const allowed = one('SecurityContextConstraints', 'lvms-vgmanager');
  assert.deepEqual(allowed.users, [
    `system:serviceaccount:openshift-storage:${pod.serviceAccountName}`,
  ]);
  const [container] = pod.containers;
  assert.ok(container !== undefined);
  const asked = {
    allowPrivilegedContainer: container.securityContext['privileged'] === true,
    allowHostPID: pod.hostPID === true,
    allowHostIPC: pod.hostIPC === true,
    allowHostNetwork: pod.hostNetwork === true,
    allowHostPorts: container.ports.some(({ hostPort }) => hostPort !== undefined),
    allowHostDirVolumePlugin: pod.volumes.some((volume) => 'hostPath' in volume),
    readOnlyRootFilesystem: container.securityContext['readOnlyRootFilesystem'] === true,
  };
  for (const [right, isAsked] of Object.entries(asked))
    assert.equal(allowed[right], isAsked, right);
  // The token, and lvmd.yaml for all nodes, which the chart can give.
  const volumes = new Set(['projected', 'configMap', ...kindsOf(pod)]);
  assert.deepEqual(allowed.volumes, [...volumes].toSorted());
  assert.deepEqual(made.constraintsOfAll[0]?.['users'], [
    'system:serviceaccount:quarry-system:lvms-operator',
  ]);
});

test('the operator may run as the user that it names, and has no other right on a node', () => {
  const pod = one('Deployment', 'lvms-operator').spec.template.spec;
  const { rules } = one('Role', 'lvms-operator-user');
  assert.deepEqual(rules, [
    {
      ...{ apiGroups: ['security.openshift.io'], resources: ['securitycontextconstraints'] },
      ...{ resourceNames: ['nonroot-v2'], verbs: ['use'] },
    },
  ]);
  const { roleRef, subjects } = one('RoleBinding', 'lvms-operator-user');
  assert.equal(roleRef['name'], 'lvms-operator-user');
  assert.deepEqual(
    subjects.map((subject) => subject['name']),
    [pod.serviceAccountName],
  );
  // What nonroot-v2 wants of a pod.
  assert.ok(pod.securityContext.runAsUser > 0);
  assert.deepEqual(pod.securityContext.seccompProfile, { type: 'RuntimeDefault' });
  assert.deepEqual(kindsOf(pod), ['emptyDir']);
});

test('Prometheus finds every pod by the port that the monitor names, and knows it by its job', () => {
  const { spec } = one('ServiceMonitor', 'lvms-operator-metrics-monitor');
  const services = metrics.filter(({ kind }) => kind === 'Service');
  const workloads = [one('Deployment', 'lvms-operator'), one('DaemonSet', 'vg-manager')];
  const jobs = workloads.map(({ metadata, spec: of }) => {
    const { labels } = of.template.metadata;
    const [service] = services.filter(({ spec: { selector } }) =>
      Object.entries(selector).every(([key, value]) => labels[key] === value),
    );
    assert.ok(service !== undefined, metadata.name);
    for (const [key, value] of Object.entries(spec.selector.matchLabels)) {
      assert.equal(service.metadata.labels?.[key], value);
    }
    const [port] = service.spec.ports;
    const [listening] = of.template.spec.containers.flatMap(({ ports }) => ports);
    assert.equal(port?.targetPort, listening?.containerPort);
    const endpoint = spec.endpoints.find((each) => each.port === port?.name);
    assert.equal(endpoint?.scheme, 'http', 'metrics are not encrypted');
    assert.equal(endpoint.relabelings[0]?.targetLabel, 'job');
    return endpoint.relabelings[0].replacement;
  });
  assert.deepEqual(jobs, ['openshift-storage/lvms-operator', 'openshift-storage/vg-manager']);
  const asked = alerts.flatMap(({ expr }) => /job=~"([^"]+)"/.exec(expr)?.[1] ?? []);
  assert.ok(asked.length > 0);
  for (const pattern of asked) {
    assert.ok(
      jobs.some((job) => new RegExp(`^(?:${pattern})$`).test(job)),
      pattern,
    );
  }
});
