import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { isSameJson } from '../api/same.ts';
import type { Access, Credentials, Endpoint } from './credentials.ts';
import { errorOfConnection, KubeError, retryAfterMsOf } from './errors.ts';
import { kubeLimits } from './limits.ts';
import { linesOf } from './lines.ts';
import { Patience } from './patience.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export type Call = {
  readonly method: Method;
  /** With its query. */
  readonly path: string;
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Asked when the connection stands, in the turn in which the bytes go out. It throws to stop. */
  readonly fence?: (() => void) | undefined;
};

export type Answer = {
  readonly httpStatus: number;
  readonly retryAfterMs: number | undefined;
  readonly body: Buffer;
};

/** What comes for as long as the connection lasts, line by line. */
export type Stream = { readonly lines: AsyncIterable<Buffer>; readonly close: () => void };

export type Opened =
  | { readonly kind: 'stream'; readonly stream: Stream }
  | { readonly kind: 'refused'; readonly answer: Answer };

type Trust = ReturnType<typeof trustOf>;

/** The door itself: one exchange at a time, nothing is tried twice. */
export type Transport = {
  send(call: Call): Promise<Answer>;
  /** `idleMs` is the longest silence, before the answer too. */
  open(call: Call, idleMs: number): Promise<Opened>;
  /** The server did not take our credentials: they are read again before the next request. */
  refuseCredentials(): void;
  close(): void;
};

/** HTTP/1.1 over connections of its own. Each purpose gets one: a lease never waits for a list. */
export class HttpTransport implements Transport {
  readonly #endpoint: Endpoint;
  readonly #credentials: Credentials;
  readonly #requests: HttpAgent | HttpsAgent;
  readonly #streams: HttpAgent | HttpsAgent;
  /** Made once for all connections: each would keep certificates of its own. */
  #context: { readonly trust: Trust; readonly secureContext: SecureContext } | undefined;

  constructor(endpoint: Endpoint, credentials: Credentials) {
    this.#endpoint = endpoint;
    this.#credentials = credentials;
    const Agent = endpoint.isTls ? HttpsAgent : HttpAgent;
    this.#requests = new Agent({
      keepAlive: true,
      maxSockets: kubeLimits.connectionsMax,
      timeout: kubeLimits.connectionIdleMs,
    });
    this.#streams = new Agent({ keepAlive: false });
  }

  async send(call: Call): Promise<Answer> {
    const what = `${call.method} ${call.path}`;
    const patience = new Patience(what, call.timeoutMs ?? kubeLimits.requestTimeoutMs, call.signal);
    try {
      const response = await this.#begin(call, this.#requests, patience);
      return await answerOf(response, patience, call);
    } finally {
      patience.end();
    }
  }

  async open(call: Call, idleMs: number): Promise<Opened> {
    const patience = new Patience(`watch ${call.path}`, idleMs, call.signal);
    try {
      const response = await this.#begin(call, this.#streams, patience);
      if (response.statusCode === 200) {
        return { kind: 'stream', stream: streamOf(response, patience) };
      }
      const answer = await answerOf(response, patience, call);
      patience.end();
      return { kind: 'refused', answer };
    } catch (error) {
      patience.end();
      throw error;
    }
  }

  refuseCredentials(): void {
    this.#credentials.refuse();
  }

  close(): void {
    this.#requests.destroy();
    this.#streams.destroy();
  }

  async #begin(
    call: Call,
    agent: HttpAgent | HttpsAgent,
    patience: Patience,
  ): Promise<IncomingMessage> {
    const access = await patience.hold(this.#credentials.current());
    const start = this.#endpoint.isTls ? httpsRequest : httpRequest;
    const request = start({
      ...{ method: call.method, path: `${this.#endpoint.prefix}${call.path}`, agent },
      ...{ host: this.#endpoint.host, port: this.#endpoint.port },
      headers: headersOf(call, access),
      ...this.#tls(access),
    });
    patience.onBroken((error) => request.destroy(error));
    return responseTo(request, call, patience);
  }

  #tls(access: Access) {
    if (!this.#endpoint.isTls) return {};
    const { serverName: servername, isInsecure } = this.#endpoint;
    const trust = trustOf(access);
    if (this.#context === undefined || !isSameJson(trust, this.#context.trust)) {
      this.#context = { trust, secureContext: createSecureContext(trust) };
    }
    const { secureContext } = this.#context;
    return {
      ...{ ...trust, secureContext },
      ...(servername === undefined ? {} : { servername }),
      ...(isInsecure ? { rejectUnauthorized: false } : {}),
    };
  }
}

function headersOf(call: Call, access: Access): Record<string, string> {
  const body = call.body === undefined ? undefined : Buffer.byteLength(call.body);
  return {
    accept: 'application/json',
    'user-agent': 'quarry',
    ...(access.token === undefined ? {} : { authorization: `Bearer ${access.token}` }),
    ...(body === undefined
      ? {}
      : {
          'content-type': call.contentType ?? 'application/json',
          'content-length': String(body),
        }),
  };
}

/** An agent keeps connections apart by these, so that a new certificate means a new connection. */
function trustOf({ ca, certificate: cert, key }: Access) {
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

/**
 * The bytes go out when the connection stands and the fence agrees, all in one turn of the event
 * loop: a process that was held up while it connected must not speak for a lease it has lost.
 */
function responseTo(
  request: ClientRequest,
  call: Call,
  patience: Patience,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let isSent = false;
    const fail = (cause: unknown) =>
      reject(patience.broken ?? errorOfConnection(patience.what, cause, isSent));
    const go = () => {
      if (isSent || request.destroyed) return;
      try {
        call.fence?.();
      } catch (error) {
        request.destroy();
        reject(error);
        return;
      }
      isSent = true;
      request.end(call.body);
    };
    request.on('error', fail);
    request.on('response', (response) => {
      // Who reads it is told; nobody may be reading it yet.
      response.on('error', () => undefined);
      resolve(response);
    });
    request.on('socket', (socket) => whenReady(socket, go));
  });
}

const readySockets = new WeakSet<Socket>();

/** A socket of TLS is ready when both sides have agreed; one that was used before is, too. */
function whenReady(socket: Socket & { readonly encrypted?: boolean }, go: () => void): void {
  if (readySockets.has(socket)) {
    go();
    return;
  }
  socket.once(socket.encrypted === true ? 'secureConnect' : 'connect', () => {
    socket.setKeepAlive(true, kubeLimits.tcpKeepAliveMs);
    readySockets.add(socket);
    go();
  });
}

async function answerOf(
  response: IncomingMessage,
  patience: Patience,
  call: Call,
): Promise<Answer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > kubeLimits.answerBytesMax) {
        const most = `more than ${kubeLimits.answerBytesMax} bytes`;
        throw new KubeError('TooLarge', `${patience.what}: the answer has ${most}`);
      }
      chunks.push(chunk);
    }
  } catch (cause) {
    throw patience.broken ?? errorOfConnection(patience.what, cause, call.method !== 'GET');
  }
  return {
    httpStatus: response.statusCode ?? 0,
    retryAfterMs: retryAfterMsOf(response.headers['retry-after']),
    body: Buffer.concat(chunks),
  };
}

function streamOf(response: IncomingMessage, patience: Patience): Stream {
  const close = () => {
    patience.end();
    response.destroy();
  };
  async function* lines(): AsyncGenerator<Buffer> {
    try {
      const chunks = response as AsyncIterable<Buffer>;
      for await (const found of linesOf(chunks, () => patience.renew())) yield found;
    } catch (cause) {
      throw patience.broken ?? errorOfConnection(patience.what, cause, false);
    } finally {
      close();
    }
  }
  return { lines: lines(), close };
}
