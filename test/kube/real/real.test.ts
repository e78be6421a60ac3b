import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { realClock } from '../../../src/host/clock.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import type { Connection } from '../../../src/kube/credentials.ts';
import { Election } from '../../../src/kube/election.ts';
import { fromKubeconfig } from '../../../src/kube/from-kubeconfig.ts';
import { inCluster } from '../../../src/kube/in-cluster.ts';
import { type Kind, type KubeObject, metadataShape } from '../../../src/kube/kind.ts';
import { readKubeconfig } from '../../../src/kube/kubeconfig.ts';
import { leaseKind } from '../../../src/kube/lease.ts';
import { pointer } from '../../../src/kube/patch.ts';
import { Reflector } from '../../../src/kube/reflector.ts';
import type { Change } from '../../../src/kube/store.ts';
import { HttpTransport, type Transport } from '../../../src/kube/transport.ts';
import { type Sample, sample, sampleKind } from '../kinds.ts';
import { type Plane, startPlane } from './plane.ts';

/** The same door, at a real kube-apiserver. */
let plane: Plane;
let admin: KubeClient;
/** The administrator again, over connections that can be cut. */
let shaky: KubeClient;
const transports: HttpTransport[] = [];

type Crd = KubeObject & {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
};

const crdKind: Kind<Crd> = {
  ...{ group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' },
  ...{ plural: 'customresourcedefinitions', isNamespaced: false },
  shape: { metadata: metadataShape, status: { conditions: [{ type: true, status: true }] } },
};

const core = { group: '', version: 'v1', isNamespaced: true } as const;
const shape = { metadata: metadataShape } as const;
const namespaceKind: Kind<KubeObject> = {
  ...core,
  kind: 'Namespace',
  plural: 'namespaces',
  isNamespaced: false,
  shape,
};
const accountKind: Kind<KubeObject> = {
  ...core,
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  shape,
};
const configKind: Kind<KubeObject> = { ...core, kind: 'ConfigMap', plural: 'configmaps', shape };

before(async () => {
  plane = await startPlane();
  admin = clientFor(asAdmin(plane.ports.steady));
  shaky = clientFor(asAdmin(plane.ports.shaky));
  await admin.create(namespaceKind, { metadata: { name: 'ns' } });
  await makeSampleKind();
});

after(async () => {
  for (const transport of transports) transport.close();
  await plane?.stop();
});

function transportFor({ endpoint, credentials }: Connection): HttpTransport {
  const transport = new HttpTransport(endpoint, credentials);
  transports.push(transport);
  return transport;
}

function asAdmin(port: number): HttpTransport {
  const context = readKubeconfig([{ path: 'admin', text: plane.kubeconfig(port) }]);
  return transportFor(fromKubeconfig(context, { clock: realClock, wall: Date.now }));
}

function clientFor(transport: Transport): KubeClient {
  return new KubeClient({ transport, clock: realClock, chance: Math.random });
}

/** Until it is true; a server that starts anew takes a while. */
async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAtMs = performance.now() + 60_000;
  while (!(await isTrue())) {
    if (performance.now() > giveUpAtMs) throw new Error(`waited in vain: ${what}`);
    await sleep(50);
  }
}

async function makeSampleKind(): Promise<void> {
  const text = { type: 'string' };
  const spec = { type: 'object', properties: { nodeName: text, text }, required: ['nodeName'] };
  const status = { type: 'object', properties: { phase: text } };
  const version = {
    ...{ name: 'v1', served: true, storage: true, subresources: { status: {} } },
    selectableFields: [{ jsonPath: '.spec.nodeName' }],
    schema: { openAPIV3Schema: { type: 'object', properties: { spec, status } } },
  };
  const name = 'samples.quarry.test';
  await admin.create(crdKind, {
    metadata: { name },
    spec: {
      ...{ group: 'quarry.test', scope: 'Namespaced', versions: [version] },
      names: { kind: 'Sample', plural: 'samples', singular: 'sample', listKind: 'SampleList' },
    },
  });
  await until('the kind is served', async () => {
    const { status: now } = await admin.get(crdKind, { name });
    return (
      now?.conditions?.some((it) => it.type === 'Established' && it.status === 'True') ?? false
    );
  });
  await until('it can be listed', () =>
    admin.list(sampleKind).then(
      () => true,
      () => false,
    ),
  );
}

const nameOf = (name: string) => ({ namespace: 'ns', name });

test('objects are made, found, changed and deleted', async () => {
  const made = await admin.create(sampleKind, sample('crud', { text: 'one' }));
  assert.deepEqual(await admin.get(sampleKind, nameOf('crud')), made);
  assert.equal(await admin.find(sampleKind, nameOf('none')), undefined);
  await assert.rejects(admin.create(sampleKind, sample('crud')), { code: 'AlreadyExists' });
  const updated = await admin.update(sampleKind, { ...made, spec: { nodeName: 'n2' } });
  assert.equal(updated.spec.nodeName, 'n2');
  await assert.rejects(admin.update(sampleKind, { ...made }), { code: 'Conflict' });
  await assert.rejects(admin.update(sampleKind, { ...updated, spec: {} }), { code: 'Invalid' });
  const other = admin.delete(sampleKind, nameOf('crud'), { uid: 'another' });
  await assert.rejects(other, { code: 'Conflict' });
  const { uid, resourceVersion } = updated.metadata;
  assert.equal(await admin.delete(sampleKind, nameOf('crud'), { uid, resourceVersion }), true);
  assert.equal(await admin.delete(sampleKind, nameOf('crud')), false);
});

test('a kind that is not installed is told apart from an object that is not there', async () => {
  const unknown = { ...sampleKind, group: 'nobody.test' };
  await assert.rejects(admin.list(unknown), { code: 'KindMissing' });
  await assert.rejects(admin.find({ ...sampleKind, plural: 'simples' }, nameOf('x')), {
    code: 'KindMissing',
  });
  await assert.rejects(admin.watch(unknown, {}, '1').next(), { code: 'KindMissing' });
});

test('a merge patch, and a JSON patch whose test fails', async () => {
  await admin.create(sampleKind, sample('patched', { text: 'one' }));
  const body = { spec: { text: null }, metadata: { annotations: { 'a/b': 'x' } } };
  const merged = await admin.patch(sampleKind, nameOf('patched'), { type: 'merge', body });
  assert.equal(merged.spec.text, undefined);
  const path = pointer('metadata', 'annotations', 'a/b');
  const change = (was: string, value: unknown) =>
    admin.patch(sampleKind, nameOf('patched'), {
      type: 'json',
      operations: [
        { op: 'test', path, value: was },
        { op: 'replace', path: '/spec/nodeName', value },
      ],
    });
  assert.equal((await change('x', 'n7')).spec.nodeName, 'n7');
  await assert.rejects(change('y', 'n8'), { code: 'Conflict' });
  await assert.rejects(change('x', 5), { code: 'Invalid' });
  assert.equal((await admin.get(sampleKind, nameOf('patched'))).spec.nodeName, 'n7');
});

test('apply makes, changes and gives fields back; what others own is a conflict', async () => {
  const apply = (fieldManager: string, spec: object, force = false) =>
    admin.patch(sampleKind, nameOf('applied'), {
      type: 'apply',
      body: { spec },
      fieldManager,
      force,
    });
  assert.equal((await apply('one', { nodeName: 'n1', text: 'a' })).spec.text, 'a');
  assert.equal((await apply('one', { nodeName: 'n1' })).spec.text, undefined);
  await assert.rejects(apply('two', { nodeName: 'n2' }), { code: 'Conflict' });
  assert.equal((await apply('two', { nodeName: 'n2' }, true)).spec.nodeName, 'n2');
});

test('the status is its own', async () => {
  await admin.create(sampleKind, { ...sample('stated'), status: { phase: 'Early' } });
  const early = await admin.get(sampleKind, nameOf('stated'));
  assert.equal(early.status?.phase, undefined);
  const body = { spec: { nodeName: 'no' }, status: { phase: 'Ready' } };
  const options = { subresource: 'status' };
  const late = await admin.patch(sampleKind, nameOf('stated'), { type: 'merge', body }, options);
  assert.deepEqual([late.spec.nodeName, late.status?.phase], ['n1', 'Ready']);
});

test('a dry run changes nothing', async () => {
  await admin.create(sampleKind, sample('dry'), { isDryRun: true });
  assert.equal(await admin.find(sampleKind, nameOf('dry')), undefined);
  await admin.create(sampleKind, sample('dry'));
  await admin.delete(sampleKind, nameOf('dry'), { isDryRun: true });
  assert.ok((await admin.find(sampleKind, nameOf('dry'))) !== undefined);
});

/** Objects of a namespace of their own, so that tests do not see each other's. */
async function makeMany(namespace: string, count: number): Promise<void> {
  await admin.create(namespaceKind, { metadata: { name: namespace } });
  const names = Array.from({ length: count }, (_, index) => `m${index}`);
  const worker = async () => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) {
      await admin.create(configKind, { metadata: { name, namespace } });
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

test('a list of several pages, also when history goes between two of them', async () => {
  await makeMany('pages', 620);
  assert.equal((await admin.list(configKind, { namespace: 'pages' })).items.length, 620);
  const inner = transports[0];
  assert.ok(inner !== undefined);
  const pages: string[] = [];
  const forgetful: Transport = {
    send: async (call) => {
      const answer = await inner.send(call);
      pages.push(call.path);
      if (pages.length === 1) {
        await admin.create(configKind, { metadata: { name: 'late', namespace: 'pages' } });
        await plane.compact();
      }
      return answer;
    },
    open: (call, idleMs) => inner.open(call, idleMs),
    refuseCredentials: () => undefined,
    close: () => undefined,
  };
  const { items } = await clientFor(forgetful).list(configKind, { namespace: 'pages' });
  assert.ok(pages.length >= 2);
  // As of the first page, or of now: never a part of it.
  assert.ok(items.length === 620 || items.length === 621, String(items.length));
});

type Watching = {
  readonly reflector: Reflector<Sample>;
  readonly told: string[];
  readonly troubles: string[];
};

async function watching(
  scopes: ConstructorParameters<typeof Reflector<Sample>>[0]['scopes'],
  story: (scene: Watching) => Promise<void>,
  lists: 'newest' | 'cached' = 'newest',
): Promise<void> {
  const told: string[] = [];
  const troubles: string[] = [];
  const reflector = new Reflector<Sample>({
    ...{ client: shaky, kind: sampleKind, scopes, lists, clock: realClock, chance: Math.random },
    changed: ({ type, object }: Change<Sample>) => told.push(`${type} ${object.metadata.name}`),
    trouble: (error) => troubles.push((error as Error & { code: string }).code),
  });
  const stop = new AbortController();
  const running = reflector.run(stop.signal);
  try {
    await reflector.synced;
    await story({ reflector, told, troubles });
  } finally {
    stop.abort();
    await running;
  }
}

async function converges({ reflector }: Watching, namespace: string): Promise<void> {
  const versions = (objects: Iterable<Sample>) =>
    [...objects]
      .map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
      .toSorted()
      .join();
  await until('the store is like the server', async () => {
    const { items } = await admin.list(sampleKind, { namespace });
    return versions(items) === versions(reflector.values());
  });
}

const inNamespace = (namespace: string, name: string, spec: object = {}) => ({
  ...sample(name, spec),
  metadata: { name, namespace },
});

test('a watch tells every change, and outlives cut connections and a crash of the server', async () => {
  await admin.create(namespaceKind, { metadata: { name: 'watch' } });
  await admin.create(sampleKind, inNamespace('watch', 'a'));
  await watching([{ namespace: 'watch' }], async (scene) => {
    await admin.create(sampleKind, inNamespace('watch', 'b', { text: 'größe 🪨' }));
    await admin.delete(sampleKind, { namespace: 'watch', name: 'a' });
    await converges(scene, 'watch');
    assert.deepEqual(scene.told, ['added a', 'added b', 'deleted a']);
    assert.equal(scene.reflector.get({ namespace: 'watch', name: 'b' })?.spec.text, 'größe 🪨');
    plane.setCut(true);
    await until('the cut is noticed', () => scene.troubles.includes('Unreachable'));
    plane.setCut(false);
    await admin.create(sampleKind, inNamespace('watch', 'c'));
    await converges(scene, 'watch');
    await plane.restart();
    await admin.create(sampleKind, inNamespace('watch', 'd'));
    await converges(scene, 'watch');
    assert.deepEqual(scene.told.slice(3), ['added c', 'added d']);
  });
});

for (const lists of ['newest', 'cached'] as const) {
  test(`history that is gone, ${lists} lists: deletions of the time between are told`, async () => {
    const namespace = `gone-${lists}`;
    await admin.create(namespaceKind, { metadata: { name: namespace } });
    for (const name of ['a', 'b']) await admin.create(sampleKind, inNamespace(namespace, name));
    await watching(
      [{ namespace }],
      async (scene) => {
        plane.setCut(true);
        await until('the cut is noticed', () => scene.troubles.length > 0);
        await admin.delete(sampleKind, { namespace, name: 'a' });
        await admin.delete(sampleKind, { namespace, name: 'b' });
        await admin.create(sampleKind, inNamespace(namespace, 'b'));
        await plane.compact();
        await plane.restart();
        plane.setCut(false);
        await converges(scene, namespace);
        assert.ok(scene.troubles.includes('Gone'));
        const counted = scene.told.toSorted();
        assert.deepEqual(counted, ['added a', 'added b', 'added b', 'deleted a', 'deleted b']);
      },
      lists,
    );
  });
}

test('an agent sees its own objects only, by field or by label', async () => {
  await admin.create(namespaceKind, { metadata: { name: 'scoped' } });
  const mine = { namespace: 'scoped', labels: { 'quarry.test/node': 'n1' } };
  await admin.create(sampleKind, { ...sample('mine'), metadata: { ...mine, name: 'mine' } });
  await admin.create(sampleKind, inNamespace('scoped', 'theirs', { nodeName: 'n2' }));
  const byLabel = { namespace: 'scoped', labelSelector: 'quarry.test/node=n1' };
  const scopesOf = (field: string) =>
    [{ namespace: 'scoped', fieldSelector: `${field}=n1` }, byLabel] as const;
  for (const field of ['spec.nodeName', 'spec.unknown']) {
    const see = async ({ reflector, told, troubles }: Watching) => {
      const move = (nodeName: string) =>
        admin.patch(
          sampleKind,
          { namespace: 'scoped', name: 'theirs' },
          {
            type: 'merge',
            body: { spec: { nodeName }, metadata: { labels: { 'quarry.test/node': nodeName } } },
          },
        );
      assert.deepEqual(
        [...reflector.values()].map(({ metadata }) => metadata.name),
        ['mine'],
      );
      await move('n1');
      await until('it came', () => reflector.size === 2);
      await move('n2');
      await until('it went', () => reflector.size === 1);
      assert.deepEqual(told, ['added mine', 'added theirs', 'deleted theirs']);
      assert.deepEqual(troubles, []);
    };
    await watching(scopesOf(field), see, 'cached');
  }
});

test('two candidates at a real lease: one leads, then the other, and the lease says so', async () => {
  const times = { durationMs: 3_000, renewDeadlineMs: 2_000, retryMs: 400 };
  const acts: string[] = [];
  const candidate = (self: string) => {
    const stop = new AbortController();
    const election = new Election({
      ...{ client: shaky, names: [nameOf('quarry'), nameOf('topolvm')], self, times },
      ...{ clock: realClock, wall: Date.now, chance: Math.random },
    });
    const ended = election.run(async (leadership) => {
      while (!leadership.signal.aborted) {
        leadership.fence();
        acts.push(`${self} ${leadership.term}`);
        await realClock.sleep(50, leadership.signal);
      }
    }, stop.signal);
    return { stop: () => stop.abort(), ended };
  };
  const first = candidate('first');
  await until('the first leads', () => acts.length > 0);
  const second = candidate('second');
  await sleep(4_000);
  assert.deepEqual([...new Set(acts)], ['first 0']);
  first.stop();
  assert.equal(await first.ended, 'stopped');
  await until('the second leads', () => acts.includes('second 1'));
  const lease = await admin.get(leaseKind, nameOf('quarry'));
  assert.equal(lease.spec?.holderIdentity, 'second');
  plane.setCut(true);
  assert.equal(await second.ended, 'lost');
  plane.setCut(false);
  assert.deepEqual([...new Set(acts)], ['first 0', 'second 1']);
});

test('in a pod: tokens of a service account are rotated, and rights have an end', async () => {
  await admin.create(accountKind, { metadata: nameOf('agent') });
  const rbac = {
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    isNamespaced: true,
    shape,
  } as const;
  const roles: Kind<KubeObject> = { ...rbac, kind: 'Role', plural: 'roles' };
  const bindings: Kind<KubeObject> = { ...rbac, kind: 'RoleBinding', plural: 'rolebindings' };
  const rules = [{ apiGroups: ['quarry.test'], resources: ['samples'], verbs: ['get', 'list'] }];
  await admin.create(roles, { metadata: nameOf('agent'), rules });
  await admin.create(bindings, {
    metadata: nameOf('agent'),
    roleRef: { apiGroup: rbac.group, kind: 'Role', name: 'agent' },
    subjects: [{ kind: 'ServiceAccount', name: 'agent', namespace: 'ns' }],
  });
  const token = async () => {
    const asked = { spec: { expirationSeconds: 600 } };
    const name = { ...nameOf('agent'), subresource: 'token' };
    const answer = (await admin.post(accountKind, name, asked)) as { status: { token: string } };
    return answer.status.token;
  };
  const directory = join(plane.directory, 'pod');
  await mkdir(directory);
  await writeFile(join(directory, 'ca.crt'), plane.ca);
  await writeFile(join(directory, 'token'), await token());
  const pod = inCluster({
    host: '127.0.0.1',
    port: plane.ports.steady,
    directory,
    clock: realClock,
  });
  const agent = clientFor(transportFor(pod));
  await agent.list(sampleKind, { namespace: 'ns' });
  await assert.rejects(agent.list(sampleKind), { code: 'Forbidden' });
  await assert.rejects(agent.create(sampleKind, sample('not-allowed')), { code: 'Forbidden' });
  await writeFile(join(directory, 'token'), 'worn out');
  await sleep(10_100);
  await assert.rejects(agent.list(sampleKind, { namespace: 'ns' }), { code: 'Unauthorized' });
  await writeFile(join(directory, 'token'), await token());
  await agent.list(sampleKind, { namespace: 'ns' });
});
