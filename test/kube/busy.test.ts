import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CandidateOrders } from './candidate.ts';
import { leases } from './election-world.ts';
import { FakeServer } from './fake-server.ts';
import { kubeconfigFor, until } from './scene.ts';

/** Who made an object, and who held the lease when it reached the server. */
type Act = { readonly who: string; readonly holder: string };

/** Two processes; the one that leads first is busy for longer than its lease lasts. */
async function race(isFenced: boolean): Promise<readonly Act[]> {
  const server = new FakeServer();
  const { port } = await server.start();
  const acts: Act[] = [];
  const handle = server.api.handle.bind(server.api);
  server.api.handle = (request, sink) => {
    const who = /"name":"(\w+)-\d+"/.exec(request.body ?? '')?.[1];
    const lease = server.api.all(leases)[0] as { spec?: { holderIdentity?: string } } | undefined;
    const holder = lease?.spec?.holderIdentity ?? '';
    if (request.method === 'POST' && request.url.includes('samples')) {
      acts.push({ who: who ?? '', holder });
    }
    handle(request, sink);
  };
  const times = { durationMs: 3_000, renewDeadlineMs: 1_500, retryMs: 300 };
  const kubeconfig = kubeconfigFor(server, port);
  const start = (self: string) => {
    const orders: CandidateOrders = {
      ...{ kubeconfig, self, times, isFenced, busyMs: 4_600 },
    };
    const program = join(import.meta.dirname, 'candidate.ts');
    return spawn(process.execPath, [program, JSON.stringify(orders)], {
      stdio: ['pipe', 'inherit', 'inherit'],
    });
  };
  const first = start('first');
  const children = [first];
  try {
    await until('the first leads', () => acts.length > 0);
    children.push(start('second'));
    // Who leads only writes the lease; who looks at it waits for its turn.
    const looks = () => server.api.requests.filter((it) => it.method === 'GET').length;
    const before = looks();
    await until('the second waits', () => looks() > before);
    first.stdin?.write('be busy\n');
    await until('the second leads', () => acts.some(({ who }) => who === 'second'));
    await sleep(3_000);
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await server.stop();
  }
  return acts;
}

test('trap 23: a leader that was too busy to renew does nothing after another took its place', async () => {
  const [fenced, unfenced] = await Promise.all([race(true), race(false)]);
  const late = (acts: readonly Act[]) => acts.filter(({ who, holder }) => who !== holder);
  assert.deepEqual([...new Set(fenced.map(({ who }) => who))], ['first', 'second']);
  assert.deepEqual(late(fenced), []);
  // The same without a fence: the test would notice.
  assert.ok(late(unfenced).some(({ who }) => who === 'first'));
});
