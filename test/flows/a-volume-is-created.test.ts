import assert from 'node:assert/strict';
import test from 'node:test';
import { OperationError } from '../../src/base/failures.ts';
import { absentVolume } from '../../src/core/volume/desired.ts';
import { volumeTask } from '../../src/engine/tasks.ts';
import { Stage } from './stage.ts';

test('a volume is created, found again, grown and deleted', async () => {
  const stage = new Stage();
  await stage.setUp();
  const wanted = stage.volume('db', 'thick', 100);

  const created = await stage.run(stage.engine.submit(volumeTask(wanted)));
  assert.ok(created.kind === 'settled');
  assert.equal(created.status.state, 'Ready');
  assert.equal(created.status.isPending, true);
  assert.equal(stage.ran.length, 1, 'one command made it');

  const again = await stage.run(stage.engine.submit(volumeTask(wanted)));
  assert.ok(again.kind === 'settled' && again.status.uuid === created.status.uuid);
  assert.equal(stage.ran.length, 1, 'nothing more was run for the same request');

  const larger = stage.volume('db', 'thick', 200);
  await stage.run(stage.engine.submit(volumeTask(larger)));
  assert.equal(stage.world.lv('data', 'db')?.extents, 50);

  await stage.run(stage.engine.submit(volumeTask(absentVolume('data', 'db'))));
  assert.equal(stage.world.lv('data', 'db'), undefined);
  assert.equal(stage.ran.length, 3);
});

test('a volume survives a process that dies at any moment of its creation', async () => {
  for (const when of ['before', 'during', 'after'] as const) {
    const stage = new Stage();
    await stage.setUp();
    stage.world.faults.next('lvcreate', { kind: 'crash', when });
    const wanted = volumeTask(stage.volume('db', 'thick', 100));
    void stage.engine.submit(wanted).catch(() => undefined);
    await stage.world.clock.advance(60_000);
    assert.equal(stage.host.isDead, true, when);
    stage.restart();
    const found = await stage.run(stage.engine.submit(wanted));
    assert.ok(found.kind === 'settled' && found.status.state === 'Ready', when);
    assert.equal(stage.world.vg('data')?.lvs.filter((lv) => lv.name === 'db').length, 1, when);
  }
});

test('a caller that goes away finds its volume when it asks again', async () => {
  const stage = new Stage();
  await stage.setUp();
  stage.world.faults.next('lvcreate', { kind: 'slow', ms: 5_000 });
  const controller = new AbortController();
  const wanted = volumeTask(stage.volume('db', 'thick', 100));
  const waiting = stage.engine.submit(wanted, controller.signal);
  await stage.world.clock.advance(1_000);
  controller.abort();
  await assert.rejects(
    waiting,
    (error) => error instanceof OperationError && error.code === 'Cancelled',
  );
  const found = await stage.run(stage.engine.submit(wanted));
  assert.ok(found.kind === 'settled' && found.status.state === 'Ready');
  assert.equal(stage.ran.filter((event) => event.step === 'create-lv').length, 1);
});

test('while a command hangs past its deadline nothing else is started in its group', async () => {
  const stage = new Stage();
  await stage.setUp();
  stage.world.faults.next('lvcreate', { kind: 'slow', ms: 600_000 });
  const first = stage.engine.submit(volumeTask(stage.volume('slow', 'thick', 100)));
  const second = stage.engine.submit(volumeTask(stage.volume('next', 'thick', 100)));
  await stage.world.clock.advance(300_000);
  assert.equal(stage.world.lv('data', 'next'), undefined);
  assert.equal(stage.world.processes.running.length, 1, 'only the command that hangs');
  const [one, two] = await stage.run(Promise.all([first, second]));
  assert.equal(one.kind, 'settled', 'it came about in the end, and the look says so');
  assert.equal(two.kind, 'settled');
});

test('a group with no room says how much there is, and what to do is in the table', async () => {
  const stage = new Stage();
  await stage.setUp();
  const outcome = await stage.run(
    stage.engine.submit(volumeTask(stage.volume('big', 'thick', 50_000))),
  );
  assert.ok(outcome.kind === 'blocked');
  assert.equal(outcome.code, 'InsufficientCapacity');
  assert.match(outcome.message, /at most .* spare.*not 48.82 GiB/);
  assert.equal(stage.ran.length, 0, 'nothing was tried');
});
