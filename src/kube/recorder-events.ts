import { backoffMs } from './backoff.ts';
import type { KubeClient } from './client.ts';
import { isKubeError, KubeError, kubeCodes } from './errors.ts';
import { type Kind, type KubeObject, metadataShape } from './kind.ts';
import type { Chance, Clock, Trouble, WallClock } from './ports.ts';
import type { EventSubject, EventText, Recorder } from './recorder.ts';
import { eventLimits, Recent, SimilarEvents } from './recorder-similar.ts';

export const eventKind: Kind<KubeObject> = {
  ...{ group: '', version: 'v1', kind: 'Event', plural: 'events', isNamespaced: true },
  shape: { metadata: metadataShape },
};

export type EventRecorderParts = {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly wall: WallClock;
  readonly chance: Chance;
  /** Who tells it: `topolvm.io_HOST`. */
  readonly source: string;
  readonly trouble?: Trouble;
};

type Waiting = {
  readonly key: string;
  readonly about: EventSubject;
  readonly what: EventText;
  /** How often since it was sent last. */
  count: number;
  readonly firstMs: number;
  lastMs: number;
};

type Sent = { readonly namespace: string; readonly name: string; count: number };

/** Events of the core group. Repeats raise a count; what cannot be sent is forgotten in the end. */
export class EventRecorder implements Recorder {
  readonly #parts: EventRecorderParts;
  readonly #similar = new SimilarEvents();
  readonly #waiting = new Map<string, Waiting>();
  readonly #sent = new Recent<Sent>();
  #names = 0;
  #dropped = 0;
  #wake: () => void = () => undefined;

  constructor(parts: EventRecorderParts) {
    this.#parts = parts;
  }

  /** Events that were told to nobody: there were too many, or the server did not take them. */
  get dropped(): number {
    return this.#dropped;
  }

  event(about: EventSubject, what: EventText): void {
    const told = this.#similar.admit(about, what, this.#parts.clock.nowMs());
    if (told === undefined) {
      this.#dropped += 1;
      return;
    }
    const { key, message } = told;
    const known = this.#waiting.get(key);
    const nowMs = this.#parts.wall();
    if (known !== undefined) {
      known.count += 1;
      known.lastMs = nowMs;
    } else if (this.#waiting.size >= eventLimits.waitingMax) {
      this.#dropped += 1;
      return;
    } else {
      const waiting = { key, about, what: { ...what, message }, count: 1 };
      this.#waiting.set(key, { ...waiting, firstMs: nowMs, lastMs: nowMs });
    }
    this.#wake();
  }

  /** Sends what waits, one after another, until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = () => this.#wake();
    signal.addEventListener('abort', stop);
    try {
      while (!signal.aborted) {
        const [next] = this.#waiting.values();
        if (next === undefined) await this.#more();
        else await this.#tell(next, signal);
      }
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async #tell(waiting: Waiting, signal: AbortSignal): Promise<void> {
    const { clock, chance, trouble } = this.#parts;
    this.#waiting.delete(waiting.key);
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#send(waiting, signal);
        return;
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        const isOver = kubeCodes[error.code] !== 'backoff' || tries >= eventLimits.triesMax;
        const waitMs = isOver ? 0 : backoffMs(tries, error.retryAfterMs, chance);
        trouble?.(error, waitMs);
        if (isOver || signal.aborted) {
          this.#dropped += waiting.count;
          return;
        }
        await clock.sleep(waitMs, signal);
      }
    }
  }

  async #send(waiting: Waiting, signal: AbortSignal): Promise<void> {
    const sent = this.#sent.get(waiting.key);
    if (sent !== undefined && (await this.#again(waiting, sent, signal))) return;
    const { namespace = 'default' } = waiting.about;
    const made = await this.#parts.client.create(eventKind, this.#draft(waiting), { signal });
    const { name } = made.metadata;
    this.#sent.set(waiting.key, { namespace, name, count: waiting.count });
  }

  /** False when the server has forgotten the event: they live for an hour. */
  async #again(waiting: Waiting, sent: Sent, signal: AbortSignal): Promise<boolean> {
    const { namespace, name } = sent;
    const count = sent.count + waiting.count;
    const { message } = waiting.what;
    const body = { count, message, lastTimestamp: timeOf(waiting.lastMs) };
    try {
      const patch = { type: 'merge', body } as const;
      await this.#parts.client.patch(eventKind, { namespace, name }, patch, { signal });
      this.#sent.set(waiting.key, { ...sent, count });
      return true;
    } catch (error) {
      if (!isKubeError(error, 'NotFound')) throw error;
      this.#sent.delete(waiting.key);
      return false;
    }
  }

  #draft({ about, what, count, firstMs, lastMs }: Waiting) {
    const { source } = this.#parts;
    const { namespace = 'default', name } = about;
    this.#names += 1;
    const suffix = `${this.#parts.wall().toString(16)}${this.#names.toString(16)}`;
    return {
      metadata: { namespace, name: `${name.slice(0, 200)}.${suffix}` },
      involvedObject: about,
      ...{ ...what, count },
      firstTimestamp: timeOf(firstMs),
      lastTimestamp: timeOf(lastMs),
      source: { component: source },
      reportingComponent: source,
      reportingInstance: '',
    };
  }
}

function timeOf(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/\.\d+Z$/, 'Z');
}
