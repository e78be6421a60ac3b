import { KubeError } from './errors.ts';

/** How long somebody waits for one exchange: until a time has passed, or until the caller left. */
export class Patience {
  readonly what: string;
  readonly #ms: number;
  readonly #signal: AbortSignal | undefined;
  readonly #listeners: ((error: KubeError) => void)[] = [];
  readonly #timer: NodeJS.Timeout;
  #broken: KubeError | undefined;
  #isOver = false;

  constructor(what: string, ms: number, signal: AbortSignal | undefined) {
    this.what = what;
    this.#ms = ms;
    this.#signal = signal;
    this.#timer = setTimeout(this.#timeOut, ms);
    signal?.addEventListener('abort', this.#leave);
    if (signal?.aborted === true) this.#leave();
  }

  get broken(): KubeError | undefined {
    return this.#broken;
  }

  onBroken(listener: (error: KubeError) => void): void {
    this.#listeners.push(listener);
    if (this.#broken !== undefined) listener(this.#broken);
  }

  /** A promise that knows nothing of patience. */
  hold<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.onBroken(reject);
      promise.then(resolve, reject);
    });
  }

  /** There was a sign of life. */
  renew(): void {
    if (!this.#isOver) this.#timer.refresh();
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#leave);
  }

  readonly #timeOut = () => {
    const message = `${this.what}: nothing was heard for ${this.#ms} ms`;
    this.#break(new KubeError('Timeout', message, { isUncertain: true }));
  };

  readonly #leave = () => {
    const message = `${this.what}: nobody waits any more`;
    this.#break(new KubeError('Cancelled', message, { isUncertain: true }));
  };

  #break(error: KubeError): void {
    if (this.#isOver) return;
    this.end();
    this.#broken ??= error;
    for (const listener of this.#listeners) listener(this.#broken);
  }
}
