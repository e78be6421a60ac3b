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
    argv: ['sh', '-c', script, 'quarry-freeze', seconds, path, frozenNotes],
    effect: 'changes',
    timeoutMs: limits.freezeMsMax + limits.changeTimeoutMs,
    isHeld: true,
  };
}

/** Like what is frozen, it does not outlive the running system. */
const frozenNotes = '/run/quarry/frozen';

/**
 * Whoever we say "frozen" to may be gone by then, and who stops a service tells all its processes
 * to end: neither must leave it frozen. What somebody else has frozen is not thawed. A container
 * is ended with everything in it: the note, which is locked while its holder lives, tells our next
 * life what to thaw. A freeze that waits for its disk outlives even that, so it has the lock too:
 * it is frozen after all when the disk answers.
 */
const script = [
  'trap "" HUP INT PIPE TERM',
  'mkdir -p "$3" && note=$(mktemp "$3/XXXXXXXX") && exec 9> "$note" || exit 1',
  'flock 9 && printf %s "$2" >&9 || exit 1',
  'fsfreeze --freeze "$2" || { rm -f "$note"; exit 1; }',
  'echo frozen; timeout -s KILL "$1" cat > /dev/null 9>&-; ended=$?',
  // Somebody else has thawed it, or it cannot be thawed: either way it was not still.
  'if fsfreeze --unfreeze "$2"; then rm -f "$note"; else ended=3; fi; exit "$ended"',
].join('\n');

/** Thaws what was left frozen by holders that are gone, and says what it was. */
export const thawLeft: Command = {
  argv: [
    ...(['sh', '-c'] as const),
    [
      'for note in "$1"/*; do',
      '  [ -f "$note" ] && exec 9< "$note" && flock --nonblock 9 || continue',
      '  path=$(cat "$note")',
      '  if fsfreeze --unfreeze "$path" 2> /dev/null; then echo "$path"; fi',
      '  rm -f "$note"',
      'done',
      'exit 0',
    ].join('\n'),
    ...['quarry-thaw', frozenNotes],
  ],
  effect: 'changes',
  timeoutMs: limits.changeTimeoutMs,
};

/** For a file system whose holder was killed. */
export function thaw(path: string): Command {
  const timeoutMs = limits.changeTimeoutMs;
  return { argv: ['fsfreeze', '--unfreeze', path], effect: 'changes', timeoutMs };
}

export const kernelReleasePath = '/proc/sys/kernel/osrelease';
