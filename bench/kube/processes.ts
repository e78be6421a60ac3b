import type { Guest } from '../../lab/index.ts';
import type { ProcessFigures } from './figures.ts';

/** What a process is called in the tables; nothing for those of others. */
export type NameOf = (commandLine: string) => string | undefined;

export const listing = `for at in /proc/[0-9]*; do
  echo "\${at#/proc/} $(tr '\\0' ' ' <$at/cmdline)"
done 2>/dev/null`;

/** Memory of all processes of one side on a node, and what they take of the processor at rest. */
export async function lookAtProcesses(
  guest: Guest,
  nameOf: NameOf,
  idleSeconds: number,
): Promise<readonly ProcessFigures[]> {
  const found = namedIn(await guest.sh(listing), nameOf);
  if (found.length === 0) return [];
  const pids = found.map(({ pid }) => pid).join(' ');
  const cpu = `for pid in ${pids}; do
    if [ -e /proc/$pid/schedstat ]; then
      ns=$(cat /proc/$pid/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f", sum }')
    else
      ns=$(awk '{ printf "%.0f", ($14 + $15) * 10000000 }' /proc/$pid/stat)
    fi
    echo "$pid $ns $(awk '{ print $16 + $17 }' /proc/$pid/stat)"
  done`;
  const [before = '', after = ''] = (
    await guest.sh(`${cpu}; sleep ${idleSeconds}; echo ==; ${cpu}`, {
      timeoutMs: (idleSeconds + 120) * 1_000,
    })
  ).split('==');
  const [from, to] = [cpuMsIn(before), cpuMsIn(after)];
  const all = [];
  for (const { pid, name } of found) {
    const text = await guest.sh(`cat /proc/${pid}/status /proc/${pid}/smaps_rollup`);
    const mib = (key: string) =>
      Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1024;
    const spentMs = (to.get(pid) ?? Number.NaN) - (from.get(pid) ?? Number.NaN);
    all.push({
      ...{ name, node: guest.name, rssMiB: mib('VmRSS'), peakMiB: mib('VmHWM') },
      ...{ anonMiB: mib('RssAnon'), pssMiB: mib('Pss') },
      idleMillicores: spentMs / idleSeconds,
    });
  }
  return all;
}

export function namedIn(listed: string, nameOf: NameOf) {
  return listed.split('\n').flatMap((line) => {
    const [, pid = '', command = ''] = /^(\d+) (.*)$/.exec(line) ?? [];
    const name = nameOf(command.trim());
    return name === undefined ? [] : [{ pid, name }];
  });
}

/** Nanoseconds of its threads, and hundredths of a second of programs that it ran. */
function cpuMsIn(text: string): ReadonlyMap<string, number> {
  const rows = [...text.matchAll(/^(\d+) (\S+)\s+(\d+)$/gm)];
  return new Map(
    rows.map(([, pid = '', ns, ticks]) => [pid, Number(ns) / 1e6 + Number(ticks) * 10]),
  );
}
