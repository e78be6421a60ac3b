/** A pod, as far as volumes are concerned. */
export type Pod = {
  readonly name: string;
  readonly uid: string;
  /** Claims in the namespace `ns`. */
  readonly claims: readonly string[];
  /** Chosen, and waiting for its claims to be bound. */
  assumed: string | undefined;
  node: string | undefined;
  isRunning: boolean;
  isDeleting: boolean;
  /** No such pod for the API server: only its kubelet has something left of it. */
  isForgotten: boolean;
  /** When the scheduler looks at it again. */
  notBeforeMs: number;
  tries: number;
  /** Why it does not run. */
  why: string;
  /** Claims whose volumes kubelet has shown to it. */
  readonly shown: Map<string, Shown>;
};

export type Shown = {
  readonly volumeId: string;
  readonly path: string;
  isDone: boolean;
};

/** All pods of the cluster. */
export class Pods {
  readonly #pods = new Map<string, Pod>();
  readonly listeners = new Set<() => void>();

  get all(): readonly Pod[] {
    return [...this.#pods.values()];
  }

  get(name: string): Pod | undefined {
    return this.#pods.get(name);
  }

  add(name: string, uid: string, claims: readonly string[]): Pod {
    const pod: Pod = {
      ...{ name, uid, claims, assumed: undefined, node: undefined, shown: new Map() },
      ...{
        isRunning: false,
        isDeleting: false,
        isForgotten: false,
        notBeforeMs: 0,
        tries: 0,
        why: 'is new',
      },
    };
    this.#pods.set(name, pod);
    this.changed();
    return pod;
  }

  delete(name: string): void {
    const pod = this.#pods.get(name);
    if (pod === undefined) return;
    pod.isDeleting = true;
    if (pod.node === undefined) this.#pods.delete(name);
    this.changed();
  }

  /** Kubelet has taken all its volumes away. */
  gone(pod: Pod): void {
    if (this.#pods.get(pod.name) === pod) this.#pods.delete(pod.name);
    this.changed();
  }

  /** Those that keep a claim: also pods that are only scheduled. */
  using(claim: string): readonly Pod[] {
    return this.all.filter(({ claims, node, isForgotten }) => {
      return node !== undefined && !isForgotten && claims.includes(claim);
    });
  }

  changed(): void {
    for (const listener of this.listeners) listener();
  }
}
