import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Driver, directory, runsBetween } from './driver.ts';
import {
  type CountRow,
  kinds,
  type LvmdRuns,
  type NodeRow,
  operations,
  type Runs,
} from './figures.ts';
import { Lvmd } from './lvmd.ts';
import { callsOf } from './node-calls.ts';
import { snapshotOf } from './peers.ts';
import { Steps } from './steps.ts';

const repeats = 3;
const log = join(directory, 'programs.log');

/**
 * How many programs each call costs, counted twice: by the driver's own metrics, and by small
 * scripts before every program of the system, which note that they were called. They take time, so
 * nothing is timed here.
 */
export async function countRuns(bundle: string, topolvm: string) {
  const programs = makeShims();
  const lvmd = await countLvmd(topolvm, join(programs, 'lvm'));
  const driver = await Driver.start(bundle, programs);
  const counter = new Counter(driver);
  const counts: CountRow[] = [];
  for (const kind of kinds) {
    const seen = new Map<string, Runs[]>(operations.map((operation) => [operation, []]));
    for (let round = 0; round < repeats; round += 1) {
      const steps = new Steps(driver, kind, `count-${kind}-${round}`);
      for (const operation of operations) {
        seen.get(operation)?.push(await counter.count(() => steps.run(operation)));
        if (operation === 'snapshot') await counter.count(() => steps.dropSnapshot());
      }
    }
    for (const operation of operations) {
      const runs = middle(seen.get(operation) ?? []);
      const what = `${operation} ${kind}`;
      const theirs = lvmd.get(what);
      counts.push({ what, runs, ...(theirs === undefined ? {} : { lvmd: theirs }) });
    }
  }
  const node = await countNodeCalls(driver, counter);
  await driver.stop();
  return { counts, node };
}

/** In the life of a volume of each kind. */
async function countLvmd(topolvm: string, lvm: string): Promise<ReadonlyMap<string, LvmdRuns>> {
  const lvmd = await Lvmd.start(topolvm, lvm);
  const counts = new Map<string, LvmdRuns>();
  for (const kind of kinds) {
    for (const operation of operations) {
      if (kind === 'thick' && operation === 'snapshot') continue;
      writeFileSync(log, '');
      await lvmd.run(kind, operation, `count-lvmd-${kind}`);
      await lvmd.atRest();
      const runs = lvmRuns();
      const reports = runs.filter((line) => line.startsWith('lvm fullreport')).length;
      counts.set(`${operation} ${kind}`, { waited: runs.length - reports, reports });
    }
  }
  await lvmd.run('thin', 'delete', snapshotOf('count-lvmd-thin'));
  await lvmd.stop();
  return counts;
}

function lvmRuns(): readonly string[] {
  const noted = readFileSync(log, 'utf8').split('\n');
  return noted.filter((line) => line.startsWith('lvm '));
}

async function countNodeCalls(driver: Driver, counter: Counter) {
  const seen = new Map<string, Runs[]>();
  for (let round = 0; round < repeats; round += 1) {
    const volume = `count-node-${round}`;
    for (const { what, call } of callsOf(driver, volume)) {
      seen.set(what, [...(seen.get(what) ?? []), await counter.count(call)]);
    }
  }
  return [...seen].map(([what, runs]): NodeRow => ({ what, runs: middle(runs), ms: [] }));
}

class Counter {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async count(work: () => Promise<unknown>): Promise<Runs> {
    writeFileSync(log, '');
    const before = await this.#driver.runs();
    await work();
    await this.#driver.atRest();
    const runs = runsBetween(before, await this.#driver.runs());
    const seen = lvmRuns().length;
    if (seen === runs.changes + runs.reads) return runs;
    throw new Error(`the driver tells ${runs.changes} + ${runs.reads} runs of lvm, not ${seen}`);
  }
}

/** One script under the name of every program there is. */
function makeShims(): string {
  const programs = join(directory, 'bin');
  const script = join(directory, 'shim');
  mkdirSync(programs, { recursive: true });
  const lines = [
    '#!/bin/sh',
    'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
    'name=$(basename "$0")',
    `echo "$name $*" >>${log}`,
    'exec "$name" "$@"',
  ];
  writeFileSync(script, `${lines.join('\n')}\n`, { mode: 0o755 });
  const names = new Set(['/usr/sbin', '/usr/bin'].flatMap((path) => readdirSync(path)));
  for (const name of names) symlinkSync(script, join(programs, name));
  return programs;
}

/** A look by the clock may fall into any one of them; the middle one is free of it. */
function middle(all: readonly Runs[]): Runs {
  const total = ({ changes, reads, programs }: Runs) =>
    changes + reads + Object.values(programs).reduce((sum, count) => sum + count, 0);
  const sorted = all.toSorted((a, b) => total(a) - total(b));
  return sorted[Math.floor(sorted.length / 2)] ?? { changes: 0, reads: 0, programs: {} };
}
