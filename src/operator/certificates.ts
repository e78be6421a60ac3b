import type { Secret, WebhookConfiguration } from '../api/objects/webhook.ts';
import { registrationName } from '../core/cluster/installed.ts';
import type { KubeClient } from '../kube/client.ts';
import { isKubeError, KubeError } from '../kube/errors.ts';
import { Informer } from '../kube/informer.ts';
import type { Kind, KubeObject } from '../kube/kind.ts';
import { pointer } from '../kube/patch.ts';
import type { Chance, Clock, WallClock } from '../kube/ports.ts';
import { type Again, WorkQueue } from '../kube/queue.ts';
import { mutatingWebhookKind, secretKind, validatingWebhookKind } from '../kube/webhook-kinds.ts';
import { type KeyRing, keyRingIn, nextKeyRing, textsOf } from '../process/key-ring.ts';
import type { Duty, LogLine } from './duty.ts';

/** Our own: nobody else writes there, such as OpenShift's signer of services. */
export const secretName = 'quarry-webhook-certificate';

const key = 'certificate';

/** How often it is looked whether one is old, or a clock was put right. */
const againMs = 300_000;

/** By then every API server has read whom it shall believe. */
const settleMs = 60_000;

export type RegistrationStores = {
  readonly secrets: Informer<Secret>;
  readonly validating: Informer<WebhookConfiguration>;
  readonly mutating: Informer<WebhookConfiguration>;
};

type StoreMeans = {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly trouble: (what: string, error: Error, waitMs: number) => void;
};

export function registrationStores(means: StoreMeans, namespace: string): RegistrationStores {
  const { client, clock, chance } = means;
  const one = <T extends KubeObject>(kind: Kind<T>, name: string) => {
    const place = kind.isNamespaced ? { namespace } : {};
    return new Informer<T>({
      ...{ client, kind, clock, chance },
      scopes: [{ ...place, fieldSelector: `metadata.name=${name}` }],
      trouble: (error, waitMs) => means.trouble(kind.plural, error, waitMs),
    });
  };
  return {
    secrets: one(secretKind, secretName),
    validating: one(validatingWebhookKind, registrationName),
    mutating: one(mutatingWebhookKind, registrationName),
  };
}

/** What the Secret holds, if it is a ring. */
export function keyRingOf(secret: Secret | undefined): KeyRing | undefined {
  const texts = Object.entries(secret?.data ?? {}).map(
    ([name, value]) => [name, Buffer.from(value, 'base64').toString()] as const,
  );
  return keyRingIn(Object.fromEntries(texts));
}

type Parts = {
  /** Fenced. */
  readonly client: KubeClient;
  readonly stores: RegistrationStores;
  readonly namespace: string;
  readonly hosts: readonly [string, ...string[]];
  readonly clock: Clock;
  readonly chance: Chance;
  readonly wall: WallClock;
  readonly log: (line: LogLine) => void;
};

/**
 * The certificates of our webhooks, made here and renewed in time, and told to the API servers in
 * the registrations. Where no registration is installed nothing is made.
 */
export class Certificates implements Duty {
  readonly #parts: Parts;
  #trusted: { readonly bundle: string; readonly sinceMs: number } | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { stores, clock, chance, log } = this.#parts;
    const queue = new WorkQueue({
      ...{ clock, chance, workers: 1, firstWaitMs: 1_000, longestWaitMs: 60_000 },
      work: (_key, stop) => this.#look(stop),
      trouble: (_key, error, waitMs) => {
        if (!(error instanceof KubeError)) throw error;
        log({ level: 'warn', message: `certificates of the webhooks: ${error.message}`, waitMs });
      },
    });
    const look = () => queue.add(key);
    const ends = Object.values(stores).map((store) => store.onChange(look));
    void Promise.all(Object.values(stores).map(({ synced }) => synced)).then(look);
    try {
      await queue.run(signal);
    } finally {
      for (const end of ends) end();
    }
  }

  async #look(signal: AbortSignal): Promise<Again> {
    const { stores, clock, wall, hosts } = this.#parts;
    if (!Object.values(stores).every(({ hasSynced }) => hasSynced)) return undefined;
    const registrations = this.#registrations();
    if (registrations.length === 0) return undefined;
    const [secret] = stores.secrets.values();
    const ring = keyRingOf(secret);
    const bundle = ring?.authorities.join('') ?? '';
    if (this.#trusted?.bundle !== bundle) this.#trusted = undefined;
    const isTrusted =
      this.#trusted !== undefined && clock.nowMs() >= this.#trusted.sinceMs + settleMs;
    const next = nextKeyRing(ring, { nowMs: wall(), hosts, isTrusted });
    if (next !== undefined) {
      await this.#keep(next, secret, signal);
      return { afterMs: 0 };
    }
    for (const [kind, registration] of registrations) {
      await this.#introduce(kind, registration, bundle, signal);
    }
    const isNews = this.#trusted === undefined;
    if (isNews) this.#trusted = { bundle, sinceMs: clock.nowMs() };
    return { afterMs: isNews ? settleMs : againMs };
  }

  #registrations() {
    const { validating, mutating } = this.#parts.stores;
    return [
      ...[...validating.values()].map((one) => [validatingWebhookKind, one] as const),
      ...[...mutating.values()].map((one) => [mutatingWebhookKind, one] as const),
    ];
  }

  /** Before anybody is told of it. */
  async #keep(ring: KeyRing, secret: Secret | undefined, signal: AbortSignal): Promise<void> {
    const { client, namespace, stores, log } = this.#parts;
    const data = Object.fromEntries(
      Object.entries(textsOf(ring)).map(([name, text]) => [name, encoded(text)]),
    );
    if (secret === undefined) {
      const metadata = { name: secretName, namespace };
      const type = 'kubernetes.io/tls';
      stores.secrets.putOwn(await client.create(secretKind, { metadata, type, data }, { signal }));
    } else {
      const { resourceVersion } = secret.metadata;
      const operations = [
        { op: 'test', path: pointer('metadata', 'resourceVersion'), value: resourceVersion },
        { op: 'add', path: pointer('data'), value: data },
      ] as const;
      const patch = { type: 'json', operations } as const;
      stores.secrets.putOwn(await client.patch(secretKind, secret.metadata, patch, { signal }));
    }
    log({ level: 'info', message: 'a certificate of the webhooks was made' });
  }

  /** Gives the API servers whom they shall believe. */
  async #introduce(
    kind: Kind<WebhookConfiguration>,
    { metadata, webhooks = [] }: WebhookConfiguration,
    bundle: string,
    signal: AbortSignal,
  ): Promise<void> {
    const value = encoded(bundle);
    const late = webhooks.flatMap(({ clientConfig }, index) =>
      clientConfig?.caBundle === value ? [] : [index],
    );
    if (late.length === 0) return;
    const { resourceVersion } = metadata;
    const operations = [
      { op: 'test', path: pointer('metadata', 'resourceVersion'), value: resourceVersion } as const,
      ...late.map((index) => {
        const path = pointer('webhooks', String(index), 'clientConfig', 'caBundle');
        return { op: 'add', path, value } as const;
      }),
    ];
    try {
      const { client, stores } = this.#parts;
      const told = await client.patch(kind, metadata, { type: 'json', operations }, { signal });
      (kind === validatingWebhookKind ? stores.validating : stores.mutating).putOwn(told);
    } catch (error) {
      if (!isKubeError(error, 'NotFound')) throw error;
    }
  }
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64');
}
