import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { Extender } from './extender.ts';
import { readOptions, runExtender } from './extender-command.ts';

const names = { domain: 'topolvm.io', driver: 'topolvm.io' };
const node = (name: string, free?: string) => ({
  metadata: {
    name,
    annotations: free === undefined ? {} : { 'capacity.topolvm.io/thick': free },
  },
  status: { phase: 'kept as it was' },
});
const pod = (wanted: string) => ({
  metadata: { name: 'p', annotations: { 'capacity.topolvm.io/thick': wanted } },
});

async function started(t: TestContext): Promise<number> {
  const extender = new Extender({ names, divisors: { default: 1, classes: new Map() } });
  const port = await extender.start({ host: '127.0.0.1', port: 0 });
  t.after(() => extender.stop());
  return port;
}

type Told = { readonly status: number; readonly body: unknown };

function ask(port: number, path: string, body?: string, method = 'POST'): Promise<Told> {
  return new Promise((resolve, reject) => {
    const asked = request({ port, path, method, host: '127.0.0.1' }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) });
      });
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

test('nodes with room come back as they were sent, the others with a reason', async (t) => {
  const port = await started(t);
  const items = [node('full', '10'), node('roomy', '100'), node('strange')];
  const question = JSON.stringify({ Pod: pod('100'), Nodes: { items }, NodeNames: null });
  const { status, body } = await ask(port, '/predicate', question);
  assert.equal(status, 200);
  assert.deepEqual(body, {
    Nodes: { items: [node('roomy', '100')] },
    FailedNodes: {
      full: 'out of VG free space: thick has 10 B free, 100 B wanted',
      strange: 'no capacity annotation capacity.topolvm.io/thick',
    },
  });
});

test('a pod that wants nothing of us passes everywhere', async (t) => {
  const port = await started(t);
  const items = [node('a'), node('b', 'x')];
  const question = JSON.stringify({ Pod: { metadata: { name: 'p' } }, Nodes: { items } });
  const { body } = await ask(port, '/predicate', question);
  assert.deepEqual(body, { Nodes: { items }, FailedNodes: {} });
});

test('where only names are sent nobody is refused', async (t) => {
  const port = await started(t);
  const question = JSON.stringify({ Pod: pod('100'), Nodes: null, NodeNames: ['a', 'b'] });
  assert.deepEqual((await ask(port, '/predicate', question)).body, { NodeNames: ['a', 'b'] });
  const liked = [
    { Host: 'a', Score: 0 },
    { Host: 'b', Score: 0 },
  ];
  assert.deepEqual((await ask(port, '/prioritize', question)).body, liked);
});

test('a size that is none is told as an error of the pod', async (t) => {
  const port = await started(t);
  const question = JSON.stringify({ Pod: pod('much'), Nodes: { items: [node('a', '1')] } });
  const { status, body } = await ask(port, '/predicate', question);
  assert.equal(status, 200);
  assert.match((body as { readonly Error: string }).Error, /"much"; write a number of bytes/);
});

test('nodes are liked by what they have', async (t) => {
  const port = await started(t);
  const items = [node('a', String(2n ** 34n)), node('b', '0')];
  const { body } = await ask(
    port,
    '/prioritize',
    JSON.stringify({ Pod: pod('1'), Nodes: { items } }),
  );
  const liked = [
    { Host: 'a', Score: 4 },
    { Host: 'b', Score: 0 },
  ];
  assert.deepEqual(body, liked);
});

test('its health is told, and nothing else is understood', async (t) => {
  const port = await started(t);
  assert.equal((await ask(port, '/status', undefined, 'GET')).status, 200);
  assert.equal((await ask(port, '/bind', '{}')).status, 404);
  assert.equal((await ask(port, '/predicate', undefined, 'GET')).status, 405);
  assert.equal((await ask(port, '/predicate', 'no JSON')).status, 400);
  assert.equal((await ask(port, '/predicate', '{}')).status, 400);
  for (const items of ['5', '{}', '[null]', '[{"metadata":5},null]']) {
    const question = `{"Pod":{},"Nodes":{"items":${items}}}`;
    assert.equal((await ask(port, '/predicate', question)).status, 400, question);
    assert.equal((await ask(port, '/prioritize', question)).status, 400, question);
  }
  assert.equal((await ask(port, '/predicate', '{"Pod":{},"NodeNames":5}')).status, 400);
});

async function file(t: TestContext, text: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'quarry-extender-'));
  t.after(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, 'options.yaml'), text);
  return join(directory, 'options.yaml');
}

test('the file of TopoLVM is read as it is', async (t) => {
  const text = 'listen: "localhost:9251"\ndefault-divisor: 10\ndivisors:\n  ssd: 5\nother: 1\n';
  const classes = new Map([['ssd', 5]]);
  assert.deepEqual(await readOptions(await file(t, text)), {
    ...{ listen: 'localhost:9251', default: 10, classes },
  });
  assert.deepEqual(await readOptions(''), { listen: '', default: 1, classes: new Map() });
});

test('a divisor that is none, and an address that is none, end it with 2', async (t) => {
  const warned: string[] = [];
  const run = (...argv: readonly string[]) =>
    runExtender(argv, {
      ...{ path: '', version: '1', variables: { useLegacy: '' }, print: () => undefined },
      warn: (text) => warned.push(text),
    });
  assert.equal(await run('--config', await file(t, 'divisors: {ssd: 0}\n')), 2);
  assert.equal(await run('--config', '/no/such/file'), 2);
  assert.equal(await run('--listen', '9251'), 2);
  assert.match(warned.join('\n'), /divisors.ssd is 0: write a number above 0/);
  assert.match(warned.join('\n'), /--listen is "9251": write an address and a port/);
});
