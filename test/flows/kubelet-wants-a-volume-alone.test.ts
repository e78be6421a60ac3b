import assert from 'node:assert/strict';
import test from 'node:test';
import { VolumeCapability_AccessMode_Mode as Mode } from '../../src/csi/generated/csi.ts';
import { NodeScene } from './node-scene.ts';

const alone = { mode: Mode.SINGLE_NODE_SINGLE_WRITER };
const first = '/pods/p1/mount';
const second = '/pods/p2/mount';

async function ready(): Promise<NodeScene> {
  const scene = await NodeScene.begin();
  await scene.stage.make('db');
  return scene;
}

for (const isRaw of [false, true]) {
  const kind = isRaw ? 'raw device' : 'file system';
  test(`of two pods that want a ${kind} alone at once, one gets it`, async () => {
    const scene = await ready();
    const results = await scene.run(
      Promise.allSettled([
        scene.publish('db', { ...alone, isRaw, path: first }),
        scene.publish('db', { ...alone, isRaw, path: second }),
      ]),
    );
    assert.deepEqual(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
    const refused = results.find((result) => result.status === 'rejected');
    assert.equal(refused?.reason.code, 'VolumeInUse');
    assert.match(refused.reason.message, /\/pods\/p1\/mount/);
    assert.equal(scene.stage.mountsAt(first) + scene.stage.mountsAt(second), 1);
  });
}

test('whoever has a volume alone may ask again, and the next one gets it when it is free', async () => {
  const scene = await ready();
  await scene.run(scene.publish('db', { ...alone, path: first }));
  await scene.run(scene.publish('db', { ...alone, path: first }));
  // Kubelet binds parts of a volume elsewhere for `subPath`, and asks again after a restart.
  scene.stage.world.machine.table.paths.set('/sub', 'directory');
  scene.stage.world.admin.run('mount', '--options', 'bind', first, '/sub');
  await scene.run(scene.publish('db', { ...alone, path: first }));
  scene.stage.world.admin.run('umount', '/sub');
  await scene.run(scene.unpublish('db', first));
  await scene.run(scene.publish('db', { ...alone, path: second }));
  assert.equal(scene.stage.mountsAt(second), 1);
});
