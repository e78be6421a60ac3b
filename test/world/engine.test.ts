import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytes, noBytes } from '../../src/base/bytes.ts';
import { show } from '../../src/base/show.ts';
import { desiredClone } from '../../src/core/clone/desired.ts';
import type { DeviceClass } from '../../src/core/device-class.ts';
import type { Layout } from '../../src/core/layouts.ts';
import { desiredSnapshot } from '../../src/core/snapshot/desired.ts';
import { isBlocked } from '../../src/core/usable-vg.ts';
import { absentVolume, desiredVolume } from '../../src/core/volume/desired.ts';
import { Engine } from '../../src/engine/engine.ts';
import { cloneTask, snapshotTask, volumeTask } from '../../src/engine/tasks.ts';
import type { Lv } from './model.ts';
import { type FakeWorld, fakeWorld } from './world.ts';

const mib = 1024n ** 2n;

test('a volume is written, snapshotted, cloned and removed through the door', async () => {
  const { world, engine, classes } = group({ kind: 'linear' });
  const run = <T>(promise: Promise<T>) => world.clock.run(promise);
  const volume = must(
    desiredVolume({ name: 'data', className: '', sizeBytes: bytes(100n * mib) }, classes),
  );
  assert.equal((await run(engine.submit(volumeTask(volume)))).kind, 'settled');
  const source = lvOf(world, 'data');
  assert.equal(world.write(source, 0, 8n * mib), undefined);

  const [deviceClass] = classes;
  assert.ok(deviceClass !== undefined);
  const snapshot = must(desiredSnapshot({ name: 'snap', source: 'data', deviceClass }));
  assert.equal((await run(engine.submit(snapshotTask(snapshot)))).kind, 'settled');
  assert.equal(world.write(source, 4n * mib, 8n * mib), undefined);
  assert.equal(world.holdsSame(lvOf(world, 'snap'), source), false);

  const request = { name: 'copy', source: 'snap', className: '', sizeBytes: bytes(100n * mib) };
  const clone = must(desiredClone(request, classes));
  assert.equal((await run(engine.submit(cloneTask(clone)))).kind, 'settled');
  assert.equal(world.holdsSame(lvOf(world, 'snap'), lvOf(world, 'copy')), true);

  for (const name of ['copy', 'snap', 'data']) {
    const outcome = await run(engine.submit(volumeTask(absentVolume('vg1', name))));
    assert.equal(outcome.kind, 'settled');
  }
  assert.deepEqual(world.vg('vg1')?.lvs, []);
  assert.deepEqual(
    world.destroyed.map(({ what, heldData }) => [what, heldData]),
    [
      ['vg1/copy', true],
      ['vg1/snap', true],
      ['vg1/data', true],
    ],
  );
  assert.deepEqual(world.unknown, []);
});

function group(layout: Layout) {
  const world = fakeWorld({ seed: 3 });
  const engine = new Engine({ host: world.host(), clock: world.clock, trace: () => undefined });
  const paths = world.machine.devices.map((device) => device.path);
  world.admin.run('lvm', 'vgcreate', '--metadatasize', '16777216b', 'vg1', ...paths);
  const classes: readonly DeviceClass[] = [
    {
      name: 'thick',
      vg: 'vg1',
      isDefault: true,
      layout,
      spareBytes: noBytes,
      overprovisionRatio: 10,
      lvcreateOptions: [],
    },
  ];
  return { world, engine, classes };
}

function must<T extends object>(value: T): Exclude<T, { kind: 'blocked' }> {
  assert.ok(!isBlocked(value), show(value));
  return value as Exclude<T, { kind: 'blocked' }>;
}

function lvOf(world: FakeWorld, name: string): Lv {
  const lv = world.lv('vg1', name);
  assert.ok(lv !== undefined, `there is no volume ${name}`);
  return lv;
}
