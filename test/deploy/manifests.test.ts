import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { loadAll } from 'js-yaml';
import { agentArguments } from '../../src/agent/agent-arguments.ts';
import { allArguments } from '../../src/all/arguments.ts';
import type { PodTemplate } from '../../src/api/objects/edge-workload.ts';
import { parseQuantity } from '../../src/api/quantity.ts';
import { limits } from '../../src/base/limits.ts';
import { renderDaemonSet } from '../../src/core/edge/plan.ts';
import { operatorArguments } from '../../src/operator/arguments.ts';
import { extenderArguments } from '../../src/operator/extender-command.ts';
import { readRelease } from '../../tools/manifests.ts';

/** The manifests in the tree as text: what a person would apply. */
const root = join(import.meta.dirname, '../..');

type Labels = Readonly<Record<string, string>>;

type Container = {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly startupProbe: { readonly periodSeconds: number; readonly failureThreshold: number };
  readonly env: readonly { readonly name: string }[];
  readonly resources: {
    readonly requests?: Labels;
    readonly limits?: { readonly memory?: string };
  };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
};

type Any = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly name: string; readonly namespace: string }[];
  readonly spec: {
    readonly selector: { readonly matchLabels: Labels };
    readonly podSelector: { readonly matchLabels: Labels };
    readonly egress: readonly { readonly ports: readonly { readonly port: number }[] }[];
    readonly template: {
      readonly metadata: { readonly labels: Labels };
      readonly spec: {
        readonly serviceAccountName: string;
        readonly hostPID?: boolean;
        readonly hostNetwork?: boolean;
        readonly automountServiceAccountToken?: boolean;
        readonly terminationGracePeriodSeconds?: number;
        readonly securityContext?: Readonly<Record<string, unknown>>;
        readonly containers: readonly Container[];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
  };
};

const files = globSync('deploy/**/*.yaml', { cwd: root }).toSorted();
const objectsOf = (file: string) => loadAll(readFileSync(join(root, file), 'utf8')) as Any[];
const whole = [
  'deploy/quarry.yaml',
  'deploy/quarry-all.yaml',
  'deploy/legacy/quarry.yaml',
  'deploy/microshift/quarry.yaml',
];
/** What runs, and what `quarry edge apply` makes of a template. */
const workloadsOf = (file: string) =>
  objectsOf(file).flatMap((one): readonly Any[] => {
    if (one.kind === 'PodTemplate') return [renderedOf(one as unknown as PodTemplate)];
    return /^(Deployment|DaemonSet)$/.test(one.kind) ? [one] : [];
  });
const pods = [...whole, 'deploy/openshift.yaml'].flatMap(workloadsOf);

/** Versions that every Kubernetes since 1.29 serves, or the program that brings the kind. */
const kinds: Readonly<Record<string, string>> = {
  Namespace: 'v1',
  ServiceAccount: 'v1',
  Service: 'v1',
  ValidatingWebhookConfiguration: 'admissionregistration.k8s.io/v1',
  MutatingWebhookConfiguration: 'admissionregistration.k8s.io/v1',
  ClusterRole: 'rbac.authorization.k8s.io/v1',
  ClusterRoleBinding: 'rbac.authorization.k8s.io/v1',
  Role: 'rbac.authorization.k8s.io/v1',
  RoleBinding: 'rbac.authorization.k8s.io/v1',
  Deployment: 'apps/v1',
  DaemonSet: 'apps/v1',
  PodTemplate: 'v1',
  PodDisruptionBudget: 'policy/v1',
  NetworkPolicy: 'networking.k8s.io/v1',
  CSIDriver: 'storage.k8s.io/v1',
  StorageClass: 'storage.k8s.io/v1',
  VolumeSnapshotClass: 'snapshot.storage.k8s.io/v1',
  CustomResourceDefinition: 'apiextensions.k8s.io/v1',
  ValidatingAdmissionPolicy: 'admissionregistration.k8s.io/v1',
  ValidatingAdmissionPolicyBinding: 'admissionregistration.k8s.io/v1',
  PrometheusRule: 'monitoring.coreos.com/v1',
  PodMonitor: 'monitoring.coreos.com/v1',
  LVMCluster: 'lvm.topolvm.io/v1alpha1',
  ServiceMonitor: 'monitoring.coreos.com/v1',
  SecurityContextConstraints: 'security.openshift.io/v1',
};

test('every manifest can be read, has a kind and version that is known, and a name of its own', () => {
  assert.ok(files.length >= 9);
  for (const file of files) {
    const seen = new Set<string>();
    for (const { apiVersion, kind, metadata } of objectsOf(file)) {
      assert.equal(apiVersion, kinds[kind], `${file}: ${kind}`);
      const key = `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
      assert.ok(!seen.has(key), `${file}: ${key} twice`);
      seen.add(key);
    }
  }
});

test('what 1.29 does not know stands in files of its own', () => {
  const newer = ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'];
  for (const file of [...whole, 'deploy/crds-1.29.yaml']) {
    assert.deepEqual(
      objectsOf(file).filter(({ kind }) => newer.includes(kind)),
      [],
    );
    assert.ok(!readFileSync(join(root, file), 'utf8').includes('selectableFields'), file);
  }
});

test('what a cluster without the kinds of others refuses stands in files of its own', () => {
  const ofOthers = /^(snapshot\.storage\.k8s\.io|monitoring\.coreos\.com)\//;
  // OpenShift has both.
  const elsewhere = files.filter((file) => !file.includes('openshift'));
  const mixed = elsewhere.filter((file) => {
    const objects = objectsOf(file);
    const foreign = objects.filter(({ apiVersion }) => ofOthers.test(apiVersion));
    return foreign.length > 0 && foreign.length < objects.length;
  });
  assert.deepEqual(mixed, []);
  assert.ok(!objectsOf('deploy/samples.yaml').some(({ apiVersion }) => ofOthers.test(apiVersion)));
});

test('deleting what was installed deletes no definition, and so no volume', () => {
  for (const file of [...whole, 'deploy/openshift.yaml']) {
    const [first] = objectsOf(file).filter(({ kind }) => kind === 'CustomResourceDefinition');
    assert.equal(first, undefined, file);
  }
});

test('nor a namespace, and so no LVMCluster', () => {
  for (const file of ['deploy/quarry.yaml', 'deploy/quarry-all.yaml', 'deploy/openshift.yaml']) {
    assert.ok(!objectsOf(file).some(({ kind }) => kind === 'Namespace'), file);
  }
});

test('the driver is described as TopoLVM describes it, because most of that can never change', () => {
  for (const file of whole) {
    const [driver] = objectsOf(file).filter(({ kind }) => kind === 'CSIDriver');
    assert.deepEqual(driver?.spec, {
      attachRequired: false,
      podInfoOnMount: true,
      storageCapacity: true,
      volumeLifecycleModes: ['Persistent'],
    });
    const isLegacy = file.includes('legacy');
    assert.equal(driver?.metadata.name, isLegacy ? 'topolvm.cybozu.com' : 'topolvm.io');
  }
});

test('images are pinned by the digest of the release file', () => {
  const { version, image } = readRelease();
  const { repository, tag, digest } = image;
  assert.match(digest, /^sha256:[0-9a-f]{64}$/);
  assert.equal(tag, version);
  for (const { spec } of pods) {
    for (const container of spec.template.spec.containers) {
      assert.equal(container.image, `${repository}:${tag}@${digest}`);
    }
  }
});

test('a pod matches the selector of what made it, and has every volume that it mounts', () => {
  for (const { metadata, spec } of pods) {
    const { labels } = spec.template.metadata;
    for (const [key, value] of Object.entries(spec.selector.matchLabels)) {
      assert.equal(labels[key], value, metadata.name);
    }
    const { volumes, containers } = spec.template.spec;
    const known = volumes.map(({ name }) => name).toSorted();
    const mounted = containers.flatMap((one) => one.volumeMounts.map(({ name }) => name));
    assert.deepEqual(mounted.toSorted(), known, metadata.name);
  }
});

test('no limit is under 96Mi, and an agent has none: lvm is counted as part of it', () => {
  for (const { kind, spec } of pods) {
    for (const { resources } of spec.template.spec.containers) {
      const limit = resources.limits?.memory;
      assert.equal(limit === undefined, kind === 'DaemonSet');
      if (limit !== undefined) assert.ok(Number(parseQuantity(limit)) >= 96 * 2 ** 20);
      assert.ok(resources.requests?.['memory'] !== undefined);
    }
  }
});

test('an agent is given time to end what it began: a killed lvm leaves volumes suspended', () => {
  for (const { kind, spec } of pods) {
    if (kind !== 'DaemonSet') continue;
    const { terminationGracePeriodSeconds = 0, containers } = spec.template.spec;
    assert.ok(terminationGracePeriodSeconds * 1000 > limits.changeTimeoutMs);
    for (const { startupProbe } of containers) {
      const { periodSeconds, failureThreshold } = startupProbe;
      assert.ok(periodSeconds * failureThreshold * 1000 > limits.changeTimeoutMs);
    }
  }
});

test('the operator has no rights on its node', () => {
  const operators = pods.filter(({ kind }) => kind === 'Deployment');
  assert.equal(operators.length, 3);
  for (const { spec } of operators) {
    const { hostPID, securityContext, containers } = spec.template.spec;
    assert.equal(hostPID, undefined);
    assert.equal(securityContext?.['runAsNonRoot'], true);
    for (const container of containers) {
      assert.deepEqual(container.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  }
});

test('every account, role and binding leads somewhere', () => {
  for (const file of [...whole, 'deploy/openshift.yaml']) {
    const objects = objectsOf(file);
    const named = (wanted: string) =>
      objects.filter(({ kind }) => kind === wanted).map(({ metadata }) => metadata.name);
    for (const { kind, roleRef, subjects } of objects.filter((one) => 'roleRef' in one)) {
      assert.equal(kind, `${roleRef.kind}Binding`);
      assert.ok(named(roleRef.kind).includes(roleRef.name), `${file}: ${roleRef.name}`);
      for (const { name } of subjects) assert.ok(named('ServiceAccount').includes(name), file);
    }
    for (const { spec } of objects.filter(({ kind }) => /^(Deployment|DaemonSet)$/.test(kind))) {
      assert.ok(named('ServiceAccount').includes(spec.template.spec.serviceAccountName), file);
    }
  }
});

test('the operator is started with flags that it knows', () => {
  const variables = {
    ...{ namespace: '', useLegacy: '' },
    ...{ kubeconfig: '', serviceHost: '', servicePort: '' },
  };
  for (const { spec } of pods.filter(({ kind }) => kind === 'Deployment')) {
    for (const { args, volumeMounts } of spec.template.spec.containers) {
      const [word, ...flags] = args;
      assert.equal(word, 'operator');
      const socket = operatorArguments([...flags, '--snapshot-controller'], variables)[
        'csi-socket'
      ];
      assert.deepEqual(
        volumeMounts.map(({ mountPath }) => mountPath),
        [dirname(socket)],
      );
    }
  }
});

test('agents are started with flags and variables that they know', () => {
  const variables = {
    ...{ nodeName: '', namespace: '', useLegacy: '' },
    ...{ kubeconfig: '', serviceHost: '', servicePort: '' },
  };
  for (const { spec } of pods.filter(({ kind }) => kind === 'DaemonSet')) {
    for (const { args, env, volumeMounts } of spec.template.spec.containers) {
      const [role, ...flags] = args;
      const known = (role === 'all' ? allArguments : agentArguments)(flags, variables);
      assert.equal(known.nsenter, true);
      const paths = volumeMounts.map(({ mountPath }) => mountPath);
      for (const file of [known.config, known['csi-socket']]) {
        assert.ok(paths.includes(dirname(file)), file);
      }
      assert.ok(paths.includes(known['state-dir']));
      assert.ok(paths.includes(`${known['kubelet-root']}/plugins_registry`));
      const read = ['NODE_NAME', 'NAMESPACE', 'USE_LEGACY'];
      assert.deepEqual(env.map(({ name }) => name).toSorted(), read.toSorted());
    }
  }
});

test('the extender listens where TopoLVM’s did, and has no rights at all', () => {
  for (const file of ['deploy/extender.yaml', 'deploy/legacy/extender.yaml']) {
    const [found, ...more] = objectsOf(file);
    assert.ok(found !== undefined && more.length === 0);
    const { containers, hostPID, ...pod } = found.spec.template.spec;
    assert.deepEqual([hostPID, pod.securityContext?.['runAsNonRoot']], [undefined, true]);
    assert.deepEqual(
      [pod.automountServiceAccountToken, pod.hostNetwork, pod.volumes],
      [false, true, undefined],
    );
    for (const { args, env } of containers) {
      assert.equal(args[0], 'extender');
      assert.equal(extenderArguments(args.slice(1)).listen, '127.0.0.1:9251');
      const isLegacy = file.includes('legacy');
      assert.deepEqual(env, [{ name: 'USE_LEGACY', value: isLegacy ? 'true' : '' }]);
    }
  }
});

test('network policies reach API servers on 443 and on 6443, and bind every pod of ours', () => {
  for (const file of whole) {
    const objects = objectsOf(file);
    const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
    for (const { spec } of policies) {
      const ports = spec.egress.flatMap((one) => one.ports.map(({ port }) => port));
      assert.deepEqual(ports, [443, 6443]);
    }
    const bound = policies.map(({ spec }) => JSON.stringify(spec.podSelector.matchLabels));
    const selectors = workloadsOf(file).map(({ spec }) =>
      JSON.stringify(spec.selector.matchLabels),
    );
    assert.deepEqual(bound, selectors, file);
  }
});

function renderedOf({ template }: PodTemplate): Any {
  assert.ok(template !== undefined);
  const lvmd = { text: '', checksum: '', socketName: '' };
  const wish = { namespace: '', lvmd, replacesTopolvm: false, digest: () => '' };
  return { kind: 'DaemonSet', ...renderDaemonSet(wish, template) } as unknown as Any;
}
