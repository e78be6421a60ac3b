import { Checker } from './checker.ts';
import { FakeDriver, type Lie } from './fake-driver.ts';
import { type History, historyOf } from './history.ts';

export type Verdict = {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly calls: number;
};

/** Plays a history, then takes everything away: nothing may be left. */
export async function playOnFake(seed: number, lie?: Lie): Promise<Verdict> {
  const history = historyOf(seed, ['thin', 'thick']);
  const checker = new Checker();
  const driver = new FakeDriver(seed, checker, lie);
  await driver.setUp();
  let calls = 0;
  for (const round of history.rounds) {
    calls += round.calls.length;
    await driver.play(round);
    if (checker.violations.length > 0) return { seed, violations: told(checker, history), calls };
  }
  await takeAway(driver, checker);
  const left = driver.stage.world.vg('data')?.lvs.map((lv) => lv.name) ?? [];
  const leaked = left.filter((name) => name !== 'pool');
  if (leaked.length > 0) checker.say(`left behind: ${leaked.join(' ')}`);
  const mounts = driver.stage.world.machine.table.mounts.map(({ mountPoint }) => mountPoint);
  const shown = mounts.filter((path) => path.startsWith('/pods/'));
  if (shown.length > 0) checker.say(`still mounted: ${shown.join(' ')}`);
  return { seed, violations: told(checker, history), calls };
}

/** What was cut off is asked for again, so that it has an id; then everything goes. */
async function takeAway(driver: FakeDriver, checker: Checker): Promise<void> {
  for (const one of [...checker.all('volume'), ...checker.all('snapshot')]) {
    if (one.state !== 'doubt' || one.made === undefined) continue;
    await driver.call(one.made.call, one.made.wire);
  }
  for (const one of checker.all('volume')) {
    for (const path of one.shown.keys())
      await driver.call({ op: 'unpublish', name: one.name, path });
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
