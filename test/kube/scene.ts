import { setTimeout as sleep } from 'node:timers/promises';
import { realClock } from '../../src/host/clock.ts';
import { KubeClient } from '../../src/kube/client.ts';
import type { Access, Credentials, Endpoint } from '../../src/kube/credentials.ts';
import type { Clock } from '../../src/kube/ports.ts';
import { HttpTransport } from '../../src/kube/transport.ts';
import { FakeServer } from './fake-server.ts';

/** Waits are a hundredth of what they are, so that back-off can be lived through. */
export const hastyClock: Clock = {
  nowMs: () => realClock.nowMs() * 100,
  sleep: (ms, signal) => realClock.sleep(ms / 100, signal),
};

export type Scene = {
  readonly server: FakeServer;
  readonly endpoint: Endpoint;
  readonly client: KubeClient;
  readonly transport: HttpTransport;
};

/** A server and a client that it accepts, for the time of one story. */
export async function onStage(
  story: (scene: Scene) => Promise<void>,
  access: Partial<Access> = { token: 'good' },
): Promise<void> {
  const server = new FakeServer();
  const endpoint = await server.start();
  const ca = server.authority.certificate;
  const transport = new HttpTransport(endpoint, fixed({ ca, ...access }));
  const client = new KubeClient({ transport, clock: hastyClock, chance: () => 0.5 });
  try {
    await story({ server, endpoint, client, transport });
  } finally {
    transport.close();
    await server.stop();
  }
}

export function fixed(access: Access): Credentials {
  return { current: async () => access, refuse: () => undefined };
}

/** For a process of its own. */
export function kubeconfigFor(server: FakeServer, port: number): string {
  const data = Buffer.from(server.authority.certificate).toString('base64');
  const cluster = { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': data };
  return JSON.stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: 'good' } }],
  });
}

/** Until it is true; what takes longer than twenty seconds does not come. */
export async function until(what: string, isTrue: () => boolean): Promise<void> {
  const giveUpAtMs = performance.now() + 20_000;
  while (!isTrue()) {
    if (performance.now() > giveUpAtMs) throw new Error(`waited in vain: ${what}`);
    await sleep(5);
  }
}
