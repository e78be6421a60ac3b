import { ourLease } from '../core/cluster/leases.ts';
import type { Rival } from '../kube/election.ts';
import { KubeError } from '../kube/errors.ts';
import { apiVersionOf, keyOf } from '../kube/kind.ts';
import { type Lease, leaseKind } from '../kube/lease.ts';
import type { Recorder } from '../kube/recorder.ts';
import type { Log } from '../process/log.ts';
import type { LeaseParts } from './operator-leases.ts';

export type RivalParts = LeaseParts & { readonly recorder: Recorder; readonly log: Log };

/** Says who keeps us from acting, once for each: an event, a line, and what `/status` shows. */
export class OldController {
  readonly #parts: RivalParts;
  #known = '';
  #message: string | undefined;

  constructor(parts: RivalParts) {
    this.#parts = parts;
  }

  get message(): string | undefined {
    return this.#message;
  }

  readonly saw = async (rival: Rival | undefined): Promise<void> => {
    if (rival === undefined) return this.forget();
    const lease = keyOf(rival.name);
    const { holderIdentity = '' } = rival.lease.spec ?? {};
    const key = `${lease} ${holderIdentity}`;
    if (key === this.#known) return;
    const own = await this.#own();
    if (own === 'unknown') return;
    this.#known = key;
    // Whoever of us leads holds all of them. That is no old one.
    const isColleague = own?.spec?.holderIdentity === holderIdentity;
    const { namespace } = rival.name;
    this.#message = isColleague
      ? undefined
      : `${holderIdentity} renews the lease ${lease} and may act: nothing is done here until it ` +
        `ends. \`kubectl get pods --namespace ${namespace}\` shows it; stop what runs it`;
    if (this.#message !== undefined) this.#tell(this.#message, own);
  };

  forget(): void {
    this.#known = '';
    this.#message = undefined;
  }

  #tell(message: string, own: Lease | undefined): void {
    const { recorder, log, namespace } = this.#parts;
    log({ level: 'warn', message });
    const about = { apiVersion: apiVersionOf(leaseKind), kind: leaseKind.kind, name: ourLease };
    recorder.event(
      { ...about, namespace, uid: own?.metadata.uid ?? '' },
      { type: 'Warning', reason: 'OldControllerActs', message },
    );
  }

  async #own(): Promise<Lease | undefined | 'unknown'> {
    const { client, namespace } = this.#parts;
    try {
      return await client.find(leaseKind, { namespace, name: ourLease });
    } catch (error) {
      if (error instanceof KubeError) return 'unknown';
      throw error;
    }
  }
}
