import assert from 'node:assert/strict';
import test from 'node:test';
import { DiskCaches } from '../world/caches.ts';
import { AgentScene, logicalVolumes } from './agent-scene.ts';

/** Disks that forget in a power cut whatever was not flushed. */
async function forgetful(): Promise<AgentScene> {
  const scene = await AgentScene.begin();
  const { world } = scene.stage;
  world.machine.caches = new DiskCaches(world.machine);
  world.chance.happens = () => true;
  scene.start();
  return scene;
}

/** The agent dies right after the effect of a command, before it can do anything about it. */
async function diesAfter(scene: AgentScene, program: string): Promise<void> {
  const { world } = scene.stage;
  world.faults.next(program, { kind: 'crash', when: 'after' });
  const before = world.spawns.get(`lvm ${program}`) ?? 0;
  await scene.until(program, () => (world.spawns.get(`lvm ${program}`) ?? 0) > before);
  await scene.settle();
  scene.kill();
  await scene.recover();
  scene.start();
}

const isMade = (scene: AgentScene, name: string) => () =>
  (scene.object(name).status?.volumeID ?? '') !== '';

for (const deviceClass of ['thick', 'thin']) {
  test(`a ${deviceClass} volume that an earlier life made is kept before it is told of`, async () => {
    const scene = await forgetful();
    scene.put('pvc-1', { deviceClass });
    await diesAfter(scene, 'lvcreate');
    await scene.until('told', isMade(scene, 'pvc-1'));
    scene.stage.world.cutPower();
    assert.notEqual(scene.lv('pvc-1'), undefined);
  });

  test(`a ${deviceClass} volume that an earlier life removed is gone for good before it is let go`, async () => {
    const scene = await forgetful();
    scene.put('pvc-1', { deviceClass });
    await scene.until('made', isMade(scene, 'pvc-1'));
    const name = scene.lv('pvc-1')?.name ?? '';
    scene.delete('pvc-1');
    await diesAfter(scene, 'lvremove');
    await scene.until('let go', () => scene.api.one(logicalVolumes, 'pvc-1') === undefined);
    scene.stage.world.cutPower();
    assert.equal(scene.stage.world.lv('data', name), undefined);
  });
}

test('a volume that an earlier life grew is kept as large before that is told', async () => {
  const scene = await forgetful();
  scene.put('pvc-1');
  await scene.until('made', isMade(scene, 'pvc-1'));
  scene.change('pvc-1', { spec: { size: '200Mi' } });
  await diesAfter(scene, 'lvextend');
  await scene.until('told', () => scene.object('pvc-1').status?.currentSize === '200Mi');
  scene.stage.world.cutPower();
  assert.equal(scene.lv('pvc-1')?.extents, 50);
});
