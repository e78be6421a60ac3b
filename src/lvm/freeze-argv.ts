import { limits } from '../base/limits.ts';
import type { Command } from './command.ts';

/**
 * Freezes file systems, says so, and thaws them when we say so, when we die, and when it has taken
 * too long: a frozen file system stops every program that writes to it. One program does all of
 * it, so that nothing is frozen after it was thawed. It waits for the end of its input.
 */
export function freezeHolder(paths: readonly string[]): Command {
  const seconds = String(limits.freezeMsMax / 1000);
  return {
    argv: ['sh', '-c', script, 'quarry-freeze', seconds, ...paths],
    effect: 'changes',
    timeoutMs: limits.freezeMsMax + limits.changeTimeoutMs,
    isHeld: true,
  };
}

/** Whoever we say "frozen" to may be gone by then: that must not end it. */
const script = [
  'trap "" PIPE; seconds=$1; shift',
  'thaw() { for path; do fsfreeze --unfreeze "$path"; done; }',
  'for path; do fsfreeze --freeze "$path" || { thaw "$@" 2> /dev/null; exit 1; }; done',
  'echo frozen; timeout "$seconds" cat > /dev/null; ended=$?',
  'thaw "$@"; exit "$ended"',
].join('\n');

export const kernelReleasePath = '/proc/sys/kernel/osrelease';
