import assert from 'node:assert/strict';
import test from 'node:test';
import { KubeClient } from '../../src/kube/client.ts';
import { Chance } from '../world/chance.ts';
import { FakeClock } from '../world/clock.ts';
import { FakeApi, type Stored } from './fake-api.ts';
import { collections } from './fake-api-rules.ts';
import { sample, sampleKind } from './kinds.ts';
import { MemoryTransport } from './memory-transport.ts';

/** The fake does what servers do wherever our code can tell. */
type Answer = { readonly status: number; readonly body: Stored & Record<string, never> };

function ask(api: FakeApi, method: string, url: string, body?: object, type = 'merge'): Answer {
  let status = 0;
  let text = '';
  const contentType = `application/${type}-patch+json`;
  api.handle(
    { method, url, contentType, body: JSON.stringify(body ?? {}), who: 'test' },
    {
      head: (code) => {
        status = code;
      },
      write: (piece) => {
        text += piece;
      },
      end: () => undefined,
    },
  );
  return { status, body: JSON.parse(text) as Answer['body'] };
}

const claims = '/api/v1/namespaces/ns/persistentvolumeclaims';
const volumes = collections.volumes;
const logical = collections.logicalVolumes;

function claim(storage = '1Gi') {
  const spec = { storageClassName: 'c', resources: { requests: { storage } } };
  return { metadata: { name: 'a' }, spec };
}

test('what has finalizers is marked, and goes with the last of them', () => {
  const api = new FakeApi();
  const made = ask(api, 'POST', logical, { metadata: { name: 'v', finalizers: ['x', 'y'] } });
  const marked = ask(api, 'DELETE', `${logical}/v`).body;
  assert.equal(typeof marked.metadata.deletionTimestamp, 'string');
  assert.equal(ask(api, 'DELETE', `${logical}/v`).body.metadata.resourceVersion, String(1002));
  const more = { metadata: { finalizers: ['x', 'z'] } };
  assert.equal(ask(api, 'PATCH', `${logical}/v`, more).status, 422);
  ask(api, 'PATCH', `${logical}/v`, { metadata: { finalizers: ['x'] } });
  assert.equal(api.all(logical).length, 1);
  ask(api, 'PATCH', `${logical}/v`, { metadata: { finalizers: null } });
  assert.equal(api.all(logical).length, 0);
  assert.equal(made.body.metadata.uid, marked.metadata.uid);
});

test('status is written by itself, and a custom resource takes nothing else there', () => {
  const api = new FakeApi();
  const made = ask(api, 'POST', logical, {
    metadata: { name: 'v' },
    spec: {},
    status: { code: 1 },
  });
  assert.equal(made.body['status'], undefined);
  const both = { metadata: { labels: { a: 'b' } }, spec: { size: '1' }, status: { code: 2 } };
  const told = ask(api, 'PATCH', `${logical}/v/status`, both).body;
  assert.deepEqual(
    [told.metadata.labels, told['spec'], told['status']],
    [undefined, {}, { code: 2 }],
  );
  const wanted = ask(api, 'PATCH', `${logical}/v`, { ...both, status: { code: 3 } }).body;
  assert.deepEqual([wanted['spec'], wanted['status']], [{ size: '1' }, { code: 2 }]);
  assert.deepEqual([told.metadata.generation, wanted.metadata.generation], [1, 2]);
});

test('annotations of a claim travel with its status', () => {
  const api = new FakeApi();
  ask(api, 'POST', claims, claim());
  const patch = { metadata: { annotations: { a: 'b' } }, status: { phase: 'Bound' } };
  const told = ask(api, 'PATCH', `${claims}/a/status`, patch).body;
  assert.deepEqual(told.metadata.annotations, { a: 'b' });
  assert.deepEqual(told.metadata.finalizers, ['kubernetes.io/pvc-protection']);
});

test('a write that changes nothing makes no version and tells nobody', () => {
  const api = new FakeApi();
  const made = ask(api, 'POST', logical, { metadata: { name: 'v', labels: { a: 'b' } } });
  const same = ask(api, 'PATCH', `${logical}/v`, { metadata: { labels: { a: 'b' } } });
  assert.equal(same.body.metadata.resourceVersion, made.body.metadata.resourceVersion);
  assert.equal(api.writesTo(logical), 1);
  assert.equal(api.writesTo(logical, 'somebody'), 0);
});

test('where a volume lies never changes, nor whom a capacity is about', () => {
  const api = new FakeApi();
  const csi = { driver: 'd', volumeHandle: 'h' };
  ask(api, 'POST', volumes, { metadata: { name: 'v' }, spec: { csi, capacity: { storage: '1' } } });
  const elsewhere = { spec: { csi: { volumeHandle: 'other' } } };
  assert.equal(ask(api, 'PATCH', `${volumes}/v`, elsewhere).status, 422);
  assert.equal(
    ask(api, 'PATCH', `${volumes}/v`, { spec: { capacity: { storage: '2' } } }).status,
    200,
  );
  const capacities = '/apis/storage.k8s.io/v1/namespaces/ns/csistoragecapacities';
  const made = ask(api, 'POST', capacities, {
    metadata: { generateName: 'csisc-' },
    ...{ storageClassName: 'c', nodeTopology: { matchLabels: { a: 'b' } }, capacity: '1' },
  }).body;
  assert.match(made.metadata.name, /^csisc-./);
  const one = `${capacities}/${made.metadata.name}`;
  assert.equal(ask(api, 'PATCH', one, { storageClassName: 'other' }).status, 422);
  assert.equal(ask(api, 'PATCH', one, { capacity: '2' }).status, 200);
});

test('a claim grows when it is bound and its class allows it', () => {
  const api = new FakeApi();
  ask(api, 'POST', claims, claim());
  const more = { spec: { resources: { requests: { storage: '2Gi' } } } };
  const less = { spec: { resources: { requests: { storage: '1Gi' } } } };
  assert.equal(ask(api, 'PATCH', `${claims}/a`, more).status, 403);
  const bound = { status: { phase: 'Bound', capacity: { storage: '1Gi' } } };
  ask(api, 'PATCH', `${claims}/a/status`, bound);
  assert.equal(ask(api, 'PATCH', `${claims}/a`, more).status, 403);
  const storageClass = { metadata: { name: 'c' }, provisioner: 'p', allowVolumeExpansion: true };
  ask(api, 'POST', collections.classes, storageClass);
  assert.equal(ask(api, 'PATCH', `${claims}/a`, more).status, 200);
  assert.equal(ask(api, 'PATCH', `${claims}/a`, less).status, 422);
  assert.equal(ask(api, 'PATCH', `${claims}/a`, { spec: { storageClassName: 'd' } }).status, 422);
});

test('only the object that is meant is deleted', () => {
  const api = new FakeApi();
  ask(api, 'POST', logical, { metadata: { name: 'v' } });
  assert.equal(ask(api, 'DELETE', `${logical}/v`, { preconditions: { uid: 'other' } }).status, 409);
  const older = { preconditions: { resourceVersion: '1' } };
  assert.equal(ask(api, 'DELETE', `${logical}/v`, older).status, 409);
  const test = [{ op: 'test', path: '/metadata/uid', value: 'other' }];
  assert.equal(ask(api, 'PATCH', `${logical}/v`, test, 'json').status, 422);
  assert.equal(ask(api, 'DELETE', `${logical}/v`).status, 200);
  assert.equal(ask(api, 'DELETE', `${logical}/v`).status, 404);
});

test('selectors say what they say', () => {
  const api = new FakeApi();
  ask(api, 'POST', logical, { metadata: { name: 'a', labels: { n: '1', m: 'x' } } });
  ask(api, 'POST', logical, { metadata: { name: 'b', labels: { n: '2' } } });
  const names = (selector: string) => {
    const query = new URLSearchParams({ labelSelector: selector });
    const list = ask(api, 'GET', `${logical}?${query.toString()}`).body as unknown as {
      items: Stored[];
    };
    return list.items.map(({ metadata }) => metadata.name).join('');
  };
  const asked = ['n=1', 'n==2', 'n!=1', 'm', '!m', 'n in (1,2)', 'n notin (1),!m', 'n in (2),m'];
  assert.deepEqual(asked.map(names), ['a', 'b', 'b', 'a', 'b', 'ab', 'b', '']);
});

test('a fake clock drives requests, without a turn of real time', async () => {
  const api = new FakeApi();
  const clock = new FakeClock(new Chance(1));
  const transport = new MemoryTransport(api, clock);
  const client = new KubeClient({ transport, clock, chance: () => 0.5 });
  transport.faults.push(429);
  const made = await clock.run(client.create(sampleKind, sample('a')));
  assert.equal(made.metadata.name, 'a');
  assert.ok(clock.nowMs() > 1_700_000_000_000 + 100, 'it waited before it asked again');
});
