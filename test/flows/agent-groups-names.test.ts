import assert from 'node:assert/strict';
import test from 'node:test';
import { GroupScene } from './agent-groups-scene.ts';

const gib = 1024n ** 3n;
const named = (...paths: readonly string[]) => ({ deviceSelector: { paths } });

/** A rule of udev's gives the second disk a name of its own. */
function scene(): GroupScene {
  return new GroupScene([
    { path: '/dev/sda', sizeBytes: 4n * gib },
    { path: '/dev/sdb', sizeBytes: 4n * gib, links: ['/dev/fast', '/dev/disk/by-id/b'] },
  ]);
}

test('a disk is found by any link, wherever it is', async () => {
  const at = scene();
  at.group('vg1', named('/dev/fast'));
  at.start();
  await at.until('ready', () => at.isReady('vg1'));
  assert.deepEqual(at.devicesOf('vg1'), ['/dev/sdb']);
  assert.equal(at.told('vg1')?.warnings, undefined);
});

test('two classes that name one disk by two links do not get it, either of them', async () => {
  for (const other of ['/dev/sdb', '/dev/disk/by-id/b']) {
    const at = scene();
    at.group('vg1', named('/dev/fast'));
    at.group('vg2', named(other));
    at.start();
    await at.until('told', () => at.told('vg2')?.status === 'Failed');
    await at.until('told', () => at.told('vg1')?.status === 'Failed');
    assert.match(at.told('vg1')?.reason ?? '', /the volume group vg2 names it/);
    assert.match(at.told('vg2')?.reason ?? '', /the volume group vg1 names it/);
    await at.settle(60_000);
    assert.deepEqual(at.stage.world.vgs(), []);
  }
});

test('a class that names every disk it has by another link keeps them', async () => {
  const at = scene();
  at.group('vg1', named('/dev/sda', '/dev/sdb'));
  at.start();
  await at.until('ready', () => at.isReady('vg1'));
  const annotations = { 'release.devices.quarry.io/n1': '{"/dev/sdb":""}' };
  at.change('vg1', { metadata: { annotations }, spec: named('/dev/sda', '/dev/fast') });
  await at.until('the note has ended', () => {
    const { annotations: left = {} } = at.object('vg1')?.metadata ?? {};
    return Object.keys(left).length === 0;
  });
  assert.deepEqual(at.devicesOf('vg1'), ['/dev/sda', '/dev/sdb']);
});

test('nothing leaves while a name that must be there is not: it may be the same disk', async () => {
  const at = scene();
  at.group('vg1', named('/dev/sda', '/dev/sdb'));
  at.start();
  await at.until('ready', () => at.isReady('vg1'));
  const disk = at.stage.world.machine.device('/dev/sdb');
  assert.ok(disk !== undefined);
  disk.links = [];
  const annotations = { 'release.devices.quarry.io/n1': '{"/dev/sdb":""}' };
  at.change('vg1', { metadata: { annotations }, spec: named('/dev/sda', '/dev/fast') });
  await at.until('told', () => at.told('vg1')?.status === 'Degraded');
  assert.match(at.told('vg1')?.reason ?? '', /DeviceStays: .*\/dev\/fast/);
  await at.settle(60_000);
  assert.equal(at.stage.world.vg('vg1')?.pvs.length, 2);
  disk.links = ['/dev/fast'];
  await at.until('ready', () => at.isReady('vg1'));
  assert.deepEqual(at.devicesOf('vg1'), ['/dev/sda', '/dev/sdb']);
});
