import { realClock } from '../../src/host/clock.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { leaseClock } from '../../src/kube/clock.ts';
import { Election } from '../../src/kube/election.ts';
import { KubeError } from '../../src/kube/errors.ts';
import { fromKubeconfig } from '../../src/kube/from-kubeconfig.ts';
import { readKubeconfig } from '../../src/kube/kubeconfig.ts';
import type { LeaseTimes } from '../../src/kube/lease.ts';
import { HttpTransport } from '../../src/kube/transport.ts';
import { sample, sampleKind } from './kinds.ts';

/**
 * A process that leads when it can, and makes objects while it does. After a word on its input its
 * event loop is busy for a while: no timer fires, no answer is heard.
 */
export type CandidateOrders = {
  readonly kubeconfig: string;
  readonly self: string;
  readonly times: LeaseTimes;
  readonly busyMs: number;
  readonly isFenced: boolean;
};

const orders = JSON.parse(process.argv[2] ?? '') as CandidateOrders;
const context = readKubeconfig([{ path: '', text: orders.kubeconfig }]);
const { endpoint, credentials } = fromKubeconfig(context, { clock: realClock, wall: Date.now });
const clientOfOwn = () =>
  new KubeClient({
    ...{ transport: new HttpTransport(endpoint, credentials), clock: realClock },
    chance: Math.random,
  });
const election = new Election({
  ...{ client: clientOfOwn(), names: [{ namespace: 'ns', name: 'quarry' }], self: orders.self },
  ...{ times: orders.times, clock: leaseClock(realClock), wall: Date.now, chance: Math.random },
});
let count = 0;
let isToBeBusy = false;
process.stdin.once('data', () => {
  isToBeBusy = true;
});
for (;;) {
  await election
    .run(async (leadership) => {
      const plain = clientOfOwn();
      const client = orders.isFenced ? plain.fenced(leadership.fence) : plain;
      while (!leadership.signal.aborted) {
        if (isToBeBusy) {
          isToBeBusy = false;
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, orders.busyMs);
        }
        count += 1;
        await client.create(sampleKind, sample(`${orders.self}-${count}`));
        await realClock.sleep(20, leadership.signal);
      }
    }, new AbortController().signal)
    .catch((error: unknown) => {
      if (!(error instanceof KubeError)) throw error;
    });
}
