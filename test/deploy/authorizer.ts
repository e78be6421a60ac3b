import type { Answer, Call, Opened, Transport } from '../../src/kube/transport.ts';
import type { Rule, Rules } from '../../tools/manifests-rbac.ts';

/** A request as RBAC sees it. */
export type Request = {
  readonly verb: string;
  readonly group: string;
  /** With its subresource: `logicalvolumes/status`. */
  readonly resource: string;
  /** Undefined: in all namespaces, or of a kind without. */
  readonly namespace: string | undefined;
  readonly name: string | undefined;
};

export function requestOf(method: string, url: string): Request {
  const [path = '', query = ''] = url.split('?');
  const words = path.split('/').filter((word) => word !== '');
  const [api, ...rest] = words;
  const group = api === 'apis' ? (rest[0] ?? '') : '';
  const inApi = rest.slice(api === 'apis' ? 2 : 1);
  const isIn = inApi[0] === 'namespaces' && inApi.length > 2;
  const [plural = '', name, ...sub] = isIn ? inApi.slice(2) : inApi;
  return {
    verb: verbOf(method, { name, isWatch: /(^|&)watch=(true|1)/.test(query) }),
    group,
    resource: [plural, ...sub].join('/'),
    namespace: isIn ? inApi[1] : undefined,
    // One that is selected by its name counts as asked for by its name.
    name: name ?? /metadata\.name=([^&,]+)/.exec(decodeURIComponent(query))?.[1],
  };
}

function verbOf(method: string, { name, isWatch }: { name: string | undefined; isWatch: boolean }) {
  switch (method) {
    case 'GET':
      return name !== undefined ? 'get' : isWatch ? 'watch' : 'list';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === undefined ? 'deletecollection' : 'delete';
    default:
      throw new Error(`nobody sends ${method}`);
  }
}

/** A Role counts in its own namespace, and never for a request about all of them. */
export function allows({ own, cluster }: Rules, namespace: string, request: Request): boolean {
  const here = request.namespace === namespace ? own : [];
  return [...here, ...cluster].some((rule) => covers(rule, request));
}

function covers({ apiGroups, resources, verbs, resourceNames }: Rule, request: Request): boolean {
  const { group, resource, verb, name } = request;
  const isNamed = resourceNames === undefined || resourceNames.includes(name ?? '');
  return (
    apiGroups.includes(group) && resources.includes(resource) && verbs.includes(verb) && isNamed
  );
}

/** The API server as an account of ours meets it: what no rule allows is refused with 403. */
export class GuardedTransport implements Transport {
  /** What was refused, for a test to look at. */
  readonly refused: Request[] = [];
  readonly seen = new Set<string>();
  readonly #inner: Transport;
  readonly #rules: Rules;
  readonly #namespace: string;

  constructor(inner: Transport, rules: Rules, namespace: string) {
    this.#inner = inner;
    this.#rules = rules;
    this.#namespace = namespace;
  }

  async send(call: Call): Promise<Answer> {
    return this.#refusal(call) ?? (await this.#inner.send(call));
  }

  async open(call: Call, idleMs: number): Promise<Opened> {
    const answer = this.#refusal(call);
    return answer === undefined ? this.#inner.open(call, idleMs) : { kind: 'refused', answer };
  }

  refuseCredentials(): void {
    this.#inner.refuseCredentials();
  }

  close(): void {
    this.#inner.close();
  }

  #refusal({ method, path }: Call): Answer | undefined {
    const request = requestOf(method, path);
    this.seen.add(`${request.verb} ${request.resource}`);
    if (allows(this.#rules, this.#namespace, request)) return undefined;
    this.refused.push(request);
    const message = `${request.resource} is forbidden: no rule allows to ${request.verb} it`;
    const body = { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message };
    const text = Buffer.from(JSON.stringify(body));
    return { httpStatus: 403, retryAfterMs: undefined, body: text };
  }
}
