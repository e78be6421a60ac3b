import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { echoStats, nodeService, serve } from '../../test/world/sockets.ts';
import { failures, OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import type { Call } from './call.ts';
import { type Result, SocketClient } from './client.ts';
import { ControllerDefinition, IdentityDefinition, NodeDefinition } from './generated/csi.ts';
import { VGServiceDefinition, type WatchResponse } from './generated/lvmd.ts';
import { service, unimplemented } from './service.ts';

const patience = { timeoutMs: 5_000 };

test('a call is answered, and told in one event', async (t) => {
  const { client, events } = await serve(t, [
    nodeService({
      nodeGetVolumeStats: (request, call) => {
        call.nameVolume(`volume-${request.volumeId}`);
        return echoStats(request);
      },
    }),
  ]);
  const result = await stats(client, '7');
  assert.equal(total(result), 7n);
  assert.equal(events.length, 1);
  const [{ durationMs, peer, ...event } = assert.fail()] = events;
  assert.deepEqual(event, {
    method: '/csi.v1.Node/NodeGetVolumeStats',
    code: 'OK',
    volume: 'volume-7',
  });
  assert.ok(durationMs >= 0 && durationMs < 5_000);
  assert.match(peer, /^grpc-node-js\//);
});

test('sizes above 2^53 come through exactly, both ways', async (t) => {
  const { client } = await serve(t, [nodeService({ nodeGetVolumeStats: echoStats })]);
  for (const size of ['9007199254740993', '9223372036854775807', '-1']) {
    assert.equal(total(await stats(client, size)), BigInt(size));
  }
});

test('two hundred calls at once get their own answers', async (t) => {
  const { client, events } = await serve(t, [
    nodeService({
      nodeGetVolumeStats: async (request) => {
        await sleep(Number(request.volumeId) % 7);
        return echoStats(request);
      },
    }),
  ]);
  const ids = Array.from({ length: 200 }, (_, id) => String(id));
  const results = await Promise.all(ids.map((id) => stats(client, id)));
  assert.deepEqual(results.map(total), ids.map(BigInt));
  assert.equal(events.length, 200);
});

test('a failure has the status of its row, and says what to do', async (t) => {
  const message = 'data has 1.0 GiB free, 2.0 GiB are wanted';
  const { client, events } = await serve(t, [
    failing(() => new OperationError('InsufficientCapacity', message)),
  ]);
  assert.deepEqual(await stats(client, '1'), {
    kind: 'failed',
    code: failures.InsufficientCapacity.grpc,
    message:
      'InsufficientCapacity: data has 1.0 GiB free, 2.0 GiB are wanted. ' +
      `Remedy: ${failures.InsufficientCapacity.hint}`,
  });
  assert.equal(events[0]?.code, 'RESOURCE_EXHAUSTED');
  assert.match(events[0]?.message ?? '', /^InsufficientCapacity: /);
});

test('a message may hold anything: lines, percent signs, other scripts, half characters', async (t) => {
  const { client } = await serve(t, [
    failing(() => new OperationError('CommandFailed', 'lvm said:\n  "100% voll" ü \ud800 日本.')),
  ]);
  const result = await stats(client, '1');
  const remedy = `Remedy: ${failures.CommandFailed.hint}`;
  assert.equal(messageOf(result), `CommandFailed: lvm said: "100% voll" ü \uFFFD 日本. ${remedy}`);
});

test('a message that is too long is cut, its remedy is not', async (t) => {
  const { client } = await serve(t, [
    failing(() => new OperationError('CommandFailed', 'ü'.repeat(100_000))),
  ]);
  const message = messageOf(await stats(client, '1'));
  assert.ok(Buffer.byteLength(message) < limits.messageBytesMax + 200);
  assert.ok(message.endsWith(`ü... Remedy: ${failures.CommandFailed.hint}`), message.slice(-80));
});

test('a bug is an id for the caller and a stack for the log', async (t) => {
  const { client, events } = await serve(t, [failing(() => new TypeError('x is not a function'))]);
  const result = await stats(client, '1');
  const id = events[0]?.errorId ?? '';
  assert.match(id, /^[0-9a-f]{8}$/);
  assert.deepEqual(result, {
    kind: 'failed',
    code: 'INTERNAL',
    message: `Unexpected: look for ${id} in the log of this node.`,
  });
  assert.match(events[0]?.detail ?? '', /x is not a function\n\s+at /);
});

test('what came as a secret is neither answered nor logged', async (t) => {
  const fail = (error: Error) => async () => {
    throw error;
  };
  const { client, events } = await serve(t, [
    nodeService({
      nodeStageVolume: fail(new OperationError('CommandFailed', 'bad key hunter2 of hunter2')),
      nodePublishVolume: fail(new Error('cannot use hunter2')),
    }),
  ]);
  const request = { volumeId: 'v', secrets: new Map([['key', 'hunter2']]) };
  const results = [
    await client.call(NodeDefinition, 'nodeStageVolume', request, patience),
    await client.call(NodeDefinition, 'nodePublishVolume', request, patience),
  ];
  assert.match(messageOf(results[0] ?? assert.fail()), /bad key \[secret\] of \[secret\]/);
  assert.equal(events.length, 2);
  assert.doesNotMatch(JSON.stringify([results, events]), /hunter2/);
});

test('an answer that cannot be written is a bug like others', async (t) => {
  const { client, events } = await serve(t, [
    nodeService({ nodeGetVolumeStats: () => Promise.resolve({} as never) }),
  ]);
  assert.equal(codeOf(await stats(client, '1')), 'INTERNAL');
  assert.ok(events[0]?.errorId !== undefined);
});

test('methods and services that nobody offers are unimplemented', async (t) => {
  const { client } = await serve(t, [nodeService({})]);
  assert.equal(codeOf(await stats(client, '1')), 'UNIMPLEMENTED');
  const probe = await client.call(IdentityDefinition, 'probe', {}, patience);
  assert.equal(codeOf(probe), 'UNIMPLEMENTED');
  const create = await client.call(ControllerDefinition, 'createVolume', {}, patience);
  assert.equal(codeOf(create), 'UNIMPLEMENTED');
});

test('messages above the limit are refused in both directions', async (t) => {
  const { client, events } = await serve(t, [
    nodeService({
      nodeGetVolumeStats: async ({ volumeId }) => ({
        usage: [],
        volumeCondition: { abnormal: false, message: volumeId + volumeId },
      }),
    }),
  ]);
  const fits = await stats(client, 'x'.repeat(limits.grpcMessageBytesMax / 2 - 64));
  assert.equal(fits.kind, 'response');
  const answer = await stats(client, 'x'.repeat(limits.grpcMessageBytesMax / 2));
  assert.equal(codeOf(answer), 'RESOURCE_EXHAUSTED');
  assert.equal(events[1]?.code, 'RESOURCE_EXHAUSTED');
  const request = await stats(client, 'x'.repeat(limits.grpcMessageBytesMax));
  assert.equal(codeOf(request), 'RESOURCE_EXHAUSTED');
});

test('a deadline ends the wait and tells the handler; its late answer is dropped', async (t) => {
  const seen = pending();
  const { client, events } = await serve(t, [nodeService({ nodeGetVolumeStats: seen.handler })]);
  const result = await stats(client, '1', { timeoutMs: 100 });
  assert.equal(codeOf(result), 'DEADLINE_EXCEEDED');
  const call = await seen.aborted;
  assert.ok(call.deadlineMs !== undefined && call.deadlineMs > 50 && call.deadlineMs <= 100);
  seen.answer();
  assert.equal(total(await stats(client, '0')), 1n);
  assert.deepEqual(
    events.map(({ code }) => code),
    ['DEADLINE_EXCEEDED', 'OK'],
  );
});

test('a caller that goes away tells the handler; its late failure is dropped', async (t) => {
  const seen = pending();
  const { client, events } = await serve(t, [nodeService({ nodeGetVolumeStats: seen.handler })]);
  const leave = new AbortController();
  const result = stats(client, '1', { timeoutMs: 5_000, signal: leave.signal });
  await seen.started;
  leave.abort();
  assert.equal(codeOf(await result), 'CANCELLED');
  await seen.aborted;
  seen.fail(new Error('too late'));
  await sleep(10);
  assert.deepEqual(
    events.map(({ code }) => code),
    ['CANCELLED'],
  );
});

test('a handler without a deadline is told so', async (t) => {
  let deadlineMs: number | undefined = 1;
  const { client } = await serve(t, [
    nodeService({
      nodeGetVolumeStats: (request, call) => {
        deadlineMs = call.deadlineMs;
        return echoStats(request);
      },
    }),
  ]);
  await stats(client, '1', { timeoutMs: Number.POSITIVE_INFINITY });
  assert.equal(deadlineMs, undefined);
});

test('a stream gives what its handler yields, and ends with it', async (t) => {
  const { client, events } = await serve(t, [watching(3)]);
  const results = await collect(client.stream(VGServiceDefinition, 'watch', {}, patience));
  assert.deepEqual(results.map(freeBytes), [0n, 1n, 2n]);
  assert.deepEqual([events.length, events[0]?.code], [1, 'OK']);
});

test('a stream that fails says why after what it gave', async (t) => {
  const { client, events } = await serve(t, [
    watching(2, new OperationError('VolumeGroupMissing', 'there is no data')),
  ]);
  const results = await collect(client.stream(VGServiceDefinition, 'watch', {}, patience));
  assert.deepEqual(results.slice(0, 2).map(freeBytes), [0n, 1n]);
  assert.equal(codeOf(results[2] ?? assert.fail()), 'UNAVAILABLE');
  assert.equal(events[0]?.code, 'UNAVAILABLE');
});

test('a slow reader holds a stream up, and leaving ends it', { timeout: 20_000 }, async (t) => {
  let produced = 0;
  const seen = pending();
  const { client } = await serve(t, [
    service(VGServiceDefinition, {
      getLVList: unimplemented,
      getFreeBytes: unimplemented,
      watch: async function* (_, call): AsyncGenerator<WatchResponse> {
        seen.note(call);
        const items = Array.from({ length: 100 }, () => big);
        for (; produced < 10_000; produced += 1) yield { freeBytes: BigInt(produced), items };
      },
    }),
  ]);
  for await (const result of client.stream(VGServiceDefinition, 'watch', {}, patience)) {
    assert.equal(freeBytes(result), 0n);
    await sleep(100);
    break;
  }
  assert.ok(produced < 1_000, `${produced} were made for a reader that took one`);
  await seen.aborted;
});

test('a stopping server lets running calls end, and takes no new ones', async (t) => {
  const seen = pending();
  const served = await serve(t, [nodeService({ nodeGetVolumeStats: seen.handler })]);
  const running = stats(served.client, '1');
  await seen.started;
  const stopped = served.server.stop(60_000);
  await sleep(50);
  assert.equal(codeOf(await stats(served.client, '2', { timeoutMs: 500 })), 'UNAVAILABLE');
  const late = new SocketClient(served.path);
  assert.equal(codeOf(await stats(late, '3', { timeoutMs: 500 })), 'UNAVAILABLE');
  late.close();
  seen.answer();
  assert.equal(total(await running), 1n);
  await stopped;
});

test('a call that takes too long for a stopping server is told so', async (t) => {
  const seen = pending();
  const served = await serve(t, [nodeService({ nodeGetVolumeStats: seen.handler })]);
  const running = stats(served.client, '1');
  await seen.started;
  await served.server.stop(50);
  assert.equal(codeOf(await running), 'UNAVAILABLE');
  assert.ok((await seen.aborted).signal.aborted);
  assert.equal(served.events[0]?.code, 'UNAVAILABLE');
});

test('a stopping server does not wait for streams', async (t) => {
  const served = await serve(t, [watching(Number.POSITIVE_INFINITY)]);
  const stream = served.client.stream(VGServiceDefinition, 'watch', {}, patience);
  await stream.next();
  const startedAtMs = performance.now();
  await served.server.stop(60_000);
  assert.ok(performance.now() - startedAtMs < 20_000);
  const rest = await collect(stream);
  assert.equal(codeOf(rest.at(-1) ?? assert.fail()), 'UNAVAILABLE');
});

const big = { freeBytes: 1n, deviceClass: 'x'.repeat(1_000), sizeBytes: 1n };

function stats(
  client: SocketClient,
  volumeId: string,
  how: Parameters<typeof client.call>[3] = patience,
) {
  return client.call(NodeDefinition, 'nodeGetVolumeStats', { volumeId }, how);
}

function total(result: Awaited<ReturnType<typeof stats>>): bigint | undefined {
  assert.equal(result.kind, 'response', messageOf(result));
  return result.kind === 'response' ? result.response.usage[0]?.total : undefined;
}

function freeBytes(result: Result<WatchResponse>): bigint {
  if (result.kind === 'failed') assert.fail(result.message);
  return result.response.freeBytes;
}

function codeOf(result: Result<unknown>): string {
  return result.kind === 'failed' ? result.code : 'OK';
}

function messageOf(result: Result<unknown>): string {
  return result.kind === 'failed' ? result.message : '';
}

function failing(error: () => Error) {
  return nodeService({
    nodeGetVolumeStats: async () => {
      throw error();
    },
  });
}

/** As many answers as wished, then a failure if there is one. Endless ones wait for the signal. */
function watching(count: number, error?: Error) {
  return service(VGServiceDefinition, {
    getLVList: unimplemented,
    getFreeBytes: unimplemented,
    watch: async function* (_, { signal }): AsyncGenerator<WatchResponse> {
      for (let given = 0; given < Math.min(count, 3); given += 1) {
        yield { freeBytes: BigInt(given), items: [] };
      }
      if (error !== undefined) throw error;
      if (count > 3) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  });
}

async function collect<T>(stream: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const one of stream) all.push(one);
  return all;
}

function deferred<T>() {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}

/** A handler for volume 1 that waits to be told; other volumes are answered at once. */
function pending() {
  const started = deferred<Call>();
  const aborted = deferred<Call>();
  const end = deferred<void>();
  const note = (call: Call) => {
    call.signal.addEventListener('abort', () => aborted.resolve(call));
    started.resolve(call);
  };
  return {
    started: started.promise,
    aborted: aborted.promise,
    note,
    answer: () => end.resolve(),
    fail: (error: Error) => end.reject(error),
    handler: async (request: { readonly volumeId: string }, call: Call) => {
      if (request.volumeId === '1') {
        note(call);
        await end.promise;
      }
      return { usage: [{ available: 0n, total: 1n, used: 0n, unit: 'BYTES' as const }] };
    },
  };
}
