import type { EventSubject, EventText } from './recorder.ts';

/** What Kubernetes' own recorders allow. */
export const eventLimits = {
  /** More texts of one reason about one object in this time are told as one. */
  similarMax: 10,
  similarMs: 600_000,
  /** Events of one type about one object at once, and after that one in so long. */
  atOnce: 25,
  oneInMs: 300_000,
  /** Objects and texts that are remembered. */
  rememberedMax: 4_096,
  /** Events that wait to be sent. */
  waitingMax: 1_000,
  /** How often one is sent before it is forgotten. */
  triesMax: 12,
  messageCharactersMax: 1_000,
} as const;

export type Told = {
  /** The same for repeats, which are counted instead of told again. */
  readonly key: string;
  readonly message: string;
};

/** Keeps a noisy object from filling the cluster with events. */
export class SimilarEvents {
  readonly #texts = new Recent<{ readonly messages: Set<string>; sinceMs: number }>();
  readonly #tokens = new Recent<{ left: number; atMs: number }>();

  /** How it is told, or undefined when there was too much already. */
  admit(about: EventSubject, what: EventText, nowMs: number): Told | undefined {
    const object = `${about.kind}/${about.uid}`;
    const told = this.#together(`${object}/${what.type}/${what.reason}`, what.message, nowMs);
    // Good news never keeps anybody from hearing the bad.
    return this.#take(`${object}/${what.type}`, nowMs) ? told : undefined;
  }

  #together(group: string, text: string, nowMs: number): Told {
    const message = text.slice(0, eventLimits.messageCharactersMax);
    const known = this.#texts.get(group);
    const isOld = known === undefined || nowMs - known.sinceMs > eventLimits.similarMs;
    const texts = isOld ? { messages: new Set<string>(), sinceMs: nowMs } : known;
    this.#texts.set(group, texts);
    const isMany = texts.messages.size >= eventLimits.similarMax && !texts.messages.has(message);
    if (isMany) return { key: group, message: `(combined from similar events): ${message}` };
    texts.messages.add(message);
    return { key: `${group}/${message}`, message };
  }

  #take(object: string, nowMs: number): boolean {
    const { atOnce, oneInMs } = eventLimits;
    const before = this.#tokens.get(object) ?? { left: atOnce, atMs: nowMs };
    const left = Math.min(atOnce, before.left + (nowMs - before.atMs) / oneInMs);
    const isAllowed = left >= 1;
    this.#tokens.set(object, { left: isAllowed ? left - 1 : left, atMs: nowMs });
    return isAllowed;
  }
}

/** A map that forgets what was not used for longest. */
export class Recent<T> {
  readonly #entries = new Map<string, T>();

  get(key: string): T | undefined {
    return this.#entries.get(key);
  }

  get size(): number {
    return this.#entries.size;
  }

  set(key: string, value: T): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= eventLimits.rememberedMax) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
