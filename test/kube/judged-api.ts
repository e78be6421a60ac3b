import { FakeApi } from './fake-api.ts';
import { isEqual } from './fake-api-rules.ts';
import {
  type FakeRequest,
  fail,
  type Refusal,
  type Sink,
  type Stored,
  type Target,
  targetOf,
} from './fake-api-wire.ts';
import { type Json, jsonPatch, mergePatch } from './fake-patch.ts';

/** What a webhook is asked. */
export type Asked = {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly collection: string;
  readonly object: Stored | undefined;
  readonly oldObject: Stored | undefined;
};

/** A refusal, or what is changed in an object that is made. */
export type Admitted =
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'taken'; readonly patch: readonly { op: string; path: string }[] };

/** An API server that asks somebody else before it takes an object. */
export class JudgedApi extends FakeApi {
  /** Undefined: nobody has registered, and everything is taken. */
  admission: ((asked: Asked) => Admitted) | undefined;

  override handle(request: FakeRequest, sink: Sink): void {
    const target = targetOf(new URL(request.url, 'https://fake').pathname);
    const asked = target === undefined ? undefined : this.#asked(request, target);
    const answer = asked === undefined ? undefined : this.admission?.(asked);
    if (asked === undefined || answer === undefined) super.handle(request, sink);
    else if (answer.kind === 'taken') super.handle(filledIn(request, asked, answer.patch), sink);
    else {
      const { collection, name = '' } = target ?? { collection: '' };
      this.requests.push(request);
      this.writes.push({
        ...{ who: request.who ?? '', verb: verbs[asked.operation], collection, name },
        ...{ subresource: undefined, isDone: false },
      });
      const { code, reason, message } = answer.refusal;
      fail(sink, code, reason, message);
    }
  }

  /** Marks are no wishes: of changes only those of `spec` are asked about. */
  #asked(request: FakeRequest, target: Target): Asked | undefined {
    const { collection, name, namespace, subresource } = target;
    if (request.method === 'GET' || subresource !== undefined) return undefined;
    const body = JSON.parse(request.body ?? '{}') as Json;
    const oldObject = name === undefined ? undefined : this.one(collection, name, namespace);
    if (request.method === 'POST') {
      const object = { ...body, metadata: { ...(body['metadata'] as Json), namespace } } as never;
      return { operation: 'CREATE', collection, object, oldObject: undefined };
    }
    if (oldObject === undefined) return undefined;
    if (request.method === 'DELETE') {
      return { operation: 'DELETE', collection, object: undefined, oldObject };
    }
    const object = draftOf(request, body, oldObject);
    if (object === undefined || isEqual(object['spec'], oldObject['spec'])) return undefined;
    return { operation: 'UPDATE', collection, object, oldObject };
  }
}

const verbs = { CREATE: 'create', UPDATE: 'patch', DELETE: 'delete' } as const;

function draftOf(request: FakeRequest, body: Json, before: Stored): Stored | undefined {
  if (request.method === 'PUT') return body as Stored;
  const isJson = request.contentType === 'application/json-patch+json';
  const draft = isJson ? jsonPatch(before, body as unknown as []) : mergePatch(before, body);
  return draft as Stored | undefined;
}

function filledIn(
  request: FakeRequest,
  { operation, object }: Asked,
  patch: readonly { op: string; path: string }[],
): FakeRequest {
  if (operation !== 'CREATE' || object === undefined || patch.length === 0) return request;
  return { ...request, body: JSON.stringify(jsonPatch(object, patch)) };
}
