import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

/** Starts a lab in another process and tells, once it is up, where its state is. */
const program = `
  import { startLab } from ${JSON.stringify(join(import.meta.dirname, 'index.ts'))};
  const lab = await startLab({
    guests: [{ name: 'n1', disks: [{ name: 'one', sizeBytes: 1n << 26n }] }],
  });
  console.log(JSON.stringify({ network: lab.namespace.networkPath }));
  if (process.argv[1] === 'exit') process.exit(3);
  if (process.argv[1] === 'throw') setTimeout(() => { throw new Error('on purpose'); });
  setInterval(() => {}, 1000);
`;

type Started = {
  readonly pid: number;
  readonly processes: readonly number[];
  readonly stateDirectories: readonly string[];
  readonly ended: Promise<void>;
};

async function startElsewhere(way: string): Promise<Started> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program, way], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const pid = child.pid ?? 0;
  const processes = childrenOf(pid);
  return { pid, processes, stateDirectories: statesOf(processes), ended };
}

function childrenOf(pid: number): readonly number[] {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    return tasks
      .flatMap((task) =>
        readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')
          .trim()
          .split(' ')
          .filter(Boolean),
      )
      .map(Number);
  } catch {
    return [];
  }
}

function statesOf(pids: readonly number[]): readonly string[] {
  const lines = pids.map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  return lines.flatMap((line) => /[^\0]*quarry-lab-[^\0/]*/.exec(line)?.[0] ?? []);
}

/** A zombie has ended; only its parent has not looked yet. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function until(what: string, holds: () => boolean): Promise<void> {
  const deadlineMs = Date.now() + 10_000;
  while (!holds()) {
    if (Date.now() > deadlineMs) throw new Error(`still not: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function assertNothingIsLeft(started: Started): Promise<void> {
  assert.ok(started.processes.length >= 3, 'a guest, the disk server and the namespace');
  assert.ok(started.stateDirectories.length > 0);
  await until('all processes gone', () => !started.processes.some(isAlive));
  await until('no state left', () => !started.stateDirectories.some((path) => existsSync(path)));
}

for (const signal of ['SIGKILL', 'SIGTERM', 'SIGINT'] as const) {
  test(`nothing is left of a lab whose process got ${signal}`, async () => {
    const started = await startElsewhere('stay');
    process.kill(started.pid, signal);
    await started.ended;
    await assertNothingIsLeft(started);
  });
}

for (const way of ['exit', 'throw']) {
  test(`nothing is left of a lab whose process ended by ${way}`, async () => {
    const started = await startElsewhere(way);
    await started.ended;
    await until('all processes gone', () => !started.processes.some(isAlive));
    await until('no state left', () => !started.stateDirectories.some((path) => existsSync(path)));
  });
}
