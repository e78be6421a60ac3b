import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Chance } from './chance.ts';
import { FakeClock } from './clock.ts';
import { plainDisks } from './devices.ts';
import { record } from './differential.ts';
import { strandsOf } from './model.ts';
import { fakeWorld } from './world.ts';

test('one seed tells one story, to the last identity', async () => {
  const story = async (seed: number) => {
    const world = fakeWorld({ seed, devices: plainDisks(5) });
    world.faults.rates({ mishap: 0.1 });
    world.faults.always(/lvcreate.*v1/, { kind: 'slow', ms: 1_000 });
    const devices = world.machine.devices.map((device) => device.path);
    const entries = await world.clock.run(record(world.host(), { seed, length: 40, devices }));
    const identities = world.vgs().flatMap((vg) => [vg.uuid, ...vg.lvs.map((lv) => lv.uuid)]);
    return JSON.stringify({ entries, identities, now: world.clock.nowMs() });
  };
  assert.equal(await story(7), await story(7));
  assert.notEqual(await story(7), await story(8));
});

test('no extent is ever given out twice, and none is lost', async () => {
  for (let seed = 0; seed < 60; seed += 1) {
    const world = fakeWorld({ seed, devices: plainDisks(4) });
    world.faults.rates({ mishap: 0.15 });
    const devices = world.machine.devices.map((device) => device.path);
    await world.clock.run(record(world.host(), { seed, length: 40, devices }));
    assert.deepEqual(world.unknown, []);
    for (const vg of world.vgs()) {
      const strands = vg.lvs.flatMap((lv) => strandsOf(lv).map(({ strand }) => strand));
      const segments = [...strands, ...(vg.spare === undefined ? [] : [vg.spare])].flatMap(
        (strand) => strand.segments,
      );
      for (const pv of vg.pvs) {
        const used = new Array<number>(pv.extents).fill(0);
        const count = (start: number, length: number) => {
          for (let at = start; at < start + length; at += 1) used[at] = (used[at] ?? 0) + 1;
        };
        for (const run of pv.free) count(run.start, run.count);
        for (const { length, area } of vg.moves.flatMap((m) => m.parts.flatMap((p) => p.targets))) {
          if (area.pv === pv) count(area.extent, length);
        }
        for (const { areas, length } of segments) {
          for (const area of areas) {
            if (area.pv === pv) count(area.extent, length / areas.length);
          }
        }
        assert.ok(
          used.length === pv.extents && used.every((times) => times === 1),
          `SEED=${seed} ${pv.device}`,
        );
      }
    }
  }
});

test('what is due at one moment comes in an order of the seed', async () => {
  const order = async (seed: number) => {
    const clock = new FakeClock(new Chance(seed));
    const seen: number[] = [];
    for (let index = 0; index < 5; index += 1) clock.after(10, () => seen.push(index));
    await clock.advance(10);
    return seen.join('');
  };
  const orders = new Set(await Promise.all([1, 2, 3, 4, 5, 6].map(order)));
  assert.ok(orders.size > 2);
  assert.equal(await order(3), await order(3));
});

test('time stands still while somebody has work to do', async () => {
  const clock = new FakeClock(new Chance(1), 0);
  const woken: number[] = [];
  const worker = async () => {
    await clock.sleep(10);
    for (let index = 0; index < 50; index += 1) await Promise.resolve();
    woken.push(clock.nowMs());
    await clock.sleep(10);
    woken.push(clock.nowMs());
  };
  await clock.run(Promise.all([worker(), clock.sleep(11)]));
  assert.deepEqual(woken, [10, 20]);
});

test('a wait that nothing can end is called a deadlock', async () => {
  const clock = new FakeClock(new Chance(1));
  await assert.rejects(clock.run(new Promise(() => undefined)), /deadlock/);
});

test('numbers are fair enough and never out of their bounds', () => {
  const chance = new Chance(42);
  const counts = new Array<number>(6).fill(0);
  for (let index = 0; index < 60_000; index += 1) {
    const die = chance.below(6);
    counts[die] = (counts[die] ?? 0) + 1;
  }
  assert.ok(
    counts.every((count) => count > 9_500 && count < 10_500),
    counts.join(' '),
  );
  assert.match(chance.lvmUuid(), /^\w{6}(-\w{4}){5}-\w{6}$/);
});
