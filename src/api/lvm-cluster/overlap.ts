import type { NodeRequirement, NodeSelector, NodeSelectorTerm } from '../objects/node-selector.ts';
import type { Effort } from './effort.ts';
import { nodeName, numberOf, requirementsOf } from './nodes.ts';

/**
 * Could one node be meant by both, whether or not there is such a node today? When the effort is
 * spent the answer is that it could.
 */
export function mayOverlap(
  one: NodeSelector | undefined,
  other: NodeSelector | undefined,
  effort: Effort,
): boolean {
  const [lefts, rights] = [termsOf(one), termsOf(other)];
  return lefts.some((left) =>
    rights.some((right) => {
      effort.spend(1);
      return effort.isSpent || canHold(left, right, effort);
    }),
  );
}

/** What a term asks of each label. */
type Term = ReadonlyMap<string, Wish>;

type Wish = {
  /** The label must be there, or must not be. */
  readonly isThere: boolean;
  readonly isAbsent: boolean;
  /** No value will do. */
  readonly isHopeless: boolean;
  readonly among: readonly ReadonlySet<string>[];
  readonly not: readonly string[];
  readonly above: bigint | undefined;
  readonly below: bigint | undefined;
};

function termsOf(selector: NodeSelector | undefined): readonly Term[] {
  if (selector === undefined) return [new Map()];
  return selector.nodeSelectorTerms.filter((term) => requirementsOf(term).length > 0).map(termOf);
}

function termOf(term: NodeSelectorTerm): Term {
  const byKey = new Map<string, NodeRequirement[]>();
  for (const one of requirementsOf(term)) {
    const known = byKey.get(one.key);
    if (known === undefined) byKey.set(one.key, [one]);
    else known.push(one);
  }
  return new Map([...byKey].map(([key, all]) => [key, allOf(all.map(wishOf))]));
}

const anything: Wish = {
  ...{ isThere: false, isAbsent: false, isHopeless: false, among: [], not: [] },
  ...{ above: undefined, below: undefined },
};

function wishOf({ operator, values = [] }: NodeRequirement): Wish {
  switch (operator) {
    case 'In':
      return { ...anything, isThere: true, among: [new Set(values)] };
    case 'NotIn':
      return { ...anything, not: values };
    case 'Exists':
      return { ...anything, isThere: true };
    case 'DoesNotExist':
      return { ...anything, isAbsent: true };
    case 'Gt':
    case 'Lt': {
      const bound = numberOf(values[0]);
      if (bound === undefined) return { ...anything, isHopeless: true };
      const side = operator === 'Gt' ? { above: bound } : { below: bound };
      return { ...anything, isThere: true, ...side };
    }
    default:
      return { ...anything, isHopeless: true };
  }
}

function allOf(wishes: readonly Wish[]): Wish {
  const bounds = (side: 'above' | 'below') => wishes.flatMap((wish) => wish[side] ?? []);
  const most = (one: bigint, other: bigint) => (one > other ? one : other);
  const least = (one: bigint, other: bigint) => (one < other ? one : other);
  const [above, below] = [bounds('above'), bounds('below')];
  return {
    isThere: wishes.some(({ isThere }) => isThere),
    isAbsent: wishes.some(({ isAbsent }) => isAbsent),
    isHopeless: wishes.some(({ isHopeless }) => isHopeless),
    among: wishes.flatMap(({ among }) => among),
    not: wishes.flatMap(({ not }) => not),
    above: above.length === 0 ? undefined : above.reduce(most),
    below: below.length === 0 ? undefined : below.reduce(least),
  };
}

/** A label has one value or none, so each of them can be looked at by itself. */
function canHold(left: Term, right: Term, effort: Effort): boolean {
  const keys = new Set([...left.keys(), ...right.keys()]);
  return [...keys].every((key) => {
    const wish = allOf([left.get(key) ?? anything, right.get(key) ?? anything]);
    const sizes = [...wish.among.map(({ size }) => size), wish.not.length];
    effort.spend(sizes.reduce((sum, size) => sum + size, 1));
    return effort.isSpent || isPossible(wish, key);
  });
}

function isPossible(wish: Wish, key: string): boolean {
  if (wish.isHopeless || (wish.isThere && wish.isAbsent)) return false;
  // A name is always there.
  if (key === nodeName ? wish.isAbsent : !wish.isThere) return key !== nodeName;
  const not = new Set(wish.not);
  const [first, ...others] = wish.among;
  if (first === undefined) return hasNumber(wish, not);
  return [...first].some(
    (value) => !not.has(value) && others.every((each) => each.has(value)) && isBetween(value, wish),
  );
}

function isBetween(value: string, { above, below }: Wish): boolean {
  if (above === undefined && below === undefined) return true;
  const number = numberOf(value);
  if (number === undefined) return false;
  return (above === undefined || number > above) && (below === undefined || number < below);
}

/** Without bounds there is always one more value; between two, as many as are not named. */
function hasNumber(wish: Wish, not: ReadonlySet<string>): boolean {
  const { above, below } = wish;
  if (above === undefined || below === undefined) return true;
  const named = [...not].filter(
    (value) => isBetween(value, wish) && String(numberOf(value)) === value,
  );
  return below - above - 1n > BigInt(named.length);
}
