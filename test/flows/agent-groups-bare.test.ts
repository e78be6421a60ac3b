import assert from 'node:assert/strict';
import test from 'node:test';
import { GroupScene } from './agent-groups-scene.ts';

const going = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };

function labels(scene: GroupScene): readonly string[] {
  const { devices } = scene.stage.world.machine;
  return devices.filter(({ label }) => label !== undefined).map(({ path }) => path);
}

function isGone(scene: GroupScene): boolean {
  return (scene.object('vg1')?.metadata.finalizers ?? []).length === 0;
}

async function greedy(): Promise<GroupScene> {
  const scene = new GroupScene();
  scene.group('vg1', {});
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.equal(labels(scene).length, 3);
  return scene;
}

test('disks that nobody named are bare again when their class has gone', async () => {
  const scene = await greedy();
  scene.change('vg1', going);
  await scene.until('gone', () => isGone(scene));
  assert.deepEqual(labels(scene), []);
  assert.deepEqual([...scene.leaving], []);
});

test('an agent that is killed at any moment of a removal leaves bare disks', async () => {
  for (let turns = 1; turns < 400; turns += 23) {
    const scene = await greedy();
    scene.change('vg1', going);
    for (let turn = 0; turn < turns; turn += 1) await scene.pass(5);
    scene.kill();
    scene.start();
    await scene.until('gone', () => isGone(scene));
    assert.deepEqual(labels(scene), [], `after ${turns} turns`);
  }
});

test('a label that was not of the group stays', async () => {
  const scene = await greedy();
  const { world } = scene.stage;
  const [disk = ''] = labels(scene);
  world.admin.run('lvm', 'vgreduce', 'vg1', disk);
  scene.change('vg1', going);
  await scene.until('gone', () => isGone(scene));
  assert.deepEqual(labels(scene), [disk]);
});

test('no disk is taken while lvmd.yaml cannot be written', async () => {
  const scene = new GroupScene();
  scene.refusesLvmd = true;
  scene.group('vg1', {});
  scene.start();
  const why = /nothing is made, because it could not be served: .*lvmd\.yaml: read-only/;
  await scene.until('told', () => why.test(scene.told('vg1')?.reason ?? ''));
  assert.deepEqual(labels(scene), []);
  scene.refusesLvmd = false;
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.equal(labels(scene).length, 3);
});
