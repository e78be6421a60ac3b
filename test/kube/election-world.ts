import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { KubeClient } from '../../src/kube/client.ts';
import { Election, type Leadership } from '../../src/kube/election.ts';
import { KubeError } from '../../src/kube/errors.ts';
import type { LeaseTimes } from '../../src/kube/lease.ts';
import type { Clock } from '../../src/kube/ports.ts';
import type { Answer, Call, Transport } from '../../src/kube/transport.ts';
import type { Chance } from '../world/chance.ts';
import { FakeApi } from './fake-api.ts';

/** Made-up time: what is due runs in order, and nobody waits for real. */
export class World {
  nowMs = 0;
  readonly api = new FakeApi();
  readonly #due: { readonly atMs: number; readonly order: number; readonly run: () => void }[] = [];
  #order = 0;

  at(atMs: number, run: () => void): void {
    this.#order += 1;
    const entry = { atMs: Math.max(atMs, this.nowMs), order: this.#order, run };
    const index = this.#due.findLastIndex((other) => other.atMs <= entry.atMs);
    this.#due.splice(index + 1, 0, entry);
  }

  async runUntil(endMs: number): Promise<void> {
    await setImmediate();
    for (let next = this.#due[0]; next !== undefined && next.atMs <= endMs; next = this.#due[0]) {
      this.#due.shift();
      this.nowMs = next.atMs;
      next.run();
      await setImmediate();
    }
    this.nowMs = endMs;
  }

  holderOf(name: string): string {
    const lease = this.api.all(leases).find(({ metadata }) => metadata.name === name);
    return (
      (lease as { spec?: { holderIdentity?: string } } | undefined)?.spec?.holderIdentity ?? ''
    );
  }
}

export const leases = '/apis/coordination.k8s.io/v1/leases';

/** What the way to the server is like in this moment. */
export type Weather = { readonly delayMs: () => number; readonly isLost: () => boolean };

export type Landed = { readonly who: string; readonly atMs: number };

/**
 * One process that wants to lead. While it is held up none of its code runs: its timers and the
 * answers to it wait until it goes on.
 */
export class Candidate {
  readonly self: string;
  readonly outcomes: string[] = [];
  readonly landed: Landed[] = [];
  readonly violations: string[] = [];
  readonly #world: World;
  readonly #weather: Weather;
  readonly #chance: Chance;
  readonly #names: readonly [string, ...string[]];
  readonly #times: LeaseTimes;
  readonly #stop = new AbortController();
  #heldUpUntilMs = 0;
  #isDead = false;
  wallJumpMs = 0;

  constructor(
    world: World,
    parts: {
      readonly self: string;
      readonly weather: Weather;
      readonly chance: Chance;
      readonly names: readonly [string, ...string[]];
      readonly times: LeaseTimes;
    },
  ) {
    this.#world = world;
    this.self = parts.self;
    this.#weather = parts.weather;
    this.#chance = parts.chance;
    this.#names = parts.names;
    this.#times = parts.times;
  }

  start(): void {
    const fraction = () => this.#chance.fraction();
    const client = new KubeClient({
      transport: this.#transport,
      clock: this.#clock,
      chance: fraction,
    });
    const [first, ...rest] = this.#names.map((name) => ({ namespace: 'ns', name }));
    assert.ok(first !== undefined);
    const election = new Election({
      ...{ client, self: this.self, times: this.#times, clock: this.#clock, chance: fraction },
      names: [first, ...rest],
      wall: () => 1_800_000_000_000 + this.#world.nowMs + this.wallJumpMs,
    });
    const campaign = async () => {
      while (!this.#stop.signal.aborted) {
        this.outcomes.push(
          await election.run((leadership) => this.#act(leadership), this.#stop.signal),
        );
      }
    };
    campaign().catch((error: unknown) => this.violations.push(String(error)));
  }

  holdUp(ms: number): void {
    this.#heldUpUntilMs = Math.max(this.#heldUpUntilMs, this.#world.nowMs + ms);
  }

  /** An orderly end. */
  stop(): void {
    this.#soon(this.#world.nowMs, () => this.#stop.abort());
  }

  /** Power is cut. */
  die(): void {
    this.#isDead = true;
  }

  /** Effects go out as long as the fence agrees, and land a while later. It ends after them. */
  async #act(leadership: Leadership): Promise<void> {
    const { durationMs, renewDeadlineMs } = this.#times;
    const flightMsMax = Math.max(durationMs - renewDeadlineMs - 1, 0);
    let lastLandsAtMs = 0;
    while (!leadership.signal.aborted) {
      leadership.fence();
      const flightMs = this.#chance.happens(0.2) ? flightMsMax : 0;
      const landsAtMs = this.#world.nowMs + flightMs;
      lastLandsAtMs = Math.max(lastLandsAtMs, landsAtMs);
      this.#world.at(landsAtMs, () => this.#land());
      await this.#clock.sleep(400, leadership.signal);
    }
    await this.#clock.sleep(lastLandsAtMs - this.#world.nowMs);
  }

  /** Nobody else may hold any of the leases when an effect lands. */
  #land(): void {
    this.landed.push({ who: this.self, atMs: this.#world.nowMs });
    for (const name of this.#names) {
      const holder = this.#world.holderOf(name);
      if (holder === this.self || holder === '') continue;
      this.violations.push(`${this.self} acts at ${this.#world.nowMs}, ${name} is ${holder}'s`);
    }
  }

  #soon(atMs: number, run: () => void): void {
    this.#world.at(atMs, () => {
      if (this.#isDead) return;
      if (this.#world.nowMs < this.#heldUpUntilMs) this.#soon(this.#heldUpUntilMs, run);
      else run();
    });
  }

  readonly #clock: Clock = {
    nowMs: () => this.#world.nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const done = () => {
          signal?.removeEventListener('abort', done);
          resolve();
        };
        signal?.addEventListener('abort', done);
        if (signal?.aborted === true) done();
        else this.#soon(this.#world.nowMs + ms, done);
      }),
  };

  readonly #transport: Transport = {
    send: (call) => this.#send(call),
    open: () => Promise.reject(new Error('nobody watches')),
    refuseCredentials: () => undefined,
    close: () => undefined,
  };

  /** A request may be lost on its way there, or carried out late; its answer may be lost, too. */
  #send(call: Call): Promise<Answer> {
    const { delayMs, isLost } = this.#weather;
    return new Promise((resolve, reject) => {
      const timeoutMs = call.timeoutMs ?? 30_000;
      const timedOut = new KubeError('Timeout', 'silence', { isUncertain: true });
      this.#soon(this.#world.nowMs + timeoutMs, () => reject(timedOut));
      if (isLost()) return;
      this.#world.at(this.#world.nowMs + delayMs(), () => {
        const answer = answerTo(this.#world.api, call);
        if (!isLost()) this.#soon(this.#world.nowMs + delayMs(), () => resolve(answer));
      });
    });
  }
}

function answerTo(api: FakeApi, call: Call): Answer {
  let httpStatus = 0;
  let text = '';
  api.handle(
    { ...call, url: call.path },
    {
      head: (status) => {
        httpStatus = status;
      },
      write: (piece) => {
        text += piece;
      },
      end: () => undefined,
    },
  );
  return { httpStatus, retryAfterMs: undefined, body: Buffer.from(text) };
}
