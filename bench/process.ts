import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export type Memory = { readonly rssMiB: number; readonly anonMiB: number };

export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]);
  return { rssMiB: kib('VmRSS') / 1024, anonMiB: kib('RssAnon') / 1024 };
}

/** Whether it runs a program now; a Go program may have started it from any of its threads. */
export function hasChildren(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).some(
    (task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim() !== '',
  );
}

/** Until it has run no program for so long. */
export async function untilQuiet(pid: number, forMs: number): Promise<void> {
  const pollMs = 20;
  for (let quietMs = 0; quietMs < forMs; ) {
    await sleep(pollMs);
    quietMs = hasChildren(pid) ? 0 : quietMs + pollMs;
  }
}
