import type { PersistentVolumeClaim } from '../../src/api/objects/claim.ts';
import { realClock } from '../../src/host/clock.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { Informer } from '../../src/kube/informer.ts';
import { type Kind, type KubeObject, metadataShape } from '../../src/kube/kind.ts';
import { claimKind } from '../../src/kube/kinds.ts';

export type Pod = KubeObject & {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
};

export const podKind: Kind<Pod> = {
  ...{ group: '', version: 'v1', kind: 'Pod', plural: 'pods', isNamespaced: true },
  shape: { metadata: metadataShape, status: { conditions: [{ type: true, status: true }] } },
};

export const namespace = 'default';

/** When claims were first seen Bound and pods first seen Ready, by a watch. */
export class Seen {
  readonly boundAtMs = new Map<string, number>();
  readonly readyAtMs = new Map<string, number>();
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #pods: Informer<Pod>;
  readonly #stop = new AbortController();

  constructor(client: KubeClient) {
    const common = { client, scopes: [{ namespace }], clock: realClock, chance: Math.random };
    this.#claims = new Informer({ ...common, scopes: [{ namespace }], kind: claimKind });
    this.#pods = new Informer({ ...common, scopes: [{ namespace }], kind: podKind });
    this.#claims.onChange(({ object }) => {
      if (object.status?.phase === 'Bound') note(this.boundAtMs, object.metadata.name);
    });
    this.#pods.onChange(({ object }) => {
      const conditions = object.status?.conditions ?? [];
      const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
      if (isReady) note(this.readyAtMs, object.metadata.name);
    });
  }

  async start(): Promise<void> {
    for (const informer of [this.#claims, this.#pods]) {
      void informer.run(this.#stop.signal);
      await informer.synced;
    }
  }

  stop(): void {
    this.#stop.abort();
  }

  get claims(): number {
    return this.#claims.size;
  }

  get pods(): number {
    return this.#pods.size;
  }
}

function note(moments: Map<string, number>, name: string): void {
  if (!moments.has(name)) moments.set(name, performance.now());
}
