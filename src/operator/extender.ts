import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import {
  type Divisors,
  roomRefusal,
  roomScore,
  type WantedRoom,
  wantedRoom,
} from '../core/cluster/extender.ts';
import type { ClusterNames } from '../core/cluster/names.ts';
import { isBlocked } from '../core/usable-vg.ts';
import { type Address, close, httpServer, listen, readBody } from '../process/http-server.ts';

export type ExtenderOptions = { readonly names: ClusterNames; readonly divisors: Divisors };

type Annotated = {
  readonly metadata?: {
    readonly name?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
};
/** Kubernetes writes these names with a capital letter. */
type Question = {
  readonly Pod?: Annotated;
  readonly Nodes?: { readonly items?: readonly Annotated[] | null } | null;
  readonly NodeNames?: readonly string[] | null;
};
type Answer = { readonly status: number; readonly body: unknown };

/**
 * TopoLVM's scheduler extender, for a kube-scheduler that is still told to ask one. All it knows
 * is in the question: what the pod wants and what the nodes say of themselves.
 */
export class Extender {
  readonly #options: ExtenderOptions;
  readonly #server: Server;

  constructor(options: ExtenderOptions) {
    this.#options = options;
    this.#server = httpServer((request, response) => void this.#serve(request, response));
  }

  /** The port it listens on. */
  start(address: Address): Promise<number> {
    return listen(this.#server, address);
  }

  stop(): Promise<void> {
    return close(this.#server);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').replace(/\?.*$/, '');
    if (path === '/status') return send(response, { status: 200, body: 'ok' });
    if (path !== '/predicate' && path !== '/prioritize') {
      return send(response, refused(404, 'ask for /predicate, /prioritize or /status'));
    }
    if (request.method !== 'POST') return send(response, refused(405, 'only POST is answered'));
    const text = await readBody(request, questionBytesMax);
    if (text === undefined) {
      response.setHeader('connection', 'close');
      return send(response, refused(413, `a question has at most ${questionBytesMax} bytes`));
    }
    send(response, answerTo(path, text, this.#options));
  }
}

/** Whole Nodes are in a question. TopoLVM takes 10 MiB. */
const questionBytesMax = 16 * 1024 * 1024;

export function answerTo(
  path: '/predicate' | '/prioritize',
  text: string,
  options: ExtenderOptions,
): Answer {
  const question = questionIn(text);
  if (question?.Pod === undefined) return refused(400, 'this is no question of a kube-scheduler');
  const wanted = wantedRoom(question.Pod.metadata?.annotations, options.names);
  const nodes = question.Nodes?.items ?? [];
  if (path === '/predicate') {
    if (isBlocked(wanted)) return { status: 200, body: { Error: wanted.message } };
    return { status: 200, body: filtered(question, nodes, { wanted, ...options }) };
  }
  // A pod that nobody understands was refused before.
  const room = isBlocked(wanted) ? new Map<string, bigint>() : wanted;
  const scores = nodes.map(({ metadata }) => ({
    Host: metadata?.name ?? '',
    Score: roomScore(metadata?.annotations, room, options),
  }));
  const named = nodes.length > 0 ? [] : (question.NodeNames ?? []);
  return { status: 200, body: [...scores, ...named.map((Host) => ({ Host, Score: 0 }))] };
}

function filtered(
  { NodeNames }: Question,
  nodes: readonly Annotated[],
  { wanted, names }: { readonly wanted: WantedRoom; readonly names: ClusterNames },
): object {
  // Names alone tell nothing: whether there is room is then seen when the volume is made.
  if (nodes.length === 0) return { NodeNames: NodeNames ?? [] };
  const failed: Record<string, string> = {};
  const items = nodes.filter(({ metadata }) => {
    const why = roomRefusal(metadata?.annotations, wanted, names);
    if (why !== undefined) failed[metadata?.name ?? ''] = why;
    return why === undefined;
  });
  return { Nodes: { items }, FailedNodes: failed };
}

/** Undefined for whatever no kube-scheduler asks. */
function questionIn(text: string): Question | undefined {
  try {
    const question = JSON.parse(text) as Question;
    const nodes = question.Nodes?.items ?? [];
    const isList = Array.isArray(nodes) && Array.isArray(question.NodeNames ?? []);
    return isList && nodes.every((node) => node !== null) ? question : undefined;
  } catch {
    return undefined;
  }
}

function refused(status: number, message: string): Answer {
  return { status, body: { Error: message } };
}

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
