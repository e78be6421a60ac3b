import type { Clock } from '../../src/kube/ports.ts';
import type { FakeClock } from '../world/clock.ts';

/**
 * One life of a process. Once it is over nothing comes through any more: promises stay open for
 * ever, as they do in a process that is gone. While it is held up none of its code runs.
 */
export class Life {
  readonly #clock: FakeClock;
  readonly #deathWatchers: (() => void)[] = [];
  #isDead = false;
  #heldUpUntilMs = 0;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get isHeldUp(): boolean {
    return this.#heldUpUntilMs > this.#clock.nowMs();
  }

  die(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    for (const tell of this.#deathWatchers) tell();
  }

  onDeath(tell: () => void): void {
    this.#deathWatchers.push(tell);
  }

  /** No timer fires and no answer is heard for so long: a busy machine, or one that sleeps. */
  holdUp(ms: number): void {
    this.#heldUpUntilMs = Math.max(this.#heldUpUntilMs, this.#clock.nowMs() + ms);
  }

  /** Something reaches the process, unless it is dead, and not before it goes on. */
  enter(run: () => void): void {
    if (this.#isDead) return;
    const waitMs = this.#heldUpUntilMs - this.#clock.nowMs();
    if (waitMs <= 0) run();
    else this.#clock.after(waitMs, () => this.enter(run), 'held up');
  }

  /** What another part of the world does for this process. */
  hold<T>(promise: Promise<T>): Promise<T> {
    const held = new Promise<T>((resolve, reject) => {
      promise.then(
        (value) => this.enter(() => resolve(value)),
        (error: unknown) => this.enter(() => reject(error)),
      );
    });
    held.catch(() => undefined);
    return held;
  }

  /** The time as this process has it. */
  get clock(): Clock {
    return {
      nowMs: () => this.#clock.nowMs(),
      sleep: (ms, signal) => this.hold(this.#clock.sleep(ms, signal)),
    };
  }
}
