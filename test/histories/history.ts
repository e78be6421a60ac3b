import { Chance } from '../world/chance.ts';

/** One call of somebody who uses the driver, by the names they chose. */
export type Call =
  | {
      readonly op: 'create';
      readonly name: string;
      readonly className: string;
      readonly mib: number;
      readonly from?: { readonly kind: 'volume' | 'snapshot'; readonly name: string };
    }
  | { readonly op: 'delete' | 'delete-snapshot'; readonly name: string }
  | { readonly op: 'expand'; readonly name: string; readonly mib: number }
  | { readonly op: 'snapshot'; readonly name: string; readonly source: string }
  | {
      readonly op: 'publish';
      readonly name: string;
      readonly path: string;
      readonly isBlock: boolean;
      readonly isReadOnly: boolean;
    }
  | { readonly op: 'unpublish'; readonly name: string; readonly path: string }
  | { readonly op: 'stats'; readonly name: string; readonly path: string }
  | { readonly op: 'write'; readonly name: string }
  | { readonly op: 'list' };

/** Calls that are made at the same moment, and what becomes of them. */
export type Round = {
  readonly calls: readonly Call[];
  readonly fate:
    | { readonly kind: 'wait' }
    /** The caller hangs up after so long; the work goes on. */
    | { readonly kind: 'cancel'; readonly afterMs: number }
    /** The process dies at the so-manieth command that changes something, or soon after. */
    | { readonly kind: 'crash'; readonly nth: number };
};

export type History = { readonly seed: number; readonly rounds: readonly Round[] };

const volumeNames = ['v0', 'v1', 'v2', 'v3'];
const snapshotNames = ['s0', 's1', 's2'];
const paths = ['/pods/a/mount', '/pods/b/mount', '/pods/c/mount'];

/** A few names and many calls, so that calls meet: repeated, reordered, cut off. */
export function historyOf(seed: number, classNames: readonly string[]): History {
  const chance = new Chance(seed * 7919);
  const rounds: Round[] = [];
  const count = chance.between(8, 30);
  // What is asked for under a name is mostly the same: that is what a retry is.
  const usual = new Map(volumeNames.map((name) => [name, creation(chance, name, classNames)]));
  for (let index = 0; index < count; index += 1) {
    const one = callOf(chance, usual, classNames);
    const repeats = chance.happens(0.25) ? chance.between(2, 3) : 1;
    const calls = Array.from({ length: repeats }, () => one);
    rounds.push({ calls, fate: fateOf(chance) });
  }
  return { seed, rounds };
}

function creation(chance: Chance, name: string, classNames: readonly string[]): Call {
  const className = chance.pick(classNames) ?? '';
  const mib = chance.pick([40, 64, 101, 300]);
  const kind = chance.pick(['volume', 'snapshot'] as const);
  const source = chance.pick(kind === 'volume' ? volumeNames : snapshotNames) ?? '';
  const isCopy = chance.happens(0.35) && source !== name;
  const plain = { op: 'create', name, className, mib } as const;
  return isCopy ? { ...plain, mib: 300, from: { kind, name: source } } : plain;
}

function callOf(
  chance: Chance,
  usual: ReadonlyMap<string, Call>,
  classNames: readonly string[],
): Call {
  const name = chance.pick(volumeNames) ?? '';
  const snapshot = chance.pick(snapshotNames) ?? '';
  const path = chance.pick(paths) ?? '';
  const roll = chance.below(100);
  if (roll < 30) {
    const isUsual = chance.happens(0.85);
    return (isUsual ? usual.get(name) : undefined) ?? creation(chance, name, classNames);
  }
  if (roll < 38) return { op: 'delete', name };
  if (roll < 46) return { op: 'expand', name, mib: chance.pick([80, 200, 350]) };
  if (roll < 57) return { op: 'snapshot', name: snapshot, source: name };
  if (roll < 63) return { op: 'delete-snapshot', name: snapshot };
  if (roll < 78) {
    const isBlock = chance.happens(0.25);
    return { op: 'publish', name, path, isBlock, isReadOnly: chance.happens(0.1) };
  }
  if (roll < 88) return { op: 'unpublish', name, path };
  if (roll < 91) return { op: 'stats', name, path };
  if (roll < 96) return { op: 'write', name };
  return { op: 'list' };
}

function fateOf(chance: Chance): Round['fate'] {
  const roll = chance.below(100);
  if (roll < 70) return { kind: 'wait' };
  if (roll < 85) return { kind: 'cancel', afterMs: chance.between(0, 600) };
  return { kind: 'crash', nth: chance.between(1, 4) };
}
