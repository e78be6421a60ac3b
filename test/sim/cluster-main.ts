import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import type { ClusterVerdict } from './cluster.ts';
import { worldOf } from './cluster-worlds.ts';

/**
 *   node test/sim/cluster-main.ts --seeds 2000               explore seeds 1 to 2000, on all cores
 *   node test/sim/cluster-main.ts --from 51 --seeds 100      a part of them, in one process
 *   node test/sim/cluster-main.ts --seed 17 --about pvc-1    replay one
 *   node test/sim/cluster-main.ts --of lvms ...              the same with LVMClusters
 */
const { values } = parseArgs({
  options: {
    of: { type: 'string', default: 'cluster' },
    seeds: { type: 'string', default: '2000' },
    seed: { type: 'string' },
    from: { type: 'string' },
    step: { type: 'string', default: '1' },
    /** Leaves out of a replay what its failure does not need: takes a while. */
    short: { type: 'boolean', default: false },
    /** Shows what was said about this in a replay. */
    about: { type: 'string' },
  },
});

type Totals = { clusters: number; claims: number; requests: number; commands: number };

const world = worldOf(values.of);
const seeds = Number(values.seeds);
if (values.seed !== undefined) await replay(Number(values.seed));
else if (values.from === undefined) await explore();
else await explorePart(Number(values.from), Number(values.step));
// Processes of ended worlds wait for ever; nothing is left to wait for.
process.exit();

/** One part for each core: seeds are dealt out like cards. */
async function explore(): Promise<void> {
  const startedAtMs = performance.now();
  const step = Math.min(availableParallelism(), seeds);
  const parts = Array.from({ length: step }, (_, index) => runPart(index + 1, step));
  const totals = await Promise.all(parts);
  const sum = (pick: (total: Totals) => number) => totals.reduce((all, one) => all + pick(one), 0);
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  console.log(
    `${sum((one) => one.clusters)} clusters, ${sum((one) => one.claims)} claims, ` +
      `${sum((one) => one.requests)} requests, ${sum((one) => one.commands)} commands ` +
      `in ${seconds} s: ${process.exitCode === 1 ? 'with violations' : 'no violation'}`,
  );
}

/** What went wrong is printed at once, and the totals at the end. */
function runPart(from: number, step: number): Promise<Totals> {
  const part = ['--from', `${from}`, '--step', `${step}`];
  const args = ['--of', values.of, '--seeds', `${seeds}`, ...part];
  const child = spawn(process.execPath, [...process.execArgv, import.meta.filename, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    child.on('close', (code) => {
      const lines = output.trimEnd().split('\n');
      const last = lines.pop() ?? '';
      if (lines.length > 0) console.log(lines.join('\n'));
      if (code !== 0) process.exitCode = 1;
      if (last.startsWith('{')) resolve(JSON.parse(last) as Totals);
      else reject(new Error(`a part of the simulation ended with ${code}: ${last}`));
    });
  });
}

async function explorePart(from: number, step: number): Promise<void> {
  const totals: Totals = { clusters: 0, claims: 0, requests: 0, commands: 0 };
  for (let seed = from; seed <= seeds; seed += step) {
    const verdict = await world.simulate(seed);
    add(totals, verdict);
    if (verdict.violations.length === 0) continue;
    process.exitCode = 1;
    console.log(`SEED=${seed}: ${verdict.violations.join('\n  ')}`);
  }
  console.log(JSON.stringify(totals));
}

function add(totals: Totals, { claims, requests, commands }: ClusterVerdict): void {
  totals.clusters += 1;
  totals.claims += claims;
  totals.requests += requests;
  totals.commands += commands;
}

async function replay(seed: number): Promise<void> {
  const { story, verdict } = values.short
    ? await world.shrink(seed)
    : { story: world.storyOf(seed), verdict: await world.simulate(seed) };
  const { violations, lines } = verdict;
  const { events, ...rest } = story;
  console.log(JSON.stringify(rest));
  for (const { atMs, ...event } of events) {
    console.log(`${String(atMs / 1000).padStart(8)} s  ${JSON.stringify(event)}`);
  }
  const about = values.about ?? 'nothing';
  for (const line of lines.filter((one) => one.includes(about))) console.log(`  ${line}`);
  for (const violation of violations) console.log(`VIOLATION ${violation}`);
  console.log(`SEED=${seed}: ${violations.length} violation(s)`);
  process.exitCode = violations.length === 0 ? 0 : 1;
}
