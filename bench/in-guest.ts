import { countRuns } from './counts.ts';
import { Driver } from './driver.ts';
import type { Figures, LatencyRow, LoopRow, MemoryRow, Options } from './figures.ts';
import { measureIo } from './fio.ts';
import { measureLatency } from './latency.ts';
import { measureParallel, measureSerial } from './loops.ts';
import { Lvmd } from './lvmd.ts';
import { timeNodeCalls } from './node-calls.ts';

/**
 * Runs in a guest that `bench/main.ts` made ready: counts first, then times at each number of
 * existing volumes, then I/O. Tells how far it is on standard error, and the figures at the end.
 */
const [bundle = '', topolvm = '', rawDisk = '', optionsText = '{}'] = process.argv.slice(2);
const { rounds, levels, atOnce, fioRounds } = JSON.parse(optionsText) as Options;

const { counts, node: nodeCounts } = await timed('counting runs', () => countRuns(bundle, topolvm));
const driver = await Driver.start(bundle);
const lvmd = await Lvmd.start(topolvm);
const latencies: LatencyRow[] = [];
const loops: LoopRow[] = [];
const memory: MemoryRow[] = [];
let existing = 0;
for (const level of levels) {
  if (level > existing) await timed(`up to ${level} volumes`, () => fillTo(level));
  await timed(`each call at ${level} volumes`, () => measureAt(level));
  if (level === 0) await timed('creates at once', () => measureTogether(level));
}
await timed(`creates at ${existing} volumes`, () => measureTop(existing));
const node = await timed('publishing', () => timeNodeCalls(driver, nodeCounts, rounds));
const fio = await timed('I/O', () => measureIo({ driver, lvmd }, rawDisk, fioRounds));
await lvmd.stop();
await driver.stop();
const figures: Figures = { counts, latencies, loops, node, memory, fio };
console.log(JSON.stringify(figures));

/** The way up is a measurement too. */
async function fillTo(level: number): Promise<void> {
  const countOfEach = Math.ceil((level - existing) / 2);
  loops.push(await measureSerial(driver, existing, { countOfEach, stay: true }));
  existing = level;
}

async function measureAt(level: number): Promise<void> {
  latencies.push(...(await measureLatency({ driver, lvmd }, level, rounds)));
  memory.push({ existing: level, quarry: driver.memory, lvmd: lvmd.memory });
}

async function measureTogether(level: number): Promise<void> {
  loops.push(await measureParallel(driver, level, { count: atOnce, lvmd }));
}

async function measureTop(level: number): Promise<void> {
  const countOfEach = atOnce;
  loops.push(await measureSerial(driver, level, { countOfEach, stay: false }));
  await measureTogether(level);
}

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const startedAtMs = performance.now();
  const result = await work();
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(0);
  console.error(`${what}: ${seconds} s`);
  return result;
}
