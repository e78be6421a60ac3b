import { limits } from '../base/limits.ts';
import type { Command } from './command.ts';

/**
 * Freezes a file system, says so, and thaws it when we say so, when we die, and when it has taken
 * too long: a frozen file system stops every program that writes to it. One program does all of
 * it, so that nothing is frozen after it was thawed, and each file system has its own: one that
 * cannot be frozen, because its disk hangs, keeps no other frozen. It waits for the end of its
 * input.
 */
export function freezeHolder(path: string): Command {
  const seconds = String(limits.freezeMsMax / 1000);
  return {
    argv: ['sh', '-c', script, 'quarry-freeze', seconds, path],
    effect: 'changes',
    timeoutMs: limits.freezeMsMax + limits.changeTimeoutMs,
    isHeld: true,
  };
}

/**
 * Whoever we say "frozen" to may be gone by then, and who stops a service tells all its processes
 * to end: neither must leave it frozen. What somebody else has frozen is not thawed.
 */
const script = [
  'trap "" HUP INT PIPE TERM',
  'fsfreeze --freeze "$2" || exit 1',
  'echo frozen; timeout -s KILL "$1" cat > /dev/null; ended=$?',
  'fsfreeze --unfreeze "$2"; exit "$ended"',
].join('\n');

/** For a file system whose holder was killed. */
export function thaw(path: string): Command {
  const timeoutMs = limits.changeTimeoutMs;
  return { argv: ['fsfreeze', '--unfreeze', path], effect: 'changes', timeoutMs };
}

export const kernelReleasePath = '/proc/sys/kernel/osrelease';
