import assert from 'node:assert/strict';
import test from 'node:test';
import { limits } from '../../src/base/limits.ts';
import {
  nodeNotRequiredAnnotation,
  sizeBeforeAnnotation,
} from '../../src/core/cluster/expansion.ts';
import { begunStatus, ExpansionWorld, extentBytes, gib, Killed } from './expansion-world.ts';

test('a claim grows: driver, volume, then kubelet', async () => {
  const world = new ExpansionWorld();
  world.request(gib(20));
  assert.equal(await world.work(), undefined);
  assert.deepEqual(world.effects, [
    `claim ${begunStatus} ${gib(10)}`,
    `lv ${gib(20)}`,
    `volume ${gib(20)}`,
    `claim NodeResizePending ${gib(10)}`,
  ]);
  assert.deepEqual(world.reasons, ['Resizing', 'FileSystemResizeRequired']);
  assert.deepEqual(world.conditionTypes, ['Backup', 'Resizing', 'FileSystemResizePending']);
  assert.equal(world.volume.metadata.annotations?.[sizeBeforeAnnotation], '10Gi');
  assert.equal(world.kubelet(), true);
  await world.work();
  assert.equal(world.sizes.capacity, gib(20));
  assert.equal(world.volume.metadata.annotations?.[sizeBeforeAnnotation], undefined);
  assert.deepEqual(world.conditionTypes, ['Backup']);
});

test('a raw volume needs no kubelet, and says so', async () => {
  const world = new ExpansionWorld({ isBlock: true });
  world.request(gib(20));
  await world.work();
  const { capacity, status } = world.sizes;
  assert.deepEqual([capacity, status], [gib(20), undefined]);
  assert.equal(world.claim.metadata.annotations?.[nodeNotRequiredAnnotation], 'true');
  assert.deepEqual(world.reasons, ['Resizing', 'VolumeResizeSuccessful']);
  assert.deepEqual(world.conditionTypes, ['Backup']);
  world.request(gib(30));
  await killed(world, 1);
  assert.equal(world.claim.metadata.annotations?.[nodeNotRequiredAnnotation], undefined);
});

test('sizes are whole extents, and all of them are told', async () => {
  const world = new ExpansionWorld();
  world.request(extentBytes);
  assert.equal(await world.work(), undefined);
  assert.deepEqual(world.effects, []);
  world.request((gib(10) + 1n) as typeof extentBytes);
  await world.settle();
  assert.equal(world.sizes.volume, gib(10) + extentBytes);
  assert.equal(world.sizes.capacity, gib(10) + extentBytes);
});

test('trap 5: a full group is said at once, and the user may ask for less', async () => {
  const world = new ExpansionWorld();
  world.limitBytes = gib(15);
  world.request(gib(50));
  assert.deepEqual(await world.work(), { afterMs: limits.infeasibleRetryMs });
  assert.equal(world.sizes.status, 'ControllerResizeInfeasible');
  const failed = world.events.at(-1);
  assert.equal(
    `${failed?.reason}: ${failed?.message}`,
    'VolumeResizeFailed: 50 GiB cannot be given yet. InsufficientCapacityToExpand: ' +
      'there are 5.00 GiB free. Remedy: Add a device to the volume group, or delete volumes.',
  );
  assert.deepEqual(world.conditionTypes, ['Backup', 'Resizing', 'ControllerResizeError']);
  assert.equal(world.request(gib(14)), true);
  await world.settle();
  assert.equal(world.sizes.capacity, gib(14));
  assert.deepEqual(world.conditionTypes, ['Backup']);
});

test('what cannot work is left alone for five minutes, unless somebody changes it', async () => {
  const world = new ExpansionWorld();
  world.limitBytes = gib(15);
  world.request(gib(50));
  await world.work();
  const count = world.effects.length;
  world.nowMs += limits.infeasibleRetryMs - 1;
  assert.deepEqual(await world.work(), { afterMs: 1 });
  assert.equal(world.effects.length, count);
  world.nowMs += 1;
  world.limitBytes = gib(60);
  await world.settle();
  assert.equal(world.sizes.capacity, gib(50));
});

test('trap 18: what may still come about is finished first; nothing ever shrinks', async () => {
  const world = new ExpansionWorld();
  world.failures.push('grown-unheard');
  world.request(gib(40));
  await world.work();
  assert.equal(world.lvBytes, gib(40));
  world.request(gib(12));
  await world.settle();
  assert.deepEqual(world.sizes, {
    ...{ request: gib(12), capacity: gib(40), volume: gib(40) },
    ...{ allocated: gib(40), status: undefined },
  });
});

test('trap 18: after a restart nothing is known to have failed', async () => {
  const world = new ExpansionWorld();
  world.failures.push('CommandFailed');
  world.request(gib(40));
  await world.work();
  world.restart();
  world.request(gib(12));
  await world.work();
  assert.ok(world.effects.includes(`lv ${gib(40)}`));
});

test('what failed for good gives way to another size at once', async () => {
  const world = new ExpansionWorld();
  world.failures.push('CommandFailed');
  world.request(gib(40));
  assert.deepEqual(await world.work(), { afterMs: limits.expandRetryMs * 0.75 });
  assert.equal(world.sizes.status, begunStatus);
  world.request(gib(12));
  await world.settle();
  assert.deepEqual(world.sizes.capacity, gib(12));
  assert.equal(world.lvBytes, gib(12));
});

test('tries come later and later, and a claim that says so already is not written again', async () => {
  const world = new ExpansionWorld();
  world.request(gib(40));
  const waits: number[] = [];
  for (let turn = 0; turn < 12; turn += 1) {
    world.failures.push('LvmLocked');
    const again = await world.work();
    waits.push(again?.afterMs ?? 0);
    world.nowMs += again?.afterMs ?? 0;
  }
  assert.deepEqual(waits.slice(0, 4), [750, 1500, 3000, 6000]);
  assert.equal(waits.at(-1), limits.infeasibleRetryMs * 0.75);
  assert.equal(world.effects.filter((effect) => effect.startsWith('claim')).length, 2);
});

test('trap 16: what kubelet wrote meanwhile is never overwritten', async () => {
  const world = new ExpansionWorld();
  world.request(gib(20));
  await world.work();
  world.isCacheHeld = true;
  world.kubeletBegins();
  world.request(gib(30));
  await world.work();
  assert.equal(world.sizes.status, 'NodeResizeInProgress');
  world.isCacheHeld = false;
  await world.settle();
  assert.equal(world.sizes.capacity, gib(30));
});

test('trap 16: conditions of others that come between a look and a write stay', async () => {
  const world = new ExpansionWorld();
  const backup = { type: 'Backup', status: 'True' };
  const mine = { type: 'Mine', status: 'True' };
  world.meddlers.push(
    () => world.meddle({ status: { conditions: [backup, mine] } }),
    () => undefined,
    () => undefined,
    () => world.meddle({ metadata: { labels: { touched: 'yes' } } }),
  );
  world.request(gib(20));
  await world.settle();
  assert.deepEqual(world.conditionTypes, ['Backup', 'Mine']);
  assert.equal(world.sizes.capacity, gib(20));
});

test('why a claim does not grow is written although others write meanwhile', async () => {
  const world = new ExpansionWorld();
  world.limitBytes = gib(15);
  const meddle = () => world.meddle({ metadata: { labels: { touched: 'yes' } } });
  world.meddlers.push(() => undefined, meddle);
  world.request(gib(50));
  assert.deepEqual(await world.work(), { afterMs: limits.infeasibleRetryMs });
  assert.equal(world.sizes.status, 'ControllerResizeInfeasible');
  assert.deepEqual(world.reasons, ['Resizing', 'VolumeResizeFailed']);
});

test('trap 17: kubelet is asked by NodeResizePending, and the claim keeps its size till then', async () => {
  const world = new ExpansionWorld();
  world.request(gib(20));
  await world.work();
  assert.equal(world.sizes.status, 'NodeResizePending');
  assert.equal(world.sizes.capacity, gib(10));
  assert.equal(await world.work(), undefined);
  world.request(gib(30));
  assert.equal(await world.work(), undefined);
  assert.equal(world.sizes.volume, gib(20));
});

test('kubelet that cannot is asked again after a while', async () => {
  const world = new ExpansionWorld();
  world.request(gib(20));
  await world.work();
  world.kubeletCannot();
  assert.deepEqual(await world.work(), { afterMs: limits.infeasibleRetryMs });
  assert.equal(world.sizes.status, 'NodeResizeInfeasible');
  world.nowMs += limits.infeasibleRetryMs;
  await world.work();
  assert.equal(world.sizes.status, 'NodeResizePending');
  assert.equal(world.sizes.allocated, gib(20));
});

test('a driver that gives less than it was asked for has not succeeded', async () => {
  const world = new ExpansionWorld();
  world.failures.push('short');
  world.request(gib(20));
  assert.deepEqual(await world.work(), { afterMs: limits.expandRetryMs * 0.75 });
  assert.equal(world.sizes.volume, gib(10));
  assert.match(world.events.at(-1)?.message ?? '', /asked to grow to 20 GiB, and it has 10 GiB\.$/);
});

test('claims that are not ours, not bound or going are left alone', async () => {
  for (const patch of [
    { status: { phase: 'Pending' } },
    { spec: { volumeName: 'other' } },
    { metadata: { uid: 'another' } },
    { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
  ]) {
    const world = new ExpansionWorld();
    world.request(gib(20));
    world.meddle(patch);
    assert.equal(await world.work(), undefined);
    assert.deepEqual(world.effects, []);
  }
});

for (const isOld of [false, true]) {
  for (const isBlock of [false, true]) {
    const server = isOld ? 'an old server' : 'a new server';
    const kind = `${isBlock ? 'a raw volume' : 'a file system'} on ${server}`;
    test(`killed after each effect, the end is the same: ${kind}`, async () => {
      const whole = new ExpansionWorld({ isOld, isBlock });
      whole.request(gib(20));
      await whole.settle();
      assert.equal(whole.sizes.capacity, gib(20));
      const count = whole.effects.length;
      assert.ok(count >= (isBlock ? 4 : 5));
      for (let after = 1; after <= count; after += 1) {
        for (const isStale of [false, true]) {
          const world = new ExpansionWorld({ isOld, isBlock });
          world.request(gib(20));
          await killed(world, after);
          world.restart();
          world.isCacheHeld = isStale;
          await world.work();
          world.isCacheHeld = false;
          await world.settle();
          assert.deepEqual(endOf(world), endOf(whole), `killed after ${after}`);
        }
      }
    });
  }
}

test('an old server without room for sizes under way is helped by conditions', async () => {
  const world = new ExpansionWorld({ isOld: true });
  world.limitBytes = gib(15);
  world.request(gib(20));
  assert.deepEqual(await world.work(), { afterMs: limits.infeasibleRetryMs });
  assert.deepEqual(world.conditionTypes, ['Backup', 'Resizing', 'ControllerResizeError']);
  world.limitBytes = gib(20);
  world.nowMs += limits.infeasibleRetryMs;
  await world.work();
  assert.deepEqual(world.conditionTypes, ['Backup', 'Resizing', 'FileSystemResizePending']);
  assert.equal(await world.work(), undefined);
  await world.settle();
  assert.equal(world.sizes.capacity, gib(20));
});

function endOf(world: ExpansionWorld) {
  const { sizes, lvBytes, conditionTypes } = world;
  const { annotations = {} } = world.volume.metadata;
  return { sizes, lvBytes, conditionTypes, annotations, own: world.claim.metadata.annotations };
}

/** Works until it dies, kubelet beside it. */
async function killed(world: ExpansionWorld, after: number): Promise<void> {
  world.killAfter = after;
  try {
    await world.settle();
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
  }
}
