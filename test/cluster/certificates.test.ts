import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { request } from 'node:https';
import test from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Secret, WebhookConfiguration } from '../../src/api/objects/webhook.ts';
import { registrationName } from '../../src/core/cluster/installed.ts';
import { realClock } from '../../src/host/clock.ts';
import { KubeClient } from '../../src/kube/client.ts';
import {
  Certificates,
  keyRingOf,
  registrationStores,
  secretName,
} from '../../src/operator/certificates.ts';
import { WebhookDoor } from '../../src/operator/webhook-door.ts';
import { FakeApi, type Stored } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { MemoryTransport } from '../kube/memory-transport.ts';
import { Chance } from '../world/chance.ts';
import { FakeClock } from '../world/clock.ts';
import { Life, mortalTransport } from './snapshots-world.ts';

const namespace = 'quarry-system';
const host = `lvms-webhook-service.${namespace}.svc`;
const { secrets, validatingWebhooks, mutatingWebhooks } = collections;
const dayMs = 86_400_000;

class Scene {
  readonly chance = new Chance(3);
  readonly clock = new FakeClock(this.chance, Date.UTC(2026, 0, 1));
  readonly api = new FakeApi({ nowMs: () => this.clock.nowMs() });
  failed: unknown;
  /** How far the clocks of the machines are ahead of where they began. */
  jumpedMs = 0;
  #stop = new AbortController();

  register(): void {
    const clientConfig = { service: { name: 'lvms-webhook-service', namespace } };
    const hook = (name: string) => ({ name, clientConfig });
    const metadata = { name: registrationName };
    this.#put(validatingWebhooks, { metadata, webhooks: [hook('a.io'), hook('b.io')] });
    this.#put(mutatingWebhooks, { metadata, webhooks: [hook('c.io')] });
  }

  #put(collection: string, object: object): void {
    this.api.put(collection, object as Stored);
  }

  start(effects?: number): void {
    const life = new Life(effects);
    const stop = new AbortController();
    this.#stop = stop;
    life.onDeath = () => stop.abort();
    const { clock } = this;
    const chance = () => this.chance.fraction();
    const transport = mortalTransport(new MemoryTransport(this.api), life);
    const client = new KubeClient({ transport, clock, chance });
    const trouble = () => undefined;
    const stores = registrationStores({ client, clock, chance, trouble }, namespace);
    const fail = (error: unknown) => {
      if (!life.isDead) this.failed ??= error;
    };
    for (const store of Object.values(stores)) store.run(stop.signal).catch(fail);
    const duty = new Certificates({
      ...{ client, stores, namespace, hosts: [host], clock, chance },
      ...{ wall: () => this.wallMs(), log: () => undefined },
    });
    duty.run(stop.signal).catch(fail);
  }

  stop(): void {
    this.#stop.abort();
  }

  wallMs(): number {
    return this.clock.nowMs() + this.jumpedMs;
  }

  async pass(ms: number, sliceMs = 250): Promise<void> {
    for (let left = ms; left > 0; left -= sliceMs) {
      for (let turn = 0; turn < 40; turn += 1) await setImmediate();
      await this.clock.advance(Math.min(left, sliceMs));
    }
    for (let turn = 0; turn < 40; turn += 1) await setImmediate();
    if (this.failed !== undefined) throw this.failed;
  }

  get secret(): Secret | undefined {
    return this.api.one(secrets, secretName, namespace);
  }

  /** Whom API servers believe, by webhook. */
  get bundles(): readonly string[] {
    return [validatingWebhooks, mutatingWebhooks]
      .flatMap(
        (collection) => this.api.all(collection) as unknown as readonly WebhookConfiguration[],
      )
      .flatMap(({ webhooks = [] }) => webhooks)
      .map(({ clientConfig }) => Buffer.from(clientConfig?.caBundle ?? '', 'base64').toString());
  }

  /** Every API server believes what we show. */
  isBelieved(): void {
    const ring = keyRingOf(this.secret);
    assert.ok(ring !== undefined);
    const served = new X509Certificate(ring.server.certificate);
    assert.ok(served.validToDate.getTime() > this.wallMs());
    assert.equal(this.bundles.length, 3);
    for (const bundle of this.bundles) {
      const authorities = bundle.split(/(?<=-----END CERTIFICATE-----\n)/);
      const isKnown = (one: string) => served.verify(new X509Certificate(one).publicKey);
      assert.ok(bundle !== '' && authorities.some(isKnown));
    }
  }
}

test('without a registration nothing is made', async () => {
  const scene = new Scene();
  scene.start();
  await scene.pass(10_000);
  assert.deepEqual(scene.api.writes, []);
  scene.register();
  await scene.pass(10_000);
  scene.isBelieved();
  scene.stop();
});

test('a certificate is made and told to API servers, and then nothing is written', async () => {
  const scene = new Scene();
  scene.register();
  scene.start();
  await scene.pass(5_000);
  scene.isBelieved();
  assert.equal(scene.secret?.type, 'kubernetes.io/tls');
  const before = scene.api.writes.length;
  assert.equal(before, 3);
  await scene.pass(7_200_000, 60_000);
  assert.deepEqual(scene.api.writes.slice(before), []);
  scene.stop();
});

test('whoever dies after any write leaves it to the next', async () => {
  for (let effects = 1; effects <= 3; effects += 1) {
    const scene = new Scene();
    scene.register();
    scene.start(effects);
    await scene.pass(5_000);
    scene.start();
    await scene.pass(5_000);
    scene.isBelieved();
    assert.equal(scene.api.writes.length, 3);
    scene.stop();
  }
});

test('a Secret that somebody took away or spoilt is made again', async () => {
  const scene = new Scene();
  scene.register();
  scene.start();
  await scene.pass(5_000);
  const first = scene.bundles[0];
  scene.api.delete(secrets, secretName, namespace);
  await scene.pass(5_000);
  scene.isBelieved();
  assert.notEqual(scene.bundles[0], first);
  const data = { ...scene.secret?.data, 'tls.key': '' };
  scene.api.put(secrets, { ...scene.secret, data } as unknown as Stored);
  await scene.pass(5_000);
  scene.isBelieved();
  scene.stop();
});

test('over years API servers never meet a stranger', async () => {
  const scene = new Scene();
  scene.register();
  scene.start();
  await scene.pass(5_000);
  const shown = new Set<string>();
  for (let month = 0; month < 100; month += 1) {
    scene.jumpedMs += 30 * dayMs;
    await scene.pass(1_200_000, 60_000);
    scene.isBelieved();
    shown.add(scene.bundles[0] ?? '');
  }
  assert.ok(shown.size >= 2, `${shown.size} bundles`);
  assert.equal(keyRingOf(scene.secret)?.authorities.length, 1);
  scene.stop();
});

test('the door opens with a certificate, and shows the newest to who comes next', async (t) => {
  const scene = new Scene();
  scene.register();
  scene.start();
  await scene.pass(5_000);
  const client = new KubeClient({
    ...{ transport: new MemoryTransport(scene.api), clock: realClock, chance: Math.random },
  });
  const means = { client, clock: realClock, chance: Math.random, trouble: () => undefined };
  const stores = registrationStores(means, namespace);
  const stop = new AbortController();
  let tell: (port: number) => void = () => undefined;
  const opened = new Promise<number>((resolve) => {
    tell = resolve;
  });
  const door = new WebhookDoor({
    ...{ secrets: stores.secrets, judges: new Map(), clock: realClock, chance: Math.random },
    address: { host: '127.0.0.1', port: 0 },
    log: ({ ['port']: port }) => {
      if (typeof port === 'number') tell(port);
    },
  });
  const running = [door.run(stop.signal), stores.secrets.run(stop.signal)];
  t.after(async () => {
    stop.abort();
    await Promise.all(running);
  });
  const port = await opened;
  assert.equal(await statusAt(port, scene.bundles[0] ?? ''), 404);
  const old = scene.bundles[0] ?? '';
  scene.api.delete(secrets, secretName, namespace);
  await scene.pass(5_000);
  const newest = scene.bundles[0] ?? '';
  assert.notEqual(newest, old);
  while ((await statusAt(port, newest).catch(() => 0)) !== 404) await setImmediate();
  await assert.rejects(statusAt(port, old));
  scene.stop();
});

function statusAt(port: number, ca: string): Promise<number | undefined> {
  const options = { host: '127.0.0.1', port, path: '/', ca, servername: host, agent: false };
  return new Promise((resolve, reject) => {
    request(options, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}
