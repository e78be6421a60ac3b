import assert from 'node:assert/strict';
import test from 'node:test';
import { blocked } from '../../src/base/failures.ts';
import { GroupScene } from './agent-groups-scene.ts';

const skew = blocked('VersionSkew', 'they do not go together');
const paths = (...names: readonly string[]) => ({
  deviceSelector: { paths: names.map((name) => `/dev/${name}`) },
});

/** A group that is served, one that is asked for now, and an operator of another kind. */
async function skewed(): Promise<GroupScene> {
  const scene = new GroupScene();
  scene.group('vg1', paths('sdb'));
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  scene.skew = skew;
  scene.stage.ran.length = 0;
  return scene;
}

function changes(scene: GroupScene): readonly string[] {
  const looks = /fullreport|lvmconfig|lsblk|blkid|wipefs --no-act|dmsetup|pvs|vgs|lvs/;
  return scene.ran().filter((words) => !looks.test(words));
}

test('on skew no group is made, grown or taken away, and each says why', async () => {
  const scene = await skewed();
  const { lvmd } = scene;
  scene.change('vg1', { spec: paths('sdb', 'sdc') });
  scene.group('vg2', paths('sda'));
  await scene.until('it is told', () => scene.told('vg2')?.status === 'Failed');
  await scene.settle(60_000);
  assert.deepEqual(changes(scene), []);
  assert.equal(scene.told('vg1')?.status, 'Degraded');
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb']);
  for (const name of ['vg1', 'vg2']) {
    assert.equal(scene.told(name)?.reason, 'VersionSkew: they do not go together');
  }
  assert.equal(scene.lvmd, lvmd);

  scene.skew = undefined;
  scene.change('vg1', { metadata: { labels: { look: 'again' } } });
  await scene.until('both are ready', () => scene.isReady('vg1') && scene.isReady('vg2'));
  assert.deepEqual(scene.devicesOf('vg1'), ['/dev/sdb', '/dev/sdc']);
});

test('on skew a group that was deleted stays until it is over', async () => {
  const scene = await skewed();
  scene.change('vg1', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
  await scene.until('it is told', () => /VersionSkew/.test(scene.told('vg1')?.reason ?? ''));
  await scene.settle(60_000);
  assert.deepEqual(changes(scene), []);
  assert.notEqual(scene.stage.world.vg('vg1'), undefined);
  assert.notDeepEqual(scene.object('vg1')?.metadata.finalizers ?? [], []);

  scene.skew = undefined;
  await scene.until('it is gone', () => scene.stage.world.vg('vg1') === undefined);
});
