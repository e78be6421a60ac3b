import { spawn } from 'node:child_process';
import { tryCommand } from '../host/command.ts';

/**
 * Runs `work` while no other process on this machine holds the same lock file. The lock is the
 * kernel's (flock), so one left behind by a process that died is free again by itself.
 */
export async function withLock<T>(
  path: string,
  onWait: () => void,
  work: () => Promise<T>,
): Promise<T> {
  const free = await tryCommand(['flock', '--nonblock', '--exclusive', path, 'true']);
  if (free.exitCode !== 0) onWait();
  // `cat` ends with its input, and its input ends with us.
  const holder = spawn('flock', ['--exclusive', '--no-fork', path, 'cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const released = new Promise<void>((resolve) => holder.once('exit', () => resolve()));
  try {
    await new Promise<void>((resolve, reject) => {
      holder.once('error', reject);
      holder.once('exit', () => reject(new Error(`cannot lock ${path}`)));
      holder.stdout.once('data', () => resolve());
      holder.stdin.write('locked\n');
    });
    return await work();
  } finally {
    holder.stdin.end();
    await released;
  }
}
