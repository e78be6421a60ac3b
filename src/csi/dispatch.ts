import { once } from 'node:events';
import type { handleServerStreamingCall, handleUnaryCall } from '@grpc/grpc-js';
import { limits } from '../base/limits.ts';
import { type CallLog, OpenCall, type Surface } from './call.ts';
import type { Route } from './service.ts';
import { type Ending, numberOf, StatusError } from './status.ts';

/** What the calls of one server share. */
export type Desk = { readonly log: CallLog; readonly open: Set<DeskCall> };

export type DeskCall = { readonly call: OpenCall; readonly isStream: boolean };

type Answer = {
  readonly surface: Surface;
  readonly isStream: boolean;
  readonly send: (ending: Ending) => void;
};

export function unaryCall(route: Route, desk: Desk): handleUnaryCall<Buffer, Buffer> {
  return (surface, callback) => {
    const send = (ending: Ending) => callback(statusObject(ending));
    const opened = open(route, desk, { surface, isStream: false, send });
    if (opened === undefined) return;
    const { call, request } = opened;
    void (async () => {
      try {
        const bytes = encode(route, await route.handler(request, call));
        call.succeed(() => callback(null, bytes));
      } catch (error) {
        call.fail(error);
      }
    })();
  };
}

export function streamCall(route: Route, desk: Desk): handleServerStreamingCall<Buffer, Buffer> {
  return (surface) => {
    const send = (ending: Ending) => void surface.emit('error', statusObject(ending));
    const opened = open(route, desk, { surface, isStream: true, send });
    if (opened === undefined) return;
    const { call, request } = opened;
    void (async () => {
      try {
        for await (const message of route.handler(request, call) as AsyncIterable<unknown>) {
          if (!call.isOpen) return;
          const bytes = encode(route, message);
          if (!surface.write(bytes)) await once(surface, 'drain', { signal: call.signal });
        }
        call.succeed(() => surface.end());
      } catch (error) {
        call.fail(error);
      }
    })();
  };
}

function open(route: Route, desk: Desk, { surface, isStream, send }: Answer) {
  const decoded = decode(route, surface.request);
  const { request } = decoded;
  const call = new OpenCall({ method: route.path, request, surface, log: desk.log, send });
  const entry = { call, isStream };
  desk.open.add(entry);
  void call.ended.then(() => desk.open.delete(entry));
  const isLate = call.deadlineMs === 0;
  if (decoded.error === undefined && !isLate) return { call, request };
  call.fail(decoded.error ?? new StatusError('DEADLINE_EXCEEDED', 'The call came too late.'));
  return undefined;
}

function decode(route: Route, bytes: Buffer): { readonly request?: unknown; error?: StatusError } {
  try {
    return { request: route.method.requestType.decode(bytes) };
  } catch (cause) {
    const error = new StatusError('INTERNAL', 'The request cannot be decoded.', { cause });
    return { error };
  }
}

function encode(route: Route, message: unknown): Buffer {
  const bytes = route.method.responseType.encode(message as never).finish();
  if (bytes.length > limits.grpcMessageBytesMax) {
    const text = `The answer has ${bytes.length} bytes, at most ${limits.grpcMessageBytesMax} fit.`;
    throw new StatusError('RESOURCE_EXHAUSTED', text);
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function statusObject(ending: Ending) {
  return { code: numberOf(ending.status), details: ending.message };
}

/** Ends what still runs: streams never end by themselves. */
export function interrupt(desk: Desk, which: (entry: DeskCall) => boolean): void {
  const error = new StatusError('UNAVAILABLE', 'The server stops. Ask again.');
  for (const entry of [...desk.open].filter(which)) entry.call.interrupt(error);
}
