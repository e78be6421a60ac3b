import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Mutant, mutants } from './mutants/list.ts';

/** Who checks the checker: every deliberately broken variant must be caught. Prints the score. */
export type Catch = {
  readonly mutant: Mutant;
  readonly seed: number | undefined;
  readonly violation: string | undefined;
};

const seedsMax = 2000;

export async function huntAll(onCatch: (caught: Catch) => void): Promise<readonly Catch[]> {
  const results: Catch[] = [];
  const waiting = [...mutants.entries()];
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const caught = await hunt(...next);
      onCatch(caught);
      results.push(caught);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return results;
}

function hunt(index: number, mutant: Mutant): Promise<Catch> {
  const here = import.meta.dirname;
  const hook = join(here, 'mutants/mutate.ts');
  const args = ['--import', hook, join(here, 'mutants/hunt.ts'), String(seedsMax)];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, QUARRY_MUTANT: String(index) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    child.on('close', (code) => {
      // A mutant whose own assertions stop the process is caught as well.
      if (code !== 0 && !errors.includes('bug: ')) {
        reject(new Error(`${mutant.name}: ${errors}`));
        return;
      }
      const found = code === 0 ? JSON.parse(output) : { seed: 0, violation: errors.split('\n')[4] };
      resolve({ mutant, seed: found.seed, violation: found.violation });
    });
  });
}

if (import.meta.main) {
  const startedAtMs = performance.now();
  const all = await huntAll(({ mutant, seed, violation }) => {
    const how = seed === undefined ? 'NOT CAUGHT' : `seed ${seed}`;
    console.log(`${how.padEnd(11)} ${mutant.name}: ${(violation ?? '').slice(0, 110)}`);
  });
  const caught = all.filter(({ seed }) => seed !== undefined).length;
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(0);
  console.log(`${caught} of ${all.length} mutants caught in ${seconds} s`);
  process.exitCode = caught === all.length ? 0 : 1;
}
