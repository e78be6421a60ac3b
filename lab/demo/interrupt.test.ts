import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const at = (path: string): string => JSON.stringify(join(import.meta.dirname, path));

/** Runs a command that would take long, and has a directory that goes with the process. */
const program = `
  import { spawn } from 'node:child_process';
  import { endAllOnSignal } from ${at('interrupt.ts')};
  import { createScratchDirectory } from ${at('../host/owned.ts')};
  endAllOnSignal();
  const scratch = await createScratchDirectory('quarry-interrupt-');
  const child = spawn('sleep', ['1000']);
  console.log(JSON.stringify({ command: child.pid, directory: scratch.path }));
`;

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`${signal} to the demo alone ends its commands, and what it keeps goes too`, async () => {
    const demo = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(demo, 'exit');
    const [said] = (await once(demo.stdout, 'data')) as [Buffer];
    const { command, directory } = JSON.parse(said.toString()) as {
      readonly command: number;
      readonly directory: string;
    };
    assert.ok(isAlive(command) && existsSync(directory));
    demo.kill(signal);
    assert.deepEqual(await ended, [130, null]);
    await until(() => !isAlive(command) && !existsSync(directory));
  });
}

/** A zombie has ended; only its parent has not looked yet. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function until(holds: () => boolean): Promise<void> {
  const deadlineMs = Date.now() + 10_000;
  while (!holds()) {
    assert.ok(Date.now() < deadlineMs, 'something is left');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
