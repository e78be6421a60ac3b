import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { KubeClient } from '../../src/kube/client.ts';
import { Reflector } from '../../src/kube/reflector.ts';
import type { Change } from '../../src/kube/store.ts';
import { FakeApi, goneStatus } from './fake-api.ts';
import { type Sample, sample, sampleKind, samples } from './kinds.ts';
import { type Fault, InstantClock, MemoryTransport } from './memory-transport.ts';

/** Whatever happens, in whatever order: the store ends like the server, and so does who listened. */
type Act =
  | { readonly act: 'put' | 'delete' | 'renew' | 'write'; readonly name: string }
  | { readonly act: 'fault'; readonly fault: Fault }
  | { readonly act: (typeof otherActs)[number] };

const otherActs = [
  ...(['tick', 'bookmark', 'compact', 'end', 'cut', 'gone', 'error', 'turn', 'turn'] as const),
  // The answer to a write of ours reaches the store late; the stream lags behind.
  ...(['own', 'own', 'own-last', 'hold', 'release'] as const),
] as const;

const change = fc.record({
  act: fc.constantFrom('put' as const, 'delete' as const, 'renew' as const, 'write' as const),
  name: fc.constantFrom('a', 'b'),
});
const fault = fc.record({
  act: fc.constant('fault' as const),
  fault: fc.constantFrom<Fault>('unreachable', 'lost-answer', 500, 429, 410, 401, 403, 404),
});
const other = fc.record({ act: fc.constantFrom(...otherActs) });
const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: change },
    { weight: 1, arbitrary: fault },
    { weight: 4, arbitrary: other },
  ),
  { maxLength: 40 },
);

test('after any story the store is like the server', async () => {
  const property = fc.asyncProperty(
    acts,
    fc.constantFrom('newest' as const, 'cached' as const),
    fc.boolean(),
    play,
  );
  await fc.assert(property, { numRuns: 1500 });
});

async function play(
  story: readonly Act[],
  lists: 'newest' | 'cached',
  goneInStream: boolean,
): Promise<void> {
  const api = new FakeApi();
  api.goneInStream = goneInStream;
  api.cacheLag = 3;
  const transport = new MemoryTransport(api);
  const clock = new InstantClock();
  const client = new KubeClient({ transport, clock, chance: () => 0.5 });
  const replayed = new Map<string, Sample>();
  const changed = (told: Change<Sample>) => replay(replayed, told);
  const scopes = [{}] as const;
  const reflector = new Reflector({
    ...{ client, kind: sampleKind, scopes, lists, clock, chance: () => 0.5, changed },
  });
  const stop = new AbortController();
  let bug: unknown;
  const running = reflector.run(stop.signal).catch((thrown: unknown) => {
    bug = thrown;
  });
  await reflector.synced;
  for (let turn = 0; turn < 6; turn += 1) await setImmediate();
  const stage = { api, transport, client, reflector, written: [] };
  for (const act of story) await perform(act, stage);
  transport.faults.length = 0;
  transport.isHeld = false;
  await settled(api, reflector, () => bug);
  stop.abort();
  await running;
  assert.equal(bug, undefined);
  assert.deepEqual(versions(replayed.values()), versions(reflector.values()));
}

type Stage = {
  readonly api: FakeApi;
  readonly transport: MemoryTransport;
  readonly client: KubeClient;
  readonly reflector: Reflector<Sample>;
  readonly written: Sample[];
};

async function perform(act: Act, stage: Stage): Promise<void> {
  const { api, transport, client, reflector, written } = stage;
  switch (act.act) {
    case 'put':
      api.put(samples, sample(act.name));
      return;
    case 'delete':
      api.delete(samples, act.name, 'ns');
      return;
    case 'renew':
      api.delete(samples, act.name, 'ns');
      api.put(samples, sample(act.name));
      return;
    case 'write': {
      const object = await write(client, act.name).catch(() => undefined);
      if (object !== undefined) written.push(object);
      return;
    }
    case 'own':
    case 'own-last': {
      const object = act.act === 'own' ? written.shift() : written.pop();
      if (object !== undefined) reflector.putOwn(object);
      return;
    }
    case 'hold':
      transport.isHeld = true;
      return;
    case 'release':
      transport.isHeld = false;
      return;
    case 'fault':
      transport.faults.push(act.fault);
      return;
    case 'tick':
      api.tick();
      return;
    case 'bookmark':
      api.bookmark();
      return;
    case 'compact':
      api.compact();
      return;
    case 'end':
      api.endWatches();
      return;
    case 'cut':
      transport.cut();
      return;
    case 'gone':
      api.failWatches(goneStatus);
      return;
    case 'error':
      api.failWatches({ kind: 'Status', code: 500, message: 'etcd is away' });
      return;
    case 'turn':
      for (let turn = 0; turn < 6; turn += 1) await setImmediate();
  }
}

async function write(client: KubeClient, name: string): Promise<Sample> {
  const patch = { type: 'merge', body: { spec: { text: 'ours' } } } as const;
  const there = await client.find(sampleKind, { namespace: 'ns', name });
  if (there === undefined) return client.create(sampleKind, sample(name));
  return client.patch(sampleKind, { namespace: 'ns', name }, patch);
}

/** What is told must fit what was told before: nothing is modified or deleted that was not there. */
function replay(known: Map<string, Sample>, told: Change<Sample>): void {
  const { name } = told.object.metadata;
  const before = known.get(name);
  if (told.type === 'added') assert.equal(before, undefined, `${name} was there`);
  else assert.equal(before?.metadata.uid, told.object.metadata.uid, `${name} was another`);
  if (told.type === 'modified') {
    assert.equal(told.before, before);
    assert.ok(isLater(told.object, told.before), `${name} went back in time`);
  }
  if (told.type === 'deleted') known.delete(name);
  else known.set(name, told.object);
}

function isLater(object: Sample, before: Sample): boolean {
  const version = ({ metadata }: Sample) => Number(metadata.resourceVersion);
  return version(object) > version(before);
}

async function settled(
  api: FakeApi,
  reflector: Reflector<Sample>,
  bug: () => unknown,
): Promise<void> {
  let theirs = '';
  let ours = '';
  for (let turn = 0; turn < 500; turn += 1) {
    theirs = versions(api.all(samples) as unknown as readonly Sample[]);
    ours = reflector.hasSynced ? versions(reflector.values()) : 'not synced';
    if (ours === theirs && api.watching > 0) return;
    if (bug() !== undefined) throw bug();
    await setImmediate();
  }
  assert.equal(ours, theirs);
  assert.ok(api.watching > 0, 'nobody watches');
}

function versions(objects: Iterable<Sample>): string {
  return [...objects]
    .map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`)
    .toSorted()
    .join(', ');
}
