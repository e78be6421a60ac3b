import assert from 'node:assert/strict';
import test from 'node:test';
import { MiB } from '../../src/base/bytes.ts';
import { ownerTag, pendingTag, rawTag } from '../../src/core/tags.ts';
import { volumeTask } from '../../src/engine/tasks.ts';
import { absence } from './publishing.ts';
import { path, TenantsScene } from './tenants-scene.ts';

const moments = ['before', 'during', 'after'] as const;
const mib = Number(MiB);

test('a raw volume, what it grows by while it is shown, and a larger clone hold nothing old', async () => {
  const scene = await TenantsScene.begin();
  await scene.run(scene.create('a', 100));
  assert.ok(scene.leftIn('id-1').length > 0);
  await scene.run(scene.publish('id-1', 'raw'));
  assert.deepEqual(scene.leftIn('id-1'), []);
  scene.stage.world.write(scene.lv('id-1'), 4096, 4096);
  const before = scene.lv('id-1').content;
  const grown = await scene.run(scene.expand('id-1', 700));
  assert.equal(grown.sizeBytes, 700n * MiB);
  assert.deepEqual(scene.leftIn('id-1'), []);
  assert.deepEqual(scene.lv('id-1').content, before);
  assert.deepEqual(
    grown.lv.tags.filter((tag) => /grown|pending/.test(tag)),
    [],
  );
  const source = { kind: 'volume', id: 'id-1' } as const;
  await scene.run(scene.create('b', 1200, { source }));
  assert.deepEqual(scene.leftIn('id-2'), []);
  assert.deepEqual(scene.lv('id-2').content, before);
});

test('a raw volume whose growth dies at any step grows when it is asked again', async () => {
  for (const when of moments) {
    for (let nth = 1; ; nth += 1) {
      const scene = await rawVolume();
      const before = scene.lv('id-1').content;
      const isDead = await scene.dies(nth, when, () => scene.expand('id-1', 700));
      if (!isDead) {
        assert.ok(nth > 7, `${nth} changes`);
        break;
      }
      await scene.restart();
      await scene.run(scene.expand('id-1', 700));
      assert.deepEqual(scene.leftIn('id-1'), [], `${when} ${nth}`);
      assert.deepEqual(scene.lv('id-1').content, before, `${when} ${nth}`);
      assert.deepEqual(marksOf(scene), [], `${when} ${nth}`);
    }
  }
});

test('a raw volume whose growth died at any step is shown only once its end is zeroed', async () => {
  for (const when of moments) {
    for (let nth = 1; nth <= 8; nth += 1) {
      const scene = await rawVolume();
      const isDead = await scene.dies(nth, when, () => scene.expand('id-1', 700));
      if (isDead) await scene.restart();
      const shown = { ...(await scene.run(scene.volumes.locate('id-1'))).volume };
      await scene.run(scene.stage.publisher.unpublish(absence(shown, path)));
      const published = scene.run(scene.publish('id-1', 'raw', '/pods/b/volume'));
      if (scene.leftIn('id-1').length > 0) {
        await assert.rejects(published, { code: 'GrowthUnfinished', message: /--deltag/ });
        await scene.run(scene.expand('id-1', 700));
        await scene.run(scene.publish('id-1', 'raw', '/pods/b/volume'));
      } else await published.catch(() => undefined);
      await scene.run(scene.expand('id-1', 700));
      assert.deepEqual(scene.leftIn('id-1'), [], `${when} ${nth}`);
      assert.deepEqual(marksOf(scene), [], `${when} ${nth}`);
    }
  }
});

test('growth that is asked for twice, and a publish beside it, zero no block twice', async () => {
  const scene = await rawVolume();
  const seen = scene.stage.world.destroyed.length;
  const calls = [
    scene.expand('id-1', 700),
    scene.expand('id-1', 700),
    scene.publish('id-1', 'raw', '/pods/b/volume').catch(() => undefined),
  ];
  await scene.run(Promise.all(calls));
  const zeroed = scene.stage.world.destroyed.slice(seen).filter(({ deed }) => deed === 'zeroout');
  assert.equal(zeroed.length, 3);
  assert.deepEqual(scene.leftIn('id-1'), []);
});

test('a larger clone that dies at any step is complete only once its end is zeroed', async () => {
  const source = { kind: 'volume', id: 'id-1' } as const;
  for (const when of moments) {
    for (let nth = 1; ; nth += 1) {
      const scene = await rawVolume();
      const isDead = await scene.dies(nth, when, () => scene.create('b', 500, { source }));
      if (isDead) await scene.restart();
      const { id } = await scene.run(scene.create('b', 500, { source }));
      assert.deepEqual(scene.leftIn(id), [], `${when} ${nth}`);
      assert.deepEqual(scene.lv(id).content, scene.lv('id-1').content, `${when} ${nth}`);
      if (isDead) continue;
      assert.ok(nth > 7, `${nth} changes`);
      break;
    }
  }
});

test('full: a volume is zeroed before a file system is made, whenever we die', async () => {
  for (const when of moments) {
    for (let nth = 1; ; nth += 1) {
      const scene = await TenantsScene.begin('full');
      await scene.run(scene.create('a', 400));
      const isDead = await scene.dies(nth, when, () => scene.publish('id-1', 'ext4'));
      if (isDead) await scene.restart();
      await scene.run(scene.publish('id-1', 'ext4'));
      assert.deepEqual(scene.leftIn('id-1'), [], `${when} ${nth}`);
      assert.deepEqual(marksOf(scene), [], `${when} ${nth}`);
      const deeds = scene.stage.world.destroyed.map(({ deed }) => deed);
      assert.ok(deeds.lastIndexOf('zeroout') < deeds.indexOf('mkfs'), deeds.join());
      if (isDead) continue;
      assert.ok(nth > 5, `${nth} changes`);
      break;
    }
  }
});

test('a file system is made on what is not zeroed where nobody asked for more', async () => {
  for (const policy of [undefined, 'zero', 'discard'] as const) {
    const scene = await TenantsScene.begin(policy);
    await scene.run(scene.create('a', 400));
    scene.stage.ran.length = 0;
    await scene.run(scene.publish('id-1', 'ext4'));
    assert.deepEqual(scene.lvmRuns(), ['lvchange']);
  }
});

test('full: a raw volume grows only while it is shown nowhere', async () => {
  const scene = await rawVolume('full');
  await assert.rejects(scene.run(scene.expand('id-1', 700)), {
    code: 'VolumeInUse',
    message: /\/pods\/a\/volume: the wipe policy full .* shown nowhere; stop its pod first/,
  });
  assert.equal(scene.lv('id-1').extents * scene.lv('id-1').vg.extentBytes, 100 * mib);
  assert.deepEqual(marksOf(scene), []);
  const { volume } = await scene.run(scene.volumes.locate('id-1'));
  await scene.run(scene.stage.publisher.unpublish(absence(volume, path)));
  await scene.run(scene.expand('id-1', 700));
  assert.deepEqual(scene.leftIn('id-1'), []);
  await scene.run(scene.publish('id-1', 'raw'));
});

for (const policy of ['zero', 'discard', 'full'] as const) {
  test(`${policy}: the blocks of a removed volume are ${policy === 'discard' ? '' : 'not '}passed on`, async () => {
    const scene = await TenantsScene.begin(policy);
    for (const className of ['thick', 'thin']) {
      const { id } = await scene.run(scene.create(className, 100, { className }));
      scene.stage.ran.length = 0;
      await scene.run(scene.volumes.remove('volume', id));
      assert.deepEqual(scene.lvmRuns(), ['lvremove']);
      const isDiscarded = policy === 'discard' && className === 'thick' ? true : undefined;
      assert.equal(scene.stage.world.destroyed.at(-1)?.isDiscarded, isDiscarded);
    }
  });
}

test('what cost one lvm run costs one, and a later publish none', async () => {
  const scene = await TenantsScene.begin();
  const costs = async (work: () => Promise<unknown>) => {
    scene.stage.ran.length = 0;
    await scene.run(work());
    return scene.lvmRuns();
  };
  assert.deepEqual(await costs(() => scene.create('a', 400)), ['lvcreate']);
  assert.deepEqual(await costs(() => scene.publish('id-1', 'ext4')), ['lvchange']);
  assert.deepEqual(await costs(() => scene.expand('id-1', 500)), ['lvextend']);
  await scene.run(scene.create('b', 400, { className: 'thin' }));
  assert.deepEqual(await costs(() => scene.publish('id-2', 'raw', '/b')), ['lvchange']);
  assert.deepEqual(await costs(() => scene.expand('id-2', 500)), ['lvextend']);
  assert.deepEqual(await costs(() => scene.publish('id-2', 'raw', '/c')), []);
});

test('a clone of a raw volume says so once it is complete, and is shown without a run', async () => {
  const scene = await rawVolume();
  const source = { kind: 'volume', id: 'id-1' } as const;
  await scene.run(scene.create('b', 100, { source }));
  assert.ok(scene.lv('id-2').tags.includes(rawTag));
  scene.stage.ran.length = 0;
  await scene.run(scene.publish('id-2', 'raw', '/pods/b'));
  assert.deepEqual(scene.lvmRuns(), []);
  await scene.run(scene.expand('id-2', 200));
  assert.deepEqual(scene.leftIn('id-2'), []);
});

test('a clone of what was never raw says that it is raw once it is shown', async () => {
  const scene = await TenantsScene.begin();
  const { id } = await scene.run(scene.create('a', 100));
  await scene.run(scene.publish(id, 'ext4', '/pods/a'));
  await scene.run(scene.create('b', 100, { source: { kind: 'volume', id } }));
  assert.ok(!scene.lv('id-2').tags.includes(rawTag));
  for (const runs of [['lvchange'], []]) {
    scene.stage.ran.length = 0;
    await scene.run(scene.publish('id-2', 'raw', `/pods/${runs.length}`));
    assert.deepEqual(scene.lvmRuns(), runs);
  }
  const before = scene.leftIn('id-2');
  await scene.run(scene.expand('id-2', 200));
  assert.deepEqual(scene.leftIn('id-2'), before);
});

test('a volume that others made grows as it did, and nothing of it is overwritten', async () => {
  const scene = await rawVolume();
  const lv = scene.lv('id-1');
  for (const tags of [[rawTag], [ownerTag]]) {
    lv.tags = tags;
    await scene.run(scene.stage.engine.observe());
    const { destroyed } = scene.stage.world;
    const count = destroyed.length;
    const grown = scene.stage.volume('id-1', 'thick', 100 + 50 * (tags.length + count));
    const task = { ...grown, isAdopted: true };
    const outcome = await scene.run(scene.stage.engine.submit(volumeTask(task)));
    assert.equal(outcome.kind, 'settled');
    assert.equal(destroyed.length, count);
  }
});

async function rawVolume(policy?: 'full'): Promise<TenantsScene> {
  const scene = await TenantsScene.begin(policy);
  await scene.run(scene.create('a', 100));
  await scene.run(scene.publish('id-1', 'raw'));
  scene.stage.world.write(scene.lv('id-1'), 99 * mib, mib);
  return scene;
}

function marksOf(scene: TenantsScene): readonly string[] {
  const { tags } = scene.lv('id-1');
  return tags.filter((tag) => tag === pendingTag || /zeroed|grown-from/.test(tag));
}
