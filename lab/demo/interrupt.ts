import { readdirSync, readFileSync } from 'node:fs';

const interruptedExitCode = 130;

/**
 * Ctrl-C and SIGTERM end this process at any time, and the kernel ends all guests and servers with
 * it. Commands that were started in between, such as a compiler, are told as well: a terminal tells
 * everybody, but whoever sends a signal to us alone does not.
 */
export function endAllOnSignal(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      console.error(`\ninterrupted: everything that was started ends now`);
      for (const pid of commandsOfOurs()) kill(pid);
      process.exit(interruptedExitCode);
    });
  }
}

/** Children in our own process group. Those that must outlive us for a moment have their own. */
function commandsOfOurs(): readonly number[] {
  const ours = statusOf(process.pid)?.group;
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const status = statusOf(pid);
      return status?.parent === process.pid && status.group === ours;
    });
}

function statusOf(pid: number) {
  try {
    // The name of the program is in brackets and may hold anything.
    const [, text = ''] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    const [, parent, group] = text.split(' ');
    return { parent: Number(parent), group: Number(group) };
  } catch {
    return undefined; // it has ended meanwhile
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGINT');
  } catch {
    // it has ended meanwhile
  }
}
