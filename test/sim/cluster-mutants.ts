import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { clusterMutants } from './cluster-mutants-list.ts';

/** Who checks the checker: every deliberately broken role must be caught. Prints the score. */
const seedsMax = 200;
const here = import.meta.dirname;
const run = promisify(execFile);

let caught = 0;
for (const [index, { name, step = 1 }] of clusterMutants.entries()) {
  const args = ['--import', join(here, 'cluster-mutate.ts'), join(here, 'cluster-hunt.ts')];
  const env = { ...process.env, QUARRY_MUTANT: String(index) };
  const { stdout } = await run(process.execPath, [...args, `${seedsMax * step}`, `${step}`], {
    env,
  });
  const found = JSON.parse(stdout) as { readonly seed?: number; readonly violation?: string };
  const how = found.seed === undefined ? 'NOT CAUGHT' : `seed ${found.seed}`;
  console.log(`${how.padEnd(11)} ${name}: ${(found.violation ?? '').slice(0, 110)}`);
  caught += found.seed === undefined ? 0 : 1;
}
console.log(`${caught} of ${clusterMutants.length} mutants caught`);
process.exitCode = caught === clusterMutants.length ? 0 : 1;
