import { parseArgs } from 'node:util';
import { simulateCluster } from './cluster.ts';
import { clusterStoryOf } from './cluster-story.ts';

/**
 *   node test/sim/cluster-main.ts --seeds 2000    explore seeds 1 to 2000
 *   node test/sim/cluster-main.ts --seed 17       replay one
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    /** Shows what was said about this in a replay. */
    about: { type: 'string' },
  },
});

if (values.seed === undefined) await explore(Number(values.from), Number(values.seeds));
else await replay(Number(values.seed));
// Processes of ended worlds wait for ever; nothing is left to wait for.
process.exit();

async function explore(from: number, to: number): Promise<void> {
  const startedAtMs = performance.now();
  let commands = 0;
  let requests = 0;
  let claims = 0;
  let bad = 0;
  for (let seed = from; seed <= to; seed += 1) {
    const verdict = await simulateCluster(clusterStoryOf(seed));
    commands += verdict.commands;
    requests += verdict.requests;
    claims += verdict.claims;
    if (verdict.violations.length === 0) continue;
    bad += 1;
    console.log(`SEED=${seed}: ${verdict.violations.join('\n  ')}`);
  }
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  console.log(
    `${to - from + 1} clusters, ${claims} claims, ${requests} requests, ${commands} commands ` +
      `in ${seconds} s: ${bad} with a violation`,
  );
  process.exitCode = bad === 0 ? 0 : 1;
}

async function replay(seed: number): Promise<void> {
  const story = clusterStoryOf(seed);
  const { violations, lines } = await simulateCluster(story);
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
