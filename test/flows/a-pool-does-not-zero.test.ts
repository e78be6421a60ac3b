import assert from 'node:assert/strict';
import test from 'node:test';
import { StandaloneScene, thick, thin } from './standalone-scene.ts';

const withPolicy = (policy: string) => thin.replace('default: true', `wipe-policy: ${policy}`);

for (const policy of ['zero', 'full']) {
  test(`trap 13: ${policy}: nothing is made in a pool that does not zero, until it does`, async (t) => {
    const scene = await StandaloneScene.begin(t);
    scene.stage.world.admin.run('lvm', 'lvchange', '--zero', 'n', 'data/pool');
    await scene.write(scene.config(thick, withPolicy(policy)));
    await scene.start();
    const client = scene.client(t);
    const refused = await scene.make(client, 'u1', 'thin');
    assert.match(refused, /does not zero new blocks: `lvchange --zero y data\/pool` makes it/);
    assert.equal(await scene.make(client, 'u2', 'thick'), 'made');
    const { refused: classes } = scene.standalone.configuration.state;
    assert.deepEqual(
      classes.map(({ name }) => name),
      ['thin'],
    );
    scene.stage.world.admin.run('lvm', 'lvchange', '--zero', 'y', 'data/pool');
    await scene.until(() => scene.standalone.configuration.state.refused.length === 0);
    assert.equal(await scene.make(client, 'u1', 'thin'), 'made');
  });
}

test('a pool that does not zero is told of once where nothing was promised', async (t) => {
  const scene = await StandaloneScene.begin(t);
  scene.stage.world.admin.run('lvm', 'lvchange', '--zero', 'n', 'data/pool');
  await scene.write(scene.config(thick, thin));
  await scene.start();
  for (let nth = 0; nth < 3; nth += 1) await scene.standalone.engine.observe();
  const told = scene.log.filter(({ message }) => message.includes('lvchange --zero y data/pool'));
  assert.deepEqual(
    told.map(({ level }) => level),
    ['warn'],
  );
  assert.equal(await scene.make(scene.client(t), 'u1', 'thin'), 'made');
});
