import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { load } from 'js-yaml';
import { collections } from '../kube/fake-api-rules.ts';
import * as sample from '../samples/cluster-picture.ts';
import { surroundings } from '../samples/surroundings.ts';
import { CommandLine } from './command-line-scene.ts';

const reports = (group: Parameters<typeof sample.groupStatus>[0]) => ({
  reports: [
    sample.report('n1', sample.groupStatus(group), sample.raidGroup()),
    sample.report('n2', sample.groupStatus(), sample.raidGroup()),
  ],
});
const full = reports({ status: 'Degraded', reason: 'thin pool vg1/pool: ThinPoolFull: data 97 %' });

test('a cluster that is well is well for status and doctor', async (t) => {
  const line = await CommandLine.begin(t);
  const status = await line.run('status');
  assert.deepEqual([status.code, status.err], [0, '']);
  assert.match(status.out, /^quarry-system\/mine {2}Ready$/m);
  assert.match(status.out, /^operator {2}2\/2 {4}0\.1\.0 {4}led by lvms-operator-a$/m);
  assert.deepEqual(await line.run('doctor'), { code: 0, out: 'Nothing is wrong.', err: '' });
  const { requests } = line.server.api;
  assert.deepEqual([...new Set(requests.map(({ method }) => method))], ['GET']);
});

test('what is wrong ends with 1, and reads the same in every format', async (t) => {
  const line = await CommandLine.begin(t, full);
  const told = await line.run('doctor');
  assert.equal(told.code, 1);
  assert.match(told.out, /^PoolFull {2}LVMVolumeGroupNodeStatus quarry-system\/n1$/m);
  const json = await line.run('doctor --output json');
  const yaml = await line.run('doctor -o yaml');
  assert.deepEqual([json.code, yaml.code], [1, 1]);
  const document = JSON.parse(json.out) as { findings: readonly Record<string, unknown>[] };
  assert.deepEqual(load(yaml.out), document);
  assert.deepEqual(Object.keys(document), ['apiVersion', 'kind', 'findings', 'unseen']);
  assert.deepEqual(Object.keys(document.findings[0] ?? {}).toSorted(), [
    'code',
    'details',
    'node',
    'object',
    'remedy',
    'what',
    'why',
  ]);
  const status = await line.run('status -o json');
  assert.equal(status.code, 1);
  const summary = JSON.parse(status.out) as Record<string, unknown>;
  assert.deepEqual([summary['kind'], summary['findings']], ['ClusterStatus', 1]);
});

test('a claim that waits is told with our last event', async (t) => {
  const line = await CommandLine.begin(t);
  const { api } = line.server;
  const claim = api.put(collections.claims, {
    ...sample.claim('new', { phase: 'Pending' }),
    metadata: { name: 'new', namespace: 'default' },
  });
  const { uid } = claim.metadata;
  api.put(collections.events, {
    ...sample.event('new', 'ProvisioningFailed', 'no room'),
    involvedObject: { kind: 'PersistentVolumeClaim', uid },
    metadata: { name: 'e', namespace: 'default' },
  });
  const told = await line.run('doctor');
  assert.match(told.out, /^ClaimWaits {2}PersistentVolumeClaim default\/new\n {2}.*no room$/m);
});

test('the installation itself says what it is called', async (t) => {
  const env = [{ name: 'USE_LEGACY', value: 'true' }];
  const spec = { replicas: 2, template: { spec: { containers: [{ name: 'manager', env }] } } };
  const line = await CommandLine.begin(t, { deployments: [{ ...sample.operator, spec }] });
  const told = await line.run('status -o json');
  assert.equal((JSON.parse(told.out) as { driver: string }).driver, 'topolvm.cybozu.com');
});

test('a cluster that has nothing of Quarry says so', async (t) => {
  const nothing = { deployments: [], daemonSets: [], pods: [], clusters: [], reports: [] };
  const line = await CommandLine.begin(t, { ...nothing, groups: [], csiDrivers: [] });
  line.server.api.missing.add(collections.lvmClusters);
  const told = await line.run('doctor');
  assert.equal(told.code, 1);
  assert.match(told.out, /^NotInstalled {2}Deployment lvms-operator$/m);
});

test('two installations are told apart by their namespace', async (t) => {
  const other = { ...sample.operator, metadata: { ...sample.operator.metadata, namespace: 'b' } };
  const line = await CommandLine.begin(t, { deployments: [sample.operator, other] });
  const told = await line.run('doctor');
  assert.equal(told.code, 2);
  assert.match(told.err, /Quarry is in b and quarry-system: name one of them with --namespace/);
  assert.equal((await line.run('doctor -n quarry-system')).code, 0);
});

test('a cluster that does not answer ends with 75', async (t) => {
  const line = await CommandLine.begin(t);
  await line.server.stop();
  for (const words of ['doctor', 'status', `gather --output ${line.directory}/bundle`]) {
    const told = await line.run(words);
    assert.equal(told.code, 75, words);
    assert.match(told.err, /ClusterUnavailable: the cluster cannot be asked: Unreachable/);
  }
});

test('a kubeconfig that cannot be used ends with 2', async (t) => {
  const line = await CommandLine.begin(t);
  const none = await line.run('doctor --kubeconfig /nowhere/config');
  assert.equal(none.code, 2);
  assert.match(none.err, /\/nowhere\/config cannot be read: .*name one with --kubeconfig/);
  const context = await line.run('doctor --context lost');
  assert.equal(context.code, 2);
  assert.match(context.err, /there is no context "lost"/);
  const nothing = await line.run('doctor', { variables: surroundings.variables });
  assert.equal(nothing.code, 2);
});

test('what may not be read is named, and nobody is told that all is well', async (t) => {
  const line = await CommandLine.begin(t);
  line.server.forbidden.add('/api/v1/persistentvolumeclaims');
  const told = await line.run('doctor');
  assert.equal(told.code, 75);
  assert.match(told.out, /^ {2}claims: Forbidden: /m);
  assert.match(told.out, /Nothing is wrong in what could be read\.$/);
});

test('a program of the kubeconfig hands out the credentials, with the variables of the user', async (t) => {
  const line = await CommandLine.begin(t);
  const program = join(line.directory, 'login');
  const credential = '{"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"good"}}';
  await writeFile(program, `#!/bin/sh\n[ "$WHO" = me ] && echo '${credential}'\n`);
  await chmod(program, 0o755);
  const config = JSON.parse(await readFile(join(line.directory, 'kubeconfig'), 'utf8')) as {
    users: object[];
  };
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: program };
  config.users = [{ name: 'u', user: { exec } }];
  const path = join(line.directory, 'with-exec');
  await writeFile(path, JSON.stringify(config));
  const asMe = { ...surroundings.variables, kubeconfig: path, all: () => ({ WHO: 'me' }) };
  assert.equal((await line.run('doctor', { variables: asMe })).code, 0);
});

test('the kubeconfig in the home of the user is found', async (t) => {
  const line = await CommandLine.begin(t);
  await mkdir(join(line.directory, '.kube'));
  const text = await readFile(join(line.directory, 'kubeconfig'), 'utf8');
  await writeFile(join(line.directory, '.kube/config'), text);
  const variables = { ...surroundings.variables, home: line.directory };
  assert.equal((await line.run('status', { variables })).code, 0);
});

const refused: readonly (readonly [string, RegExp])[] = [
  ['status --file n.yaml --kubeconfig k', /--file is for this host and --kubeconfig/],
  ['status extra', /status takes no extra: name the node file with --file extra/],
  ['doctor extra', /doctor takes no extra$/m],
  ['doctor --file n.yaml', /doctor takes no --file/],
  ['apply --namespace x', /apply takes no --namespace/],
  ['doctor -o xml', /--output is "xml": write json, yaml or wide/],
  ['status -o xml', /--output is "xml"/],
];

for (const [words, text] of refused) {
  test(`${words} is refused`, async (t) => {
    const told = await (await CommandLine.begin(t)).run(words);
    assert.equal(told.code, 2);
    assert.match(told.err, text);
  });
}

test('a plugin of kubectl says so wherever it says what to type', async (t) => {
  const line = await CommandLine.begin(t, full);
  const asPlugin = { program: 'kubectl quarry' };
  assert.match((await line.run('help', asPlugin)).out, /^ {2}kubectl quarry doctor /m);
  assert.match((await line.run('status', asPlugin)).out, /`kubectl quarry doctor` explains/);
  assert.match((await line.run('nonsense', asPlugin)).err, /`kubectl quarry help` shows/);
});

/** Nothing of these may ever be in a bundle. */
const secret = 'hunter2hunter2';
const jwt = ['eyJhbGciOiJSUzI1NiJ9', 'eyJzdWIiOiJhZG1pbiJ9', 'c2lnbmF0dXJl'].join('.');

async function withSecrets(t: Parameters<typeof CommandLine.begin>[0]): Promise<CommandLine> {
  const containers = [
    {
      ...{ name: 'main', image: sample.image, args: ['agent', '--lvm-clusters'] },
      env: [
        { name: 'USE_LEGACY', value: '' },
        { name: 'DATABASE', value: secret },
      ],
    },
  ];
  const annotations = {
    'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ spec: { secret } }),
    'capacity.topolvm.io/vg1': '1000',
    'capacity.topolvm.io/safe': '1000',
  };
  const spec = { template: { spec: { containers } } };
  const pods = sample.healthy.pods.map((pod) => ({
    ...pod,
    metadata: { ...pod.metadata, annotations: { 'vault.example/inject': secret } },
    spec: { nodeName: pod.spec?.nodeName ?? '', containers },
    status: {
      ...pod.status,
      containerStatuses: [{ name: 'main', ready: true, restartCount: 1 }],
    },
  }));
  const line = await CommandLine.begin(t, {
    deployments: [{ ...sample.operator, spec: { ...spec, replicas: 2 } }],
    daemonSets: [{ ...sample.agents, spec }],
    pods,
    nodes: ['n1', 'n2'].map((name) =>
      sample.node(name, { metadata: sample.meta(name, { annotations }) }),
    ),
    webhooks: [
      sample.registration('ValidatingWebhookConfiguration', Buffer.from(secret).toString('base64')),
    ],
  });
  const { api } = line.server;
  const data = { 'tls.key': Buffer.from(secret).toString('base64') };
  const name = 'quarry-webhook-certificate';
  api.put(collections.secrets, { metadata: { name, namespace: 'quarry-system' }, data });
  for (const pod of pods) {
    api.logs.set(`${pod.metadata.name}/main/current`, `started\nAuthorization: Bearer ${jwt}\n`);
    api.logs.set(`${pod.metadata.name}/main/previous`, `crashed: password=${secret}\n`);
  }
  return line;
}

test('a bundle has all that helps, and nothing that is secret', async (t) => {
  const line = await withSecrets(t);
  const directory = join(line.directory, 'bundle');
  const told = await line.run(`gather --output ${directory}`);
  assert.deepEqual([told.code, told.err], [0, '']);
  const files = await line.files(directory);
  assert.equal(told.out, `${directory}: ${files.size} files`);
  const plurals = [
    ...['lvmclusters', 'lvmvolumegroups', 'lvmvolumegroupnodestatuses', 'logicalvolumes'],
    ...['storageclasses', 'persistentvolumes', 'persistentvolumeclaims', 'csidrivers', 'csinodes'],
    ...['csistoragecapacities', 'nodes', 'deployments', 'daemonsets', 'pods', 'endpointslices'],
    ...['webhookconfigurations', 'leases'],
  ];
  for (const plural of plurals) assert.ok(files.has(`objects/${plural}.yaml`), plural);
  for (const name of ['about.txt', 'status.txt', 'status.json', 'doctor.txt', 'doctor.json']) {
    assert.ok(files.has(name), name);
  }
  assert.match(files.get('logs/vg-manager-1_main.log') ?? '', /^started\n/);
  assert.match(files.get('logs/vg-manager-1_main.previous.log') ?? '', /^crashed: /);
  assert.match(files.get('objects/nodes.yaml') ?? '', /capacity\.topolvm\.io\/vg1/);
  for (const plural of ['deployments', 'daemonsets']) {
    assert.match(files.get(`objects/${plural}.yaml`) ?? '', /DATABASE/);
  }
  assert.doesNotMatch(files.get('objects/persistentvolumeclaims.yaml') ?? '', /theirs/);
  assert.doesNotMatch(files.get('objects/storageclasses.yaml') ?? '', /other\.io/);
  const encoded = Buffer.from(secret).toString('base64');
  for (const [path, text] of files) {
    for (const word of [secret, encoded, jwt, 'good']) {
      assert.ok(!text.includes(word), `${path} has ${word}`);
    }
  }
  const asked = line.server.api.requests.map(({ url }) => url);
  assert.deepEqual(
    asked.filter((url) => /secrets|configmaps/.test(url)),
    [],
  );
  assert.equal((await stat(directory)).mode & 0o777, 0o700);
});

test('events of what is ours are in a bundle, and no others', async (t) => {
  const line = await CommandLine.begin(t);
  const { api } = line.server;
  const tell = (name: string, involvedObject: object, namespace: string) =>
    api.put(collections.events, {
      ...{ metadata: { name, namespace }, involvedObject, reason: name, message: 'm' },
    });
  const uid = api.one(collections.lvmClusters, 'mine', 'quarry-system')?.metadata.uid;
  tell('of-cluster', { kind: 'LVMCluster', uid }, 'quarry-system');
  tell('of-gone-pod', { kind: 'Pod', name: 'vg-manager-9', uid: 'gone' }, 'quarry-system');
  tell('of-other-pod', { kind: 'Pod', name: 'theirs', uid: 'x' }, 'quarry-system');
  tell('of-other-claim', { kind: 'PersistentVolumeClaim', uid: 'y' }, 'default');
  const directory = join(line.directory, 'bundle');
  await line.run(`gather --output ${directory}`);
  const text = (await line.files(directory)).get('objects/events.yaml') ?? '';
  const found = [...text.matchAll(/^reason: (.*)$/gm)].map(([, reason = '']) => reason);
  assert.deepEqual(found.toSorted(), ['of-cluster', 'of-gone-pod']);
});

test('what could not be read is noted in a bundle, and the rest is there', async (t) => {
  const line = await CommandLine.begin(t);
  line.server.forbidden.add('/api/v1/persistentvolumes');
  const directory = join(line.directory, 'bundle');
  const told = await line.run(`gather --output ${directory}`);
  assert.equal(told.code, 75);
  assert.match(told.err, /not read: volumes: Forbidden/);
  const files = await line.files(directory);
  assert.match(files.get('not-read.txt') ?? '', /^volumes: Forbidden/m);
  assert.ok(files.has('objects/lvmclusters.yaml'));
});

test('nothing is written into a directory that holds something', async (t) => {
  const line = await CommandLine.begin(t);
  const told = await line.run(`gather --output ${line.directory}`);
  assert.equal(told.code, 2);
  assert.match(told.err, /is not empty: name a directory that is not there yet/);
  assert.deepEqual([...(await line.files(line.directory)).keys()], ['kubeconfig']);
});
