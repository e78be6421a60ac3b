import assert from 'node:assert/strict';
import test from 'node:test';
import { GiB } from '../../src/base/bytes.ts';
import { thinPoolTask, volumeGroupTask } from '../../src/engine/tasks.ts';
import { plainDisks } from '../world/devices.ts';
import { nodeFile, Stage } from './stage.ts';

const [one, two, three] = plainDisks(3, 4n * GiB);
const disks = [one, two, three].filter((disk) => disk !== undefined);

test('two empty disks become a group with a pool; what is in use is left alone and says why', async () => {
  const devices = [
    ...disks.slice(0, 2),
    { path: '/dev/sdx', sizeBytes: GiB, fileSystem: 'ext4', mountPoints: ['/'] },
    { path: '/dev/sdy', sizeBytes: GiB, fileSystem: 'xfs' },
  ];
  const file = { ...nodeFile([]), volumeGroups: [{ name: 'data', devices: 'any' }] };
  const stage = new Stage({ devices, file });
  const [vg] = stage.node.volumeGroups;
  assert.ok(vg !== undefined);
  const outcome = await stage.run(stage.engine.submitNode(volumeGroupTask(vg, stage.node)));
  assert.ok(outcome.kind === 'settled');
  assert.equal(outcome.status.state, 'Ready');
  const left = outcome.status.devices.filter((device) => device.state === 'left-alone');
  assert.deepEqual(
    left.map((device) => device.path),
    ['/dev/sdx', '/dev/sdy'],
  );
  assert.match(left[0]?.reasons.join() ?? '', /mounted at \//);
  assert.match(left[1]?.reasons.join() ?? '', /xfs/);
  assert.deepEqual(stage.world.destroyed, []);
});

test('a required disk that holds data stops everything, with its reason', async () => {
  const devices = [...disks.slice(0, 1), { path: '/dev/sdy', sizeBytes: GiB, fileSystem: 'xfs' }];
  const stage = new Stage({ devices });
  const [vg] = stage.node.volumeGroups;
  assert.ok(vg !== undefined);
  const outcome = await stage.run(stage.engine.submitNode(volumeGroupTask(vg, stage.node)));
  assert.ok(outcome.kind === 'blocked');
  assert.equal(outcome.code, 'DeviceNotUsable');
  assert.match(outcome.message, /\/dev\/sdy: it holds xfs/);
  assert.deepEqual(stage.world.vgs(), []);
});

test('a disk is wiped only when its path and the wipe were both named', async () => {
  const devices = [...disks.slice(0, 1), { path: '/dev/sdy', sizeBytes: GiB, fileSystem: 'xfs' }];
  const paths = ['/dev/sda', '/dev/sdy'];
  const groups = [{ name: 'data', devices: { paths, forceWipe: true } }];
  const stage = new Stage({ devices, file: { ...nodeFile([]), volumeGroups: groups } });
  await stage.setUp();
  assert.equal(stage.world.vg('data')?.pvs.length, 2);
  assert.deepEqual(
    stage.world.destroyed.map((one) => [one.deed, one.what]),
    [['wipefs', '/dev/sdy']],
  );
});

test('a group that vgcreate left half made is finished', async () => {
  const stage = new Stage({ devices: disks });
  stage.world.faults.next('vgcreate', { kind: 'mishap', mishap: 'dies-after-labels' });
  const [vg] = stage.node.volumeGroups;
  assert.ok(vg !== undefined);
  const work = () => stage.run(stage.engine.submitNode(volumeGroupTask(vg, stage.node)));
  await work().catch(() => undefined);
  const outcome = await work();
  assert.ok(outcome.kind === 'settled');
  assert.equal(stage.world.vg('data')?.pvs.length, 3);
});

test('a new disk extends the group, and the pool follows', async () => {
  const stage = new Stage({ devices: disks, file: nodeFile(['/dev/sda', '/dev/sdb']) });
  await stage.setUp();
  const before = stage.world.lv('data', 'pool')?.extents ?? 0;
  const [vg] = stage.node.volumeGroups;
  const [pool] = stage.node.thinPools;
  assert.ok(vg !== undefined && pool !== undefined);
  const selector = {
    kind: 'paths',
    required: ['/dev/sda', '/dev/sdb'],
    optional: ['/dev/sdc'],
    forceWipe: false,
  } as const;
  await stage.run(stage.engine.submitNode(volumeGroupTask({ ...vg, selector }, stage.node)));
  await stage.run(stage.engine.submit(thinPoolTask(pool)));
  assert.equal(stage.world.vg('data')?.pvs.length, 3);
  assert.ok((stage.world.lv('data', 'pool')?.extents ?? 0) > before);
});

test('a group that a power cut left without the label of one device is made whole', async () => {
  const stage = new Stage({ devices: disks });
  await stage.setUp();
  await stage.run(stage.engine.submit(thinPoolTask({ ...pool(stage), presence: 'absent' })));
  // What vgcreate had written to one disk is lost; the group's metadata on the others names it.
  const lost = stage.world.machine.devices.find((device) => device.path === '/dev/sdc');
  assert.ok(lost !== undefined);
  lost.label = undefined;
  lost.content = { writes: [], signatures: [] };
  await stage.setUp();
  assert.equal(stage.world.vg('data')?.pvs.length, 3);
  assert.equal(stage.world.lv('data', 'pool')?.type, 'thin-pool');
});

test('a group with volumes that lost a device is left to an administrator', async () => {
  const stage = new Stage({ devices: disks });
  await stage.setUp();
  stage.world.admin.pull('/dev/sdc');
  const [vg] = stage.node.volumeGroups;
  assert.ok(vg !== undefined);
  const outcome = await stage.run(stage.engine.submitNode(volumeGroupTask(vg, stage.node)));
  assert.ok(outcome.kind === 'blocked');
  assert.equal(outcome.code, 'VolumeGroupPartial');
  assert.equal(stage.world.vg('data')?.pvs.length, 3);
});

function pool(stage: Stage) {
  const [found] = stage.node.thinPools;
  assert.ok(found !== undefined);
  return found;
}
