import assert from 'node:assert/strict';
import test from 'node:test';
import type { DeviceSpec } from '../world/devices.ts';
import { GroupScene } from './agent-groups-scene.ts';

const gib = 1024n ** 3n;
const spec = {
  deviceSelector: { paths: ['/dev/sdb'], forceWipeDevicesAndDestroyAllData: true },
};
const used: DeviceSpec = {
  ...{ path: '/dev/sdb', sizeBytes: 4n * gib, serial: 'B', fileSystem: 'ext4' },
};

const partition = { path: '/dev/sdb1', sizeBytes: 1n * gib, fileSystem: 'ext4' };
const parted = { path: '/dev/sdb', sizeBytes: 4n * gib, serial: 'B', partitions: [partition] };

function wipesIn({ stage }: GroupScene): number {
  return stage.ran.filter(({ step }) => step === 'wipe-device').length;
}

async function wiped(disk: DeviceSpec = used): Promise<GroupScene> {
  const scene = new GroupScene([disk, { path: '/dev/sdc', sizeBytes: 4n * gib }]);
  scene.group('vg1', spec);
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  return scene;
}

function signatures({ stage }: GroupScene): readonly string[] {
  const disk = stage.world.machine.device('/dev/sdb');
  return disk?.content.signatures.map(({ type }) => type) ?? [];
}

test('a disk is wiped once, also when class and node are made anew', async () => {
  const scene = await wiped();
  assert.equal(wipesIn(scene), 1);
  scene.change('vg1', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
  const { world } = scene.stage;
  await scene.until('gone', () => world.vg('vg1') === undefined && scene.known.size === 0);
  await scene.until('let go', () => (scene.object('vg1')?.metadata.finalizers ?? []).length === 0);
  scene.api.delete('/apis/lvm.topolvm.io/v1alpha1/lvmvolumegroups', 'vg1', 'quarry-system');
  world.admin.mkfs('/dev/sdb', 'xfs');
  scene.group('vg1', spec);
  await scene.until('told', () => scene.told('vg1')?.status === 'Failed');
  await scene.settle(120_000);
  assert.deepEqual(signatures(scene), ['xfs']);
  assert.equal(wipesIn(scene), 1);
  assert.match(scene.told('vg1')?.reason ?? '', /\/dev\/sdb: it holds xfs/);
  const [warning = ''] = scene.told('vg1')?.warnings ?? [];
  assert.match(warning, /^\/dev\/sdb was wiped once and is not wiped again: .*wipefs --all/);
  world.admin.run('wipefs', '--all', '/dev/sdb');
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.equal(scene.told('vg1')?.warnings, undefined);
});

test('an agent that is killed at any moment of wiping comes to its end', async () => {
  for (let turns = 1; turns < 200; turns += 13) {
    const scene = new GroupScene([turns % 2 === 0 ? used : parted]);
    scene.group('vg1', spec);
    scene.start();
    for (let turn = 0; turn < turns; turn += 1) await scene.pass(5);
    scene.kill();
    scene.start();
    await scene.until('ready', () => scene.isReady('vg1'));
    assert.deepEqual([...scene.wipes.keys()], ['serial  B'], `after ${turns} turns`);
    await scene.until('written down', () => scene.wipes.get('serial  B')?.isDone === true);
  }
});

test('a disk with partitions is wiped where it was allowed, and nobody uses one', async () => {
  const scene = await wiped(parted);
  assert.equal(wipesIn(scene), 2, 'the partition and the disk');
  const mounted = { ...parted, partitions: [{ ...partition, mountPoints: ['/data'] }] };
  const used = new GroupScene([mounted]);
  used.group('vg1', spec);
  used.start();
  await used.until('told', () => used.told('vg1')?.status === 'Failed');
  await used.settle(60_000);
  assert.equal(wipesIn(used), 0);
});

test('what came after a wipe that was cut off is not wiped with it', async () => {
  const scene = new GroupScene([used]);
  scene.stage.world.faults.always('vgcreate', { kind: 'fail', exitCode: 5, stderr: 'no' });
  scene.group('vg1', spec);
  scene.start();
  await scene.until('wiped', () => signatures(scene).length === 0);
  scene.kill();
  scene.stage.world.admin.mkfs('/dev/sdb', 'ext4');
  scene.stage.world.faults.stop();
  scene.start();
  await scene.until('told', () => scene.told('vg1')?.status === 'Failed');
  await scene.settle(60_000);
  assert.deepEqual(signatures(scene), ['ext4']);
});

test('nothing is wiped while it cannot be written down', async () => {
  const scene = new GroupScene([used]);
  scene.group('vg1', spec);
  scene.refusesWipes = true;
  scene.start();
  await scene.until('told', () => scene.told('vg1')?.status === 'Failed');
  assert.match(scene.told('vg1')?.warnings?.join() ?? '', /nothing is wiped: .*wiped\.json/);
  assert.deepEqual(signatures(scene), ['ext4']);
});

test('what somebody makes on a disk that was wiped a moment ago stays', async () => {
  const scene = new GroupScene([used, { path: '/dev/sdc', sizeBytes: 4n * gib }]);
  const { world } = scene.stage;
  world.faults.next('vgcreate', { kind: 'slow', ms: 5_000 });
  scene.group('vg1', spec);
  scene.start();
  const isMaking = () => world.processes.running.some((argv) => argv.includes('vgcreate'));
  await scene.until('it is wiped, and taken', isMaking);
  world.admin.mkfs('/dev/sdb', 'xfs');
  await scene.settle(60_000);
  assert.equal(wipesIn(scene), 1);
  assert.deepEqual(signatures(scene), ['xfs']);
});
