import { Claim, type ClaimParts } from './claim.ts';
import { KubeError } from './errors.ts';
import type { ObjectName } from './kind.ts';
import type { Lease } from './lease.ts';
import type { Chance, Clock, Trouble } from './ports.ts';

export type ElectionParts = ClaimParts & {
  /** Taken in this order, and all of them held at once: ours, then those of whom we replace. */
  readonly names: readonly [ObjectName, ...ObjectName[]];
  readonly chance: Chance;
  readonly trouble?: Trouble;
  /** Told again and again while we wait: for whom, if somebody was seen to renew a lease. */
  readonly waits?: (rival: Rival | undefined) => Promise<void>;
};

export type Rival = { readonly name: ObjectName; readonly lease: Lease };

/** The right to act, for as long as it lasts. */
export type Leadership = {
  /** Fires when work should end: it was lost, or the process stops. */
  readonly signal: AbortSignal;
  /** Measured in this very moment. A timer would be late in a busy process. */
  isHeld(): boolean;
  /** Throws when it is lost. For `KubeClient.fenced`, and before every other effect. */
  readonly fence: () => void;
  /** Grows with every new leader. */
  readonly term: number;
};

/** Has one of several processes act. After it is lost nothing that asks the fence goes out. */
export class Election {
  readonly #parts: ElectionParts;
  readonly #claims: readonly Claim[];

  constructor(parts: ElectionParts) {
    this.#parts = parts;
    this.#claims = parts.names.map((name) => new Claim(parts, name));
  }

  /**
   * Waits for its turn, leads, and answers when `lead` has ended: because it was told to stop, or
   * because the lead was lost. The leases are given back only after that.
   */
  async run(
    lead: (leadership: Leadership) => Promise<void>,
    signal: AbortSignal,
  ): Promise<'stopped' | 'lost'> {
    while (!signal.aborted && !this.#holdsAll()) {
      await this.#round();
      if (this.#holdsAll()) break;
      await this.#parts.waits?.(this.#rival());
      await this.#rest(signal);
    }
    try {
      return signal.aborted ? 'stopped' : await this.#lead(lead, signal);
    } finally {
      await this.#giveBack();
    }
  }

  async #lead(
    lead: (leadership: Leadership) => Promise<void>,
    stop: AbortSignal,
  ): Promise<'stopped' | 'lost'> {
    const term = new Term(this.#claims, this.#parts.clock);
    const done = new AbortController();
    const end = () => term.end();
    stop.addEventListener('abort', end);
    if (stop.aborted) end();
    const work = lead(term).finally(() => done.abort());
    const keeping = Promise.all([this.#keep(term, done.signal), term.guard(done.signal)]);
    try {
      await Promise.all([work, keeping]);
    } catch (error) {
      // Work that the fence stopped has not failed.
      if (!(error instanceof KubeError && error.code === 'Fenced')) throw error;
    } finally {
      stop.removeEventListener('abort', end);
      done.abort();
      // A renewal under way must not meet the lease being given back.
      await keeping.catch(() => undefined);
    }
    return term.isLost ? 'lost' : 'stopped';
  }

  /** Renews while there is work, also while it comes to its end. */
  async #keep(term: Term, done: AbortSignal): Promise<void> {
    while (!done.aborted && term.isHeld()) {
      await this.#rest(done);
      if (!done.aborted && term.isHeld()) await Promise.all(this.#claims.map(this.#try));
    }
  }

  /** In order: who holds the first may try the second. What is held already is renewed. */
  async #round(): Promise<void> {
    for (const claim of this.#claims) {
      await this.#try(claim);
      if (!this.#isHeld(claim)) return;
    }
  }

  readonly #try = async (claim: Claim): Promise<void> => {
    try {
      await claim.try();
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      this.#parts.trouble?.(error, this.#parts.times.retryMs);
    }
  };

  /** What cannot be given back now is free after its time. */
  async #giveBack(): Promise<void> {
    for (const claim of this.#claims.toReversed()) {
      await claim.giveBack().catch((error: unknown) => {
        if (!(error instanceof KubeError)) throw error;
        this.#parts.trouble?.(error, 0);
      });
    }
  }

  async #rest(signal: AbortSignal): Promise<void> {
    const { clock, chance, times } = this.#parts;
    await clock.sleep(times.retryMs * (1 + chance() / 5), signal);
  }

  #holdsAll(): boolean {
    return this.#claims.every((claim) => this.#isHeld(claim));
  }

  /** Who has the one that is next. */
  #rival(): Rival | undefined {
    const next = this.#claims.find((claim) => !this.#isHeld(claim));
    return next?.rival === undefined ? undefined : { name: next.name, lease: next.rival };
  }

  #isHeld(claim: Claim): boolean {
    return this.#parts.clock.nowMs() < claim.heldUntilMs;
  }
}

/** From the moment all leases were held to the moment one of them was not: never again after. */
class Term implements Leadership {
  readonly term: number;
  readonly #claims: readonly Claim[];
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  #isLost = false;

  constructor(claims: readonly Claim[], clock: Clock) {
    this.#claims = claims;
    this.#clock = clock;
    this.term = claims[0]?.transitions ?? 0;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  isHeld(): boolean {
    if (!this.#isLost && this.#leftMs() <= 0) {
      this.#isLost = true;
      this.end();
    }
    return !this.#isLost;
  }

  readonly fence = (): void => {
    if (!this.isHeld()) throw new KubeError('Fenced', 'the lease is lost: nothing was done');
  };

  end(): void {
    this.#controller.abort();
  }

  /** Ends work in time also where nobody asks the fence. */
  async guard(done: AbortSignal): Promise<void> {
    while (!done.aborted && this.isHeld()) await this.#clock.sleep(this.#leftMs(), done);
  }

  #leftMs(): number {
    return Math.min(...this.#claims.map(({ heldUntilMs }) => heldUntilMs)) - this.#clock.nowMs();
  }
}
