import { type Blocked, OperationError } from '../base/failures.ts';
import type { ObservedHost } from '../core/observed.ts';
import type { Decision } from '../core/step.ts';
import type { Signal } from './ports.ts';

/** Something wanted of one volume group: how to decide, and how to tell what became of it. */
export type Task<Status> = {
  readonly noun: string;
  /** The key of the log line; for volumes their name. */
  readonly volume: string;
  readonly vg: string;
  plan(host: ObservedHost): Decision;
  status(host: ObservedHost): Status;
  /** Others may come before it: see `chooseBurst`. */
  readonly mayWait?: boolean;
};

export type Outcome<Status> = { readonly kind: 'settled'; readonly status: Status } | Blocked;

/** What became of it; a refusal is thrown like any failure. */
export function settled<Status>(outcome: Outcome<Status>): Status {
  if (outcome.kind === 'settled') return outcome.status;
  throw new OperationError(outcome.code, outcome.message);
}

/** A task with somebody waiting for it. Whoever stops waiting loses only the wait. */
export class Job<Status = unknown> {
  readonly task: Task<Status>;
  readonly outcome: Promise<Outcome<Status>>;
  /** What went wrong with the last step; the next look says if it matters. */
  failure: OperationError | undefined;
  /** Steps run so far, and how often the same one had to be planned again. */
  stepCount = 0;
  lastStep = '';
  repeats = 0;
  /** Did the last step end well, whatever came of it? */
  hasEndedWell = false;
  /** A long step of it runs outside the queue; it comes back by itself. */
  isAway = false;
  /** In the model's count of events: a refusal must come from a look that began after it. */
  askedAt = 0;
  /** How many who came later were let go first. */
  passedBy = 0;
  /** What it did together with others failed: it goes on by itself. */
  isAlone = false;
  #isDone = false;
  #isAbandoned = false;
  #resolve: (outcome: Outcome<Status>) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  #unlisten: () => void = () => undefined;

  constructor(task: Task<Status>, signal?: Signal) {
    this.task = task;
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (signal === undefined) return;
    const abandon = () => this.#abandon();
    signal.addEventListener('abort', abandon);
    this.#unlisten = () => signal.removeEventListener('abort', abandon);
    if (signal.aborted) abandon();
  }

  get isDone(): boolean {
    return this.#isDone || this.#isAbandoned;
  }

  settle(host: ObservedHost): void {
    this.#finish(() => this.#resolve({ kind: 'settled', status: this.task.status(host) }));
  }

  refuse(blocked: Blocked): void {
    this.#finish(() => this.#resolve(blocked));
  }

  fail(error: unknown): void {
    this.#finish(() => this.#reject(error));
  }

  #finish(tell: () => void): void {
    this.#unlisten();
    if (!this.#isAbandoned) tell();
    this.#isDone = true;
  }

  #abandon(): void {
    if (this.#isDone) return;
    this.#isAbandoned = true;
    this.#unlisten();
    const { noun, volume } = this.task;
    const message = `nobody waits for ${noun} ${volume} any more; it may still come about`;
    this.#reject(new OperationError('Cancelled', message));
  }
}
