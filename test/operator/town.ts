import type { TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ourLease } from '../../src/core/cluster/leases.ts';
import type { Cluster, Duty } from '../../src/operator/duty.ts';
import { type OperatorOptions, startOperator } from '../../src/operator/operator.ts';
import { FakeApi } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { MemoryTransport } from '../kube/memory-transport.ts';
import { Chance } from '../world/chance.ts';
import { FakeClock } from '../world/clock.ts';
import { names, namespace } from './scene.ts';

/** Whole operators, each with connections of its own, on one API server. */
export class Town {
  readonly api = new FakeApi({ nowMs: () => this.clock.nowMs() });
  readonly clock = new FakeClock(new Chance(3));
  readonly notes: string[] = [];
  /** What was logged, by all of them. */
  readonly lines: string[] = [];
  readonly transports: MemoryTransport[] = [];

  async operator(
    t: TestContext,
    host: string,
    duties: ((cluster: Cluster) => readonly Duty[]) | 'all' = () => [this.#duty(host)],
    more: Partial<OperatorOptions> = {},
  ) {
    const door = () => {
      const made = new MemoryTransport(this.api);
      this.transports.push(made);
      return made;
    };
    const operator = await startOperator(
      { names, namespace, csiSocket: '', metricsAddress: '0', version: '1', host, ...more },
      ({ message }) => this.lines.push(message),
      {
        ...{ transport: door(), leaseTransport: door(), clock: this.clock },
        ...{ wall: () => this.clock.nowMs(), chance: () => 0.5 },
        ...(duties === 'all' ? {} : { duties }),
      },
    );
    t.after(() => this.ended(operator.stop()));
    return operator;
  }

  /** Says when it begins and when it has ended, a while after it was told to. */
  #duty(host: string): Duty {
    return {
      run: async (signal) => {
        this.notes.push(`${host} begins`);
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve());
        });
        await this.clock.sleep(500);
        this.notes.push(`${host} ends, ${this.holder(ourLease)} holds`);
      },
    };
  }

  lease(name: string, holderIdentity: string, where = namespace): void {
    const spec = { holderIdentity, leaseDurationSeconds: 15, leaseTransitions: 1 };
    this.api.put(collections.leases, { metadata: { name, namespace: where }, spec });
  }

  holder(name: string, where = namespace): string {
    const lease = this.api.one(collections.leases, name, where);
    const { holderIdentity = '' } = (lease?.['spec'] ?? {}) as { holderIdentity?: string };
    return holderIdentity.split('_')[0] ?? '';
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 250) {
      for (let turn = 0; turn < 12; turn += 1) await setImmediate();
      await this.clock.advance(Math.min(left, 250));
    }
    for (let turn = 0; turn < 40; turn += 1) await setImmediate();
  }

  async ended(work: Promise<void>): Promise<void> {
    let isDone = false;
    const done = work.finally(() => {
      isDone = true;
    });
    while (!isDone) await this.pass(250);
    await done;
  }
}
