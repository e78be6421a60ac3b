import type { NetworkRates } from '../cluster/network.ts';
import { Chance } from '../world/chance.ts';
import type { FaultRates } from '../world/faults.ts';
import { isRollOut, type Trouble, troubleOf } from './troubles.ts';

/** What people and bad luck do to a cluster, drawn from one seed. */
export type ClusterStory = {
  readonly seed: number;
  readonly nodes: number;
  readonly operators: readonly string[];
  readonly network: NetworkRates;
  readonly host: FaultRates;
  /** How often kubelet does not hear an answer of the driver, and asks again. */
  readonly kubelet: number;
  /** By how many versions lists from the memory of the API server are old. */
  readonly cacheLag: number;
  readonly events: readonly ClusterEvent[];
};

export type ClusterEvent = { readonly atMs: number } & Deed;

export type Deed =
  | {
      readonly kind: 'claim';
      readonly name: string;
      readonly className: string;
      readonly mib: number;
      readonly isRaw: boolean;
    }
  | { readonly kind: 'restore'; readonly name: string; readonly from: string; readonly mib: number }
  | { readonly kind: 'clone'; readonly name: string; readonly from: string; readonly mib: number }
  | { readonly kind: 'snapshot'; readonly name: string; readonly from: string }
  | { readonly kind: 'pod'; readonly name: string; readonly claims: readonly string[] }
  | { readonly kind: 'resize'; readonly name: string; readonly mib: number }
  | { readonly kind: 'write'; readonly name: string; readonly at: number; readonly mib: number }
  | { readonly kind: 'delete-claim' | 'delete-pod' | 'delete-snapshot'; readonly name: string }
  | { readonly kind: 'keep' | 'delete-volume'; readonly name: string }
  | { readonly kind: 'meddle'; readonly name: string }
  | Removal
  | Trouble;

/** A Node is deleted, or somebody says that the volume of a claim may go with its Node. */
export type Removal =
  | {
      readonly kind: 'remove-node';
      readonly node: string;
      /** Its machine goes, too. */
      readonly isForEver: boolean;
      /** All that is on it may go. */
      readonly hasWord: boolean;
    }
  | { readonly kind: 'give-up'; readonly name: string };

/** Every so manieth story is about operators that take each other's place. */
export const rivalryEvery = 5;

/** In every so manieth story others write while we do, and names come again. */
export const othersEvery = 3;

/** In every so manieth story an administrator takes nodes out of the cluster. */
export const removalEvery = 4;

export function clusterStoryOf(seed: number): ClusterStory {
  const chance = new Chance(seed * 7919 + 13);
  const isRivalry = seed % rivalryEvery === 0;
  const nodes = chance.between(1, 3);
  const operators = chance.happens(0.4) || isRivalry ? ['o1', 'o2'] : ['o1'];
  const isCalm = chance.happens(0.25);
  const rate = (most: number) => (isCalm || chance.happens(0.4) ? 0 : chance.fraction() * most);
  const network = {
    ...{ lostAnswer: rate(0.06), refused: rate(0.06), failed: rate(0.06), busy: rate(0.06) },
    ...{ reset: rate(0.05), slow: rate(0.03) },
  };
  const host = { fail: rate(0.03), killed: rate(0.02), crash: rate(0.02), slow: rate(0.01) };
  const kubelet = rate(0.2);
  const teller = new Teller(chance, { nodes, operators, isRivalry, isRollOut: isRollOut(seed) });
  const told = teller.tell(chance.between(15, 45));
  const rivals = isRivalry ? withDeaths(told, operators, seed) : told;
  const shared = seed % othersEvery === 0 ? withOldNames(rivals, seed) : rivals;
  const events = seed % removalEvery === 0 ? withRemovals(shared, { seed, nodes }) : shared;
  const cacheLag = isCalm ? 0 : chance.pick([0, 5, 40] as const);
  return { seed, nodes, operators, network, host, kubelet, cacheLag, events };
}

/** Both die at once, and their next lives want the lease at the same moment. */
function withDeaths(
  told: readonly ClusterEvent[],
  operators: readonly string[],
  seed: number,
): readonly ClusterEvent[] {
  const chance = new Chance(seed * 2897 + 11);
  const atMs = chance.between(0, told.at(-1)?.atMs ?? 0);
  const deaths = operators.map((name) => ({ atMs, kind: 'kill-operator', name }) as const);
  return [...told, ...deaths].toSorted((one, other) => one.atMs - other.atMs);
}

/** A claim that is new has the name of one that goes. The first try may come too early. */
function withOldNames(told: readonly ClusterEvent[], seed: number): readonly ClusterEvent[] {
  const chance = new Chance(seed * 3559 + 7);
  const more = told.flatMap((event): readonly ClusterEvent[] => {
    if (event.kind !== 'delete-claim' || chance.happens(0.4)) return [];
    const { atMs, name } = event;
    const times = [atMs + chance.between(100, 4_000), atMs + chance.between(4_000, 40_000)];
    return times.flatMap((madeMs): readonly ClusterEvent[] => [
      { atMs: madeMs, ...freshClaim(chance, name, mibOf(chance)) },
      { atMs: madeMs, kind: 'pod', name: `${name}-at-${madeMs}`, claims: [name] },
    ]);
  });
  return [...told, ...more].toSorted((one, other) => one.atMs - other.atMs);
}

function mibOf(chance: Chance): number {
  return chance.pick([8, 100, 300, 900, 2_500] as const) + chance.below(4);
}

function freshClaim(chance: Chance, name: string, mib: number): Deed {
  const className = chance.pick(['thin', 'thin', 'thick', 'kept', 'at-once', 'xfs'] as const);
  return { kind: 'claim', name, className, mib, isRaw: chance.happens(0.15) };
}

/** Most nodes come back with what is on them, some at once. */
function withRemovals(
  told: readonly ClusterEvent[],
  { seed, nodes }: { readonly seed: number; readonly nodes: number },
): readonly ClusterEvent[] {
  const chance = new Chance(seed * 4241 + 3);
  const endMs = told.at(-1)?.atMs ?? 0;
  const claims = told.flatMap((event) => (event.kind === 'claim' ? [event.name] : []));
  const removals: ClusterEvent[] = [];
  for (let count = chance.between(1, 3); count > 0; count -= 1) {
    const atMs = chance.between(Math.min(5_000, endMs), endMs);
    const node = `n${chance.between(1, nodes)}`;
    const isForEver = nodes > 1 && chance.happens(0.3);
    const hasWord = chance.happens(0.25);
    removals.push({ atMs, kind: 'remove-node', node, isForEver, hasWord });
    const laterMs = atMs + chance.pick([chance.between(500, 5_000), chance.between(5_000, 90_000)]);
    if (chance.happens(0.7)) removals.push({ atMs: laterMs, kind: 'kubelet', node });
    const name = chance.pick(claims);
    const wordMs = atMs + chance.between(-20_000, 60_000);
    if (name !== undefined && chance.happens(0.4)) {
      removals.push({ atMs: Math.max(0, wordMs), kind: 'give-up', name });
    }
  }
  return [...told, ...removals].toSorted((one, other) => one.atMs - other.atMs);
}

/** Keeps in mind what it has told, so that later events are about something. */
class Teller {
  readonly #chance: Chance;
  readonly #nodes: readonly string[];
  readonly #operators: readonly string[];
  readonly #isRivalry: boolean;
  readonly #isRollOut: boolean;
  readonly #claims: string[] = [];
  readonly #pods: string[] = [];
  readonly #snapshots: string[] = [];
  #count = 0;

  constructor(
    chance: Chance,
    cast: {
      readonly nodes: number;
      readonly operators: readonly string[];
      readonly isRivalry: boolean;
      readonly isRollOut: boolean;
    },
  ) {
    this.#chance = chance;
    this.#nodes = Array.from({ length: cast.nodes }, (_, index) => `n${index + 1}`);
    this.#operators = cast.operators;
    this.#isRivalry = cast.isRivalry;
    this.#isRollOut = cast.isRollOut;
  }

  tell(count: number): readonly ClusterEvent[] {
    const events: ClusterEvent[] = [];
    let atMs = 0;
    for (let index = 0; index < count; index += 1) {
      atMs += this.#pauseMs();
      for (const deed of this.#deeds()) events.push({ atMs, ...deed });
    }
    return events;
  }

  /** Most trouble comes from what happens within moments. */
  #pauseMs(): number {
    const chance = this.#chance;
    if (chance.happens(0.5)) return chance.between(0, 400);
    return chance.happens(0.8) ? chance.between(400, 8_000) : chance.between(8_000, 60_000);
  }

  #deeds(): readonly Deed[] {
    const chance = this.#chance;
    const draw = chance.below(100);
    if (draw < 34) return this.#more();
    if (draw < 60) return this.#change();
    if (this.#isRivalry) return this.#rivalry();
    const cast = { nodes: this.#nodes, operators: this.#operators };
    return [troubleOf(chance, { ...cast, isRollOut: this.#isRollOut })];
  }

  /** A claim comes with its pod, most of the time. */
  #more(): readonly Deed[] {
    const chance = this.#chance;
    const name = this.#name('c');
    const mib = mibOf(chance);
    const from = chance.pick(this.#claims);
    const snapshot = chance.pick(this.#snapshots);
    const deed = this.#newClaim(name, mib, { from, snapshot });
    this.#claims.push(name);
    if (chance.happens(0.15)) return [deed];
    const pod = this.#name('p');
    this.#pods.push(pod);
    const other = chance.happens(0.2) && from !== undefined ? [from] : [];
    return [deed, { kind: 'pod', name: pod, claims: [name, ...other] }];
  }

  #newClaim(
    name: string,
    mib: number,
    source: { readonly from: string | undefined; readonly snapshot: string | undefined },
  ): Deed {
    const chance = this.#chance;
    const { from, snapshot } = source;
    if (snapshot !== undefined && chance.happens(0.3)) {
      return { kind: 'restore', name, from: snapshot, mib };
    }
    if (from !== undefined && chance.happens(0.15)) return { kind: 'clone', name, from, mib };
    return freshClaim(chance, name, mib);
  }

  #change(): readonly Deed[] {
    const chance = this.#chance;
    const name = chance.pick(this.#claims);
    if (name === undefined) return this.#more();
    const pod = chance.pick(this.#pods) ?? '';
    const snapshot = chance.pick(this.#snapshots) ?? '';
    const deed = chance.pick([
      ...([
        'resize',
        'write',
        'write',
        'snapshot',
        'keep',
        'meddle',
        'pod',
        'delete-volume',
      ] as const),
      ...(['delete-claim', 'delete-claim', 'delete-pod', 'delete-pod', 'delete-snapshot'] as const),
    ] as const);
    switch (deed) {
      case 'resize':
        return [{ kind: deed, name, mib: chance.between(100, 3_000) }];
      case 'write':
        return [{ kind: deed, name, at: chance.fraction(), mib: chance.between(1, 6) }];
      case 'snapshot': {
        const made = this.#name('s');
        this.#snapshots.push(made);
        return [{ kind: deed, name: made, from: name }];
      }
      case 'keep':
      case 'meddle':
      case 'delete-volume':
        return [{ kind: deed, name }];
      case 'pod': {
        const made = this.#name('p');
        this.#pods.push(made);
        return [{ kind: deed, name: made, claims: [name] }];
      }
      case 'delete-claim':
        return [
          { kind: 'delete-pod', name: pod },
          { kind: deed, name },
        ];
      case 'delete-pod':
        return [{ kind: deed, name: pod }];
      case 'delete-snapshot':
        return [{ kind: deed, name: snapshot }];
    }
  }

  /** Who leads is out of the world for about as long as a lease lasts, and comes back. */
  #rivalry(): readonly Deed[] {
    const chance = this.#chance;
    const name = chance.pick(this.#operators) ?? 'o1';
    const kind = chance.pick(['hold-operator', 'hold-operator', 'cut', 'mend', 'lag'] as const);
    switch (kind) {
      case 'hold-operator':
        return [{ kind, name, ms: chance.between(8_000, 30_000) }];
      case 'cut':
        return [{ kind, node: name }];
      case 'lag':
        return [{ kind, node: name, ms: chance.between(1_000, 60_000) }];
      case 'mend':
        return [{ kind }];
    }
  }

  #name(letter: string): string {
    this.#count += 1;
    return `${letter}${this.#count}`;
  }
}
