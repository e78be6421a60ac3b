import assert from 'node:assert/strict';
import test from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { findVg } from '../../src/core/observed.ts';
import { isBlocked } from '../../src/core/usable-vg.ts';
import { absentVolume, desiredVolume } from '../../src/core/volume/desired.ts';
import { volumeTask } from '../../src/engine/tasks.ts';
import { Stage } from './stage.ts';

test("an administrator's change is noticed within the limit, and a quiet host is left in peace", async () => {
  const stage = new Stage();
  await stage.setUp();
  await stage.run(stage.engine.submit(volumeTask(stage.volume('db', 'thick', 100))));
  const controller = new AbortController();
  const seen: number[] = [];
  stage.engine.model.onReport((host) => seen.push(findVg(host, 'data')?.lvs.length ?? 0));
  void stage.engine.model.keepFresh(controller.signal);
  const before = stage.world.spawns.get('lvm fullreport') ?? 0;

  stage.world.admin.run('lvm', 'lvcreate', '--yes', '--size', '8m', '--name', 'theirs', 'data');
  await stage.world.clock.advance(limits.foreignChangeNoticedMs + 5_000);
  assert.equal(seen.at(-1), 3, 'pool, db and theirs');

  await stage.world.clock.advance(10 * limits.foreignChangeNoticedMs);
  const looks = (stage.world.spawns.get('lvm fullreport') ?? 0) - before;
  assert.ok(looks <= 12, `${looks} looks in eleven periods`);
  controller.abort();
});

test('a volume that an administrator removed is reported lost, and not made anew', async () => {
  const stage = new Stage();
  await stage.setUp();
  const made = await stage.run(stage.engine.submit(volumeTask(stage.volume('db', 'thick', 100))));
  assert.ok(made.kind === 'settled');
  stage.world.admin.run('lvm', 'lvremove', '--yes', 'data/db');
  await stage.run(stage.engine.observe());
  const { uuid } = made.status;
  const request = {
    name: 'db',
    className: 'thick',
    sizeBytes: stage.volume('db', 'thick', 100).sizeBytes,
  };
  const wanted = desiredVolume({ ...request, uuid }, stage.node.deviceClasses);
  assert.ok(!isBlocked(wanted));
  const outcome = await stage.run(stage.engine.submit(volumeTask(wanted)));
  assert.ok(outcome.kind === 'blocked');
  assert.equal(outcome.code, 'VolumeLost');
  assert.equal(stage.world.lv('data', 'db'), undefined);
});

test('deleting our volume leaves another volume alone that took its name', async () => {
  const stage = new Stage();
  await stage.setUp();
  const made = await stage.run(stage.engine.submit(volumeTask(stage.volume('db', 'thick', 100))));
  assert.ok(made.kind === 'settled');
  const theirs = stage.world.admin.replaceLv('data', 'db');
  await stage.run(stage.engine.observe());
  const gone = absentVolume('data', 'db', made.status.uuid);
  const outcome = await stage.run(stage.engine.submit(volumeTask(gone)));
  assert.ok(outcome.kind === 'settled');
  assert.equal(outcome.status.state, 'Absent');
  assert.equal(stage.world.lv('data', 'db'), theirs);
});

test('a volume that something holds open stays, and goes when it is let go', async () => {
  const stage = new Stage();
  await stage.setUp();
  await stage.run(stage.engine.submit(volumeTask(stage.volume('db', 'thick', 100))));
  stage.world.admin.mount('/dev/data/db', '/srv');
  const refused = await stage.run(stage.engine.submit(volumeTask(absentVolume('data', 'db'))));
  assert.ok(refused.kind === 'blocked');
  assert.equal(refused.code, 'VolumeInUse');
  stage.world.admin.unmount('/srv');
  await stage.run(stage.engine.submit(volumeTask(absentVolume('data', 'db'))));
  assert.equal(stage.world.lv('data', 'db'), undefined);
});
