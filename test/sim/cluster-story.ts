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
  | { readonly kind: 'keep' | 'meddle' | 'delete-volume'; readonly name: string }
  | Trouble;

/** Every so manieth story is about operators that take each other's place. */
export const rivalryEvery = 5;

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
  const events = teller.tell(chance.between(15, 45));
  const cacheLag = isCalm ? 0 : chance.pick([0, 5, 40] as const);
  return { seed, nodes, operators, network, host, kubelet, cacheLag, events };
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
    const mib = chance.pick([8, 100, 300, 900, 2_500] as const) + chance.below(4);
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
    const className = chance.pick(['thin', 'thin', 'thick', 'kept', 'at-once', 'xfs'] as const);
    return { kind: 'claim', name, className, mib, isRaw: chance.happens(0.15) };
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
