import { readFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { connect as tlsConnect } from 'node:tls';
import type { Gateway } from './gateway.ts';

export type ApiRequest = {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
  /** Ten seconds unless told otherwise. */
  readonly timeoutMs?: number;
};

export type ApiResponse = { readonly status: number; readonly text: string };

/** Speaks to the API server as one user, in this process. */
export type ApiClient = {
  request(path: string, request?: ApiRequest): Promise<ApiResponse>;
  /** The object at a path, or undefined when there is none. Anything else throws. */
  get<T>(path: string): Promise<T | undefined>;
};

const defaultTimeoutMs = 10_000;

export async function createApiClient(options: {
  readonly gateway: Gateway;
  readonly host: string;
  readonly port: number;
  /** Paths without their ending, see `Certificates`. */
  readonly ca: string;
  readonly client: string;
}): Promise<ApiClient> {
  const { gateway, host, port } = options;
  const ca = await readFile(`${options.ca}.crt`);
  const cert = await readFile(`${options.client}.crt`);
  const key = await readFile(`${options.client}.key`);
  return apiClientOf({ gateway, host, port, secrets: { ca, cert, key } });
}

/** Who has no certificate has a token. */
export function apiClientOf(options: {
  readonly gateway: Gateway;
  readonly host: string;
  readonly port: number;
  readonly secrets: { readonly ca: Buffer; readonly cert?: Buffer; readonly key?: Buffer };
  readonly token?: string;
}): ApiClient {
  const { gateway, host, port, secrets, token } = options;
  const user = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const request = async (path: string, call: ApiRequest = {}): Promise<ApiResponse> => {
    const raw = await gateway.connect(host, port);
    const socket = tlsConnect({ socket: raw, ...secrets, servername: 'kubernetes' });
    return send(socket, path, call, user);
  };
  return {
    request,
    get: async <T>(path: string): Promise<T | undefined> => {
      const { status, text } = await request(path);
      if (status === 404) return undefined;
      if (status !== 200) throw new Error(`GET ${path}: ${status} ${text.slice(0, 2000)}`);
      return JSON.parse(text) as T;
    },
  };
}

function send(
  socket: Duplex,
  path: string,
  call: ApiRequest,
  user: Readonly<Record<string, string>>,
): Promise<ApiResponse> {
  const { method = 'GET', body, contentType = 'application/json' } = call;
  const timeoutMs = call.timeoutMs ?? defaultTimeoutMs;
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    const outgoing = httpsRequest({
      method,
      path,
      headers: {
        host: 'kubernetes',
        connection: 'close',
        ...user,
        ...(body === undefined ? {} : { 'content-type': contentType }),
      },
      createConnection: () => socket,
      signal: AbortSignal.timeout(timeoutMs),
    });
    outgoing.on('error', fail);
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', fail);
      response.on('end', () => {
        socket.destroy();
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() });
      });
    });
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
