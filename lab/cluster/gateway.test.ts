import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { createScratchDirectory } from '../host/owned.ts';
import { startGateway } from './gateway.ts';

test('a gateway does not keep the connections that were refused', async (t) => {
  const scratch = await createScratchDirectory('quarry-gateway-');
  t.after(() => scratch.remove());
  const server = createServer((socket) => socket.end('here'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  // Few open files, so that what is kept is felt soon.
  const namespace = { enter: (argv: readonly string[]) => ['prlimit', '--nofile=64', ...argv] };
  const gateway = await startGateway(namespace, join(scratch.path, 'socket'));
  t.after(() => gateway.stop());

  const nobody = 1;
  for (let count = 0; count < 100; count += 1) {
    await assert.rejects(gateway.connect('127.0.0.1', nobody), /ECONNREFUSED/);
  }
  const stream = await gateway.connect('127.0.0.1', (server.address() as AddressInfo).port);
  assert.equal(String((await once(stream, 'data'))[0]), 'here');
  stream.destroy();
});
