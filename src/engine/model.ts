import { limits } from '../base/limits.ts';
import type { ObservedHost } from '../core/observed.ts';
import { afterWitnessed, type WitnessedStep } from '../core/witness.ts';
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
  /** The newest report with everything since that was witnessed. */
  #view: Report | undefined;
  #witnessed: readonly Witnessed[] = [];
  #newestAtMs = 0;
  #lookMs = 0;
  #changedAtMs = 0;
  #changesRunning = 0;
  #running: Promise<Report> | undefined;
  #following: Promise<Report> | undefined;
  readonly #listeners = new Set<(host: ObservedHost) => void>();
  #isHinted = false;
  #wake: (() => void) | undefined;

  constructor(host: Host, clock: Clock) {
    this.#host = host;
    this.#clock = clock;
  }

  /**
   * What is known without another look: the newest report, and on top of it what was witnessed
   * since. It has everything that was ever answered.
   */
  get newest(): Report | undefined {
    return this.#view;
  }

  /** How old the newest look is. */
  get #ageMs(): number {
    return this.#clock.nowMs() - this.#newestAtMs;
  }

  /** Changes that were witnessed may be built upon without another look. */
  get isBelieved(): boolean {
    const byCostMs = Math.min(limits.witnessedLooks * this.#lookMs, limits.witnessedMsMax);
    return this.#ageMs <= Math.max(limits.witnessedMs, byCostMs);
  }

  /** A look of its own, not older than anything that was ever answered. */
  current(): Promise<Report> {
    return this.since(Math.max(0, ...this.#witnessed.map(({ change }) => change)));
  }

  /** Around changes: nobody looks by himself while one runs, or two would wait for one lock. */
  async changing<T>(work: () => Promise<T>): Promise<T> {
    this.#changesRunning += 1;
    try {
      return await work();
    } finally {
      this.#changesRunning -= 1;
      this.#changedAtMs = this.#clock.nowMs();
    }
  }

  /** A change that needs no look to be believed; one follows all the same, when it is quiet. */
  witness(change: number, step: WitnessedStep, uuid: string): void {
    const { newest } = this;
    if (newest === undefined || newest.startedAt >= change) return;
    this.#witnessed = [...this.#witnessed, { change, step, uuid }];
    this.#view = { ...newest, host: afterWitnessed(newest.host, step, uuid) };
    this.hint();
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
      if (isHinted) await this.#untilQuiet(signal);
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

  /** Whoever makes one volume after the other is not kept waiting by looks of ours. */
  async #untilQuiet(signal: Signal): Promise<void> {
    await this.#clock.sleep(limits.hintSettleMs, signal);
    while (!signal.aborted && this.#isBusy() && this.isBelieved) {
      await this.#clock.sleep(limits.hintSettleMs, signal);
    }
  }

  #isBusy(): boolean {
    const sinceMs = this.#clock.nowMs() - this.#changedAtMs;
    return this.#changesRunning > 0 || (this.#witnessed.length > 0 && sinceMs < limits.quietMs);
  }

  async #sleepUntilDue(signal: Signal): Promise<boolean> {
    for (;;) {
      const age = this.#ageMs;
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
    const startedAtMs = this.#clock.nowMs();
    try {
      const report = { host: await observeHost(this.#host), startedAt };
      this.#lookMs = this.#clock.nowMs() - startedAtMs;
      this.#take(report);
      for (const listener of this.#listeners) listener(report.host);
      return report;
    } finally {
      this.#running = undefined;
    }
  }

  #take(report: Report): void {
    this.#newest = report;
    this.#newestAtMs = this.#clock.nowMs();
    this.#witnessed = this.#witnessed.filter(({ change }) => change > report.startedAt);
    const after = (host: ObservedHost, { step, uuid }: Witnessed) =>
      afterWitnessed(host, step, uuid);
    const isPlain = this.#witnessed.length === 0;
    this.#view = isPlain ? report : { ...report, host: this.#witnessed.reduce(after, report.host) };
  }
}

type Witnessed = {
  readonly change: number;
  readonly step: WitnessedStep;
  readonly uuid: string;
};
