import type { ClaimParts } from '../kube/claim.ts';
import { Election, type Leadership } from '../kube/election.ts';
import { KubeError } from '../kube/errors.ts';
import { leaseKind, mayTake, type Sighting, sight } from '../kube/lease.ts';
import type { Chance } from '../kube/ports.ts';
import type { LogLine } from './duty.ts';

/** Whoever controls the snapshots of a cluster holds it, wherever it lives. */
export const snapshotLeaseName = 'snapshot-controller-leader';

export type SnapshotLeaseParts = ClaimParts & {
  readonly namespace: string;
  readonly chance: Chance;
  readonly log: (line: LogLine) => void;
};

type Rival = { readonly namespace: string; readonly holder: string };

/**
 * Leads only where nobody else does. Others hold the lease in a namespace of their own, so all
 * leases of the name are looked at. One that holds no lease at all cannot be told.
 */
export class SnapshotLease {
  readonly #parts: SnapshotLeaseParts;
  readonly #sightings = new Map<string, Sighting>();
  #told = '';

  constructor(parts: SnapshotLeaseParts) {
    this.#parts = parts;
  }

  async run(lead: (leadership: Leadership) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { clock, times } = this.#parts;
    while (!signal.aborted) {
      if (await this.#isTaken(signal)) await clock.sleep(times.retryMs, signal);
      else await this.#campaign(lead, signal);
    }
  }

  async #campaign(
    lead: (leadership: Leadership) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, times, namespace } = this.#parts;
    const end = new AbortController();
    const stop = () => end.abort();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const election = new Election({
      ...this.#parts,
      names: [{ namespace, name: snapshotLeaseName }],
    });
    const giveWay = async () => {
      while (!end.signal.aborted) {
        await clock.sleep(times.durationMs, end.signal);
        if (!end.signal.aborted && (await this.#isTaken(end.signal))) stop();
      }
    };
    try {
      await Promise.all([election.run(lead, end.signal).finally(stop), giveWay()]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** Also when nobody can tell. */
  async #isTaken(signal: AbortSignal): Promise<boolean> {
    try {
      const rival = await this.#rival(signal);
      if (rival === undefined) this.#tell('');
      else this.#tell(`${rival.holder} in ${rival.namespace} controls the snapshots already`);
      return rival !== undefined;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      this.#tell(`whether somebody else controls the snapshots is not known: ${error.message}`);
      return true;
    }
  }

  /** Somebody who renewed a lease of the name lately, or may have. */
  async #rival(signal: AbortSignal): Promise<Rival | undefined> {
    const { client, self, times, clock } = this.#parts;
    const scope = { fieldSelector: `metadata.name=${snapshotLeaseName}` };
    const { items } = await client.list(leaseKind, scope, { kind: 'newest' }, { signal });
    const nowMs = clock.nowMs();
    const rivals: Rival[] = [];
    for (const lease of items) {
      const { namespace = '' } = lease.metadata;
      const sighting = sight(this.#sightings.get(namespace), lease, nowMs);
      this.#sightings.set(namespace, sighting);
      if (mayTake(sighting, self, times.durationMs, nowMs)) continue;
      rivals.push({ namespace, holder: lease.spec?.holderIdentity ?? '' });
    }
    return rivals[0];
  }

  #tell(message: string): void {
    if (message === this.#told) return;
    this.#told = message;
    if (message === '') return;
    this.#parts.log({ level: 'warn', message: `${message}: this one does nothing` });
  }
}
