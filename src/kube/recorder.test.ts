import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { FakeApi } from '../../test/kube/fake-api.ts';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { MemoryTransport } from '../../test/kube/memory-transport.ts';
import { Chance } from '../../test/world/chance.ts';
import { FakeClock } from '../../test/world/clock.ts';
import { KubeClient } from './client.ts';
import { EventRecorder } from './recorder-events.ts';
import { eventLimits, Recent, SimilarEvents } from './recorder-similar.ts';

const claim = {
  ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'ns', name: 'data' },
  uid: 'u1',
};
const failed = (message: string) =>
  ({ type: 'Warning', reason: 'ProvisioningFailed', message }) as const;

function scene(t: TestContext) {
  const api = new FakeApi();
  const transport = new MemoryTransport(api);
  const clock = new FakeClock(new Chance(1));
  const chance = () => 0.5;
  const client = new KubeClient({ transport, clock, chance });
  const wall = () => clock.nowMs();
  const recorder = new EventRecorder({ client, clock, wall, chance, source: 'topolvm.io_host' });
  const stop = new AbortController();
  const running = recorder.run(stop.signal);
  t.after(() => {
    stop.abort();
    return running;
  });
  const settle = async () => {
    for (let turn = 0; turn < 60; turn += 1) await setImmediate();
  };
  const events = () => api.all(collections.events) as unknown as Record<string, unknown>[];
  return { api, transport, clock, recorder, settle, events };
}

test('an event says what, about whom, and by whom', async (t) => {
  const { recorder, settle, events } = scene(t);
  recorder.event(claim, failed('no room'));
  await settle();
  const [event] = events();
  assert.deepEqual(event?.['involvedObject'], claim);
  assert.deepEqual(
    [event?.['type'], event?.['reason'], event?.['message'], event?.['count']],
    ['Warning', 'ProvisioningFailed', 'no room', 1],
  );
  assert.deepEqual(event?.['source'], { component: 'topolvm.io_host' });
});

test('an event says what was being done, where that is given', async (t) => {
  const { recorder, settle, events } = scene(t);
  recorder.event(claim, { ...failed('no room'), action: 'ReconcileLVMCluster' });
  recorder.event(claim, failed('no node'));
  await settle();
  assert.deepEqual(
    events().map((event) => event['action']),
    ['ReconcileLVMCluster', undefined],
  );
});

test('a repeat raises the count, also after the server forgot the first', async (t) => {
  const { api, recorder, settle, events } = scene(t);
  for (let time = 0; time < 3; time += 1) {
    recorder.event(claim, failed('no room'));
    await settle();
  }
  assert.deepEqual(
    events().map((event) => event['count']),
    [3],
  );
  const name = api.all(collections.events)[0]?.metadata.name ?? '';
  api.delete(collections.events, name, 'ns');
  recorder.event(claim, failed('no room'));
  await settle();
  assert.deepEqual(
    events().map((event) => event['count']),
    [1],
  );
});

test('what has no namespace is told in default', async (t) => {
  const { api, recorder, settle } = scene(t);
  const node = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'n' };
  recorder.event(node, { type: 'Normal', reason: 'Seen', message: 'here' });
  await settle();
  assert.equal(api.all(collections.events)[0]?.metadata.namespace, 'default');
});

test('a server that is away is tried again, and nothing is thrown at who tells', async (t) => {
  const { transport, clock, recorder, settle, events } = scene(t);
  transport.faults.push('unreachable', 500);
  recorder.event(claim, failed('no room'));
  await settle();
  for (let second = 0; second < 10; second += 1) {
    await clock.advance(1_000);
    await settle();
  }
  assert.equal(events().length, 1);
});

test('what the server refuses is forgotten', async (t) => {
  const { transport, recorder, settle, events } = scene(t);
  transport.faults.push(403);
  recorder.event(claim, failed('no room'));
  recorder.event(claim, failed('no class'));
  await settle();
  assert.deepEqual([events().length, recorder.dropped], [1, 1]);
});

test('one object is told about 25 times at once, and then once in five minutes', () => {
  const similar = new SimilarEvents();
  const admit = (nowMs: number) => similar.admit(claim, failed('no room'), nowMs) !== undefined;
  const first = Array.from({ length: 40 }, () => admit(0)).filter(Boolean).length;
  assert.equal(first, eventLimits.atOnce);
  assert.equal(admit(eventLimits.oneInMs - 1), false);
  assert.equal(admit(eventLimits.oneInMs), true);
  assert.equal(admit(eventLimits.oneInMs), false);
});

test('more than ten texts of one reason in ten minutes are told as one', () => {
  const similar = new SimilarEvents();
  const told = Array.from({ length: 13 }, (_, index) =>
    similar.admit(claim, failed(`try ${index}`), index),
  );
  assert.equal(new Set(told.slice(0, 10).map((one) => one?.key)).size, 10);
  assert.deepEqual(
    told.slice(10).map((one) => one?.message),
    [10, 11, 12].map((index) => `(combined from similar events): try ${index}`),
  );
  assert.equal(new Set(told.slice(10).map((one) => one?.key)).size, 1);
  const later = similar.admit(claim, failed('try 99'), eventLimits.similarMs + 100);
  assert.equal(later?.message, 'try 99');
});

test('memory has an end, whatever happens in the cluster', (t) => {
  const recent = new Recent<number>();
  for (let index = 0; index < 3 * eventLimits.rememberedMax; index += 1) {
    recent.set(String(index), index);
  }
  assert.equal(recent.size, eventLimits.rememberedMax);
  assert.equal(recent.get('0'), undefined);
  const { recorder } = scene(t);
  for (let index = 0; index < eventLimits.waitingMax + 50; index += 1) {
    recorder.event({ ...claim, uid: `u${index}` }, failed('no room'));
  }
  assert.equal(recorder.dropped, 50);
});
