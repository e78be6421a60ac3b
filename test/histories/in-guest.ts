import { Checker } from './checker.ts';
import { historyOf } from './history.ts';
import { play } from './play.ts';
import { RealDriver } from './real-driver.ts';

/** Plays histories FROM to TO on this host and prints a line of JSON for each. */
const [from = 1, to = 1] = process.argv.slice(2).map(Number);
for (let seed = from; seed <= to; seed += 1) {
  const checker = new Checker();
  const driver = new RealDriver(checker);
  const startedMs = performance.now();
  try {
    const verdict = await play(historyOf(seed, ['thin', 'thick']), checker, driver);
    console.log(JSON.stringify({ ...verdict, ms: Math.round(performance.now() - startedMs) }));
    if (verdict.violations.length > 0) process.exit(1);
  } finally {
    driver.stop();
  }
}
process.exit(0);
