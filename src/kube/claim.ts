import type { KubeClient } from './client.ts';
import { KubeError } from './errors.ts';
import type { ObjectName } from './kind.ts';
import {
  givenBack,
  heldBy,
  type Lease,
  type LeaseSpec,
  type LeaseTimes,
  leaseKind,
  mayTake,
  type Sighting,
  sight,
} from './lease.ts';
import type { Clock, WallClock } from './ports.ts';

export type ClaimParts = {
  /** With connections of its own and no limiter: a renewal must not wait behind a list. */
  readonly client: KubeClient;
  /** A name that no other process has, nor an earlier life of this one. */
  readonly self: string;
  readonly times: LeaseTimes;
  readonly clock: Clock;
  readonly wall: WallClock;
};

/** One lease that we want, or hold. */
export class Claim {
  readonly #parts: ClaimParts;
  readonly #name: ObjectName;
  #sighting: Sighting | undefined;
  /** As we wrote it last. */
  #own: Lease | undefined;
  #rival: Lease | undefined;
  #heldUntilMs = Number.NEGATIVE_INFINITY;

  constructor(parts: ClaimParts, name: ObjectName) {
    this.#parts = parts;
    this.#name = name;
  }

  get name(): ObjectName {
    return this.#name;
  }

  /** As somebody else holds it, who was seen to renew it: no lease that was only left behind. */
  get rival(): Lease | undefined {
    return this.#rival;
  }

  /** Measured from when the renewal was sent: nobody can have seen it earlier than that. */
  get heldUntilMs(): number {
    return this.#heldUntilMs;
  }

  /** How often the lease changed hands: later holders have a larger number. */
  get transitions(): number {
    return this.#own?.spec?.leaseTransitions ?? 0;
  }

  /** Takes or renews it if that is possible. Rejects when the server did not answer clearly. */
  async try(): Promise<void> {
    if (this.#own !== undefined && (await this.#renew(this.#own))) return;
    const { self, times, clock } = this.#parts;
    const lease = await this.#parts.client.find(leaseKind, this.#name, this.#patience());
    const nowMs = clock.nowMs();
    if (lease !== undefined) this.#saw(sight(this.#sighting, lease, nowMs));
    // A lease that somebody deleted may still be acted upon by its holder.
    const isFree =
      this.#sighting === undefined || mayTake(this.#sighting, self, times.durationMs, nowMs);
    if (isFree) await this.#write(lease, heldBy(self, lease, times.durationMs, this.#parts.wall()));
  }

  /** Only for who acts no more. */
  async giveBack(): Promise<void> {
    const own = this.#own;
    this.#lose();
    if (own === undefined) return;
    const spec = givenBack(own, this.#parts.wall());
    await this.#parts.client.update(leaseKind, { ...own, spec }, this.#patience());
  }

  #saw(sighting: Sighting): void {
    const isNews = this.#sighting !== undefined && this.#sighting !== sighting;
    const { holderIdentity = '' } = sighting.lease.spec ?? {};
    if (isNews && holderIdentity !== '') this.#rival = sighting.lease;
    this.#sighting = sighting;
  }

  /** False when it is ours no more, or when a look has to tell. */
  async #renew(own: Lease): Promise<boolean> {
    const { self, times, wall } = this.#parts;
    try {
      await this.#write(own, heldBy(self, own, times.durationMs, wall()));
      return true;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (error.code === 'NotFound') this.#lose();
      if (error.code !== 'Conflict') throw error;
    }
    // Somebody put a label on it, an answer of ours was lost, or it was taken.
    const lease = await this.#parts.client.find(leaseKind, this.#name, this.#patience());
    if (lease?.spec?.holderIdentity === self) {
      await this.#write(lease, heldBy(self, lease, times.durationMs, wall()));
      return true;
    }
    this.#lose();
    return false;
  }

  async #write(before: Lease | undefined, spec: LeaseSpec): Promise<void> {
    const { client, times, clock } = this.#parts;
    const sentAtMs = clock.nowMs();
    const metadata = before?.metadata ?? this.#name;
    const lease = { ...before, metadata, spec };
    const written =
      before === undefined
        ? await client.create(leaseKind, lease, this.#patience())
        : await client.update(leaseKind, lease, this.#patience());
    this.#own = written;
    this.#rival = undefined;
    this.#sighting = { lease: written, changedAtMs: clock.nowMs() };
    this.#heldUntilMs = sentAtMs + times.renewDeadlineMs;
  }

  #lose(): void {
    this.#own = undefined;
    this.#heldUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** A connection that hangs leaves time for another try. */
  #patience() {
    return { timeoutMs: Math.ceil(this.#parts.times.renewDeadlineMs / 4), isOnce: true } as const;
  }
}
