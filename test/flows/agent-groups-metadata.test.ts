import assert from 'node:assert/strict';
import test from 'node:test';
import { plainDisks } from '../world/devices.ts';
import { GroupScene } from './agent-groups-scene.ts';

const gib = 1024n ** 3n;
const paths = (...names: readonly string[]) => ({
  deviceSelector: { paths: names.map((name) => `/dev/${name}`) },
});
const pool = { name: 'pool', overprovisionRatio: 10, sizePercent: 100 };

test('metadata without room to grow is told, and grows when a disk has come', async () => {
  const scene = new GroupScene(plainDisks(4, gib));
  scene.group('vg1', { ...paths('sdb'), thinPoolConfig: pool });
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  const wanted = { metadataSizeCalculationPolicy: 'Static', metadataSize: '32Mi' } as const;
  scene.change('vg1', { spec: { thinPoolConfig: { ...pool, ...wanted } } });
  await scene.until('told', () => (scene.told('vg1')?.warnings ?? []).length > 0);
  assert.ok(scene.isReady('vg1'), 'volumes are made in it as before');
  assert.match(
    scene.told('vg1')?.warnings?.join() ?? '',
    /^thin pool vg1\/pool has 4 MiB of metadata, and 32 MiB are wanted: .* 5\d MiB more than is free/,
  );
  const writes = scene.api.writes.length;
  await scene.settle(60_000);
  assert.equal(scene.api.writes.length, writes, 'it is told once');
  scene.change('vg1', { spec: paths('sdb', 'sdc') });
  await scene.until('it has grown', () => scene.told('vg1')?.warnings === undefined);
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.ok(scene.ran().includes('lvm lvextend'));
});
