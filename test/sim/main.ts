import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { shrink } from './shrink.ts';
import { simulate, type Verdict } from './simulate.ts';
import { type Story, storyOf } from './story.ts';

/**
 *   node test/sim/main.ts --seeds 2000        explore seeds 1 to 2000, on all cores
 *   node test/sim/main.ts --seed 17           replay one, with its shortest story
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    seed: { type: 'string' },
    from: { type: 'string' },
    step: { type: 'string' },
  },
});

type Totals = { commands: number; lives: number; volumes: number; bad: Verdict[] };

if (values.seed !== undefined) await replay(Number(values.seed));
else if (values.from !== undefined) await explorePart(Number(values.from), Number(values.step));
else await explore(Number(values.seeds));

/** One part for each core: seeds are dealt out like cards. */
async function explore(seeds: number): Promise<void> {
  const startedAtMs = performance.now();
  const parts = Math.min(availableParallelism(), seeds);
  const totals = await Promise.all(
    Array.from({ length: parts }, (_, index) => runPart(index + 1, parts, seeds)),
  );
  const sum = (pick: (total: Totals) => number) => totals.reduce((all, one) => all + pick(one), 0);
  const bad = totals.flatMap((total) => total.bad).toSorted((a, b) => a.seed - b.seed);
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  console.log(
    `${seeds} worlds, ${sum((t) => t.volumes)} volumes, ${sum((t) => t.commands)} commands, ` +
      `${sum((t) => t.lives)} lives in ${seconds} s: ${bad.length} with a violation`,
  );
  const [first] = bad;
  if (first === undefined) return;
  process.exitCode = 1;
  console.log(`seeds: ${bad.map((verdict) => verdict.seed).join(' ')}`);
  await replay(first.seed);
}

function runPart(from: number, step: number, seeds: number): Promise<Totals> {
  const args = ['--seeds', `${seeds}`, '--from', `${from}`, '--step', `${step}`];
  const flags = process.execArgv;
  const child = spawn(process.execPath, [...flags, import.meta.filename, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    child.on('close', (code) => {
      if (code === 0) resolve(JSON.parse(output) as Totals);
      else reject(new Error(`a part of the simulation ended with ${code}`));
    });
  });
}

async function explorePart(from: number, step: number): Promise<void> {
  const totals: Totals = { commands: 0, lives: 0, volumes: 0, bad: [] };
  for (let seed = from; seed <= Number(values.seeds); seed += step) {
    const verdict = await simulate(storyOf(seed));
    totals.commands += verdict.commands;
    totals.lives += verdict.lives;
    totals.volumes += verdict.volumes;
    if (verdict.violations.length > 0) totals.bad.push(verdict);
  }
  console.log(JSON.stringify(totals));
  // Agents of ended worlds wait for ever; nothing is left to wait for.
  process.exit(0);
}

async function replay(seed: number): Promise<void> {
  const story = storyOf(seed);
  const verdict = await simulate(story);
  console.log(`SEED=${seed}: ${verdict.violations.length} violation(s)`);
  if (verdict.violations.length > 0) {
    const short = await shrink(story);
    const { violations } = await simulate(short);
    console.log('The shortest story that still goes wrong:');
    tell(short);
    for (const violation of violations) console.log(`  VIOLATION ${violation}`);
    console.log(`Replay it with: make sim SEED=${seed}`);
  }
  process.exit(verdict.violations.length === 0 ? 0 : 1);
}

function tell(story: Story): void {
  for (const vg of story.node.volumeGroups) console.log(`  group ${JSON.stringify(vg)}`);
  const rates = Object.entries(story.rates).filter(([, rate]) => rate > 0);
  console.log(`  faults ${JSON.stringify(Object.fromEntries(rates))}`);
  for (const { atMs, ...event } of story.events) {
    console.log(`  ${String(atMs / 1000).padStart(8)} s  ${JSON.stringify(event)}`);
  }
}
