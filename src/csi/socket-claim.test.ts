import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstat, mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { nodeService, serve, socketPath } from '../../test/world/sockets.ts';
import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { SocketClient } from './client.ts';
import { NodeDefinition } from './generated/csi.ts';
import { startServer } from './server.ts';
import { claimSocket } from './socket-claim.ts';

const quiet = { services: [], log: () => undefined };

test('only the owner may use the socket, and never anybody else', async (t) => {
  const path = await socketPath(t);
  const modes: number[] = [];
  const watcher = setInterval(() => {
    lstat(path).then(
      ({ mode }) => modes.push(mode & 0o777),
      () => undefined,
    );
  }, 1);
  const server = await startServer({ ...quiet, path });
  modes.push((await lstat(path)).mode & 0o777);
  clearInterval(watcher);
  await server.stop();
  assert.deepEqual([...new Set(modes)], [0o600]);
});

test('a missing directory is made', async (t) => {
  const path = join(dirname(await socketPath(t)), 'plugins/topolvm.io/node/csi.sock');
  const server = await startServer({ ...quiet, path });
  assert.ok((await lstat(path)).isSocket());
  await server.stop();
});

test('nothing is left after a stop, and stopping twice is no harm', async (t) => {
  const path = await socketPath(t);
  const server = await startServer({ ...quiet, path });
  await Promise.all([server.stop(), server.stop()]);
  await server.stop();
  assert.deepEqual(await readdir(dirname(path)), []);
});

test('while it serves, every other name beside the socket is hidden from kubelet', async (t) => {
  const { path } = await serve(t, []);
  const names = await readdir(dirname(path), { recursive: true });
  assert.ok(names.length > 1);
  const visible = names.filter((name) => !basename(name).startsWith('.'));
  assert.deepEqual(visible, [basename(path)]);
});

test('a second instance is refused, and the first one still serves', async (t) => {
  const { path, client } = await serve(t, [nodeService({})]);
  await assert.rejects(startServer({ ...quiet, path }), {
    code: 'SocketInUse',
    message: `another instance serves ${path}, or starts to`,
  });
  const patience = { timeoutMs: 1_000 };
  const result = await client.call(NodeDefinition, 'nodeGetInfo', {}, patience);
  assert.equal(result.kind === 'failed' && result.code, 'UNIMPLEMENTED');
});

test('a program that knows nothing of claims is respected as well', async (t) => {
  const path = await socketPath(t);
  const other = createServer().listen(path);
  t.after(() => other.close());
  await once(other, 'listening');
  await assert.rejects(startServer({ ...quiet, path }), {
    code: 'SocketInUse',
    message: `another program listens on ${path}`,
  });
  assert.deepEqual(await readdir(dirname(path)), [basename(path)]);
});

test('a file in the way is left alone', async (t) => {
  const path = await socketPath(t);
  await writeFile(path, 'precious');
  await assert.rejects(startServer({ ...quiet, path }), { code: 'SocketUnusable' });
  assert.equal((await lstat(path)).size, 8);
});

test('a path that is too long is refused with its length; the longest one works', async (t) => {
  const directory = dirname(await socketPath(t));
  const longest = join(directory, 'x'.repeat(limits.socketPathBytesMax - directory.length - 1));
  const server = await startServer({ ...quiet, services: [nodeService({})], path: longest });
  const client = new SocketClient(longest);
  const result = await client.call(NodeDefinition, 'nodeGetInfo', {}, { timeoutMs: 1_000 });
  assert.equal(result.kind === 'failed' && result.code, 'UNIMPLEMENTED');
  client.close();
  await server.stop();
  await assert.rejects(startServer({ ...quiet, path: `${longest}x` }), {
    code: 'SocketUnusable',
    message: `the path of a socket has at most 107 bytes, and ${longest}x has 108`,
  });
});

test('a socket that somebody else put there meanwhile is not removed', async (t) => {
  const path = await socketPath(t);
  const server = await startServer({ ...quiet, path });
  await rm(path);
  const other = createServer().listen(path);
  t.after(() => other.close());
  await once(other, 'listening');
  await server.stop();
  assert.ok((await lstat(path)).isSocket());
});

test('what an instance left that was killed is cleared away', async (t) => {
  const path = await socketPath(t);
  const child = instance(t, path);
  await told(child, 'serves');
  child.kill('SIGKILL');
  await once(child, 'exit');
  const left = await readdir(dirname(path));
  assert.equal(left.length, 2, `a socket and a claim: ${left.join(' ')}`);
  const server = await startServer({ ...quiet, path });
  assert.equal((await readdir(dirname(path))).length, 2);
  await server.stop();
  assert.deepEqual(await readdir(dirname(path)), []);
});

test('what died before it showed its claim is cleared away after a while', async (t) => {
  const path = await socketPath(t);
  const litter = join(dirname(path), `.${basename(path)}.new-abcdef`);
  await mkdir(litter);
  await (await claimSocket(path)).release();
  assert.deepEqual(await readdir(dirname(path)), [basename(litter)]);
  const longAgo = (Date.now() - limits.socketLitterAgeMs) / 1_000 - 1;
  await utimes(litter, longAgo, longAgo);
  await (await claimSocket(path)).release();
  assert.deepEqual(await readdir(dirname(path)), []);
});

test('of many that start at the same moment exactly one serves', async (t) => {
  const path = await socketPath(t);
  for (let round = 0; round < 5; round += 1) {
    const starts = Array.from({ length: 8 }, () => startServer({ ...quiet, path }));
    const results = await Promise.allSettled(starts);
    const errors = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    );
    for (const error of errors) assert.ok(error instanceof OperationError, String(error));
    assert.equal(errors.length, 7);
    for (const result of results) if (result.status === 'fulfilled') await result.value.stop();
    assert.deepEqual(await readdir(dirname(path)), []);
  }
});

test('of several processes over a dead socket exactly one serves', async (t) => {
  const path = await socketPath(t);
  const dead = instance(t, path);
  await told(dead, 'serves');
  dead.kill('SIGKILL');
  await once(dead, 'exit');
  const children = Array.from({ length: 4 }, () => instance(t, path));
  const words = await Promise.all(children.map((child) => told(child, /serves|SocketInUse/)));
  assert.deepEqual(words.toSorted(), ['SocketInUse', 'SocketInUse', 'SocketInUse', 'serves']);
});

/** Another process that serves the path until it is killed. */
function instance(t: TestContext, path: string): ChildProcess {
  const module = join(import.meta.dirname, 'server.ts');
  const script = `
    const { startServer } = await import(${JSON.stringify(module)});
    const path = ${JSON.stringify(path)};
    await startServer({ path, services: [], log: () => {} }).then(
      () => console.log('serves'),
      (error) => console.log(error.code ?? error),
    );`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

async function told(child: ChildProcess, what: string | RegExp): Promise<string> {
  for await (const chunk of child.stdout ?? []) {
    const found = String(chunk).match(what)?.[0];
    if (found !== undefined) return found;
  }
  assert.fail(`the process ended without saying ${what}`);
}
