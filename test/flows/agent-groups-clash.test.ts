import assert from 'node:assert/strict';
import test from 'node:test';
import { GroupScene } from './agent-groups-scene.ts';

const lvmd = 'device-classes: [{name: vg1, volume-group: data, default: true}]\n';

/** An administrator serves a group of his own under the name that a class gets. */
function scene(): GroupScene {
  const at = new GroupScene();
  at.stage.world.admin.run('lvm', 'vgcreate', 'data', '/dev/sda');
  at.lvmd = lvmd;
  at.group('vg1', {
    deviceSelector: { paths: ['/dev/sdb'] },
    thinPoolConfig: { name: 'pool', overprovisionRatio: 10 },
  });
  return at;
}

const reason = 'lvmd.yaml gives vg1 from data: rename one of them';

test('a class of the name of an administrator’s is not Ready, and says what to do', async () => {
  const at = scene();
  at.start();
  await at.until('told', () => at.told('vg1')?.reason === reason);
  await at.settle(40_000);
  assert.equal(at.told('vg1')?.status, 'Degraded');
  assert.equal(at.lvmd, lvmd);
});

test('another class is served beside it, and the administrator’s stays the default', async () => {
  const at = scene();
  at.group('vg2', { default: true, deviceSelector: { paths: ['/dev/sdc'] } });
  at.start();
  await at.until('ready', () => at.isReady('vg2'));
  await at.until('told', () => at.told('vg1')?.reason === reason);
  assert.match(at.lvmd ?? '', /name: vg1\n +volume-group: data\n +default: true\n/);
  assert.match(at.lvmd ?? '', /name: vg2\n +volume-group: vg2\n +default: false\n/);
});

test('when the class goes, the administrator’s stays', async () => {
  const at = scene();
  at.start();
  await at.until('told', () => at.told('vg1')?.reason === reason);
  at.change('vg1', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
  await at.until('gone', () => at.object('vg1') === undefined);
  assert.equal(at.lvmd, lvmd);
  const left = at.stage.world.vgs().map(({ name }) => name);
  assert.deepEqual(left, ['data']);
});

test('a name that the administrator gives free is served', async () => {
  const at = scene();
  at.start();
  await at.until('told', () => at.told('vg1')?.reason === reason);
  at.lvmd = lvmd.replace('name: vg1', 'name: mine');
  await at.until('ready', () => at.isReady('vg1'));
  assert.match(at.lvmd, /name: mine\n +volume-group: data\n +default: true\n/);
  assert.match(at.lvmd, /name: vg1\n +volume-group: vg1\n +default: false\n +type: thin\n/);
});
