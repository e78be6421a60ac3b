import assert from 'node:assert/strict';
import { get, request } from 'node:http';
import test, { type TestContext } from 'node:test';
import { Diagnostics, type DiagnosticsParts, parseAddress } from './diagnostics.ts';

const addresses: readonly (readonly [string, ReturnType<typeof parseAddress>])[] = [
  [':8080', { host: undefined, port: 8080 }],
  ['0.0.0.0:8080', { host: '0.0.0.0', port: 8080 }],
  ['localhost:0', { host: 'localhost', port: 0 }],
  ['[::1]:9', { host: '::1', port: 9 }],
  ['0', 'off'],
  ['', 'off'],
  ['8080', undefined],
  [':', undefined],
  [':65536', undefined],
  ['a:b', undefined],
  ['::1:9', undefined],
];

for (const [text, expected] of addresses) {
  test(`the address "${text}" is ${expected === undefined ? 'refused' : 'understood'}`, () =>
    assert.deepEqual(parseAddress(text), expected));
}

async function started(t: TestContext, given: Partial<DiagnosticsParts> = {}): Promise<number> {
  const diagnostics = new Diagnostics({
    ...{ metrics: () => 'm 1\n', readiness: () => Promise.resolve([]), status: () => ({ a: 1 }) },
    ...given,
  });
  const port = await diagnostics.start({ host: '127.0.0.1', port: 0 });
  t.after(() => diagnostics.stop());
  return port;
}

function ask(port: number, path: string, method = 'GET'): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ port, path, method, host: '127.0.0.1' }, (response) => {
      let text = `${response.statusCode} `;
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(text));
    });
    asked.on('error', reject);
    asked.end();
  });
}

test('each page is answered, and nothing else', async (t) => {
  const port = await started(t);
  assert.equal(await ask(port, '/metrics?x=1'), '200 m 1\n');
  assert.equal(await ask(port, '/healthz'), '200 ok\n');
  assert.equal(await ask(port, '/readyz'), '200 ok\n');
  assert.equal(await ask(port, '/status'), '200 {\n  "a": 1\n}\n');
  assert.match(await ask(port, '/'), /^404 Ask for \/metrics/);
  assert.match(await ask(port, '/metrics', 'POST'), /^405/);
});

test('who is not ready says why, and a page that fails is a failure', async (t) => {
  const port = await started(t, {
    readiness: () => Promise.resolve(['one', 'two']),
    metrics: () => {
      throw new Error('no figures');
    },
  });
  assert.equal(await ask(port, '/readyz'), '503 one\ntwo\n');
  assert.equal(await ask(port, '/metrics'), '500 no figures\n');
});

test('a connection that stays open does not keep us from stopping', async (t) => {
  const diagnostics = new Diagnostics({
    ...{ metrics: () => '', readiness: () => new Promise(() => undefined), status: () => ({}) },
  });
  const port = await diagnostics.start({ host: '127.0.0.1', port: 0 });
  const hanging = get({ port, path: '/readyz', host: '127.0.0.1' });
  const broken = new Promise((resolve) => hanging.once('error', resolve));
  t.after(() => hanging.destroy());
  await new Promise((resolve) => setTimeout(resolve, 50));
  await diagnostics.stop();
  await broken;
});
