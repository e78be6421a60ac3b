import { spawn } from 'node:child_process';
import { budgets } from './memory.ts';
import { cpuMsOf, kill, openRoleStage, type RoleName, ready } from './role-process.ts';

/**
 * How long a bundled role takes from its start to a probe that says yes, beside a Node.js that does
 * nothing, in turn. On a machine with other work only the best of each means something.
 *
 *   node bench/start.ts [agent] [all] [operator]
 */
export type Starts = {
  readonly readyMs: readonly number[];
  /** What it and its programs took of the processor until then. */
  readonly cpuMs: readonly number[];
  readonly bareMs: readonly number[];
};

/** A probe more often than that would slow down what it looks at. */
const probeEveryMs = 5;

export async function measureStarts(role: RoleName, rounds: number): Promise<Starts> {
  const readyMs: number[] = [];
  const cpuMs: number[] = [];
  const bareMs: number[] = [];
  const { launch, close } = await openRoleStage(role, budgets[role].volumes);
  try {
    for (let round = 0; round < rounds; round += 1) {
      bareMs.push(await bareStart());
      const startedAtMs = performance.now();
      const child = launch();
      try {
        await ready(child, probeEveryMs);
        readyMs.push(performance.now() - startedAtMs);
        cpuMs.push(cpuMsOf(child.pid ?? 0));
      } finally {
        await kill(child);
      }
    }
  } finally {
    await close();
  }
  return { readyMs, cpuMs, bareMs };
}

/** From the start to the end of a process that has nothing to do. */
async function bareStart(): Promise<number> {
  const startedAtMs = performance.now();
  const child = spawn(process.execPath, ['--eval', ''], { stdio: 'ignore' });
  await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  return performance.now() - startedAtMs;
}

export function showStarts(role: RoleName, { readyMs, cpuMs, bareMs }: Starts): string {
  const [best, bare] = [Math.min(...readyMs), Math.min(...bareMs)];
  const all = readyMs.map((ms) => ms.toFixed(0)).join(', ');
  const ratio = (best / bare).toFixed(1);
  const cpu = `${Math.min(...cpuMs).toFixed(0)} ms of the processor`;
  const beside = `${ratio} times a bare Node.js (${bare.toFixed(0)} ms)`;
  return `${role} is ready after ${best.toFixed(0)} ms (${all}) and ${cpu}, ${beside}`;
}

if (import.meta.main) {
  const asked = process.argv.slice(2) as readonly RoleName[];
  for (const role of asked.length > 0 ? asked : (['agent', 'all', 'operator'] as const)) {
    console.log(showStarts(role, await measureStarts(role, 5)));
  }
}
