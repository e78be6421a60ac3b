import type { Chance } from '../world/chance.ts';
import type { FakeClock } from '../world/clock.ts';

/** How often what goes wrong on the way to the API server. */
export type NetworkRates = {
  /** Carried out, and the answer is lost. */
  readonly lostAnswer?: number;
  readonly refused?: number;
  /** Half of them were carried out. */
  readonly failed?: number;
  readonly busy?: number;
  /** A watch breaks off with an event. */
  readonly reset?: number;
  /** An answer that takes seconds. */
  readonly slow?: number;
};

/** A request in the moment in which its process lets go of it. */
export type Departure = {
  readonly method: string;
  readonly path: string;
  /** The life of a process that sends it. */
  readonly self: string;
};

export type Mishap = keyof Omit<NetworkRates, 'reset' | 'slow'>;

/** The way between the processes and the API server, with its delays and its bad luck. */
export class Network {
  readonly #chance: Chance;
  readonly #resets = new Set<() => void>();
  readonly #cut = new Set<string>();
  readonly #laggards = new Map<string, number>();
  readonly departures = new Set<(departure: Departure) => void>();
  #isAway = false;
  #rates: NetworkRates = {};

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /** `{}` ends it. */
  rates(rates: NetworkRates): void {
    this.#rates = rates;
  }

  /** The API server is down: connections are refused and watches break off. */
  get isAway(): boolean {
    return this.#isAway;
  }

  set isAway(isAway: boolean) {
    this.#isAway = isAway;
    if (isAway) this.resetWatches();
  }

  resetWatches(): void {
    for (const reset of this.#resets) reset();
  }

  /** From now on no packet of the machine arrives, in either direction. */
  cut(machine: string): void {
    this.#cut.add(machine);
  }

  mend(machine?: string): void {
    if (machine === undefined) this.#cut.clear();
    else this.#cut.delete(machine);
  }

  isCut(machine: string): boolean {
    return this.#cut.has(machine);
  }

  /** Requests of the machine get through, and until then no word of what it watches. */
  lag(machine: string, untilMs: number): void {
    this.#laggards.set(machine, untilMs);
  }

  catchUp(): void {
    this.#laggards.clear();
  }

  lagsUntilMs(machine: string): number {
    return this.#laggards.get(machine) ?? 0;
  }

  onReset(reset: () => void): () => void {
    this.#resets.add(reset);
    return () => this.#resets.delete(reset);
  }

  latencyMs(): number {
    if (this.#chance.happens(this.#rates.slow ?? 0)) return this.#chance.between(1_000, 20_000);
    return this.#chance.between(1, 15);
  }

  /** How far a watch lags behind. */
  lagMs(): number {
    if (this.#chance.happens(this.#rates.slow ?? 0)) return this.#chance.between(500, 10_000);
    return this.#chance.between(1, 60);
  }

  breaks(): boolean {
    return this.#chance.happens(this.#rates.reset ?? 0);
  }

  draw(): Mishap | undefined {
    const kinds = ['lostAnswer', 'refused', 'failed', 'busy'] as const;
    return kinds.find((kind) => this.#chance.happens(this.#rates[kind] ?? 0));
  }

  coin(): boolean {
    return this.#chance.happens(0.5);
  }
}

/** Calls a function soon after it was asked to, once for many asks. */
export class Nudge {
  readonly #clock: FakeClock;
  readonly #chance: Chance;
  readonly #work: () => void;
  #isDue = false;

  constructor(clock: FakeClock, chance: Chance, work: () => void) {
    this.#clock = clock;
    this.#chance = chance;
    this.#work = work;
  }

  soon(ms = this.#chance.between(5, 250)): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#clock.after(ms, () => {
      this.#isDue = false;
      this.#work();
    });
  }
}
