import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { limits } from '../base/limits.ts';

export type Address = { readonly host: string | undefined; readonly port: number };

/** Slow callers and many of them cannot hold it up. */
export function httpServer(answer: RequestListener): Server {
  const server = createServer(answer);
  server.maxConnections = limits.httpConnectionsMax;
  server.requestTimeout = limits.httpTimeoutMs;
  server.headersTimeout = limits.httpTimeoutMs;
  return server;
}

/** The port it listens on. */
export async function listen(server: Server, { host, port }: Address): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, ...(host === undefined ? {} : { host }) }, resolve);
  });
  return (server.address() as AddressInfo).port;
}

export async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
