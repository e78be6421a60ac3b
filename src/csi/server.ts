import { chmod, lstat, rename, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server, ServerCredentials, type ServiceDefinition } from '@grpc/grpc-js';
import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import type { CallLog } from './call.ts';
import { type Desk, interrupt, streamCall, unaryCall } from './dispatch.ts';
import type { Route, Service } from './service.ts';
import { claimSocket, isServed, type SocketClaim } from './socket-claim.ts';

export type ServerOptions = {
  readonly path: string;
  readonly services: readonly Service[];
  readonly log: CallLog;
};

/**
 * Serves on a unix socket. The socket is made in a directory that only we can enter and appears
 * at its path when everything is ready: nobody ever sees it with other rights than 0600, and a
 * path that was served by a dead instance is never without a socket.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  checkLength(options.path);
  const claim = await claimSocket(options.path);
  const desk: Desk = { log: options.log, open: new Set() };
  const server = grpcServer(options.services, desk);
  try {
    await checkFree(options.path);
    const made = `${claim.directory}/.socket`;
    await bind(server, made);
    await chmod(made, 0o600);
    const { dev, ino } = await lstat(made);
    await rename(made, options.path);
    return new RunningServer({ path: options.path, dev, ino, claim, server, desk });
  } catch (error) {
    server.forceShutdown();
    await claim.release();
    throw error;
  }
}

type Parts = {
  readonly path: string;
  readonly dev: number;
  readonly ino: number;
  readonly claim: SocketClaim;
  readonly server: Server;
  readonly desk: Desk;
};

export class RunningServer {
  readonly path: string;
  readonly #parts: Parts;
  #stopped: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.path = parts.path;
    this.#parts = parts;
  }

  /** Takes no new calls, ends streams, and gives the other calls some time to end well. */
  stop(graceMs: number = limits.grpcStopGraceMs): Promise<void> {
    this.#stopped ??= this.#stop(graceMs);
    return this.#stopped;
  }

  async #stop(graceMs: number): Promise<void> {
    const { claim, server, desk } = this.#parts;
    await this.#removeOwnSocket();
    const drained = new Promise((resolve) => server.tryShutdown(resolve));
    interrupt(desk, ({ isStream }) => isStream);
    if (!(await within(drained, graceMs))) {
      interrupt(desk, () => true);
      // What was just answered needs a moment to reach its caller.
      await within(drained, 100);
      server.forceShutdown();
    }
    await claim.release();
  }

  /** Somebody may have put another one there. Nobody of ours can while we hold the claim. */
  async #removeOwnSocket(): Promise<void> {
    const { path, dev, ino } = this.#parts;
    const found = await lstat(path).catch(() => undefined);
    if (found?.dev === dev && found.ino === ino) await rm(path, { force: true });
  }
}

function grpcServer(services: readonly Service[], desk: Desk): Server {
  const server = new Server({
    'grpc.max_receive_message_length': limits.grpcMessageBytesMax,
    'grpc.max_send_message_length': limits.grpcMessageBytesMax,
    'grpc.enable_channelz': 0,
  });
  for (const route of services.flat()) {
    const handle = route.method.responseStream ? streamCall(route, desk) : unaryCall(route, desk);
    server.addService(definitionOf(route), { call: handle });
  }
  return server;
}

const asIs = (bytes: Buffer) => bytes;

function definitionOf({ path, method }: Route): ServiceDefinition {
  return {
    call: {
      path,
      requestStream: false,
      responseStream: method.responseStream,
      ...{ requestSerialize: asIs, requestDeserialize: asIs },
      ...{ responseSerialize: asIs, responseDeserialize: asIs },
    },
  };
}

async function bind(server: Server, path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}

function checkLength(path: string): void {
  const length = Buffer.byteLength(path);
  if (length <= limits.socketPathBytesMax) return;
  const text = `the path of a socket has at most ${limits.socketPathBytesMax} bytes`;
  throw new OperationError('SocketUnusable', `${text}, and ${path} has ${length}`);
}

/** Programs that know nothing of our claims may serve the path as well. */
async function checkFree(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isSocket()) {
    throw new OperationError('SocketUnusable', `${path} exists and is no socket: it is left alone`);
  }
  if (!(await isServed(path))) return;
  throw new OperationError('SocketInUse', `another program listens on ${path}`);
}

async function within(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const stop = new AbortController();
  const late = sleep(timeoutMs, false, { signal: stop.signal }).catch(() => false);
  const isDone = await Promise.race([work.then(() => true), late]);
  stop.abort();
  return isDone;
}
