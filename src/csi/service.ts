import type { Call } from './call.ts';
import { StatusError } from './status.ts';

/** What ts-proto gives for each message. `never` accepts every kind of message. */
type Codec = {
  encode(message: never): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
  fromPartial(partial: never): unknown;
};

export type Method = {
  readonly name: string;
  readonly requestType: Codec;
  readonly requestStream: false;
  readonly responseType: Codec;
  readonly responseStream: boolean;
};

/** What ts-proto gives for each service, e.g. `IdentityDefinition`. */
export type Definition = {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, Method>>;
};

export type RequestOf<M extends Method> = ReturnType<M['requestType']['decode']>;
export type ResponseOf<M extends Method> = ReturnType<M['responseType']['decode']>;
/** A request with what matters filled in; the rest gets proto3's defaults. */
export type PartialOf<M extends Method> = Parameters<M['requestType']['fromPartial']>[0];

export type Handler<M extends Method> = M['responseStream'] extends true
  ? (request: RequestOf<M>, call: Call) => AsyncIterable<ResponseOf<M>>
  : (request: RequestOf<M>, call: Call) => Promise<ResponseOf<M>>;

export type Handlers<D extends Definition> = {
  readonly [K in keyof D['methods']]: Handler<D['methods'][K]>;
};

/** A service ready to be served: which handler belongs to which path. */
export type Service = readonly Route[];

export type Route = {
  readonly path: string;
  readonly method: Method;
  readonly handler: (request: unknown, call: Call) => unknown;
};

/** A method that is left out does not compile: say `unimplemented` where it is meant. */
export function service<D extends Definition>(definition: D, handlers: Handlers<D>): Service {
  return Object.entries(definition.methods).map(([key, method]) => ({
    path: pathOf(definition, method),
    method,
    handler: handlers[key] as Route['handler'],
  }));
}

export function unimplemented(): Promise<never> {
  return Promise.reject(new StatusError('UNIMPLEMENTED', 'This method is not offered.'));
}

export function pathOf(definition: Definition, method: Method): string {
  return `/${definition.fullName}/${method.name}`;
}
