import assert from 'node:assert/strict';
import test from 'node:test';
import { plainDisks } from '../world/devices.ts';
import { GroupScene } from './agent-groups-scene.ts';

const gib = 1024n ** 3n;
const onSdb = { deviceSelector: { paths: ['/dev/sdb'] } };
const pool = { name: 'pool', overprovisionRatio: 10 };
const raised =
  /^thin pool vg1\/pool has chunks of 256 KiB, not of 128 KiB as asked for: .* 31\.75 TiB/;

test('chunks that cannot address the pool are raised, and both sizes are told', async () => {
  const scene = new GroupScene(plainDisks(2, 40n * 1024n * gib));
  scene.group('vg1', { ...onSdb, thinPoolConfig: { ...pool, chunkSize: '128Ki' } });
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.match(scene.told('vg1')?.warnings?.join() ?? '', raised);
  const { argv = [] } = scene.stage.ran.find(({ argv: [, verb] }) => verb === 'lvcreate') ?? {};
  assert.ok(argv.join(' ').includes(`--chunksize ${256 * 1024}b`), argv.join(' '));
});

test('the pool that is there keeps its chunks, however large its group becomes', async () => {
  const scene = new GroupScene(plainDisks(3, 20n * 1024n * gib));
  scene.group('vg1', { ...onSdb, thinPoolConfig: { ...pool, chunkSize: '128Ki' } });
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  scene.change('vg1', { spec: { deviceSelector: { paths: ['/dev/sdb', '/dev/sdc'] } } });
  await scene.until('extended', () => scene.devicesOf('vg1').length === 2);
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.equal(scene.told('vg1')?.warnings, undefined);
  assert.equal(scene.ran().filter((words) => words === 'lvm lvcreate').length, 1);
});
