import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { type ApiClient, type ApiRequest, apiOfAccount } from '../../lab/cluster/index.ts';
import { defaultValues, renderTemplate, type Values } from '../deploy/helm.ts';
import { auditedBy } from './audited.ts';
import { E2eStage } from './stage.ts';

const namespace = 'quarry-system';
const account = `system:serviceaccount:${namespace}:vg-manager`;
const nodes = '/api/v1/nodes';
const volumes = '/apis/topolvm.io/v1/logicalvolumes';
const capacities = `/apis/storage.k8s.io/v1/namespaces/${namespace}/csistoragecapacities`;
const topologyKey = 'topology.topolvm.io/node';

type Attempt = readonly [method: ApiRequest['method'], path: string, body?: object];

type Capacity = {
  readonly metadata: { readonly name: string };
  readonly nodeTopology?: { readonly matchLabels?: Readonly<Record<string, string>> };
};

describe('what an agent may do on a real cluster', { timeout: 1_500_000 }, () => {
  let stage: E2eStage;
  /** LogicalVolumes, one on each node. */
  let own: string;
  let foreign: string;
  /** With a token of the agent on n1. */
  let agent: ApiClient;
  const story = auditedBy(() => stage);

  before(async () => {
    stage = await E2eStage.open();
    for (const node of ['n1', 'n2']) {
      await stage.claim(node, { size: '32Mi' });
      await stage.pod(node, [node], node);
    }
    own = `${volumes}/${await volumeOf(stage, 'n1')}`;
    foreign = `${volumes}/${await volumeOf(stage, 'n2')}`;
    const pod = await agentOn(stage, 'n1');
    agent = await apiOfAccount(stage.cluster, { namespace, name: 'vg-manager', pod });
  });

  after(async () => {
    await stage?.close();
  });

  story('its token says on which node it is', async () => {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const { text } = await send(agent, ['POST', path, review]);
    const { userInfo } = (JSON.parse(text) as WhoAmI).status;
    assert.equal(userInfo.username, account);
    assert.deepEqual(userInfo.extra['authentication.kubernetes.io/node-name'], ['n1']);
  });

  story('it changes what is of its own node', async () => {
    const mine = `${capacities}/${await capacityOf(stage, 'n1')}`;
    const note = { metadata: { annotations: { story: 'own' } } };
    const attempts: readonly Attempt[] = [
      ['PATCH', own, note],
      ['PATCH', `${own}/status`, { status: { message: '' } }],
      ['PATCH', `${nodes}/n1`, { metadata: { annotations: { 'capacity.topolvm.io/x': '1' } } }],
      ['PATCH', mine, note],
      ['POST', capacities, capacityFor('n1', 'of-n1')],
      ['DELETE', `${capacities}/of-n1`],
    ];
    for (const attempt of attempts) {
      const { status, text } = await send(agent, attempt);
      assert([200, 201].includes(status), `${attempt[0]} ${attempt[1]}: ${text}`);
    }
    const seen = await stage.cluster.api.get<typeof note>(own);
    assert.equal(seen?.metadata.annotations.story, 'own');
    await stage.cluster.kubectl(['annotate', 'node', 'n1', 'capacity.topolvm.io/x-']);
  });

  story('it changes nothing of another node, and nothing becomes its own', async () => {
    const theirs = `${capacities}/${await capacityOf(stage, 'n2')}`;
    const note = { metadata: { annotations: { story: 'foreign' } } };
    const noVolumes = /the agent of n1 may not change LogicalVolumes of other nodes/;
    const noNodes = /the agent of n1 may not change other Nodes, nor the spec of its own/;
    const noCapacities = /the agent of n1 may not change capacities of other nodes/;
    const attempts: readonly (readonly [RegExp, ...Attempt])[] = [
      [noVolumes, 'PATCH', foreign, note],
      [noVolumes, 'PATCH', foreign, { metadata: { finalizers: null } }],
      [noVolumes, 'PATCH', `${foreign}/status`, { status: { message: 'x' } }],
      [noVolumes, 'PATCH', foreign, { spec: { nodeName: 'n1' } }],
      [noVolumes, 'PATCH', own, { spec: { nodeName: 'n2' } }],
      [noNodes, 'PATCH', `${nodes}/n2`, note],
      [noNodes, 'PATCH', `${nodes}/n1`, { spec: { unschedulable: true } }],
      [noCapacities, 'PATCH', theirs, { capacity: '1Ti' }],
      [noCapacities, 'DELETE', theirs],
      [noCapacities, 'POST', capacities, capacityFor('n2', 'of-n2')],
      [noCapacities, 'POST', capacities, capacityFor(undefined, 'of-all')],
    ];
    const before = await state(stage);
    for (const [refusal, ...attempt] of attempts) {
      const { status, text } = await send(agent, attempt);
      assert.match(text, refusal, `${attempt[0]} ${attempt[1]}: ${status} ${text}`);
      assert(status >= 400, text);
    }
    assert.deepEqual(await state(stage), before);
  });

  story('it has no right to what it does not need', async () => {
    const attempts: readonly Attempt[] = [
      ['DELETE', foreign],
      ['DELETE', own],
      ['POST', volumes, { apiVersion: 'topolvm.io/v1', kind: 'LogicalVolume' }],
      ['PATCH', `${nodes}/n1/status`, { status: {} }],
      ['DELETE', `${nodes}/n1`],
      ['GET', '/api/v1/secrets'],
      ['GET', '/api/v1/persistentvolumeclaims'],
      ['GET', `/api/v1/namespaces/${namespace}/pods`],
    ];
    for (const attempt of attempts) {
      const { status, text } = await send(agent, attempt);
      assert.equal(status, 403, `${attempt[0]} ${attempt[1]}: ${text}`);
      assert(text.includes(`User \\"${account}\\" cannot`), text);
    }
  });

  story('a token that names no node changes nothing, and says what is needed', async () => {
    const nobody = await apiOfAccount(stage.cluster, { namespace, name: 'vg-manager' });
    const { status, text } = await send(nobody, ['PATCH', `${nodes}/n1`, { metadata: {} }]);
    assert.match(text, /the token of this agent names no node: Kubernetes 1\.30/);
    assert(status >= 400, text);
  });

  story('the operator is not bound by it', async () => {
    const operator = await apiOfAccount(stage.cluster, { namespace, name: 'lvms-operator' });
    const note = { metadata: { annotations: { story: 'operator' } } };
    const { status, text } = await send(operator, ['PATCH', foreign, note]);
    assert.equal(status, 200, text);
  });

  story('the server takes every object of the chart, by the letter', async () => {
    const facts = { namespace, kubernetes: await kubernetesVersion(stage) };
    const values: Values = { ...defaultValues(), snapshotController: true };
    const templates = ['crds', 'driver', 'operator', 'agent', 'policy', 'network'];
    const items = [...templates, 'snapshot-controller'].flatMap((name) =>
      renderTemplate(`${name}.yaml`, values, facts),
    );
    assert(items.length > 20, `${items.length} objects`);
    await strictly(stage, items);
    const single = { ...values, singleNode: true };
    await strictly(stage, renderTemplate('all.yaml', single, facts));
  });

  story('kubectl explains what a LogicalVolume asks for', async () => {
    const said = await stage.cluster.kubectl(['explain', 'logicalvolumes.spec']);
    for (const field of ['nodeName', 'size', 'deviceClass', 'source', 'accessType']) {
      const [, text = ''] =
        new RegExp(`^ {2}${field}\\t<[^]*?\\n {4}(\\S.*)`, 'm').exec(said) ?? [];
      assert(text.length > 10, `${field} is not explained:\n${said}`);
    }
    assert.doesNotMatch(said, /<no description>/);
  });
});

type WhoAmI = {
  readonly status: {
    readonly userInfo: {
      readonly username: string;
      readonly extra: Readonly<Record<string, readonly string[]>>;
    };
  };
};

/** A patch is a merge patch. */
function send(api: ApiClient, [method = 'GET', path, body]: Attempt) {
  return api.request(path, {
    method,
    ...(body === undefined ? {} : { body }),
    ...(method === 'PATCH' ? { contentType: 'application/merge-patch+json' } : {}),
  });
}

function capacityFor(node: string | undefined, name: string): object {
  return {
    ...{ apiVersion: 'storage.k8s.io/v1', kind: 'CSIStorageCapacity' },
    ...{ metadata: { name, namespace }, storageClassName: 'nowhere', capacity: '1Gi' },
    nodeTopology: { matchLabels: node === undefined ? {} : { [topologyKey]: node } },
  };
}

/** The LogicalVolume of the claim that is named after a node. */
async function volumeOf(stage: E2eStage, node: string): Promise<string> {
  const { metadata } = await stage.boundClaim(node);
  const name = `pvc-${metadata.uid}`;
  const volume = await stage.cluster.api.get<{ readonly spec: { readonly nodeName: string } }>(
    `${volumes}/${name}`,
  );
  assert.equal(volume?.spec.nodeName, node);
  return name;
}

async function agentOn(stage: E2eStage, node: string): Promise<string> {
  return stage.cluster.kubectl([
    ...['get', 'pods', `--namespace=${namespace}`, `--field-selector=spec.nodeName=${node}`],
    ...[
      '--selector=app.kubernetes.io/component=node',
      '--output=jsonpath={.items[0].metadata.name}',
    ],
  ]);
}

async function capacityOf(stage: E2eStage, node: string): Promise<string> {
  const list = await stage.cluster.api.get<{ readonly items: readonly Capacity[] }>(capacities);
  const found = list?.items.find(
    ({ nodeTopology }) => nodeTopology?.matchLabels?.[topologyKey] === node,
  );
  assert(found !== undefined, `no capacity of ${node} is told`);
  return found.metadata.name;
}

/** What an agent could have changed, without what others write all the time. */
async function state(stage: E2eStage): Promise<unknown> {
  const list = async (path: string): Promise<readonly Found[]> =>
    (await stage.cluster.api.get<{ readonly items: readonly Found[] }>(path))?.items ?? [];
  return [
    ...(await list(volumes)),
    ...(await list(capacities)),
    ...(await list(nodes)).map(({ metadata, spec }) => ({ name: metadata.name, spec })),
  ];
}

type Found = { readonly metadata: { readonly name: string }; readonly spec: unknown };

async function kubernetesVersion(stage: E2eStage): Promise<string> {
  const version = await stage.cluster.api.get<{ readonly gitVersion: string }>('/version');
  return (version?.gitVersion ?? '').replace(/^v/, '');
}

/** Nothing is kept: the server says whether it would take them, and knows every field. */
async function strictly(stage: E2eStage, items: readonly unknown[]): Promise<void> {
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  const words = ['apply', '--server-side', '--force-conflicts', '--dry-run=server'];
  const flags = ['--validate=strict', '--field-manager=chart', '--filename=-'];
  const said = await stage.cluster.kubectl([...words, ...flags], { stdin });
  assert.equal(said.trim().split('\n').length, items.length, said);
}
