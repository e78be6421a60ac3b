import { readdir, readFile } from 'node:fs/promises';
import { OperationError } from '../base/failures.ts';
import { show } from '../base/show.ts';
import type { Host } from '../engine/ports.ts';
import type { Patience } from './patience.ts';
import { life, lifeKey } from './run.ts';

/** lvm starts these with its own environment, and they stay. */
const daemons = /^(?:\S*\/)?(?:dmeventd|lvmpolld)\b/;

export type ProcessLook = {
  /** `/proc`, but for a test. */
  readonly directory: string;
  readonly patience: Patience;
  readonly timeoutMs: number;
};

/**
 * Changing commands of an earlier life. A process that ends while it is looked at is none. The
 * kernel gives no answer about one that is stuck in a certain way: it counts as a stray, because
 * it may be one, and the rest is left to the next look, which does not wait for it again.
 */
export async function findStrays(look: ProcessLook): Promise<readonly string[]> {
  const { directory, patience, timeoutMs } = look;
  const all = await patience.run(directory, timeoutMs, () => readdir(directory));
  const endAtMs = performance.now() + timeoutMs;
  const strays: string[] = [];
  for (const pid of all.filter((name) => /^[0-9]+$/.test(name))) {
    const stray = await strayAt(look, pid);
    if (stray !== undefined) strays.push(stray);
    if (performance.now() >= endAtMs) return [...strays, 'processes that were not looked at'];
  }
  return strays;
}

async function strayAt(look: ProcessLook, pid: string): Promise<string | undefined> {
  try {
    const environment = await read(look, `${pid}/environ`);
    const mark = environment.split('\0').find((entry) => entry.startsWith(`${lifeKey}=`));
    if (mark === undefined || mark === `${lifeKey}=${life}`) return undefined;
    const words = await read(look, `${pid}/cmdline`);
    // A zombie has no words any more, and does nothing.
    if (words === '' || daemons.test(words)) return undefined;
    return words.split('\0').join(' ').trim();
  } catch (error) {
    if (error instanceof OperationError) return `process ${pid}: ${error.message}`;
    throw error;
  }
}

function read({ directory, patience, timeoutMs }: ProcessLook, name: string): Promise<string> {
  const path = `${directory}/${name}`;
  return patience.run(path, timeoutMs, () => readFile(path, 'utf8').catch(() => ''));
}

/** The same door. Whoever has to wait for strays is told for which, once. */
export function withToldStrays(host: Host, tell: (strays: readonly string[]) => void): Host {
  let told = '';
  return {
    ...host,
    strays: async () => {
      const found = await host.strays();
      const text = show(found);
      if (found.length > 0 && text !== told) tell(found);
      told = text;
      return found;
    },
  };
}
