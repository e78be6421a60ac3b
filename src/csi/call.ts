import type { ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import { type Ending, endingOf, type Status } from './status.ts';

/** What a handler knows of the call beside the request. */
export type Call = {
  /** Fires when the caller went away, its deadline passed, or the server must stop. */
  readonly signal: AbortSignal;
  /** How long the caller waits, counted from the start of the call. */
  readonly deadlineMs: number | undefined;
  /** The program that calls, as it names itself. */
  readonly peer: string;
  /** Says which volume this is about: the key that is the same in every log line about it. */
  nameVolume(volume: string): void;
};

/** One for each call, when it ended for its caller. It never holds a request. */
export type CallEvent = {
  readonly method: string;
  readonly durationMs: number;
  readonly code: Status;
  readonly peer: string;
  readonly volume?: string;
  readonly message?: string;
  readonly errorId?: string;
  readonly detail?: string;
};

export type CallLog = (event: CallEvent) => void;

/** grpc-js' side of a call. Bytes go in and out; messages are our business. */
export type Surface = ServerUnaryCall<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>;

type Parts = {
  readonly method: string;
  readonly request: unknown;
  readonly surface: Surface;
  readonly log: CallLog;
  readonly send: (ending: Ending) => void;
};

/**
 * A call while it runs. It ends once: with an answer, a failure, or because nobody waits any
 * more. What comes after that is dropped.
 */
export class OpenCall implements Call {
  readonly signal: AbortSignal;
  readonly deadlineMs: number | undefined;
  readonly peer: string;
  /** Resolves when the call ended for its caller. */
  readonly ended: Promise<void>;
  readonly #parts: Parts;
  readonly #abort = new AbortController();
  readonly #startedAtMs = performance.now();
  #volume: string | undefined;
  #isOpen = true;
  #resolveEnded: () => void = () => undefined;

  constructor(parts: Parts) {
    const { surface } = parts;
    this.#parts = parts;
    this.signal = this.#abort.signal;
    this.deadlineMs = remainingMs(surface);
    this.peer = String(surface.metadata.get('user-agent')[0] ?? 'unknown');
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    // grpc-js says `cancelled` for a deadline too, which it has answered by itself then.
    surface.once('cancelled', () => this.#drop());
  }

  nameVolume(volume: string): void {
    this.#volume = volume;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** `send` gives the answer; it is not called when nobody waits for it. */
  succeed(send: () => void): void {
    if (!this.#isOpen) return;
    send();
    this.#end({ status: 'OK', message: '' });
  }

  fail(error: unknown): void {
    if (!this.#isOpen) return;
    const ending = withoutSecrets(endingOf(error), this.#parts.request);
    this.#parts.send(ending);
    this.#end(ending);
  }

  /** Ends the call though its handler still runs, and tells the handler. */
  interrupt(error: unknown): void {
    this.fail(error);
    this.#abort.abort(error);
  }

  #drop(): void {
    if (!this.#isOpen) return;
    const isLate = (remainingMs(this.#parts.surface) ?? Infinity) <= transitMs;
    this.#end({ status: isLate ? 'DEADLINE_EXCEEDED' : 'CANCELLED', message: '' });
    this.#abort.abort(new Error(isLate ? 'the deadline passed' : 'the caller went away'));
  }

  #end({ status, message, ...rest }: Ending): void {
    this.#isOpen = false;
    this.#resolveEnded();
    this.#parts.log({
      method: this.#parts.method,
      durationMs: performance.now() - this.#startedAtMs,
      code: status,
      peer: this.peer,
      ...(this.#volume === undefined ? {} : { volume: this.#volume }),
      ...(message === '' ? {} : { message }),
      ...rest,
    });
  }
}

/** A caller counts from a moment before ours, and hangs up at its own deadline. */
const transitMs = 100;

function remainingMs(surface: Surface): number | undefined {
  const deadline = Number(surface.getDeadline());
  return deadline === Number.POSITIVE_INFINITY ? undefined : Math.max(0, deadline - Date.now());
}

/** An error text may quote what it could not use. Nothing that came as a secret goes out again. */
function withoutSecrets(ending: Ending, request: unknown): Ending {
  const secrets = (request as { readonly secrets?: ReadonlyMap<string, string> } | null)?.secrets;
  if (!(secrets instanceof Map) || secrets.size === 0) return ending;
  const values = [...secrets.values()].filter((value) => value !== '');
  const clean = (text: string) =>
    values.reduce((left, value) => left.replaceAll(value, '[secret]'), text);
  const { message, detail } = ending;
  return {
    ...ending,
    message: clean(message),
    ...(detail === undefined ? {} : { detail: clean(detail) }),
  };
}
