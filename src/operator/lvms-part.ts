import { webhookService } from '../core/cluster/installed.ts';
import type { ClusterNames } from '../core/cluster/names.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/errors.ts';
import { configMapKind, lvmClusterKind } from '../kube/lvms-kinds.ts';
import type { Chance, Clock } from '../kube/ports.ts';
import type { Address } from '../process/http-server.ts';
import type { Log } from '../process/log.ts';
import { registrationStores } from './certificates.ts';
import type { Stores } from './duty.ts';
import { judgesOf } from './judges.ts';
import { runKinds } from './kind-watch.ts';
import { type LvmsKinds, lvmsKinds } from './lvm-clusters-kinds.ts';
import type { Registration } from './operator-duties.ts';
import { WebhookDoor } from './webhook-door.ts';

const microShiftVersion = { namespace: 'kube-public', name: 'microshift-version' };
const askAgainMs = 30_000;
/** API servers wait for us meanwhile, and not longer than 10 seconds. */
const newestMs = 5_000;

export type LvmsParts = {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly trouble: (what: string, error: Error, waitMs: number) => void;
  readonly stores: Stores;
  readonly names: ClusterNames;
  readonly namespace: string;
  /** Where API servers ask; undefined for nowhere. */
  readonly webhook: Address | undefined;
  readonly log: Log;
};

/** What an operator has for LVMClusters whether it leads or not: it knows them, and judges them. */
export class LvmsPart {
  readonly kinds: LvmsKinds;
  readonly registration: Registration | undefined;
  readonly #parts: LvmsParts;
  #isMicroShift = false;

  constructor(parts: LvmsParts) {
    const { client, clock, chance, namespace, webhook } = parts;
    this.#parts = parts;
    const trouble = (error: Error, waitMs: number) => parts.trouble('LVMS’ kinds', error, waitMs);
    this.kinds = lvmsKinds({ client, clock, chance, trouble }, namespace);
    if (webhook === undefined) return;
    const hosts = [`${webhookService}.${namespace}.svc`] as const;
    this.registration = { stores: registrationStores(parts, namespace), namespace, hosts };
  }

  async run(signal: AbortSignal): Promise<void> {
    const stores = Object.values(this.registration?.stores ?? {});
    await Promise.all([
      runKinds([...Object.values(this.kinds), ...stores], signal),
      this.#answer(signal),
      this.#learnWhere(signal),
    ]);
  }

  async #answer(signal: AbortSignal): Promise<void> {
    const { client, stores, namespace, names, webhook, clock, chance, log } = this.#parts;
    if (webhook === undefined || this.registration === undefined) return;
    const judges = judgesOf({
      ...{ stores, kinds: this.kinds, namespace, driver: names.driver },
      isMicroShift: () => this.#isMicroShift,
      newestClusters: async () => {
        const newest = { kind: 'newest' } as const;
        const options = { timeoutMs: newestMs, isOnce: true };
        return (await client.list(lvmClusterKind, { namespace }, newest, options)).items;
      },
    });
    const { secrets } = this.registration.stores;
    await new WebhookDoor({ secrets, judges, address: webhook, clock, chance, log }).run(signal);
  }

  /** MicroShift says so itself. */
  async #learnWhere(signal: AbortSignal): Promise<void> {
    const { client, clock, trouble } = this.#parts;
    while (!signal.aborted) {
      try {
        const found = await client.find(configMapKind, microShiftVersion, { signal });
        this.#isMicroShift = found !== undefined;
        return;
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        trouble('configmaps', error, askAgainMs);
        await clock.sleep(askAgainMs, signal);
      }
    }
  }
}
