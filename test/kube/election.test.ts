import assert from 'node:assert/strict';
import test from 'node:test';
import { KubeClient } from '../../src/kube/client.ts';
import { Election } from '../../src/kube/election.ts';
import { type LeaseTimes, usualTimes } from '../../src/kube/lease.ts';
import { Chance } from '../world/chance.ts';
import { Candidate, leases, type Weather, World } from './election-world.ts';
import { FakeApi } from './fake-api.ts';
import { InstantClock, MemoryTransport } from './memory-transport.ts';

const fair: Weather = { delayMs: () => 20, isLost: () => false };
const one = ['quarry'] as const;

type Given = {
  readonly names?: readonly [string, ...string[]];
  readonly times?: LeaseTimes;
  readonly weather?: Weather;
  readonly seed?: number;
};

function candidate(world: World, self: string, given: Given = {}): Candidate {
  const { names = one, times = usualTimes, weather = fair, seed = 1 } = given;
  return new Candidate(world, { self, weather, chance: new Chance(seed), names, times });
}

function acted({ landed }: Candidate, fromMs: number, toMs: number): boolean {
  return landed.some(({ atMs }) => atMs >= fromMs && atMs < toMs);
}

test('one leads, the other waits', async () => {
  const world = new World();
  const [a, b] = [candidate(world, 'a'), candidate(world, 'b', { seed: 2 })];
  a.start();
  await world.runUntil(100);
  b.start();
  await world.runUntil(60_000);
  assert.ok(acted(a, 59_000, 60_000));
  assert.deepEqual(b.landed, []);
});

test('who stops gives its leases back, and the other goes on soon', async () => {
  const world = new World();
  const [a, b] = [candidate(world, 'a'), candidate(world, 'b', { seed: 2 })];
  a.start();
  await world.runUntil(100);
  b.start();
  await world.runUntil(20_000);
  a.stop();
  await world.runUntil(28_000);
  assert.deepEqual(a.outcomes, ['stopped']);
  assert.ok(acted(b, 20_000, 28_000));
  assert.deepEqual([...a.violations, ...b.violations], []);
});

test('who dies is followed after the time of its lease, and not before', async () => {
  const world = new World();
  const [a, b] = [candidate(world, 'a'), candidate(world, 'b', { seed: 2 })];
  a.start();
  await world.runUntil(100);
  b.start();
  await world.runUntil(20_000);
  a.die();
  await world.runUntil(60_000);
  const first = b.landed[0]?.atMs ?? 0;
  assert.ok(first > 32_000 && first < 38_000, `${first}`);
});

test('who was held up does nothing when it goes on, and leads again when it is its turn', async () => {
  const world = new World();
  const [a, b] = [candidate(world, 'a'), candidate(world, 'b', { seed: 2 })];
  a.start();
  await world.runUntil(100);
  b.start();
  await world.runUntil(20_000);
  a.holdUp(30_000);
  await world.runUntil(80_000);
  assert.ok(acted(b, 40_000, 80_000));
  assert.ok(!acted(a, 30_000, 80_000));
  assert.deepEqual(a.outcomes, ['lost']);
  b.stop();
  await world.runUntil(90_000);
  assert.ok(acted(a, 80_000, 90_000));
  assert.deepEqual([...a.violations, ...b.violations], []);
});

test('work that fails gives the lease back, and its failure is told', async () => {
  const api = new FakeApi();
  const client = new KubeClient({
    ...{ transport: new MemoryTransport(api), clock: new InstantClock(), chance: () => 0.5 },
  });
  const election = new Election({
    ...{ client, names: [{ namespace: 'ns', name: 'quarry' }], self: 'a', times: usualTimes },
    ...{ clock: new InstantClock(), wall: () => 0, chance: () => 0.5 },
  });
  const failing = async () => {
    throw new Error('a bug');
  };
  await assert.rejects(election.run(failing, new AbortController().signal), { message: 'a bug' });
  const lease = api.all(leases)[0] as { spec?: { holderIdentity?: string } } | undefined;
  assert.equal(lease?.spec?.holderIdentity, '');
});

test('several leases are taken in order, and lost together', async () => {
  const world = new World();
  const names = ['quarry', 'topolvm', 'topolvm-io'] as const;
  const old = candidate(world, 'old sidecar', { names: ['topolvm-io'] });
  old.start();
  await world.runUntil(5_000);
  const a = candidate(world, 'a', { names, seed: 2 });
  a.start();
  await world.runUntil(60_000);
  assert.deepEqual(a.landed, [], 'an old sidecar still works');
  assert.deepEqual(
    names.map((name) => world.holderOf(name)),
    ['a', 'a', 'old sidecar'],
  );
  old.die();
  await world.runUntil(90_000);
  assert.ok(acted(a, 60_000, 90_000));
  const stolen = world.api.all(leases).find(({ metadata }) => metadata.name === 'topolvm');
  assert.ok(stolen !== undefined);
  world.api.put(leases, { ...stolen, spec: { holderIdentity: 'thief', leaseDurationSeconds: 15 } });
  await world.runUntil(100_000);
  assert.deepEqual(a.outcomes, ['lost']);
});

test('somebody who labels the lease takes it from nobody', async () => {
  const world = new World();
  const a = candidate(world, 'a');
  a.start();
  await world.runUntil(10_000);
  const lease = world.api.all(leases)[0];
  assert.ok(lease !== undefined);
  const { metadata, ...rest } = lease;
  world.api.put(leases, { ...rest, metadata: { ...metadata, labels: { seen: 'yes' } } });
  await world.runUntil(60_000);
  assert.deepEqual(a.outcomes, []);
  assert.ok(acted(a, 59_000, 60_000));
});

test('a lease that somebody deletes is lost, and taken by nobody who saw it held', async () => {
  const world = new World();
  const [a, b] = [candidate(world, 'a'), candidate(world, 'b', { seed: 2 })];
  a.start();
  await world.runUntil(100);
  b.start();
  await world.runUntil(20_000);
  world.api.delete(leases, 'quarry', 'ns');
  await world.runUntil(40_000);
  assert.deepEqual(a.outcomes, ['lost']);
  assert.deepEqual(b.landed, []);
  assert.ok(acted(a, 30_000, 40_000));
});

test('clocks of the wall may jump: nobody looks at them', async () => {
  const world = new World();
  const [a, b] = [candidate(world, 'a'), candidate(world, 'b', { seed: 2 })];
  a.start();
  await world.runUntil(100);
  b.start();
  a.wallJumpMs = -86_400_000;
  b.wallJumpMs = 86_400_000;
  await world.runUntil(60_000);
  assert.ok(acted(a, 59_000, 60_000));
  assert.deepEqual(b.landed, []);
});

/** Holds a leader up at each moment of its round, for each length, with a near and a far server. */
async function everyHoldUp(times: LeaseTimes): Promise<readonly string[]> {
  const violations: string[] = [];
  for (let atMs = 6_000; atMs < 8_600; atMs += 200) {
    for (let forMs = 4_000; forMs <= 22_000; forMs += 1_500) {
      for (const delayMs of [5, 700]) {
        const world = new World();
        const weather = { delayMs: () => delayMs, isLost: () => false };
        const [a, b] = ['a', 'b'].map((self, seed) =>
          candidate(world, self, { times, weather, seed }),
        );
        assert.ok(a !== undefined && b !== undefined);
        a.start();
        b.start();
        await world.runUntil(atMs);
        const leader = world.holderOf('quarry') === 'a' ? a : b;
        leader.holdUp(forMs);
        await world.runUntil(atMs + forMs + 6_000);
        violations.push(...a.violations, ...b.violations);
      }
    }
  }
  return violations;
}

test('trap 23: wherever a leader is held up, and however long: never two at once', async () => {
  assert.deepEqual(await everyHoldUp(usualTimes), []);
});

/** Storms, partitions, pauses, jumps, deaths and restarts; at the end the sun shines. */
async function storm(seed: number, times: LeaseTimes) {
  const world = new World();
  const chance = new Chance(seed);
  let isStormy = true;
  const weather: Weather = {
    delayMs: () =>
      isStormy && chance.happens(0.3) ? chance.between(0, 4_000) : chance.between(1, 50),
    isLost: () => isStormy && chance.happens(0.1),
  };
  const names = chance.happens(0.5) ? one : (['quarry', 'topolvm'] as const);
  const all: Candidate[] = [];
  const start = () => {
    const next = candidate(world, `c${all.length}`, { names, times, weather, seed: chance.bits() });
    all.push(next);
    next.start();
    return next;
  };
  const alive = [start(), start()];
  const stormMs = 120_000;
  for (let atMs = 0; atMs < stormMs; atMs += chance.between(500, 12_000)) {
    await world.runUntil(atMs);
    const index = chance.below(alive.length);
    const victim = alive[index];
    if (victim === undefined) continue;
    if (chance.happens(0.7)) victim.holdUp(chance.between(100, 30_000));
    else if (chance.happens(0.5)) victim.wallJumpMs = chance.between(-100_000, 100_000);
    else {
      if (chance.happens(0.5)) victim.die();
      else victim.stop();
      alive[index] = start();
    }
  }
  await world.runUntil(stormMs);
  isStormy = false;
  await world.runUntil(stormMs + 120_000);
  const violations = all.flatMap((each) => each.violations);
  const leadsAtLast = all.some((each) => acted(each, stormMs + 110_000, stormMs + 120_000));
  return { violations, leadsAtLast };
}

test('in any storm never two lead at once, and after it somebody does', async () => {
  for (let seed = 0; seed < 40; seed += 1) {
    const { violations, leadsAtLast } = await storm(seed, usualTimes);
    assert.deepEqual(violations, [], `SEED=${seed}`);
    assert.ok(leadsAtLast, `SEED=${seed}: nobody leads`);
  }
});

test('the model notices a leader that acts until others may take its lease', async () => {
  const careless = { durationMs: 6_000, renewDeadlineMs: 12_000, retryMs: 2_000 };
  const found: string[] = [];
  for (let seed = 0; seed < 60 && found.length === 0; seed += 1) {
    found.push(...(await storm(seed, careless)).violations);
  }
  assert.match(found[0] ?? 'nothing was found', /acts at [\d.]+, \w+ is c\d+'s/);
  assert.notEqual((await everyHoldUp(careless)).length, 0);
});
