import type { Secret } from '../api/objects/webhook.ts';
import type { Informer } from '../kube/informer.ts';
import type { Chance, Clock } from '../kube/ports.ts';
import { type Again, WorkQueue } from '../kube/queue.ts';
import type { Address } from '../process/http-server.ts';
import type { Log } from '../process/log.ts';
import { keyRingOf } from './certificates.ts';
import { type Judge, Webhook } from './webhook.ts';

type Parts = {
  readonly secrets: Informer<Secret>;
  readonly judges: ReadonlyMap<string, Judge>;
  readonly address: Address;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly log: Log;
};

const key = 'door';

/** Answers API servers as soon as there is a certificate for it, and with the newest one. */
export class WebhookDoor {
  readonly #parts: Parts;
  #webhook: Webhook | undefined;
  #shown = '';

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Volumes matter more: an address that cannot be had is tried again, and stops nothing. */
  async run(signal: AbortSignal): Promise<void> {
    const { secrets, clock, chance, log } = this.#parts;
    const queue = new WorkQueue({
      ...{ clock, chance, workers: 1, firstWaitMs: 1_000, longestWaitMs: 60_000 },
      work: () => this.#show(),
      trouble: (_key, error, waitMs) => {
        const message = `API servers cannot ask us: ${(error as Error).message}`;
        log({ level: 'error', message, waitMs });
      },
    });
    const leave = secrets.onChange(() => queue.add(key));
    try {
      await queue.run(signal);
    } finally {
      leave();
      await this.#webhook?.stop();
    }
  }

  /** Where no certificate can be read the one before is good enough. */
  async #show(): Promise<Again> {
    const { secrets, judges, address, log } = this.#parts;
    const [secret] = secrets.values();
    const certified = keyRingOf(secret)?.server;
    if (certified === undefined || certified.certificate === this.#shown) return undefined;
    if (this.#webhook === undefined) {
      const webhook = new Webhook({ judges, certified, log });
      const port = await webhook.start(address);
      this.#webhook = webhook;
      log({ level: 'info', message: `answering API servers on port ${port}`, port });
    } else {
      this.#webhook.renew(certified);
    }
    this.#shown = certified.certificate;
    return undefined;
  }
}
