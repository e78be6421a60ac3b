import type { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { type GuardedPool, planPoolGrowth } from '../core/guard.ts';
import { findLv, findVg, type ObservedHost, type ObservedLv } from '../core/observed.ts';
import type { DesiredSnapshot } from '../core/snapshot/desired.ts';
import {
  lookSnapshotFill,
  lookThinPoolHealth,
  parseSnapshotFill,
  parseThinPoolHealth,
} from '../lvm/dm-status.ts';
import type { Engine } from './engine.ts';
import { asOperationError, read } from './execute.ts';
import type { Outcome, Task } from './job.ts';
import type { Clock, Host, Signal } from './ports.ts';
import { snapshotTask } from './tasks.ts';

/** What shall never be full, by the newest report. */
export type Guarded = {
  readonly pools: readonly GuardedPool[];
  /** Snapshots that are filling up. */
  readonly snapshots: readonly DesiredSnapshot[];
};

export type GuardEvent = {
  readonly what: 'pool' | 'snapshot';
  readonly name: string;
  readonly outcome: 'grown' | 'blocked' | 'failed';
  readonly message: string;
};

type GuardParts = {
  readonly engine: Engine;
  readonly host: Host;
  readonly clock: Clock;
  readonly guarded: (host: ObservedHost) => Guarded;
  readonly tell: (event: GuardEvent) => void;
};

/**
 * Grows thin pools and CoW snapshots before they are full. A user's writes change nothing in LVM's
 * metadata, so the kernel is asked how full things are, often and without an lvm run; a look at LVM
 * follows only where something is.
 */
export class Guard {
  readonly #parts: GuardParts;
  readonly #atWork = new Set<string>();
  #lastFull = '';

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  async run(signal: Signal): Promise<void> {
    const { engine, clock } = this.#parts;
    const leave = engine.model.onReport((host) => this.#act(host));
    try {
      while (!signal.aborted) {
        await clock.sleep(limits.fillLookMs, signal);
        if (!signal.aborted && (await this.#isFilling())) await this.#look();
      }
    } finally {
      leave();
    }
  }

  /** Something is filling up, and more than when it was last looked at. */
  async #isFilling(): Promise<boolean> {
    try {
      const full = (await this.#fills()).filter(({ isFull }) => isFull);
      const text = full.map(({ name, percent }) => `${name} ${Math.floor(percent)}`).join('\n');
      const hasChanged = text !== this.#lastFull;
      this.#lastFull = text;
      return hasChanged && text !== '';
    } catch (error) {
      // The regular look finds it out, only later.
      asOperationError(error);
      return false;
    }
  }

  async #fills() {
    const { host } = this.#parts;
    const pools = this.#mayHave('thin-pool')
      ? parseThinPoolHealth((await read(host, lookThinPoolHealth)).stdout)
      : [];
    const snapshots = this.#mayHave('cow-snapshot')
      ? parseSnapshotFill((await read(host, lookSnapshotFill)).stdout)
      : [];
    return [
      ...pools.map(({ name, dataPercent, metadataPercent }) => {
        const percent = Math.max(dataPercent, metadataPercent);
        return { name, percent, isFull: percent >= limits.thinPoolGrowAtPercent };
      }),
      ...snapshots.map(({ name, percent }) => {
        return { name, percent, isFull: percent >= limits.cowGrowAtPercent };
      }),
    ];
  }

  /** By the newest report: what was made by hand since is in the next one. */
  #mayHave(kind: ObservedLv['kind']): boolean {
    const { newest } = this.#parts.engine.model;
    return newest?.host.vgs.some(({ lvs }) => lvs.some((lv) => lv.kind === kind)) ?? true;
  }

  async #look(): Promise<void> {
    try {
      await this.#parts.engine.observe();
    } catch (error) {
      asOperationError(error);
    }
  }

  #act(host: ObservedHost): void {
    const { pools, snapshots } = this.#parts.guarded(host);
    for (const pool of pools) {
      if (planPoolGrowth(pool, host).kind === 'step') void this.#grow('pool', poolTask(pool));
    }
    for (const snapshot of snapshots) void this.#grow('snapshot', snapshotTask(snapshot));
  }

  async #grow(what: GuardEvent['what'], task: Task<unknown>): Promise<void> {
    const name = `${task.vg}/${task.volume}`;
    if (this.#atWork.has(name)) return;
    this.#atWork.add(name);
    try {
      const outcome = await this.#parts.engine.submit(task);
      this.#parts.tell({ what, name, ...toldOf(outcome) });
    } catch (error) {
      const { message } = asOperationError(error) satisfies OperationError;
      this.#parts.tell({ what, name, outcome: 'failed', message });
    } finally {
      this.#atWork.delete(name);
    }
  }
}

function poolTask(pool: GuardedPool): Task<string> {
  return {
    noun: 'thin-pool',
    volume: pool.pool,
    vg: pool.vg,
    plan: (host) => planPoolGrowth(pool, host),
    status: (host) => fillOf(pool, host),
  };
}

function fillOf({ vg, pool }: GuardedPool, host: ObservedHost): string {
  const group = findVg(host, vg);
  const lv = group === undefined ? undefined : findLv(group, pool);
  return `data ${lv?.dataPercent ?? 0} %, metadata ${lv?.metadataPercent ?? 0} % full`;
}

function toldOf(outcome: Outcome<unknown>): Pick<GuardEvent, 'outcome' | 'message'> {
  if (outcome.kind === 'blocked') return { outcome: 'blocked', message: outcome.message };
  const { status } = outcome;
  return { outcome: 'grown', message: typeof status === 'string' ? status : '' };
}
