import { Checker, type Ending } from './checker.ts';
import { FakeDriver, type Lie } from './fake-driver.ts';
import { type Call, type History, historyOf, type Round } from './history.ts';
import type { WireCall } from './requests.ts';

/** A driver that histories can be played on, in a fake world or on real LVM. */
export type Driver = {
  setUp(): Promise<void>;
  play(round: Round): Promise<void>;
  /** The same request once more, with the ids it had; or a new one. */
  call(call: Call, wire?: WireCall): Promise<Ending>;
  /** What is still there, once everything was taken away. */
  leftovers(): Promise<readonly string[]>;
};

export type Verdict = {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly calls: number;
};

export function playOnFake(seed: number, lie?: Lie): Promise<Verdict> {
  const checker = new Checker();
  const history = historyOf(seed, ['thin', 'thick']);
  return play(history, checker, new FakeDriver(seed, checker, lie));
}

/** Plays a history, then takes everything away: nothing may be left. */
export async function play(history: History, checker: Checker, driver: Driver): Promise<Verdict> {
  const { seed } = history;
  await driver.setUp();
  let calls = 0;
  for (const round of history.rounds) {
    calls += round.calls.length;
    await driver.play(round);
    if (checker.violations.length > 0) return { seed, violations: told(checker, history), calls };
  }
  await takeAway(driver, checker);
  const left = await driver.leftovers();
  if (left.length > 0) checker.say(`left behind: ${left.join(' ')}`);
  return { seed, violations: told(checker, history), calls };
}

/** What was cut off is asked for again, so that it has an id; then everything goes. */
async function takeAway(driver: Driver, checker: Checker): Promise<void> {
  for (const one of [...checker.all('volume'), ...checker.all('snapshot')]) {
    if (one.state !== 'doubt' || one.made === undefined) continue;
    await driver.call(one.made.call, one.made.wire);
  }
  for (const { name, shown } of checker.all('volume')) {
    for (const path of shown.keys()) await driver.call({ op: 'unpublish', name, path });
  }
  for (const one of checker.all('snapshot')) {
    if (one.id !== undefined) await driver.call({ op: 'delete-snapshot', name: one.name });
  }
  for (const one of checker.all('volume')) {
    if (one.id !== undefined) await driver.call({ op: 'delete', name: one.name });
  }
}

function told(checker: Checker, { rounds }: History): readonly string[] {
  if (checker.violations.length === 0) return [];
  return [...checker.violations, ...rounds.map((round) => JSON.stringify(round))];
}
