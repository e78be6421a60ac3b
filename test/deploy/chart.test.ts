import assert from 'node:assert/strict';
import test from 'node:test';
import { readRelease } from '../../tools/manifests.ts';
import { defaultSettings, legacyChoice, manifests } from '../../tools/manifests-objects.ts';
import type { Settings } from '../../tools/manifests-settings.ts';
import { defaultValues, type ReleaseFacts, renderTemplate, type Values } from './helm.ts';

const facts: ReleaseFacts = { namespace: 'quarry-system', kubernetes: '1.34.1' };
const bare = defaultSettings(readRelease());
const plain = {
  ...bare,
  flags: ['--snapshot-controller'],
  agentFlags: ['--scheduler-extender'],
};
const everything = {
  ...defaultValues(),
  monitoring: true,
  snapshotController: true,
  schedulerExtender: true,
};

/** Templates, and the objects that they are the same as. Definitions bear one annotation more. */
function expected(settings: Settings) {
  const { driver, roles, operator, agent, policy, ...more } = manifests(settings);
  const { snapshots, network, monitors, alerts, extender, webhook } = more;
  const hasLvms = settings.lvmsFlags.length > 0;
  return {
    'driver.yaml': driver,
    'roles.yaml': roles,
    'operator.yaml': operator,
    'agent.yaml': agent,
    'policy.yaml': policy,
    'extender.yaml': extender,
    'snapshot-controller.yaml': snapshots,
    'network.yaml': network,
    'monitoring.yaml': [...monitors, ...alerts],
    'openshift.yaml': [],
    'webhook.yaml': hasLvms ? webhook : [],
    'all.yaml': [],
    'lvmd.yaml': [],
  };
}

function assertSame(settings: Settings, values: Values, about: ReleaseFacts = facts): void {
  for (const [name, objects] of Object.entries(expected(settings))) {
    if (name === 'lvmd.yaml' && isConfigured(values)) continue;
    assert.deepEqual(renderTemplate(name, values, about), objects, name);
  }
}

function isConfigured({ lvmd }: Values): boolean {
  return (lvmd as { readonly config: string }).config !== '';
}

test('with its defaults the chart gives the very objects of the plain manifests', () => {
  const made = expected(bare);
  const values = defaultValues();
  const names = ['driver', 'roles', 'operator', 'agent', 'network', 'webhook'] as const;
  for (const name of names.map((each) => `${each}.yaml` as const)) {
    assert.deepEqual(renderTemplate(name, values, facts), made[name], name);
  }
});

test('with everything switched on it gives all of them', () => {
  assertSame(plain, everything);
});

test('namespace, legacy group, kubelet root and image are settings of both', () => {
  assertSame(
    {
      ...plain,
      namespace: 'storage',
      ...legacyChoice,
      kubeletRoot: '/var/lib/k0s/kubelet',
      image: 'example/quarry:2',
    },
    {
      ...everything,
      namespace: 'storage',
      useLegacy: true,
      kubeletRoot: '/var/lib/k0s/kubelet',
      image: { repository: 'example/quarry', tag: '2', digest: '' },
    },
  );
});

test('ports that API servers listen on are a choice', () => {
  const portsOf = (apiServerPorts: readonly number[]) => {
    const values = { ...everything, apiServerPorts };
    const policies = renderTemplate('network.yaml', values, facts) as readonly {
      readonly spec: { readonly egress: readonly { readonly ports: unknown }[] };
    }[];
    return policies.map(({ spec }) => spec.egress.map(({ ports }) => ports));
  };
  const tcp = (port: number) => ({ protocol: 'TCP', port });
  const chosen = [[tcp(443), tcp(16_443)]];
  assert.deepEqual(portsOf([443, 16_443]), [chosen, chosen]);
  assert.deepEqual(defaultValues()['apiServerPorts'], [443, 6443]);
});

test('without a namespace of its own it goes where the release goes', () => {
  assertSame({ ...plain, namespace: 'elsewhere' }, everything, {
    ...facts,
    namespace: 'elsewhere',
  });
});

test('resources are taken over whole', () => {
  const resources = { limits: { memory: '1Gi' }, requests: { cpu: '1' } };
  assertSame(
    { ...plain, resources: { operator: resources, agent: resources } },
    { ...everything, operator: { resources }, agent: { resources } },
  );
});

test('a single node gets one process in both roles, and nothing of the other form', () => {
  const values = { ...everything, singleNode: true };
  const { all, network, webhookOfAll } = manifests(plain);
  assert.deepEqual(renderTemplate('all.yaml', values, facts), all);
  assert.deepEqual(renderTemplate('webhook.yaml', values, facts), webhookOfAll);
  assert.deepEqual(renderTemplate('operator.yaml', values, facts), []);
  assert.deepEqual(renderTemplate('agent.yaml', values, facts), []);
  assert.deepEqual(renderTemplate('network.yaml', values, facts), network.slice(1));
});

test('a configuration in the values is mounted in place of the directory of the node', () => {
  const config = 'device-classes:\n  - name: ssd\n    volume-group: data\n';
  const values = { ...everything, lvmd: { config } };
  const [map] = renderTemplate('lvmd.yaml', values, facts) as { data: Record<string, string> }[];
  assert.equal(map?.data['lvmd.yaml'], config);
  assertSame(
    {
      ...{ ...plain, lvmsFlags: [], webhookFlags: [] },
      lvmdVolume: { configMap: { name: 'lvmd' } },
    },
    values,
  );
});

test('an uninstall keeps the definition, and with it every volume', () => {
  const [crd, ...more] = renderTemplate('crds.yaml', everything, facts);
  const [made] = manifests(plain).crds;
  const kept = { ...made.metadata, annotations: { 'helm.sh/resource-policy': 'keep' } };
  assert.deepEqual(crd, { ...made, metadata: kept });
  assert.deepEqual(more, []);
});

test('a server of 1.29 gets a definition that it knows every field of', () => {
  const fields = (kubernetes: string) => {
    const [crd] = renderTemplate('crds.yaml', everything, { ...facts, kubernetes });
    const { versions } = (crd as { spec: { versions: readonly object[] } }).spec;
    return versions.map((version) => 'selectableFields' in version);
  };
  assert.deepEqual(fields('1.29.4'), [false]);
  assert.deepEqual(fields('1.30.0'), [true]);
});

test('what is switched off is not there', () => {
  const off = { crds: false, nodePolicy: false, networkPolicies: false, monitoring: false };
  const values = { ...everything, ...off };
  for (const name of ['crds.yaml', 'policy.yaml', 'network.yaml', 'monitoring.yaml']) {
    assert.deepEqual(renderTemplate(name, values, facts), [], name);
  }
});
