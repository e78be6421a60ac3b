import { type CallOptions, Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { limits } from '../base/limits.ts';
import type { Definition, Method, PartialOf, ResponseOf } from './service.ts';
import { pathOf } from './service.ts';
import { type Status, statusOf } from './status.ts';

export type Result<T> =
  | { readonly kind: 'response'; readonly response: T }
  | { readonly kind: 'failed'; readonly code: Status; readonly message: string };

export type Patience = { readonly timeoutMs: number; readonly signal?: AbortSignal };

/** Calls to a unix socket. Nothing is tried twice: what a failure means is the caller's business. */
export class SocketClient {
  readonly #client: Client;

  constructor(path: string) {
    this.#client = new Client(`unix:${path}`, credentials.createInsecure(), {
      'grpc.max_receive_message_length': limits.grpcMessageBytesMax,
      'grpc.enable_retries': 0,
      'grpc.enable_channelz': 0,
      // A socket that just came back must not wait for the patience of an earlier client.
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  /** `call(IdentityDefinition, 'probe', {}, { timeoutMs: 1_000 })` */
  call<D extends Definition, K extends keyof D['methods'] & string>(
    definition: D,
    name: K,
    request: PartialOf<D['methods'][K]>,
    patience: Patience,
  ): Promise<Result<ResponseOf<D['methods'][K]>>> {
    type Response = ResponseOf<D['methods'][K]>;
    const method = methodOf(definition, name);
    return new Promise((resolve) => {
      const started = this.#client.makeUnaryRequest<unknown, Response>(
        pathOf(definition, method),
        (message) => encode(method, message),
        (bytes) => method.responseType.decode(bytes) as Response,
        method.requestType.fromPartial(request),
        new Metadata(),
        optionsOf(patience),
        (error, response) =>
          resolve(
            error === null ? { kind: 'response', response: response as Response } : failed(error),
          ),
      );
      const { signal } = patience;
      const cancel = () => started.cancel();
      signal?.addEventListener('abort', cancel, { once: true });
      started.once('status', () => signal?.removeEventListener('abort', cancel));
      if (signal?.aborted === true) cancel();
    });
  }

  /** Answers of a streaming method, and at last the failure if it ended in one. */
  async *stream<D extends Definition, K extends keyof D['methods'] & string>(
    definition: D,
    name: K,
    request: PartialOf<D['methods'][K]>,
    patience: Patience,
  ): AsyncGenerator<Result<ResponseOf<D['methods'][K]>>> {
    type Response = ResponseOf<D['methods'][K]>;
    const method = methodOf(definition, name);
    const started = this.#client.makeServerStreamRequest<unknown, Response>(
      pathOf(definition, method),
      (message) => encode(method, message),
      (bytes) => method.responseType.decode(bytes) as Response,
      method.requestType.fromPartial(request),
      new Metadata(),
      optionsOf(patience),
    );
    const cancel = () => started.cancel();
    patience.signal?.addEventListener('abort', cancel, { once: true });
    try {
      for await (const response of started)
        yield { kind: 'response', response: response as Response };
    } catch (error) {
      yield failed(error as ServiceError);
    } finally {
      patience.signal?.removeEventListener('abort', cancel);
      cancel();
    }
  }

  close(): void {
    this.#client.close();
  }
}

function methodOf(definition: Definition, name: string): Method {
  const method = definition.methods[name];
  if (method === undefined) throw new Error(`${definition.fullName} has no ${name}`);
  return method;
}

function encode(method: Method, message: unknown): Buffer {
  return Buffer.from(method.requestType.encode(message as never).finish());
}

function optionsOf({ timeoutMs }: Patience): CallOptions {
  return { deadline: Date.now() + timeoutMs };
}

function failed(error: ServiceError): Result<never> {
  return { kind: 'failed', code: statusOf(error.code), message: error.details };
}
