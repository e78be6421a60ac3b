import type { PersistentVolumeClaim } from '../api/objects/claim.ts';
import type { Bytes } from '../base/bytes.ts';
import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import {
  decideExpansion,
  decideFailure,
  type ExpansionDecision,
  type ExpansionView,
} from '../core/cluster/expansion.ts';
import { type Attempt, type DriverFailure, tooSmall } from '../core/cluster/expansion-failure.ts';
import type { VolumeBook } from '../csi/book.ts';
import { endingOf, StatusError } from '../csi/status.ts';
import type { ObjectName } from '../kube/kind.ts';
import type { Again } from '../kube/queue.ts';
import type { Cluster } from './duty.ts';
import {
  fieldsOf,
  type PairParts,
  Pairs,
  subjectOf,
  timeText,
  type Written,
} from './resizer-pair.ts';

export type ResizerParts = PairParts &
  Pick<Cluster, 'names' | 'recorder' | 'clock' | 'chance' | 'wall' | 'log' | 'endings'> & {
    readonly book: Pick<VolumeBook, 'expand'>;
  };

/** What is known of one claim during a round, and what the driver answered in it. */
type Facts = Pick<ExpansionView, 'claim' | 'volume' | 'grown'>;

/** Carries out what is decided for a claim, one thing after the other, until nothing is left. */
export class ResizerRounds {
  readonly #parts: ResizerParts;
  readonly #pairs: Pairs;
  /** By the UID of the claim. */
  readonly #attempts = new Map<string, Attempt>();
  /** Until a server drops what we write. */
  #keepsStatus = true;

  constructor(parts: ResizerParts) {
    this.#parts = parts;
    this.#pairs = new Pairs(parts);
  }

  /** Is there anything to do, as far as the stores know? */
  wants(name: ObjectName): boolean {
    const facts = this.#seen(name);
    return facts !== undefined && this.#decide(facts).kind !== 'rest';
  }

  forget(claim: PersistentVolumeClaim): void {
    this.#attempts.delete(claim.metadata.uid);
  }

  async round(name: ObjectName, signal: AbortSignal): Promise<Again> {
    const seen = this.#seen(name);
    if (seen === undefined) return undefined;
    const first = this.#decide(seen);
    if (first.kind === 'rest') return undefined;
    if (first.kind === 'wait') return this.#wait(seen, first);
    // Stores may be behind. Nothing is begun on what they say alone.
    let facts = await this.#live(name, signal);
    for (let pass = 0; facts !== undefined && pass < limits.staleRetriesMax; pass += 1) {
      const decision = this.#decide(facts);
      switch (decision.kind) {
        case 'rest':
          return undefined;
        case 'wait':
          return this.#wait(facts, decision);
        case 'refuse':
          this.#parts.recorder.event(subjectOf(facts.claim), decision.event);
          return { afterMs: decision.afterMs };
        case 'expand': {
          const outcome = await this.#expand(facts, decision, signal);
          if ('afterMs' in outcome) return outcome;
          facts = outcome;
          break;
        }
        case 'write-claim':
        case 'write-volume': {
          const written = await this.#write(facts, decision, signal);
          if (written === 'gone') return undefined;
          if (written !== 'changed') facts = written;
          else facts = withGrown(await this.#live(name, signal), facts);
        }
      }
    }
    return facts === undefined ? undefined : { afterMs: limits.expandRetryMs };
  }

  #view(facts: Facts): ExpansionView {
    const { clock, wall, names } = this.#parts;
    return {
      ...facts,
      driver: names.driver,
      last: this.#attempts.get(facts.claim.metadata.uid),
      keepsStatus: this.#keepsStatus,
      nowMs: clock.nowMs(),
      nowText: timeText(wall()),
    };
  }

  #decide(facts: Facts): ExpansionDecision {
    return decideExpansion(this.#view(facts));
  }

  #seen(name: ObjectName): Facts | undefined {
    const pair = this.#pairs.seen(name);
    return pair === undefined ? undefined : { ...pair, grown: undefined };
  }

  async #live(name: ObjectName, signal: AbortSignal): Promise<Facts | undefined> {
    const pair = await this.#pairs.live(name, signal);
    return pair === undefined ? undefined : { ...pair, grown: undefined };
  }

  #wait({ claim }: Facts, { afterMs, remember }: ExpansionDecision & { kind: 'wait' }): Again {
    if (remember !== undefined) this.#attempts.set(claim.metadata.uid, remember);
    return { afterMs };
  }

  async #expand(
    facts: Facts,
    { volumeId, targetBytes }: ExpansionDecision & { kind: 'expand' },
    signal: AbortSignal,
  ): Promise<Facts | { readonly afterMs: number }> {
    const failure = await this.#ask(volumeId, targetBytes, signal).then(
      (sizeBytes) => {
        const small = tooSmall(sizeBytes, targetBytes);
        return small ?? { sizeBytes };
      },
      (error: unknown) => {
        signal.throwIfAborted();
        return failureOf(error);
      },
    );
    if (!('sizeBytes' in failure)) return this.#fail(facts, { targetBytes, failure }, signal);
    this.#attempts.delete(facts.claim.metadata.uid);
    return { ...facts, grown: { targetBytes, sizeBytes: failure.sizeBytes } };
  }

  /** The wait has an end; what the node does goes on, and is found by the next round. */
  async #ask(volumeId: string, targetBytes: Bytes, signal: AbortSignal): Promise<Bytes> {
    const { book, clock, endings } = this.#parts;
    const late = new AbortController();
    const answered = new AbortController();
    void clock.sleep(limits.expandWaitMs, answered.signal).then(() => {
      if (!answered.signal.aborted) late.abort();
    });
    try {
      const either = AbortSignal.any([signal, late.signal]);
      const range = { requiredBytes: targetBytes, limitBytes: 0n };
      const asked = { operation: 'expand', key: volumeId } as const;
      const expand = () => book.expand(volumeId, range, either);
      return (await endings.of(asked, signal, expand)).sizeBytes;
    } finally {
      answered.abort();
    }
  }

  async #fail(
    facts: Facts,
    { targetBytes, failure }: { readonly targetBytes: Bytes; readonly failure: DriverFailure },
    signal: AbortSignal,
  ): Promise<{ readonly afterMs: number }> {
    const { recorder, clock, chance, log } = this.#parts;
    const { uid } = facts.claim.metadata;
    const draw = chance();
    const last = this.#attempts.get(uid);
    let known: Facts | undefined = facts;
    for (let pass = 0; pass < limits.staleRetriesMax && known !== undefined; pass += 1) {
      if (known.claim.metadata.uid !== uid) break;
      const view = { ...this.#view(known), last };
      const { remember, patch, event } = decideFailure(view, targetBytes, { failure, draw });
      this.#attempts.set(uid, remember);
      if (pass === 0) {
        recorder.event(subjectOf(known.claim), event);
        log({ level: 'warn', message: event.message, ...fieldsOf(known) });
      }
      const written =
        patch === undefined ? known : await this.#pairs.patchClaim(known, patch, signal);
      if (written !== 'changed') break;
      known = await this.#live(known.claim.metadata, signal);
    }
    const untilMs = this.#attempts.get(uid)?.notBeforeMs ?? 0;
    return { afterMs: Math.max(0, untilMs - clock.nowMs()) };
  }

  async #write(
    facts: Facts,
    decision: ExpansionDecision & { kind: 'write-claim' | 'write-volume' },
    signal: AbortSignal,
  ): Promise<Written<Facts>> {
    const { recorder, log } = this.#parts;
    const isClaim = decision.kind === 'write-claim';
    const written = isClaim
      ? await this.#pairs.patchClaim(facts, decision.patch, signal)
      : await this.#pairs.patchVolume(facts, decision.patch, signal);
    if (typeof written === 'string') return written;
    if (isClaim && decision.why === 'begun') {
      this.#keepsStatus = written.claim.status?.allocatedResources?.storage !== undefined;
    }
    const event = isClaim ? decision.event : undefined;
    if (event !== undefined) recorder.event(subjectOf(facts.claim), event);
    log({ level: 'info', message: event?.message ?? decision.why, ...fieldsOf(facts) });
    return written;
  }
}

/** The driver's answer is about this claim and this volume, and about no others of their names. */
function withGrown(now: Facts | undefined, { claim, volume, grown }: Facts): Facts | undefined {
  const isSame =
    now?.claim.metadata.uid === claim.metadata.uid &&
    now.volume?.metadata.uid === volume?.metadata.uid;
  return now === undefined || !isSame ? now : { ...now, grown };
}

/** Only what the driver itself said has a status; of anything else nobody knows how far it came. */
function failureOf(error: unknown): DriverFailure {
  if (error instanceof OperationError) return { ...endingOf(error), code: error.code };
  if (error instanceof StatusError) return endingOf(error);
  const text = error instanceof Error ? error.message : String(error);
  return { status: undefined, message: `The node has not answered yet: ${text}` };
}
