import type { Duplex } from 'node:stream';
import type { GuestMessage, HostMessage } from './protocol.ts';

export type RunOptions = {
  /** After this the command is killed and the run fails. One minute unless told otherwise. */
  readonly timeoutMs?: number;
  readonly stdin?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Aborting kills the command and the run fails. */
  readonly signal?: AbortSignal;
  readonly onStdout?: (chunk: Buffer) => void;
  readonly onStderr?: (chunk: Buffer) => void;
};

export type RunResult = {
  /** Null when a signal ended the command. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutBytes: Buffer;
  readonly durationMs: number;
};

/** A command that runs until it ends or is killed. */
export type Running = {
  readonly result: Promise<RunResult>;
  kill(signal?: string): void;
  write(data: string | Uint8Array): void;
  endInput(): void;
};

const defaultTimeoutMs = 60_000;
const outputBytesMax = 256 * 1024 * 1024;
const stdinChunkBytes = 16 * 1024;
/**
 * UML 7.2 never reads a serial line again once the guest's terminal buffer (4096 bytes) has been
 * full, so we stop well before that until the guest says what it has read.
 */
const unheardBytesMax = 3000;

type Pending = {
  readonly startedMs: number;
  readonly options: RunOptions;
  readonly stdout: Buffer[];
  readonly stderr: Buffer[];
  outputBytes: number;
  resolve(result: RunResult): void;
  reject(error: Error): void;
};

/** The host's end of the line to one boot of a guest: many commands at once, in any order. */
export class Channel {
  readonly #stream: Duplex;
  readonly #guestName: string;
  readonly #pending = new Map<number, Pending>();
  readonly #hello = deferred<void>();
  #rest = '';
  #unsent: Buffer = Buffer.alloc(0);
  #sentBytes = 0;
  #heardBytes = 0;
  #lastId = 0;
  #closed: Error | undefined;

  constructor(stream: Duplex, guestName: string) {
    this.#stream = stream;
    this.#guestName = guestName;
    this.#hello.promise.catch(() => {}); // whoever waits for it gets the error; nobody must
  }

  open(): void {
    this.#stream.setEncoding('utf8');
    this.#stream.on('data', (chunk: string) => this.#read(chunk));
    // The end of the guest process is what counts; it calls `close` with the reason.
    this.#stream.on('error', () => {});
  }

  /** Resolves when the guest's agent is ready for commands. */
  hello(): Promise<void> {
    return this.#hello.promise;
  }

  /** Fails everything that still waits, at once. */
  close(error: Error): void {
    if (this.#closed !== undefined) return;
    this.#closed = error;
    this.#hello.reject(error);
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#pending.clear();
    this.#stream.destroy();
  }

  start(argv: readonly string[], options: RunOptions = {}): Running {
    if (this.#closed !== undefined) throw this.#closed;
    options.signal?.throwIfAborted();
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve, reject } = deferred<RunResult>();
    const startedMs = performance.now();
    const collected = { stdout: [], stderr: [], outputBytes: 0 };
    this.#pending.set(id, { startedMs, options, resolve, reject, ...collected });
    const { env = {}, cwd = '/root' } = options;
    this.#send({ op: 'run', id, argv, env, cwd });
    const running: Running = {
      result: this.#withLimits(id, argv, options, promise),
      kill: (signal = 'SIGTERM') => this.#send({ op: 'kill', id, signal }),
      write: (data) => this.#sendInput(id, Buffer.from(data as Uint8Array)),
      endInput: () => this.#send({ op: 'stdin-end', id }),
    };
    if (options.stdin !== undefined) {
      running.write(options.stdin);
      running.endInput();
    }
    return running;
  }

  async #withLimits(
    id: number,
    argv: readonly string[],
    options: RunOptions,
    done: Promise<RunResult>,
  ): Promise<RunResult> {
    const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
    const giveUp = (error: Error): void => {
      const pending = this.#pending.get(id);
      if (pending === undefined) return;
      this.#pending.delete(id);
      this.#send({ op: 'kill', id, signal: 'SIGKILL' });
      const said = `${textOf(pending.stdout)}${textOf(pending.stderr)}`.slice(-4000);
      pending.reject(
        said === '' ? error : new Error(`${error.message}\n${said}`, { cause: error }),
      );
    };
    const timer = setTimeout(() => {
      giveUp(new Error(`${this.#guestName}: no end after ${timeoutMs} ms: ${argv.join(' ')}`));
    }, timeoutMs);
    const onAbort = (): void => giveUp(options.signal?.reason as Error);
    options.signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await done;
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', onAbort);
    }
  }

  #send(message: HostMessage): void {
    if (this.#closed !== undefined) return;
    this.#unsent = Buffer.concat([this.#unsent, Buffer.from(`${JSON.stringify(message)}\n`)]);
    this.#sendMore();
  }

  #sendMore(): void {
    const room = unheardBytesMax - (this.#sentBytes - this.#heardBytes);
    if (room <= 0 || this.#unsent.length === 0) return;
    const next = this.#unsent.subarray(0, room);
    this.#unsent = this.#unsent.subarray(next.length);
    this.#sentBytes += next.length;
    this.#stream.write(next);
  }

  #sendInput(id: number, data: Buffer): void {
    for (let at = 0; at < data.length; at += stdinChunkBytes) {
      const base64 = data.subarray(at, at + stdinChunkBytes).toString('base64');
      this.#send({ op: 'stdin', id, base64 });
    }
  }

  #read(chunk: string): void {
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') this.#handle(JSON.parse(line) as GuestMessage);
  }

  #handle(message: GuestMessage): void {
    if (message.op === 'hello') {
      this.#hello.resolve();
      return;
    }
    if (message.op === 'heard') {
      this.#heardBytes = message.totalBytes;
      this.#sendMore();
      return;
    }
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return; // given up on
    switch (message.op) {
      case 'output':
        this.#collect(message, pending);
        return;
      case 'refused':
        this.#pending.delete(message.id);
        pending.reject(new Error(`${this.#guestName}: ${message.message}`));
        return;
      case 'exit':
        this.#pending.delete(message.id);
        pending.resolve({
          exitCode: message.exitCode,
          signal: message.signal,
          stdout: textOf(pending.stdout),
          stderr: textOf(pending.stderr),
          stdoutBytes: Buffer.concat(pending.stdout),
          durationMs: performance.now() - pending.startedMs,
        });
        return;
    }
  }

  #collect(message: Extract<GuestMessage, { op: 'output' }>, pending: Pending): void {
    const bytes = Buffer.from(message.base64, 'base64');
    const streams = message.stream === 'stdout';
    const listener = streams ? pending.options.onStdout : pending.options.onStderr;
    listener?.(bytes);
    pending.outputBytes += bytes.length;
    // A listener has already seen the bytes; a long stream must not fill our memory as well.
    if (listener !== undefined && pending.outputBytes > outputBytesMax) return;
    if (pending.outputBytes > outputBytesMax) {
      this.#pending.delete(message.id);
      this.#send({ op: 'kill', id: message.id, signal: 'SIGKILL' });
      pending.reject(new Error(`${this.#guestName}: more than ${outputBytesMax} bytes of output`));
      return;
    }
    (streams ? pending.stdout : pending.stderr).push(bytes);
  }
}

function textOf(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString();
}

type Deferred<T> = {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: Error): void;
};

function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
