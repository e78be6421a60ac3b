import { limits } from '../base/limits.ts';
import type { ObservedHost } from '../core/observed.ts';
import { Alarm } from './alarm.ts';
import { observeHost } from './look.ts';
import type { Clock, Host, Signal } from './ports.ts';

/** A report and when, in the model's own count of events, the look at the host began. */
export type Report = { readonly host: ObservedHost; readonly startedAt: number };

/**
 * The newest picture of the host's LVM. It is refreshed by one `lvm fullreport` however many ask
 * for it: who asks while a look is under way shares the next one, because the current look may
 * have passed by the change the asker wants to see.
 */
export class HostModel {
  readonly #host: Host;
  readonly #clock: Clock;
  #events = 0;
  #newest: Report | undefined;
  #newestAtMs = 0;
  #running: Promise<Report> | undefined;
  #following: Promise<Report> | undefined;
  readonly #listeners = new Set<(host: ObservedHost) => void>();
  #isHinted = false;
  #wake: (() => void) | undefined;

  constructor(host: Host, clock: Clock) {
    this.#host = host;
    this.#clock = clock;
  }

  get newest(): Report | undefined {
    return this.#newest;
  }

  /** Called after a change: every look that began before it is out of date for the changer. */
  changed(): number {
    this.#events += 1;
    return this.#events;
  }

  /** A report that was begun after the given change. */
  async since(change: number): Promise<Report> {
    if (this.#newest !== undefined && this.#newest.startedAt >= change) return this.#newest;
    return this.refresh();
  }

  /** A report that is begun after this call. */
  refresh(): Promise<Report> {
    // One that waits to begin comes first, or two looks would run side by side.
    if (this.#following !== undefined) return this.#following;
    if (this.#running === undefined) {
      this.#running = this.#look();
      return this.#running;
    }
    this.#following = this.#afterRunning();
    return this.#following;
  }

  onReport(listener: (host: ObservedHost) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Something outside suggests that LVM changed: look soon, once for many hints. */
  hint(): void {
    this.#isHinted = true;
    this.#wake?.();
  }

  /**
   * Notices what others change: at the latest `foreignChangeNoticedMs` after the last look, or
   * shortly after a hint. A host that is looked at anyway is not looked at more often.
   */
  async keepFresh(signal: Signal): Promise<void> {
    while (!signal.aborted) {
      const isHinted = await this.#sleepUntilDue(signal);
      if (signal.aborted) return;
      if (isHinted) await this.#clock.sleep(limits.hintSettleMs, signal);
      // A hint that comes while the look runs is for the next one.
      this.#isHinted = false;
      try {
        await this.refresh();
      } catch {
        // The next change or the next round reports it; a poller has nobody to tell.
        await this.#clock.sleep(limits.refreshRetryMs, signal);
      }
    }
  }

  async #sleepUntilDue(signal: Signal): Promise<boolean> {
    for (;;) {
      const age = this.#clock.nowMs() - this.#newestAtMs;
      const isDue = this.#newest === undefined || age >= limits.foreignChangeNoticedMs;
      if (isDue || signal.aborted) return false;
      if (this.#isHinted) return true;
      await this.#sleepOrHint(limits.foreignChangeNoticedMs - age, signal);
    }
  }

  async #sleepOrHint(ms: number, signal: Signal): Promise<void> {
    const alarm = new Alarm();
    const ring = () => alarm.ring();
    this.#wake = ring;
    signal.addEventListener('abort', ring);
    await this.#clock.sleep(ms, alarm);
    signal.removeEventListener('abort', ring);
    this.#wake = undefined;
  }

  async #afterRunning(): Promise<Report> {
    await this.#running?.catch(() => undefined);
    this.#following = undefined;
    this.#running = this.#look();
    return this.#running;
  }

  async #look(): Promise<Report> {
    const startedAt = this.#events;
    try {
      const report = { host: await observeHost(this.#host), startedAt };
      this.#newest = report;
      this.#newestAtMs = this.#clock.nowMs();
      for (const listener of this.#listeners) listener(report.host);
      return report;
    } finally {
      this.#running = undefined;
    }
  }
}
