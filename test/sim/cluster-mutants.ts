import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type ClusterMutant, clusterMutants } from './cluster-mutants-list.ts';

/**
 * Who checks the checker: every deliberately broken role must be caught. Prints the score.
 *
 *   node test/sim/cluster-mutants.ts            all of them
 *   node test/sim/cluster-mutants.ts wiped      those with this word in their names
 */
const seedsMax = { cluster: 200, lvms: 300 } as const;
const here = import.meta.dirname;
const run = promisify(execFile);
const [word = ''] = process.argv.slice(2);
const all = [...clusterMutants.entries()].filter(([, { name }]) => name.includes(word));

async function hunt(index: number, mutant: ClusterMutant): Promise<boolean> {
  const { name, step = 1, of = 'cluster' } = mutant;
  const args = ['--import', join(here, 'cluster-mutate.ts'), join(here, 'cluster-hunt.ts')];
  const env = { ...process.env, QUARRY_MUTANT: String(index) };
  const seeds = [of, `${seedsMax[of] * step}`, `${step}`];
  const { stdout } = await run(process.execPath, [...args, ...seeds], { env });
  const found = JSON.parse(stdout) as { readonly seed?: number; readonly violation?: string };
  const how = found.seed === undefined ? 'NOT CAUGHT' : `seed ${found.seed}`;
  console.log(`${how.padEnd(11)} ${name}: ${(found.violation ?? '').slice(0, 110)}`);
  return found.seed !== undefined;
}

const waiting = [...all];
let caught = 0;
const worker = async () => {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const isCaught = await hunt(...next);
    if (isCaught) caught += 1;
  }
};
await Promise.all(Array.from({ length: availableParallelism() }, worker));
console.log(`${caught} of ${all.length} mutants caught`);
process.exitCode = caught === all.length ? 0 : 1;
