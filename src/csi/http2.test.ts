import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { connect as connectSocket } from 'node:net';
import test, { type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { echoStats, nodeService, serve } from '../../test/world/sockets.ts';
import { limits } from '../base/limits.ts';
import type { Call } from './call.ts';
import { NodeGetVolumeStatsRequest, NodeGetVolumeStatsResponse } from './generated/csi.ts';

/** Frames as other clients send them, where grpc-js' own client would never do so. */

const statsPath = '/csi.v1.Node/NodeGetVolumeStats';

/**
 * kubelet's registration names the socket here, raw up to 1.28 and percent-encoded since 1.29.
 * nghttp2, below Node's HTTP/2, takes a slash in it for a broken request and resets the stream
 * before any code of ours or of grpc-js sees it. Should the last row fail one day, Node has become
 * more lenient and kubelet 1.28 can be served.
 */
const authorities = [
  ['localhost', 'localhost', '0'],
  ['a percent-encoded path', '%2Fvar%2Flib%2Fkubelet%2Fplugins_registry%2Fx-reg.sock', '0'],
  ['a raw path', '/var/lib/kubelet/plugins_registry/x-reg.sock', 'reset with code 1'],
] as const;

for (const [what, authority, outcome] of authorities) {
  test(`${what} as :authority ends with ${outcome}`, async (t) => {
    const { path } = await serve(t, [nodeService({ nodeGetVolumeStats: echoStats })]);
    const answer = await send(open(t, path), frame('7'), { ':authority': authority });
    assert.equal(answer.outcome, outcome);
    if (outcome === '0') assert.equal(answer.total, 7n);
  });
}

const timeouts = [
  ['1H', 3_600_000],
  ['2M', 120_000],
  ['90S', 90_000],
  ['5000m', 5_000],
  ['7000000u', 7_000],
  ['99999999n', 99],
] as const;

for (const [header, deadlineMs] of timeouts) {
  test(`grpc-timeout ${header} is ${deadlineMs} ms`, async (t) => {
    const calls: Call[] = [];
    const { path } = await serve(t, [
      nodeService({
        nodeGetVolumeStats: (request, call) => {
          calls.push(call);
          return echoStats(request);
        },
      }),
    ]);
    const answer = await send(open(t, path), frame('1'), { 'grpc-timeout': header });
    assert.equal(answer.outcome, '0');
    const told = calls[0]?.deadlineMs ?? Number.NaN;
    assert.ok(told <= deadlineMs && told > deadlineMs - 90, `${told} ms`);
  });
}

for (const header of ['60m', '60000u', '60000000n']) {
  test(`a deadline of ${header} passes for a caller that just waits`, async (t) => {
    const { path, events } = await serve(t, [hanging([])]);
    const answer = await send(open(t, path), frame('1'), { 'grpc-timeout': header });
    assert.equal(answer.outcome, '4');
    assert.equal(events[0]?.code, 'DEADLINE_EXCEEDED');
  });
}

test('a call that comes too late is not begun', async (t) => {
  const seen: Call[] = [];
  const { path } = await serve(t, [hanging(seen)]);
  const answer = await send(open(t, path), frame('1'), { 'grpc-timeout': '1n' });
  assert.equal(answer.outcome, '4');
  assert.deepEqual(seen, []);
});

test('a deadline that cannot be read is an error', async (t) => {
  const { path } = await serve(t, [nodeService({ nodeGetVolumeStats: echoStats })]);
  const answer = await send(open(t, path), frame('1'), { 'grpc-timeout': '5 weeks' });
  assert.equal(answer.outcome, '13');
});

test('a compressed request is read', async (t) => {
  const { path } = await serve(t, [nodeService({ nodeGetVolumeStats: echoStats })]);
  const body = frame('7', gzipSync);
  const answer = await send(open(t, path), body, { 'grpc-encoding': 'gzip' });
  assert.deepEqual([answer.outcome, answer.total], ['0', 7n]);
});

test('a compressed request that grows beyond the limit is refused', async (t) => {
  const { path } = await serve(t, [nodeService({ nodeGetVolumeStats: echoStats })]);
  const body = frame('7'.repeat(limits.grpcMessageBytesMax * 2), gzipSync);
  assert.ok(body.length < 100_000);
  const answer = await send(open(t, path), body, { 'grpc-encoding': 'gzip' });
  assert.equal(answer.outcome, '8');
});

test('a compression nobody knows is refused by name', async (t) => {
  const { path } = await serve(t, [nodeService({ nodeGetVolumeStats: echoStats })]);
  const body = frame('7', (bytes) => bytes);
  const answer = await send(open(t, path), body, { 'grpc-encoding': 'zstd' });
  assert.equal(answer.outcome, '12');
  assert.match(answer.message, /zstd/);
});

test('a request that is no message is refused and logged', async (t) => {
  const { path, events } = await serve(t, [nodeService({ nodeGetVolumeStats: echoStats })]);
  const answer = await send(open(t, path), envelope(0, Buffer.from('0a05', 'hex')), {});
  assert.deepEqual([answer.outcome, answer.message], ['13', 'The request cannot be decoded.']);
  assert.equal(events[0]?.code, 'INTERNAL');
});

test('an unknown path is unimplemented, other content is none of ours', async (t) => {
  const { path } = await serve(t, [nodeService({})]);
  const session = open(t, path);
  assert.equal((await send(session, frame('1'), { ':path': '/x.Y/Z' })).outcome, '12');
  const web = await send(session, frame('1'), { 'content-type': 'text/html' });
  assert.equal(web.status, 415);
});

test('a caller that resets its stream ends the wait of the handler', async (t) => {
  const seen: Call[] = [];
  const { path, events } = await serve(t, [hanging(seen)]);
  const stream = request(open(t, path), {}).on('error', () => undefined);
  stream.end(frame('1'));
  await until(() => seen.length === 1);
  stream.close(8);
  await until(() => seen[0]?.signal.aborted === true);
  assert.equal(events[0]?.code, 'CANCELLED');
});

test('a lost connection ends the wait of its handlers', async (t) => {
  const seen: Call[] = [];
  const { path, events } = await serve(t, [hanging(seen)]);
  const session = open(t, path);
  for (let count = 0; count < 3; count += 1) {
    request(session, {})
      .on('error', () => undefined)
      .end(frame('1'));
  }
  await until(() => seen.length === 3);
  session.destroy();
  await until(() => seen.every(({ signal }) => signal.aborted));
  assert.deepEqual(
    events.map(({ code }) => code),
    ['CANCELLED', 'CANCELLED', 'CANCELLED'],
  );
});

test('pings are answered, and a stopping server says goodbye', async (t) => {
  let finish: (() => void) | undefined;
  const { path, server } = await serve(t, [
    nodeService({
      nodeGetVolumeStats: async (wanted) => {
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return echoStats(wanted);
      },
    }),
  ]);
  const session = open(t, path);
  await once(session, 'remoteSettings');
  await new Promise<void>((resolve, reject) => {
    session.ping((error) => (error === null ? resolve() : reject(error)));
  });
  const answer = send(session, frame('7'), {});
  await until(() => finish !== undefined);
  const goodbye = once(session, 'goaway');
  const stopped = server.stop(5_000);
  const [code] = await goodbye;
  assert.equal(code, 0);
  finish?.();
  assert.equal((await answer).total, 7n);
  await stopped;
});

type Answer = {
  /** The gRPC status, or how the stream was reset. */
  readonly outcome: string;
  readonly status: unknown;
  readonly message: string;
  readonly total: bigint | undefined;
};

/** Never answers, and remembers who asked. */
function hanging(seen: Call[]) {
  return nodeService({
    nodeGetVolumeStats: (_, call) => {
      seen.push(call);
      return new Promise(() => undefined);
    },
  });
}

function open(t: TestContext, path: string): ClientHttp2Session {
  const session = connect('http://localhost', { createConnection: () => connectSocket(path) });
  session.on('error', () => undefined);
  t.after(() => session.destroy());
  return session;
}

function request(session: ClientHttp2Session, headers: OutgoingHttpHeaders) {
  return session.request({
    ':method': 'POST',
    ':path': statsPath,
    ':authority': 'localhost',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
}

async function send(session: ClientHttp2Session, body: Buffer, headers: OutgoingHttpHeaders) {
  const stream = request(session, headers);
  return new Promise<Answer>((resolve) => {
    const chunks: Buffer[] = [];
    let seen: IncomingHttpHeaders & IncomingHttpStatusHeader = {};
    stream.on('response', (got) => {
      seen = { ...seen, ...got };
    });
    stream.on('trailers', (got) => {
      seen = { ...seen, ...got };
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', () => undefined);
    stream.on('close', () => {
      const bytes = Buffer.concat(chunks).subarray(5);
      const decoded = bytes.length === 0 ? undefined : NodeGetVolumeStatsResponse.decode(bytes);
      resolve({
        outcome: String(seen['grpc-status'] ?? `reset with code ${stream.rstCode}`),
        status: seen[':status'],
        message: decodeURIComponent(String(seen['grpc-message'] ?? '')),
        total: decoded?.usage[0]?.total,
      });
    });
    stream.end(body);
  });
}

/** A request for a volume, with the five bytes that gRPC puts before a message. */
function frame(volumeId: string, compress?: (bytes: Buffer) => Buffer): Buffer {
  const message = NodeGetVolumeStatsRequest.fromPartial({ volumeId });
  const bytes = Buffer.from(NodeGetVolumeStatsRequest.encode(message).finish());
  return compress === undefined ? envelope(0, bytes) : envelope(1, compress(bytes));
}

function envelope(flag: 0 | 1, bytes: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag, 0);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 2));
}
