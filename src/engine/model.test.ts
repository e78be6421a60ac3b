import assert from 'node:assert/strict';
import test from 'node:test';
import { sampleCow, sampleLv, samplePool, sampleVg } from '../../test/samples/observed.ts';
import { settle, TinyClock } from '../../test/samples/tiny-clock.ts';
import { gate, TinyHost } from '../../test/samples/tiny-host.ts';
import { limits } from '../base/limits.ts';
import type { ObservedVg } from '../core/observed.ts';
import { HostModel } from './model.ts';

function fresh(...vgs: readonly ObservedVg[]) {
  const host = new TinyHost(...vgs);
  const clock = new TinyClock();
  return { host, clock, model: new HostModel(host, clock) };
}

test('a look shows the host as it is', async () => {
  const vg = sampleVg({ lvs: [sampleLv(), samplePool(), sampleCow()] });
  const { host, model } = fresh(vg);
  const report = await model.refresh();
  assert.deepEqual(report.host, host.state);
  assert.equal(model.newest, report);
});

test('however many ask, at most two looks are made, never side by side', async () => {
  const { host, model } = fresh();
  const reports = await Promise.all(Array.from({ length: 50 }, () => model.refresh()));
  assert.equal(host.looks, 2);
  assert.equal(host.mostLooks, 1);
  const [first, ...others] = reports;
  assert.equal(new Set(others).size, 1);
  assert.notEqual(first, others[0]);
});

test('who asks again as soon as a look ends does not start one beside the next', async () => {
  const { host, model } = fresh();
  host.behave = () => ({ until: settle() });
  const eager = async () => {
    for (let round = 0; round < 5; round += 1) await model.refresh();
  };
  await Promise.all([eager(), eager(), eager()]);
  assert.equal(host.mostLooks, 1);
});

test('a change made while a look runs is in the report that is asked for after it', async () => {
  const { host, model } = fresh();
  const slow = gate();
  host.behave = () => ({ until: slow.passed });
  const early = model.refresh();
  await settle();
  host.state = { ...host.state, vgs: [sampleVg({ name: 'new' })] };
  const late = model.since(model.changed());
  slow.open();
  assert.deepEqual((await early).host.vgs[0]?.name, 'vg1');
  assert.deepEqual((await late).host.vgs[0]?.name, 'new');
  assert.equal(host.looks, 2);
});

test('a report begun after a change is good enough for it, and for older ones', async () => {
  const { host, model } = fresh();
  const change = model.changed();
  const report = await model.refresh();
  assert.equal(await model.since(change), report);
  assert.equal(await model.since(0), report);
  assert.equal(host.looks, 1);
  assert.notEqual(await model.since(model.changed()), report);
  assert.equal(host.looks, 2);
});

test('a look that fails is told to who asked, and the next one works', async () => {
  const { host, model } = fresh();
  host.behave = () => ({ exitCode: 5, stderr: 'Can’t get lock for vg1' });
  const failed = await Promise.allSettled([model.refresh(), model.refresh()]);
  assert.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  host.behave = () => ({});
  assert.equal((await model.refresh()).host.vgs.length, 1);
});

test('listeners are told of every report until they leave', async () => {
  const { model } = fresh();
  let told = 0;
  const leave = model.onReport(() => {
    told += 1;
  });
  await model.refresh();
  await model.refresh();
  leave();
  await model.refresh();
  assert.equal(told, 2);
});

/** A model that is kept fresh, with its clock at rest. */
async function kept() {
  const world = fresh();
  const controller = new AbortController();
  const ended = world.model.keepFresh(controller.signal);
  await settle();
  return { ...world, controller, ended };
}

test('a change by somebody else is noticed in time, and nobody looks more often than that', async () => {
  const { host, model, clock, controller } = await kept();
  assert.equal(host.looks, 1);
  host.state = { ...host.state, vgs: [] };
  await clock.advance(limits.foreignChangeNoticedMs - 100);
  assert.equal(host.looks, 1);
  await clock.advance(100);
  assert.deepEqual(model.newest?.host.vgs, []);
  await clock.advance(10 * limits.foreignChangeNoticedMs);
  assert.equal(host.looks, 12);
  controller.abort();
});

test('a host that is looked at anyway is not looked at more often', async () => {
  const { host, model, clock, controller } = await kept();
  const half = limits.foreignChangeNoticedMs / 2;
  for (let round = 0; round < 6; round += 1) {
    await clock.advance(half);
    await model.refresh();
  }
  assert.equal(host.looks, 7);
  controller.abort();
});

test('many hints cause one look, a moment later', async () => {
  const { host, model, clock, controller } = await kept();
  for (let hint = 0; hint < 20; hint += 1) {
    model.hint();
    await clock.advance(10, 10);
  }
  assert.equal(host.looks, 1);
  await clock.advance(limits.hintSettleMs);
  assert.equal(host.looks, 2);
  await clock.advance(limits.foreignChangeNoticedMs - 1000);
  assert.equal(host.looks, 2);
  controller.abort();
});

test('a hint that comes while a look runs is not lost', async () => {
  const { host, model, clock, controller } = await kept();
  const slow = gate();
  host.behave = () => ({ until: slow.passed });
  model.hint();
  await clock.advance(limits.hintSettleMs);
  assert.equal(host.looks, 2);
  host.state = { ...host.state, vgs: [] };
  model.hint();
  slow.open();
  await clock.advance(2 * limits.hintSettleMs);
  assert.deepEqual(model.newest?.host.vgs, []);
  controller.abort();
});

test('a storm of hints leaves no sleeps behind and causes no storm of looks', async () => {
  const { host, model, clock, controller } = await kept();
  for (let hint = 0; hint < 200; hint += 1) {
    model.hint();
    await clock.advance(50);
    assert.ok(clock.sleeping <= 1, `${clock.sleeping} sleep`);
  }
  assert.ok(host.looks <= 1 + 200 / (limits.hintSettleMs / 50), `${host.looks} looks`);
  controller.abort();
});

test('a look that fails is tried again after a while, not at once', async () => {
  const { host, model, clock, controller } = await kept();
  host.behave = () => ({ exitCode: 5 });
  await clock.advance(limits.foreignChangeNoticedMs);
  assert.equal(host.looks, 2);
  await clock.advance(limits.refreshRetryMs - 100);
  assert.equal(host.looks, 2);
  host.behave = () => ({});
  host.state = { ...host.state, vgs: [] };
  await clock.advance(100);
  assert.deepEqual(model.newest?.host.vgs, []);
  controller.abort();
});

for (const { lookMs, betweenMs } of [
  { lookMs: 0, betweenMs: limits.witnessedMs },
  { lookMs: 400, betweenMs: 400 * limits.witnessedLooks },
  { lookMs: 5_000, betweenMs: limits.witnessedMsMax },
]) {
  test(`while changes run, looks of ${lookMs} ms are ${betweenMs} ms apart`, async () => {
    const { host, model, clock, controller } = await kept();
    host.behave = () => (lookMs === 0 ? {} : { until: clock.sleep(lookMs) });
    const work = gate();
    const changing = model.changing(() => work.passed);
    const refreshed = model.refresh();
    await clock.advance(lookMs);
    await refreshed;
    const before = host.looks;
    for (let passedMs = 0; passedMs < betweenMs - 500; passedMs += 250) {
      model.hint();
      await clock.advance(250);
      assert.ok(model.isBelieved);
    }
    assert.equal(host.looks, before);
    await clock.advance(1_000);
    assert.equal(host.looks, before + 1);
    work.open();
    await changing;
    controller.abort();
  });
}

test('keeping fresh ends when it is told to', async () => {
  const { host, clock, controller, ended } = await kept();
  controller.abort();
  await ended;
  await clock.advance(2 * limits.foreignChangeNoticedMs);
  assert.equal(host.looks, 1);
  assert.equal(clock.sleeping, 0);
});
