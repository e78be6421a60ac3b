import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { limits } from '../base/limits.ts';

export type Address = { readonly host: string | undefined; readonly port: number };

/** Slow callers and many of them cannot hold it up. */
export function httpServer(answer: RequestListener): Server {
  return bounded(createServer(answer));
}

/** The certificate may be another one tomorrow: `setSecureContext`. */
export function httpsServer(
  context: { readonly cert: string; readonly key: string },
  answer: RequestListener,
): SecureServer {
  return bounded(createSecureServer({ ...context, minVersion: 'TLSv1.2' }, answer));
}

function bounded<T extends Server | SecureServer>(server: T): T {
  server.maxConnections = limits.httpConnectionsMax;
  server.requestTimeout = limits.httpTimeoutMs;
  server.headersTimeout = limits.httpTimeoutMs;
  return server;
}

/** Undefined when there is too much of it, or when the caller left. */
export async function readBody(
  request: IncomingMessage,
  bytesMax: number,
): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > bytesMax) return undefined;
      chunks.push(chunk);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks).toString();
}

/** The port it listens on. */
export async function listen(
  server: Server | SecureServer,
  { host, port }: Address,
): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, ...(host === undefined ? {} : { host }) }, resolve);
  });
  return (server.address() as AddressInfo).port;
}

export async function close(server: Server | SecureServer): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
