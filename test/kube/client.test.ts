import assert from 'node:assert/strict';
import test from 'node:test';
import { KubeClient } from '../../src/kube/client.ts';
import { isKubeError, KubeError } from '../../src/kube/errors.ts';
import { Limiter } from '../../src/kube/limiter.ts';
import { pointer } from '../../src/kube/patch.ts';
import { HttpTransport } from '../../src/kube/transport.ts';
import { podKind } from '../../src/kube/workload-kinds.ts';
import { makePair } from './certificates.ts';
import { type Sample, sample, sampleKind, samples } from './kinds.ts';
import { fixed, onStage, until } from './scene.ts';

const name = { namespace: 'ns', name: 'a' };

test('what is created can be got, and fields that nobody reads are dropped', async () => {
  await onStage(async ({ client, server }) => {
    const made = await client.create(sampleKind, sample('a', { text: 'grüße', unread: 'x' }));
    assert.deepEqual(made.spec, { nodeName: 'n1', text: 'grüße' });
    assert.deepEqual(await client.get(sampleKind, name), made);
    assert.deepEqual(Object.keys(made.metadata).toSorted(), [
      ...['creationTimestamp', 'generation', 'name', 'namespace', 'resourceVersion', 'uid'],
    ]);
    const stored = server.api.all(samples)[0] as unknown as { spec: { unread: string } };
    assert.equal(stored.spec.unread, 'x');
  });
});

test('what is not there is told apart from a kind that is not served', async () => {
  await onStage(async ({ client, server }) => {
    assert.equal(await client.find(sampleKind, name), undefined);
    server.api.missing.add(samples);
    await assert.rejects(client.find(sampleKind, name), { code: 'KindMissing' });
  });
});

test('what is text is given as it is, and a refusal of it as any other', async () => {
  await onStage(async ({ client, server }) => {
    server.api.logs.set('a/main/current', 'no {json}\n');
    const log = { ...name, subresource: 'log' };
    assert.equal(await client.text(podKind, log, { container: 'main' }), 'no {json}\n');
    const before = client.text(podKind, log, { container: 'main', previous: 'true' });
    await assert.rejects(before, { code: 'Invalid', httpStatus: 400 });
  });
});

test('a list of many pages is one list', async () => {
  await onStage(async ({ client, server }) => {
    for (let index = 0; index < 1203; index += 1) server.api.put(samples, sample(`s${index}`));
    const { items, resourceVersion } = await client.list(sampleKind);
    assert.equal(new Set(items.map(({ metadata }) => metadata.name)).size, 1203);
    assert.equal(resourceVersion, server.api.version);
    assert.equal(server.api.requests.length, 3);
  });
});

test('pages that expire half-way are fetched again in one piece', async () => {
  await onStage(async ({ client, server }) => {
    for (let index = 0; index < 700; index += 1) server.api.put(samples, sample(`s${index}`));
    const list = client.list(sampleKind);
    while (server.api.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    server.api.put(samples, sample('new'));
    server.api.compact();
    assert.equal((await list).items.length, 701);
    assert.doesNotMatch(server.api.requests.at(-1)?.url ?? '', /limit/);
  });
});

test('a namespace and selectors narrow a list', async () => {
  await onStage(async ({ client, server }) => {
    server.api.selectable.add('spec.nodeName');
    server.api.put(samples, sample('a'));
    server.api.put(samples, sample('b', { nodeName: 'n2' }));
    server.api.put(samples, { ...sample('c'), metadata: { name: 'c', namespace: 'other' } });
    const names = async (scope: object) =>
      (await client.list(sampleKind, scope)).items.map(({ metadata }) => metadata.name);
    assert.deepEqual(await names({ namespace: 'ns' }), ['a', 'b']);
    assert.deepEqual(await names({ fieldSelector: 'spec.nodeName=n1' }), ['a', 'c']);
    assert.deepEqual(await names({ fieldSelector: 'metadata.name=b' }), ['b']);
  });
});

test('an update of something that changed meanwhile is refused', async () => {
  await onStage(async ({ client, server }) => {
    const made = await client.create(sampleKind, sample('a'));
    server.api.put(samples, sample('a', { text: 'theirs' }));
    const stale = { ...made, spec: { nodeName: 'n1', text: 'ours' } };
    await assert.rejects(client.update(sampleKind, stale), { code: 'Conflict' });
    const fresh = await client.get(sampleKind, name);
    const written = await client.update(sampleKind, { ...fresh, spec: stale.spec });
    assert.equal(written.spec.text, 'ours');
  });
});

test('patches: merge, JSON with tests, apply', async () => {
  await onStage(async ({ client, server }) => {
    await client.create(sampleKind, sample('a', { text: 'one' }));
    const merged = await client.patch(sampleKind, name, {
      type: 'merge',
      body: { spec: { text: null }, metadata: { annotations: { 'a/b': 'x' } } },
    });
    assert.equal(merged.spec.text, undefined);
    const path = pointer('metadata', 'annotations', 'a/b');
    const change = (was: string) =>
      client.patch(sampleKind, name, {
        type: 'json',
        operations: [
          { op: 'test', path, value: was },
          { op: 'replace', path, value: 'y' },
        ],
      });
    assert.equal((await change('x')).metadata.annotations?.['a/b'], 'y');
    await assert.rejects(change('x'), { code: 'Conflict' });
    assert.equal((await client.get(sampleKind, name)).metadata.annotations?.['a/b'], 'y');
    const body = { spec: { nodeName: 'n2' } };
    const apply = { type: 'apply', body, fieldManager: 'quarry', force: true } as const;
    assert.equal((await client.patch(sampleKind, name, apply)).spec.nodeName, 'n2');
    const last = server.api.requests.at(-1);
    assert.equal(last?.contentType, 'application/apply-patch+yaml');
    assert.match(last?.url ?? '', /fieldManager=quarry&force=true/);
    assert.deepEqual(JSON.parse(last?.body ?? ''), {
      ...{ apiVersion: 'quarry.test/v1', kind: 'Sample', metadata: name, spec: body.spec },
    });
  });
});

test('the status is written beside the object, not with it', async () => {
  await onStage(async ({ client }) => {
    const made = await client.create(sampleKind, sample('a'));
    const draft = { ...made, spec: { nodeName: 'no' }, status: { phase: 'Ready' } };
    const written = await client.update(sampleKind, draft, { subresource: 'status' });
    assert.deepEqual([written.spec.nodeName, written.status?.phase], ['n1', 'Ready']);
    const body = { spec: { nodeName: 'no' }, status: { phase: 'Lost' } };
    const patch = { type: 'merge', body } as const;
    const patched = await client.patch(sampleKind, name, patch, { subresource: 'status' });
    assert.deepEqual([patched.spec.nodeName, patched.status?.phase], ['n1', 'Lost']);
  });
});

test('a dry run makes nothing', async () => {
  await onStage(async ({ client, server }) => {
    const made = await client.create(sampleKind, sample('a'), { isDryRun: true });
    assert.deepEqual([made.spec.nodeName, made.metadata.resourceVersion], ['n1', '']);
    assert.deepEqual(server.api.all(samples), []);
  });
});

test('requests keep to the rate: reads, writes and watches', async () => {
  await onStage(async ({ transport, server }) => {
    const waits: number[] = [];
    const clock = { nowMs: () => 0, sleep: async (ms: number) => void waits.push(Math.round(ms)) };
    const limiter = new Limiter({ perSecond: 10, atOnce: 2 }, clock);
    const client = new KubeClient({ transport, clock, chance: () => 0, limiter });
    await client.create(sampleKind, sample('a'));
    for (let index = 0; index < 3; index += 1) await client.get(sampleKind, name);
    const stream = client.watch(sampleKind, {}, server.api.version);
    const next = stream.next();
    await until('a watch', () => server.api.watching > 0);
    server.api.put(samples, sample('b'));
    assert.equal((await next).value?.type, 'added');
    await stream.return(undefined);
    assert.deepEqual(waits, [100, 200, 300]);
    assert.equal(server.api.requests.length, 5);
  });
});

test('a subresource that is no object answers as it is', async () => {
  await onStage(async ({ client, server }) => {
    server.mishaps.push({ kind: 'text', status: 201, text: '{"status":{"token":"t"}}' });
    const body = { spec: { expirationSeconds: 600 } };
    const answer = await client.post(sampleKind, { ...name, subresource: 'token' }, body);
    assert.deepEqual(answer, { status: { token: 't' } });
  });
});

test('only the object that is meant is deleted', async () => {
  await onStage(async ({ client, server }) => {
    const made = await client.create(sampleKind, sample('a'));
    await assert.rejects(client.delete(sampleKind, name, { uid: 'other' }), { code: 'Conflict' });
    assert.equal(await client.delete(sampleKind, name, { uid: made.metadata.uid }), true);
    assert.equal(await client.delete(sampleKind, name), false);
    assert.deepEqual(server.api.all(samples), []);
  });
});

test('a server that is too busy is asked again after the time it named', async () => {
  await onStage(async ({ client, server }) => {
    server.mishaps.push({ kind: 'status', status: 429, retryAfter: '3' });
    server.mishaps.push({ kind: 'status', status: 429, retryAfter: '3' });
    const startedAtMs = performance.now();
    await client.create(sampleKind, sample('a'));
    // The clock of the scene makes a second ten milliseconds long.
    assert.ok(performance.now() - startedAtMs >= 59);
    assert.equal(server.api.all(samples).length, 1);
  });
});

test('a busy server is not asked for ever', async () => {
  await onStage(async ({ client, server }) => {
    for (let index = 0; index < 9; index += 1) server.mishaps.push({ kind: 'status', status: 429 });
    await assert.rejects(client.get(sampleKind, name), { code: 'TooManyRequests' });
    assert.equal(server.mishaps.length, 4);
  });
});

test('a write whose answer was lost is not sent again, and says so', async () => {
  await onStage(async ({ client, server }) => {
    server.mishaps.push({ kind: 'reset', isCarriedOut: true });
    const error = await client.create(sampleKind, sample('a')).catch((thrown: unknown) => thrown);
    assert.ok(isKubeError(error, 'Unreachable') && (error as KubeError).isUncertain);
    assert.equal(server.api.all(samples).length, 1);
    server.mishaps.push({ kind: 'reset', isCarriedOut: true });
    assert.equal((await client.get(sampleKind, name)).metadata.name, 'a');
  });
});

test('silence ends with the patience of who asked, or when he leaves', async () => {
  await onStage(async ({ client, server }) => {
    server.mishaps.push({ kind: 'silence' }, { kind: 'silence' });
    await assert.rejects(client.get(sampleKind, name, { timeoutMs: 50 }), { code: 'Timeout' });
    const left = new AbortController();
    const asked = client.get(sampleKind, name, { signal: left.signal });
    setTimeout(() => left.abort(), 30);
    await assert.rejects(asked, { code: 'Cancelled' });
  });
});

test('what a proxy says in plain words is an error of the server', async () => {
  await onStage(async ({ client, server }) => {
    server.mishaps.push({ kind: 'text', status: 502, text: '<html>bad gateway' });
    await assert.rejects(client.get(sampleKind, name), { code: 'ServerFailed', httpStatus: 502 });
    server.mishaps.push({ kind: 'text', status: 200, text: '<html>log in' });
    await assert.rejects(client.get(sampleKind, name), { code: 'Unreadable' });
  });
});

test('a server that nobody vouches for gets neither token nor request', async () => {
  await onStage(async ({ server, endpoint }) => {
    const transport = new HttpTransport(endpoint, fixed({ token: 'good' }));
    const client = new KubeClient({
      transport,
      clock: { nowMs: () => 0, sleep: async () => {} },
      chance: () => 0,
    });
    await assert.rejects(client.get(sampleKind, name), { code: 'Untrusted', isUncertain: false });
    transport.close();
    assert.deepEqual(server.authorizations, []);
  });
});

test('a certificate of the cluster opens it without a token', async () => {
  await onStage(async ({ server, endpoint }) => {
    const pair = makePair(server.authority, 'somebody', []);
    const access = {
      ca: server.authority.certificate,
      certificate: pair.certificate,
      key: pair.key,
    };
    const transport = new HttpTransport(endpoint, fixed(access));
    server.api.put(samples, sample('a'));
    const client = new KubeClient({
      transport,
      clock: { nowMs: () => 0, sleep: async () => {} },
      chance: () => 0,
    });
    assert.equal((await client.get(sampleKind, name)).metadata.name, 'a');
    transport.close();
    assert.deepEqual(server.authorizations, [undefined]);
  });
});

test('connections are kept', async () => {
  await onStage(async ({ client, server }) => {
    for (let index = 0; index < 10; index += 1) await client.list(sampleKind);
    assert.equal(server.connections, 1);
  });
});

test('who lost a lease while it connected sends nothing', async () => {
  await onStage(async ({ client, server }) => {
    let asked = 0;
    const lost = client.fenced(() => {
      asked += 1;
      // Held when the request is made, lost when the connection stands.
      if (asked > 1) throw new KubeError('Fenced', 'lost');
    });
    await assert.rejects(lost.create(sampleKind, sample('a')), { code: 'Fenced' });
    assert.equal(asked, 2);
    assert.deepEqual([server.authorizations, server.api.all(samples)], [[], []]);
    const reads: readonly Sample[] = (await lost.list(sampleKind)).items;
    assert.deepEqual(reads, []);
  });
});
