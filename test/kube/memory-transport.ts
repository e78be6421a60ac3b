import { setImmediate } from 'node:timers/promises';
import { KubeError } from '../../src/kube/errors.ts';
import type { Clock } from '../../src/kube/ports.ts';
import type { Answer, Call, Opened, Transport } from '../../src/kube/transport.ts';
import { type FakeApi, fail, type Sink } from './fake-api.ts';

/** Time that passes as fast as anybody wants it to. */
export class InstantClock implements Clock {
  #nowMs = 0;

  nowMs(): number {
    return this.#nowMs;
  }

  async sleep(ms: number): Promise<void> {
    this.#nowMs += ms;
    await setImmediate();
  }

  pass(ms: number): void {
    this.#nowMs += ms;
  }
}

export type Fault = 'unreachable' | 'lost-answer' | number;

/** The fake API without a network. Faults are used up one by one, by lists and watches alike. */
export class MemoryTransport implements Transport {
  readonly faults: Fault[] = [];
  /** Nothing that is written to a stream arrives, for now. */
  #isHeld = false;
  readonly #pipes = new Set<Pipe>();
  readonly #api: FakeApi;
  readonly #cuts = new Set<() => void>();
  readonly #leg: () => Promise<unknown>;

  /** With a clock a way takes its time there, and whoever drives the clock drives the requests. */
  constructor(api: FakeApi, clock?: Clock) {
    this.#api = api;
    this.#leg = clock === undefined ? () => setImmediate() : () => clock.sleep(1);
  }

  set isHeld(isHeld: boolean) {
    this.#isHeld = isHeld;
    for (const pipe of this.#pipes) pipe.hold(isHeld);
  }

  /** Every watch breaks off. What was written to it and not yet read is lost. */
  cut(): void {
    for (const cut of this.#cuts) cut();
  }

  async send(call: Call): Promise<Answer> {
    await this.#leg();
    const fault = this.faults.shift();
    if (fault === 'unreachable') throw new KubeError('Unreachable', 'no route');
    let httpStatus = 0;
    let text = '';
    const sink: Sink = {
      head: (status) => {
        httpStatus = status;
      },
      write: (piece) => {
        text += piece;
      },
      end: () => undefined,
    };
    if (typeof fault === 'number') fail(sink, fault, 'Trouble', `status ${fault}`);
    else this.#api.handle({ ...call, url: call.path }, sink);
    await this.#leg();
    if (fault === 'lost-answer') throw new KubeError('Unreachable', 'reset', { isUncertain: true });
    return { httpStatus, retryAfterMs: undefined, body: Buffer.from(text) };
  }

  async open(call: Call): Promise<Opened> {
    await this.#leg();
    const fault = this.faults.shift();
    if (fault === 'unreachable') throw new KubeError('Unreachable', 'no route');
    const pipe = new Pipe(call.signal);
    let httpStatus = 0;
    const sink: Sink = {
      head: (status) => {
        httpStatus = status;
      },
      write: (text) => pipe.write(text),
      end: () => pipe.end(),
    };
    if (typeof fault === 'number') fail(sink, fault, 'Trouble', `status ${fault}`);
    else this.#api.handle({ ...call, url: call.path }, sink);
    if (httpStatus !== 200) {
      return {
        kind: 'refused',
        answer: { httpStatus, retryAfterMs: undefined, body: pipe.rest() },
      };
    }
    const cut = () => pipe.break(new KubeError('Unreachable', 'reset'));
    this.#cuts.add(cut);
    this.#pipes.add(pipe);
    pipe.hold(this.#isHeld);
    if (fault === 'lost-answer') cut();
    const close = () => {
      this.#cuts.delete(cut);
      this.#pipes.delete(pipe);
      this.#api.forget(sink);
      pipe.end();
    };
    return { kind: 'stream', stream: { lines: pipe.lines(), close } };
  }

  refuseCredentials(): void {}

  close(): void {}
}

class Pipe {
  #texts: string[] = [];
  #isEnded = false;
  #error: Error | undefined;
  #isHeld = false;
  #wake: () => void = () => undefined;

  constructor(signal: AbortSignal | undefined) {
    const leave = () => this.break(new KubeError('Cancelled', 'left'));
    signal?.addEventListener('abort', leave);
    // Whoever left while it was opened hears no event any more.
    if (signal?.aborted === true) leave();
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#wake();
  }

  write(text: string): void {
    if (!this.#isEnded) this.#texts.push(text);
    this.#wake();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  break(error: Error): void {
    this.#texts = [];
    this.#error = error;
    this.#isEnded = true;
    this.#wake();
  }

  rest(): Buffer {
    return Buffer.from(this.#texts.join(''));
  }

  async *lines(): AsyncGenerator<Buffer> {
    for (;;) {
      const text = this.#isHeld ? undefined : this.#texts.shift();
      if (text !== undefined) yield Buffer.from(text);
      else if (this.#error !== undefined) throw this.#error;
      else if (this.#isEnded && this.#texts.length === 0) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
