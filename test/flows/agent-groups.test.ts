import assert from 'node:assert/strict';
import test from 'node:test';
import { decodeLvmdFile } from '../../src/api/lvmd-file/decode.ts';
import { plainDisks } from '../world/devices.ts';
import { GroupScene } from './agent-groups-scene.ts';

const gib = 1024n ** 3n;
const two = { deviceSelector: { paths: ['/dev/sdb', '/dev/sdc'] } };
const thinPoolConfig = { name: 'pool', overprovisionRatio: 10 };
const mark = 'cleanup.vgmanager.node.topolvm.io/n1';

test('bare disks become a volume group with a pool, are told, and are served', async () => {
  const scene = new GroupScene();
  scene.group('vg1', { ...two, default: true, thinPoolConfig });
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.deepEqual(scene.object('vg1')?.metadata.finalizers, [mark]);
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb', '/dev/sdc']);
  assert.deepEqual([...(scene.stage.world.vg('vg1')?.tags ?? [])], ['lvms']);
  assert.equal(scene.stage.world.lv('vg1', 'pool')?.isActive, true);
  const decoded = decodeLvmdFile({ file: 'lvmd.yaml', text: scene.lvmd ?? '' });
  assert.ok(decoded.kind === 'lvmd');
  assert.deepEqual(
    decoded.spec.deviceClasses.map(({ name, target }) => [name, target.kind]),
    [['vg1', 'thin']],
  );
  const writes = scene.api.writes.length;
  const runs = scene.ran().length;
  await scene.settle(60_000);
  assert.equal(scene.api.writes.length, writes, 'nothing is written when nothing changes');
  assert.equal(scene.ran().length, runs);
});

test('the mark is there before the group is', async () => {
  const scene = new GroupScene();
  scene.group('vg1', two);
  scene.start();
  await scene.until('marked', () => scene.object('vg1')?.metadata.finalizers?.length === 1);
  assert.equal(scene.stage.world.vg('vg1'), undefined);
  await scene.until('ready', () => scene.isReady('vg1'));
});

test('an agent that is killed at any moment comes to the same end', async () => {
  for (let turns = 1; turns < 400; turns += 23) {
    const scene = new GroupScene();
    scene.group('vg1', { ...two, thinPoolConfig });
    scene.start();
    for (let turn = 0; turn < turns; turn += 1) await scene.pass(5);
    scene.kill();
    scene.start();
    await scene.until('ready', () => scene.isReady('vg1'));
    assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb', '/dev/sdc'], `after ${turns} turns`);
    assert.match(scene.lvmd ?? '', /name: vg1/);
  }
});

test('a disk that holds something is left alone, and told', async () => {
  const scene = new GroupScene([
    { path: '/dev/sdb', sizeBytes: 4n * gib },
    { path: '/dev/sdc', sizeBytes: 4n * gib, fileSystem: 'ext4' },
  ]);
  scene.group('vg1', {});
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb']);
  const excluded = scene.told('vg1')?.excluded?.map(({ name }) => name);
  assert.ok(excluded?.includes('/dev/sdc'), JSON.stringify(scene.told('vg1')));
  scene.group('vg2', { deviceSelector: { paths: ['/dev/sdc'] } });
  await scene.until('told', () => scene.told('vg2')?.status === 'Failed');
  assert.match(scene.told('vg2')?.reason ?? '', /ext4/);
  assert.doesNotMatch(scene.lvmd ?? '', /vg2/, 'nothing is served from it');
});

test('a class that goes takes its group along when it is empty, and waits while it is not', async () => {
  const scene = new GroupScene();
  scene.group('vg1', { ...two, thinPoolConfig, default: true });
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  scene.stage.world.admin.run(
    ...['lvm', 'lvcreate', '--yes', '--type', 'thin', '--virtualsize', '100m'],
    ...['--thinpool', 'pool', '--name', 'data', 'vg1'],
  );
  scene.change('vg1', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
  await scene.settle(5_000);
  assert.equal(scene.lvmd, 'device-classes: []\n', 'nothing new is made in it');
  assert.notEqual(scene.stage.world.lv('vg1', 'data'), undefined);
  assert.deepEqual(scene.object('vg1')?.metadata.finalizers, [mark]);
  assert.match(scene.told('vg1')?.reason ?? '', /^VolumeInUse: .*data/);
  scene.stage.world.admin.run('lvm', 'lvremove', '--yes', 'vg1/data');
  await scene.until(
    'gone',
    () =>
      scene.object('vg1') === undefined || scene.object('vg1')?.metadata.finalizers?.length === 0,
  );
  assert.equal(scene.stage.world.vg('vg1'), undefined);
  assert.deepEqual([...scene.known], []);
});

test('a group whose disks are away is not forgotten with its class, unless it is given up', async () => {
  const scene = new GroupScene();
  scene.group('vg1', two);
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  const { world } = scene.stage;
  const disks = world.vg('vg1')?.pvs.map(({ device }) => device) ?? [];
  for (const disk of disks) world.admin.pull(disk);
  scene.change('vg1', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
  await scene.settle(60_000);
  assert.deepEqual([...scene.known.keys()], ['vg1']);
  assert.deepEqual(scene.object('vg1')?.metadata.finalizers, [mark]);
  assert.match(scene.told('vg1')?.reason ?? '', /^VolumeGroupLost: /);
  scene.known = new Map();
  await scene.until(
    'given up',
    () => (scene.object('vg1')?.metadata.finalizers ?? []).length === 0,
  );
});

test('a group that was renamed is not forgotten with its class', async () => {
  const scene = new GroupScene();
  scene.group('vg1', two);
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  const { admin } = scene.stage.world;
  admin.run('lvm', 'lvcreate', '--yes', '--size', '8m', '--name', 'data', 'vg1');
  admin.vgrename('vg1', 'vg2');
  scene.change('vg1', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
  await scene.settle(60_000);
  assert.deepEqual([...scene.known.keys()], ['vg1']);
  assert.match(scene.told('vg1')?.reason ?? '', /^VolumeGroupRenamed: /);
});

test('a group that is served is not leaving, whatever was noted once', async () => {
  const scene = new GroupScene();
  scene.group('vg1', two);
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  scene.leaving = scene.known;
  scene.kill();
  scene.start();
  await scene.until('not leaving', () => scene.leaving.size === 0);
});

test('an agent that is killed at any moment of a removal comes to its end', async () => {
  for (let turns = 1; turns < 400; turns += 23) {
    const scene = new GroupScene();
    scene.group('vg1', { ...two, thinPoolConfig });
    scene.start();
    await scene.until('ready', () => scene.isReady('vg1'));
    scene.change('vg1', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
    for (let turn = 0; turn < turns; turn += 1) await scene.pass(5);
    scene.kill();
    scene.start();
    await scene.until('gone', () => (scene.object('vg1')?.metadata.finalizers ?? []).length === 0);
    assert.equal(scene.stage.world.vg('vg1'), undefined, `after ${turns} turns`);
    assert.deepEqual([...scene.known], []);
  }
});

test('a node that the operator has not named makes nothing', async () => {
  const scene = new GroupScene(plainDisks(2, 4n * gib));
  scene.api.delete(
    '/apis/lvm.topolvm.io/v1alpha1/lvmvolumegroupnodestatuses',
    'n1',
    'quarry-system',
  );
  scene.group('vg1', {});
  scene.start();
  await scene.settle(60_000);
  assert.equal(scene.stage.world.vg('vg1'), undefined);
  assert.deepEqual(scene.ran(), []);
});

test('what an administrator wrote into lvmd.yaml stays', async () => {
  const scene = new GroupScene();
  scene.lvmd = 'device-classes:\n  - name: mine\n    volume-group: other\n';
  scene.group('vg1', two);
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.match(scene.lvmd ?? '', /name: mine/);
  assert.match(scene.lvmd ?? '', /name: vg1/);
});

test('an administrator’s words in lvmd.yaml outlive a node that is not meant for a while', async () => {
  const scene = new GroupScene();
  scene.group('vg1', two);
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  scene.lvmd = `${scene.lvmd}    lvcreate-options: ['--type=raid1']\n`;
  const edited = scene.lvmd;
  const labels = {
    nodeSelector: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }] },
  };
  scene.change('vg1', { spec: labels });
  await scene.settle(5_000);
  assert.equal(scene.lvmd, edited);
  scene.change('vg1', { metadata: { finalizers: [] } });
  await scene.settle(5_000);
  assert.equal(scene.lvmd, edited);
  assert.notEqual(scene.stage.world.vg('vg1'), undefined);
});

test('a file that somebody broke ends nothing, and is left as it is', async () => {
  const scene = new GroupScene();
  scene.lvmd = 'device-classes: [{name: vg1, thin-pool: text}]';
  scene.group('vg1', { ...two, thinPoolConfig });
  scene.start();
  await scene.until('told', () => scene.told('vg1')?.status === 'Degraded');
  assert.match(scene.told('vg1')?.reason ?? '', /lvmd\.yaml is left as it is/);
  assert.match(scene.lvmd, /thin-pool: text/);
  assert.ok(scene.log.some(({ message }) => message.includes('lvmd.yaml is left as it is')));
});

test('with an administrator’s classes the file stays right, or as it is', async () => {
  const scene = new GroupScene();
  scene.lvmd = 'device-classes: [{name: ssd, volume-group: other, default: true}]';
  scene.group('vg1', { ...two, default: true });
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  const decoded = decodeLvmdFile({ file: 'lvmd.yaml', text: scene.lvmd });
  assert.ok(decoded.kind === 'lvmd');
  assert.deepEqual(
    decoded.spec.deviceClasses.map(({ name, isDefault }) => [name, isDefault]),
    [
      ['ssd', true],
      ['vg1', false],
    ],
  );
  const taken = new GroupScene();
  const before = 'device-classes: [{name: ssd, volume-group: vg1}]';
  taken.lvmd = before;
  taken.group('vg1', two);
  taken.start();
  await taken.until('told', () => taken.told('vg1')?.status === 'Degraded');
  assert.match(taken.told('vg1')?.reason ?? '', /it would be wrong: .*vg1/);
  assert.equal(taken.lvmd, before);
});

test('a group that somebody before us told of is never made twice, however long it is away', async () => {
  const scene = new GroupScene();
  const told = { name: 'vg1', devices: ['/dev/away'], deviceDiscoveryPolicy: 'RuntimeDynamic' };
  scene.report({ nodeStatus: [told] });
  scene.group('vg1', {}, { finalizers: [mark] });
  scene.start();
  await scene.until('told', () => scene.told('vg1')?.status === 'Failed');
  await scene.settle(300_000);
  assert.equal(scene.stage.world.vg('vg1'), undefined);
  assert.match(scene.told('vg1')?.reason ?? '', /VolumeGroupLost/);
  assert.deepEqual(scene.told('vg1')?.devices, ['/dev/away']);
});

test('why a class waits for its group stands in the report, and goes with it', async () => {
  const scene = new GroupScene();
  const { faults } = scene.stage.world;
  const stderr = 'Device /dev/sdb is excluded by a filter.';
  faults.always('vgcreate', { kind: 'fail', exitCode: 5, stderr });
  scene.group('vg1', { ...two, thinPoolConfig });
  scene.start();
  await scene.until('told', () => scene.told('vg1')?.status === 'Failed');
  assert.match(scene.told('vg1')?.reason ?? '', /^CommandFailed: .*excluded by a filter/s);
  faults.stop();
  faults.always('lvcreate', { kind: 'fail', exitCode: 5, stderr: 'no such luck' });
  await scene.until('the pool is told', () => scene.told('vg1')?.status === 'Degraded');
  assert.match(scene.told('vg1')?.reason ?? '', /^thin pool vg1\/pool: CommandFailed: .*luck/s);
  const lines = scene.log.filter(({ message }) => message.includes('luck')).length;
  await scene.settle(90_000);
  const later = scene.log.filter(({ message }) => message.includes('luck')).length;
  assert.equal(later, lines, 'and in the log once');
  faults.stop();
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.equal(scene.told('vg1')?.reason, undefined);
});

test('a node that cannot be looked at is told so', async () => {
  const scene = new GroupScene();
  scene.group('vg1', two);
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  scene.stage.world.faults.always('lvm', { kind: 'absent' });
  scene.change('vg1', { metadata: { labels: { a: 'b' } } });
  await scene.until('told', () => scene.told('vg1')?.status === 'Degraded');
  assert.match(scene.told('vg1')?.reason ?? '', /^CommandNotFound: /);
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb', '/dev/sdc']);
  scene.stage.world.faults.stop();
  await scene.until('ready', () => scene.isReady('vg1'));
});

test('a class whose name is too long for lvmd.yaml is told so, and keeps no other from it', async () => {
  const scene = new GroupScene();
  const long = `vg-${'x'.repeat(70)}`;
  scene.group(long, { deviceSelector: { paths: ['/dev/sdb'] } });
  scene.group('vg2', { deviceSelector: { paths: ['/dev/sdc'] } });
  scene.start();
  await scene.until('ready', () => scene.isReady('vg2'));
  await scene.until('told', () => scene.told(long)?.status === 'Degraded');
  assert.match(scene.told(long)?.reason ?? '', /name.*longer than 63 characters/);
  assert.deepEqual(scene.devicesOf(long), ['/dev/sdb'], 'what is there is left as it is');
});
