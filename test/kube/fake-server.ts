import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Endpoint } from '../../src/kube/credentials.ts';
import { type Authority, makeAuthority, makePair } from './certificates.ts';
import { type ApiParts, FakeApi, fail, type Sink } from './fake-api.ts';

/** What it does to the next request, instead of answering it. */
export type Mishap =
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: string }
  /** The connection goes, before or after the request was carried out. */
  | { readonly kind: 'reset'; readonly isCarriedOut: boolean }
  /** No answer, ever. */
  | { readonly kind: 'silence' }
  | { readonly kind: 'text'; readonly status: number; readonly text: string };

/** The fake API behind TLS, with everything that can go wrong on the way. */
export class FakeServer {
  readonly api: FakeApi;
  readonly authority: Authority = makeAuthority('cluster');
  /** Tokens that are accepted; a certificate of the authority is as good. */
  readonly tokens = new Set(['good']);
  /** Paths that nobody may read, whoever it is. */
  readonly forbidden = new Set<string>();
  /** What came with each request. */
  readonly authorizations: (string | undefined)[] = [];
  /** Used up one by one; `watch` for watches only. */
  readonly mishaps: Mishap[] = [];
  readonly watchMishaps: Mishap[] = [];
  /** So many bytes in each write, each in a packet of its own. */
  pieceBytes = 0;
  /** Streams go silent: what is written to them is lost. */
  isFrozen = false;
  readonly #sockets = new Set<Socket>();
  readonly #streams = new Set<ServerResponse>();
  #server: Server | undefined;
  /** Connections that were made so far. */
  connections = 0;

  constructor(parts: ApiParts = {}) {
    this.api = new FakeApi(parts);
  }

  async start(): Promise<Endpoint> {
    const pair = makePair(this.authority, 'server', ['127.0.0.1', 'kubernetes']);
    const server = createServer(
      {
        ...{ cert: pair.certificate, key: pair.key, ca: this.authority.certificate },
        ...{ requestCert: true, rejectUnauthorized: false },
      },
      (request, response) => void this.#serve(request, response),
    );
    server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    // A busy client must not lose its connection for that.
    server.keepAliveTimeout = 60_000;
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return { isTls: true, host: '127.0.0.1', port, prefix: '', isInsecure: false };
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  /** A reset, not an orderly end. */
  resetAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await textOf(request);
    this.authorizations.push(request.headers.authorization);
    const sink = this.#sinkFor(response);
    if (!this.#isKnown(request)) {
      fail(sink, 401, 'Unauthorized', 'Unauthorized');
      return;
    }
    const { method = 'GET', url = '/' } = request;
    if (this.forbidden.has(url.split('?')[0] ?? '')) {
      fail(sink, 403, 'Forbidden', `${url} is forbidden`);
      return;
    }
    const isWatch = url.includes('watch=true');
    const mishap = isWatch ? this.watchMishaps.shift() : this.mishaps.shift();
    const call = { method, url, body, contentType: request.headers['content-type'] };
    if (mishap === undefined) {
      if (isWatch) this.#streams.add(response);
      response.on('close', () => {
        this.#streams.delete(response);
        this.api.forget(sink);
      });
      this.api.handle(call, sink);
      return;
    }
    switch (mishap.kind) {
      case 'status':
        if (mishap.retryAfter !== undefined) response.setHeader('retry-after', mishap.retryAfter);
        fail(sink, mishap.status, 'Trouble', `status ${mishap.status}`);
        return;
      case 'reset':
        if (mishap.isCarriedOut) this.api.handle(call, { head() {}, write() {}, end() {} });
        request.socket.destroy();
        return;
      case 'text':
        sink.head(mishap.status);
        sink.write(mishap.text);
        sink.end();
        return;
      case 'silence':
    }
  }

  #isKnown(request: IncomingMessage): boolean {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    if (token !== undefined) return this.tokens.has(token);
    return (request.socket as TLSSocket).authorized;
  }

  #sinkFor(response: ServerResponse): Sink {
    const pieces: Buffer[] = [];
    let isBusy = false;
    const pump = async () => {
      isBusy = true;
      for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
        response.write(piece);
        await new Promise((resolve) => setImmediate(resolve));
      }
      isBusy = false;
      if (isEnded) response.end();
    };
    let isEnded = false;
    return {
      head: (status) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.flushHeaders();
      },
      write: (text) => {
        if (this.isFrozen && this.#streams.has(response)) return;
        const bytes = Buffer.from(text);
        if (this.pieceBytes === 0) {
          response.write(bytes);
          return;
        }
        for (let at = 0; at < bytes.length; at += this.pieceBytes) {
          pieces.push(bytes.subarray(at, at + this.pieceBytes));
        }
        if (!isBusy) void pump();
      },
      end: () => {
        isEnded = true;
        if (!isBusy) response.end();
      },
    };
  }
}

async function textOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return chunks.length === 0 ? undefined : Buffer.concat(chunks).toString('utf8');
}
