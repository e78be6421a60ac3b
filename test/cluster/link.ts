import { KubeError } from '../../src/kube/errors.ts';
import { kubeLimits } from '../../src/kube/limits.ts';
import type { Answer, Call, Opened, Transport } from '../../src/kube/transport.ts';
import { type FakeApi, fail, type Sink } from '../kube/fake-api.ts';
import type { FakeClock } from '../world/clock.ts';
import type { Life } from './life.ts';
import type { Network } from './network.ts';

export type LinkParts = {
  readonly api: FakeApi;
  readonly clock: FakeClock;
  readonly network: Network;
  readonly life: Life;
  readonly machine: string;
  readonly who: string;
  readonly self: string;
};

/**
 * The way of one process to the API server, in made-up time. What was sent arrives, also after the
 * process died; what is answered is heard only by who lives.
 */
export class Link implements Transport {
  readonly #parts: LinkParts;

  constructor(parts: LinkParts) {
    this.#parts = parts;
  }

  send(call: Call): Promise<Answer> {
    const { clock, life } = this.#parts;
    return life.hold(
      new Promise<Answer>((resolve, reject) => {
        const over = this.#patience(call, call.timeoutMs ?? kubeLimits.requestTimeoutMs, reject);
        this.#leave(
          call,
          () => this.#carryOut(call, { resolve, reject, clock, over }),
          (error) => {
            over.end();
            reject(error);
          },
        );
      }),
    );
  }

  open(call: Call, idleMs: number): Promise<Opened> {
    const { life } = this.#parts;
    return life.hold(
      new Promise<Opened>((resolve, reject) => {
        const over = this.#patience(call, idleMs, reject);
        this.#leave(
          call,
          () => {
            over.end();
            this.#begin(call, idleMs, resolve);
          },
          (error) => {
            over.end();
            reject(error);
          },
        );
      }),
    );
  }

  refuseCredentials(): void {}

  close(): void {}

  /** The connection stands after a while; then the bytes go out, and arrive later or never. */
  #leave(call: Call, arrive: () => void, refuse: (error: unknown) => void): void {
    const { clock, network, life, machine } = this.#parts;
    clock.after(1, () => {
      if (life.isDead || call.signal?.aborted === true || network.isCut(machine)) return;
      if (network.isAway) {
        refuse(new KubeError('Unreachable', 'connection refused'));
        return;
      }
      try {
        call.fence?.();
      } catch (error) {
        refuse(error);
        return;
      }
      const { method, path } = call;
      for (const tell of network.departures) tell({ method, path, self: this.#parts.self });
      clock.after(network.latencyMs(), arrive, 'request');
    });
  }

  #carryOut(call: Call, wait: Wait): void {
    const { api, clock, network, machine, who } = this.#parts;
    const answer = (run: () => void) => {
      const heard = () => {
        if (network.isCut(machine)) return;
        wait.over.end();
        run();
      };
      clock.after(network.latencyMs(), heard, 'answer');
    };
    const mishap = network.isAway ? 'refused' : network.draw();
    if (mishap === 'refused') {
      answer(() => wait.reject(new KubeError('Unreachable', 'connection refused')));
      return;
    }
    const { sink, result } = collected();
    const isDone = mishap === undefined || mishap === 'lostAnswer' || network.coin();
    if (mishap !== 'busy' && isDone) api.handle({ ...call, url: call.path, who }, sink);
    if (mishap === 'lostAnswer') {
      const lost = new KubeError('Unreachable', 'connection reset', { isUncertain: true });
      answer(() => wait.reject(lost));
      return;
    }
    const trouble = collected();
    if (mishap === 'busy') fail(trouble.sink, 429, 'TooManyRequests', 'the server is too busy');
    if (mishap === 'failed') fail(trouble.sink, 500, 'InternalError', 'etcdserver: leader changed');
    const { httpStatus, body } = mishap === undefined ? result() : trouble.result();
    const retryAfterMs = mishap === 'busy' ? 1_000 : undefined;
    answer(() => wait.resolve({ httpStatus, retryAfterMs, body }));
  }

  #begin(call: Call, idleMs: number, resolve: (opened: Opened) => void): void {
    const { api, network, who } = this.#parts;
    const pipe = new Pipe(this.#parts, idleMs);
    let httpStatus = 0;
    const sink: Sink = {
      head: (status) => {
        httpStatus = status;
      },
      write: (text) => pipe.write(text),
      end: () => pipe.end(),
    };
    const mishap = network.isAway ? 'failed' : network.draw();
    if (mishap === undefined) api.handle({ ...call, url: call.path, who }, sink);
    else fail(sink, mishap === 'busy' ? 429 : 500, 'InternalError', 'trouble');
    if (httpStatus !== 200) {
      const body = pipe.close();
      resolve({ kind: 'refused', answer: { httpStatus, retryAfterMs: undefined, body } });
      return;
    }
    const forget = () => {
      api.forget(sink);
      pipe.close();
    };
    this.#watch(call, pipe, forget);
    resolve({ kind: 'stream', stream: { lines: pipe.lines(), close: forget } });
  }

  /** A watch ends when the server has had enough of it, is gone, or nobody listens. */
  #watch(call: Call, pipe: Pipe, forget: () => void): void {
    const { clock, network, life } = this.#parts;
    const seconds = Number(new URL(call.path, 'https://fake').searchParams.get('timeoutSeconds'));
    const stop = clock.after(seconds * 1000, () => pipe.end(), 'watch');
    const unlisten = network.onReset(() => pipe.break('connection reset'));
    call.signal?.addEventListener('abort', () => pipe.break('left'));
    life.onDeath(forget);
    pipe.onClose = () => {
      stop();
      unlisten();
    };
  }

  #patience(call: Call, ms: number, reject: (error: Error) => void) {
    const { clock } = this.#parts;
    const what = `${call.method} ${call.path}`;
    const end = () => {
      stop();
      call.signal?.removeEventListener('abort', leave);
    };
    const leave = () => {
      end();
      reject(new KubeError('Cancelled', `${what}: nobody waits`, { isUncertain: true }));
    };
    const stop = clock.after(ms, () => {
      end();
      reject(new KubeError('Timeout', `${what}: nothing was heard`, { isUncertain: true }));
    });
    call.signal?.addEventListener('abort', leave);
    if (call.signal?.aborted === true) leave();
    return { end };
  }
}

type Wait = {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
  readonly clock: FakeClock;
  readonly over: { readonly end: () => void };
};

function collected() {
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
  return { sink, result: () => ({ httpStatus, body: Buffer.from(text) }) };
}

/** What a watch brings: in order, late, and at times not at all. */
class Pipe {
  readonly #parts: LinkParts;
  readonly #idleMs: number;
  readonly #sent: string[] = [];
  readonly #heard: string[] = [];
  onClose: () => void = () => undefined;
  #isMoving = false;
  #isEnding = false;
  #isOver = false;
  #error: KubeError | undefined;
  #wake: () => void = () => undefined;
  #stopIdle: () => void = () => undefined;

  constructor(parts: LinkParts, idleMs: number) {
    this.#parts = parts;
    this.#idleMs = idleMs;
    this.#idle();
  }

  write(text: string): void {
    if (this.#isOver || this.#isEnding) return;
    this.#sent.push(text);
    this.#move();
  }

  /** After what was sent is heard. */
  end(): void {
    this.#isEnding = true;
    this.#move();
  }

  break(why: string): void {
    this.#error ??= new KubeError('Unreachable', why);
    this.#sent.length = 0;
    this.close();
  }

  close(): Buffer {
    const rest = Buffer.from([...this.#heard, ...this.#sent].join(''));
    this.#isOver = true;
    this.#stopIdle();
    this.onClose();
    this.#parts.life.enter(() => this.#wake());
    return rest;
  }

  async *lines(): AsyncGenerator<Buffer> {
    for (;;) {
      const text = this.#heard.shift();
      if (text !== undefined) yield Buffer.from(text);
      else if (this.#error !== undefined) throw this.#error;
      else if (this.#isOver) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  #move(): void {
    if (this.#isMoving || this.#isOver) return;
    this.#isMoving = true;
    const { clock, network } = this.#parts;
    clock.after(network.lagMs(), () => this.#arrive(), 'event');
  }

  #arrive(): void {
    const { clock, network, machine, life } = this.#parts;
    this.#isMoving = false;
    if (this.#isOver) return;
    if (network.isCut(machine)) {
      this.#isMoving = true;
      clock.after(500, () => this.#arrive(), 'cut off');
      return;
    }
    const lateMs = network.lagsUntilMs(machine) - clock.nowMs();
    if (lateMs > 0) {
      this.#isMoving = true;
      clock.after(lateMs, () => this.#arrive(), 'late');
      return;
    }
    if (network.breaks()) {
      this.break('connection reset');
      return;
    }
    this.#idle();
    this.#heard.push(...this.#sent.splice(0));
    if (this.#isEnding) this.close();
    else life.enter(() => this.#wake());
  }

  #idle(): void {
    this.#stopIdle();
    const { clock } = this.#parts;
    const silent = () => this.break('nothing was heard');
    this.#stopIdle = clock.after(this.#idleMs, silent, 'idle watch');
  }
}
