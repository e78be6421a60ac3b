import { realHost } from '../src/host/host.ts';
import type { Command } from '../src/lvm/command.ts';
import type { Kind, Operation } from './figures.ts';

type Argv = readonly [string, ...string[]];

export const group = 'bench';
export const pool = 'pool';
export const sizeBytes = 16 * 1024 ** 2;
export const grownBytes = 2 * sizeBytes;
const cowBytes = 64 * 1024 ** 2;

const host = realHost({ prefix: [], path: '/usr/sbin:/usr/bin:/sbin:/bin' });

/** The bare lvm command, started like Quarry's own. */
export async function runBare(...target: Target): Promise<void> {
  await lvm(bareCommand(...target));
}

type Target = readonly [Kind, Operation, string];

export async function lvm(argv: Argv): Promise<void> {
  const whole: Command['argv'] = ['lvm', ...argv];
  const running = host.start({ argv: whole, effect: 'changes', timeoutMs: 120_000 });
  const { exitCode, stderr } = await running.result;
  if (exitCode !== 0) throw new Error(`${whole.join(' ')}: ${stderr}`);
}

/** What a snapshot of a volume is called. */
export const snapshotOf = (name: string) => `${name}-snapshot`;

/** The options are those that Quarry gives too. */
function bareCommand(...[kind, operation, name]: Target): Argv {
  const lv = `${group}/${name}`;
  switch (operation) {
    case 'create': {
      const named = ['--name', name, group];
      const thick = ['--wipesignatures', 'y', '--zero', 'y', '--size', `${sizeBytes}b`];
      const size = ['--virtualsize', `${sizeBytes}b`, '--thinpool', pool];
      const thin = ['--wipesignatures', 'n', ...size];
      return ['lvcreate', '--yes', ...(kind === 'thin' ? thin : thick), ...named];
    }
    case 'expand':
      return ['lvextend', '--size', `${grownBytes}b`, lv];
    case 'snapshot': {
      const room = kind === 'thin' ? ['--setactivationskip', 'n'] : ['--size', `${cowBytes}b`];
      const named = ['--permission', 'r', '--name', snapshotOf(name), lv];
      return ['lvcreate', '--yes', '--snapshot', ...room, ...named];
    }
    case 'delete':
      return ['lvremove', '--yes', lv];
  }
}
