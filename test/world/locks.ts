import type { Chance } from './chance.ts';

/**
 * LVM's file locks: a changing command has its group for itself, a report shares all of them.
 * Who comes next is a matter of luck, as it is with flock.
 */
export class Locks {
  readonly #chance: Chance;
  readonly #held = new Set<Lock>();
  #waiting: { readonly lock: Lock; readonly go: () => void }[] = [];

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /** Calls back with the lock in hand, perhaps at once. */
  take(lock: Lock, go: () => void): void {
    if (this.#isFree(lock)) {
      this.#held.add(lock);
      go();
    } else this.#waiting.push({ lock, go });
  }

  release(lock: Lock): void {
    this.#held.delete(lock);
    const waiting = this.#chance.shuffle(this.#waiting);
    this.#waiting = [];
    for (const { lock: wanted, go } of waiting) this.take(wanted, go);
  }

  /** The power is gone, and with it every process that held or wanted a lock. */
  clear(): void {
    this.#held.clear();
    this.#waiting = [];
  }

  #isFree(lock: Lock): boolean {
    for (const held of this.#held) if (isConflict(held, lock)) return false;
    return true;
  }
}

/** No keys: everything. */
export type Lock = { readonly mode: 'shared' | 'exclusive'; readonly keys: readonly string[] };

function isConflict(a: Lock, b: Lock): boolean {
  if (a.mode === 'shared' && b.mode === 'shared') return false;
  if (a.keys.length === 0 || b.keys.length === 0) return true;
  return a.keys.some((key) => b.keys.includes(key));
}

/** What a command locks; programs other than lvm lock nothing. */
export function lockOf(argv: readonly string[]): Lock | undefined {
  const [program, command = ''] = argv;
  if (program !== 'lvm') return undefined;
  switch (command) {
    case 'fullreport':
    case 'pvs':
      return { mode: 'shared', keys: [] };
    case 'vgcreate':
    case 'vgextend':
    case 'vgremove':
    case 'vgreduce':
    case 'pvremove':
    case 'pvmove':
      return { mode: 'exclusive', keys: [] };
    default:
      return { mode: 'exclusive', keys: [(argv.at(-1) ?? '').split('/')[0] ?? ''] };
  }
}
