import assert from 'node:assert/strict';
import test from 'node:test';
import { MiB } from '../../src/base/bytes.ts';
import { limits } from '../../src/base/limits.ts';
import { recordsIn } from '../../src/core/catalog.ts';
import type { DeviceClass } from '../../src/core/device-class.ts';
import { guardedPools, isFilling } from '../../src/core/guard.ts';
import type { ObservedHost } from '../../src/core/observed.ts';
import { type DesiredSnapshot, desiredSnapshot } from '../../src/core/snapshot/desired.ts';
import { isBlocked } from '../../src/core/usable-vg.ts';
import { Guard, type GuardEvent } from '../../src/engine/guard.ts';
import { snapshotTask, volumeTask } from '../../src/engine/tasks.ts';
import { sizeBytes } from '../world/model.ts';
import { Stage } from './stage.ts';

async function guardedStage(given: Partial<DeviceClass> = {}) {
  const stage = new Stage();
  await stage.setUp();
  const events: GuardEvent[] = [];
  const stop = new AbortController();
  const classes = stage.node.deviceClasses.map((entry) => ({ ...entry, ...given }));
  const thick = classes.find(({ name }) => name === 'thick');
  assert.ok(thick !== undefined);
  const guard = new Guard({
    engine: stage.engine,
    host: stage.host,
    clock: stage.world.clock,
    guarded: (host) => ({ pools: guardedPools(classes), snapshots: filling(host, thick) }),
    tell: (event) => events.push(event),
  });
  void guard.run(stop.signal);
  return { stage, events, stop };
}

function filling(host: ObservedHost, deviceClass: DeviceClass): readonly DesiredSnapshot[] {
  return recordsIn(host, new Set(['data']))
    .filter(({ lv }) => isFilling(lv))
    .flatMap(({ id, sourceId, lv }) => {
      const wanted = { name: id, source: sourceId ?? '', deviceClass, uuid: lv.uuid };
      const desired = desiredSnapshot(wanted);
      return isBlocked(desired) ? [] : [desired];
    });
}

test('a pool that may grow does so soon after it begins to fill up', async () => {
  const { stage, events, stop } = await guardedStage({ growsPool: true });
  await stage.run(stage.engine.submit(volumeTask(stage.volume('v', 'thin', 8000))));
  const { world } = stage;
  const [pool, lv] = [world.lv('data', 'pool'), world.lv('data', 'v')];
  assert.ok(pool !== undefined && lv !== undefined);
  const before = sizeBytes(pool);
  assert.equal(world.write(lv, 0, Math.floor(before * 0.8)), undefined);
  await world.clock.advance(2 * limits.fillLookMs);
  assert.ok(sizeBytes(pool) > before);
  assert.deepEqual(
    events.map(({ name, outcome }) => [name, outcome]),
    [['data/pool', 'grown']],
  );
  stop.abort();
});

test('a pool that nobody allowed to grow stays as it is, whatever happens', async () => {
  const { stage, events, stop } = await guardedStage();
  await stage.run(stage.engine.submit(volumeTask(stage.volume('v', 'thin', 8000))));
  const { world } = stage;
  const [pool, lv] = [world.lv('data', 'pool'), world.lv('data', 'v')];
  assert.ok(pool !== undefined && lv !== undefined);
  const before = sizeBytes(pool);
  assert.equal(world.write(lv, 0, Math.floor(before * 0.9)), undefined);
  const looks = world.spawns.get('lvm fullreport') ?? 0;
  await world.clock.advance(10 * limits.fillLookMs);
  assert.equal(sizeBytes(pool), before);
  assert.equal(world.spawns.get('lvm fullreport'), looks + 1, 'one look, not one for each round');
  assert.deepEqual(events, []);
  stop.abort();
});

test('a CoW snapshot is grown again and again while its source is written to', async () => {
  const { stage, stop } = await guardedStage();
  await stage.run(stage.engine.submit(volumeTask(stage.volume('v', 'thick', 1000))));
  const deviceClass = stage.node.deviceClasses.find(({ name }) => name === 'thick');
  assert.ok(deviceClass !== undefined);
  const wanted = desiredSnapshot({ name: 's', source: 'v', deviceClass });
  assert.ok(!isBlocked(wanted));
  await stage.run(stage.engine.submit(snapshotTask(wanted)));
  const { world } = stage;
  const [lv, snapshot] = [world.lv('data', 'v'), world.lv('data', 's')];
  assert.ok(lv !== undefined && snapshot?.body.kind === 'cow');
  for (let at = 0n; at < 1000n; at += 50n) {
    world.write(lv, at * MiB, 50n * MiB);
    await world.clock.advance(2 * limits.fillLookMs);
  }
  assert.equal(snapshot.body.isInvalid, false, 'every block of its source has changed');
  stop.abort();
});

test('a quiet host is asked without a single lvm run', async () => {
  const { stage, stop } = await guardedStage({ growsPool: true });
  await stage.run(stage.engine.observe());
  const before = stage.world.spawns.get('lvm fullreport') ?? 0;
  await stage.world.clock.advance(10 * limits.fillLookMs);
  assert.equal(stage.world.spawns.get('lvm fullreport'), before);
  assert.ok((stage.world.spawns.get('dmsetup status') ?? 0) >= 9);
  stop.abort();
});

test('the kernel is asked only for what there is', async () => {
  const { stage, stop } = await guardedStage();
  await stage.run(stage.engine.observe());
  const asked = async () => {
    const { history } = stage.world.processes;
    const from = history.length;
    await stage.world.clock.advance(limits.fillLookMs + 1_000);
    const looks = history.slice(from).filter(([program]) => program === 'dmsetup');
    return looks.map((argv) => argv[argv.indexOf('--target') + 1]);
  };
  assert.deepEqual(await asked(), ['thin-pool']);
  stage.world.admin.run('lvm', 'lvremove', '--yes', 'data/pool');
  await stage.run(stage.engine.observe());
  assert.deepEqual(await asked(), []);
  stop.abort();
});
