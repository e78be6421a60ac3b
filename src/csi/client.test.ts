import assert from 'node:assert/strict';
import test from 'node:test';
import { echoStats, nodeService, serve, socketPath } from '../../test/world/sockets.ts';
import { SocketClient } from './client.ts';
import { NodeDefinition } from './generated/csi.ts';
import { startServer } from './server.ts';

const services = [nodeService({ nodeGetVolumeStats: echoStats })];

test('a socket that is not there is unavailable, at once', async (t) => {
  const client = new SocketClient(await socketPath(t));
  t.after(() => client.close());
  const startedAtMs = performance.now();
  const result = await stats(client);
  assert.equal(result.kind === 'failed' && result.code, 'UNAVAILABLE');
  assert.ok(performance.now() - startedAtMs < 2_000);
});

test('a client finds a server again that was started anew', async (t) => {
  const first = await serve(t, services);
  assert.equal((await stats(first.client)).kind, 'response');
  await first.server.stop();
  const again = await startServer({ path: first.path, services, log: () => undefined });
  t.after(() => again.stop(0));
  const client = new SocketClient(first.path);
  t.after(() => client.close());
  assert.equal((await stats(client)).kind, 'response');
  assert.equal((await stats(first.client)).kind, 'response');
});

test('a caller that has left already does not call', async (t) => {
  const { client, events } = await serve(t, services);
  const result = await client.call(
    NodeDefinition,
    'nodeGetVolumeStats',
    { volumeId: '1' },
    { timeoutMs: 1_000, signal: AbortSignal.abort() },
  );
  assert.equal(result.kind === 'failed' && result.code, 'CANCELLED');
  assert.deepEqual(events, []);
});

function stats(client: SocketClient) {
  const request = { volumeId: '1' };
  return client.call(NodeDefinition, 'nodeGetVolumeStats', request, { timeoutMs: 5_000 });
}
