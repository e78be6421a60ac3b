import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { OperationError } from '../base/failures.ts';
import { type Address, close, httpServer, listen } from './http-server.ts';
import type { Log } from './log.ts';
import { contentType } from './registry.ts';

export type DiagnosticsParts = {
  readonly metrics: () => string;
  /** What is amiss; nothing when all is well. */
  readonly readiness: () => Promise<readonly string[]>;
  /** Everything a person may want to know, for `/status`. */
  readonly status: () => object;
};

/** Where to listen: `host:port`, `:port` for every address, `0` for nowhere. */
export function parseAddress(text: string): Address | 'off' | undefined {
  if (text === '0' || text === '') return 'off';
  const [, host = '', port = ''] = /^(\[[0-9A-Fa-f:.]*\]|[^:[\]]*):(\d{1,5})$/.exec(text) ?? [];
  if (port === '' || Number(port) > 65_535) return undefined;
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return { host: bare === '' ? undefined : bare, port: Number(port) };
}

/** Where a flag says to listen; undefined for nowhere. */
export function addressOf(flag: string, text: string): Address | undefined {
  const address = parseAddress(text);
  if (address === 'off') return undefined;
  if (address !== undefined) return address;
  const message = `--${flag} is ${text}: write :8080, or 0 for none`;
  throw new OperationError('InvalidConfiguration', message);
}

/**
 * Metrics and probes over HTTP. That an answer comes at all says that the event loop turns, which
 * is what `/healthz` is asked for.
 */
export class Diagnostics {
  readonly #parts: DiagnosticsParts;
  readonly #server: Server;

  constructor(parts: DiagnosticsParts) {
    this.#parts = parts;
    this.#server = httpServer((request, response) => void this.#answer(request, response));
  }

  /** Volumes matter more than figures about them: a port that is taken stops nothing. */
  async serve(where: string, log: Log): Promise<void> {
    const address = addressOf('metrics-address', where);
    if (address === undefined) return;
    try {
      const port = await this.start(address);
      log({ level: 'info', message: `serving metrics on port ${port}`, port });
    } catch (error) {
      log({ level: 'error', message: `no metrics on ${where}: ${(error as Error).message}` });
    }
  }

  /** The port it listens on. */
  start(address: Address): Promise<number> {
    return listen(this.#server, address);
  }

  stop(): Promise<void> {
    return close(this.#server);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').replace(/\?.*$/, '');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      send(response, { status: 405, text: 'Only GET is answered.\n' });
      return;
    }
    try {
      send(response, await this.#page(path));
    } catch (error) {
      send(response, { status: 500, text: `${(error as Error).message}\n` });
    }
  }

  async #page(path: string): Promise<Page> {
    switch (path) {
      case '/metrics':
        return { status: 200, text: this.#parts.metrics(), type: contentType };
      case '/healthz':
        return { status: 200, text: 'ok\n' };
      case '/readyz': {
        const complaints = await this.#parts.readiness();
        if (complaints.length === 0) return { status: 200, text: 'ok\n' };
        return { status: 503, text: `${complaints.join('\n')}\n` };
      }
      case '/status': {
        const text = `${JSON.stringify(this.#parts.status(), undefined, 2)}\n`;
        return { status: 200, text, type: 'application/json' };
      }
      default:
        return { status: 404, text: 'Ask for /metrics, /healthz, /readyz or /status.\n' };
    }
  }
}

type Page = { readonly status: number; readonly text: string; readonly type?: string };

function send(response: ServerResponse, { status, text, type }: Page): void {
  response.writeHead(status, { 'content-type': type ?? 'text/plain; charset=utf-8' });
  response.end(text);
}
