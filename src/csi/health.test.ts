import assert from 'node:assert/strict';
import test from 'node:test';
import { serve } from '../../test/world/sockets.ts';
import { HealthDefinition } from './generated/health.ts';
import { Health, healthService } from './health.ts';

const patience = { timeoutMs: 5_000 };

test('a check tells the status of a service, and knows when there is none', async (t) => {
  const health = new Health();
  health.set('', 'SERVING');
  const { client } = await serve(t, [healthService(health)]);
  const check = (name: string) =>
    client.call(HealthDefinition, 'check', { service: name }, patience);
  assert.deepEqual(await check(''), { kind: 'response', response: { status: 'SERVING' } });
  health.set('', 'NOT_SERVING');
  assert.deepEqual(await check(''), { kind: 'response', response: { status: 'NOT_SERVING' } });
  assert.deepEqual(await check('csi.v1.Node'), {
    kind: 'failed',
    code: 'NOT_FOUND',
    message: 'There is no service csi.v1.Node.',
  });
});

test('a watch tells the status now and each change, also of a service to come', async (t) => {
  const health = new Health();
  const { client } = await serve(t, [healthService(health)]);
  const seen: string[] = [];
  const stream = client.stream(HealthDefinition, 'watch', { service: 'x' }, patience);
  for await (const result of stream) {
    if (result.kind === 'failed') assert.fail(result.message);
    seen.push(result.response.status);
    if (seen.length === 1) health.set('x', 'SERVING');
    if (seen.length === 2) {
      health.set('x', 'SERVING');
      health.set('y', 'SERVING');
      health.set('x', 'NOT_SERVING');
    }
    if (seen.length === 3) break;
  }
  assert.deepEqual(seen, ['SERVICE_UNKNOWN', 'SERVING', 'NOT_SERVING']);
});

test('two watchers of one service both see it change', async (t) => {
  const health = new Health();
  health.set('', 'SERVING');
  const { client } = await serve(t, [healthService(health)]);
  const streams = [0, 1].map(() =>
    client.stream(HealthDefinition, 'watch', { service: '' }, patience),
  );
  await Promise.all(streams.map((stream) => stream.next()));
  health.set('', 'NOT_SERVING');
  for (const stream of streams) {
    const { value } = await stream.next();
    assert.deepEqual(value, { kind: 'response', response: { status: 'NOT_SERVING' } });
    await stream.return(undefined);
  }
});
