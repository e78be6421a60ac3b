import assert from 'node:assert/strict';
import test from 'node:test';
import { makingTag } from '../../src/core/tags.ts';
import { LvmdScene, refusal } from './lvmd-scene.ts';

const raid = { deviceClass: 'mirror' };

async function begin(): Promise<LvmdScene> {
  const scene = await LvmdScene.begin();
  const thick = scene.classes.find(({ name }) => name === 'thick');
  assert.ok(thick !== undefined);
  const layout = { kind: 'raid1', mirrors: 1 } as const;
  scene.classes = [...scene.classes, { ...thick, name: 'mirror', layout, isDefault: false }];
  return scene;
}

test('a RAID carries its mark only until it is told', async () => {
  const scene = await begin();
  const { tags } = await scene.create('u1', { ...raid, tags: ['theirs'] });
  assert.deepEqual(tags.toSorted(), ['quarry', 'quarry.class=mirror', 'theirs']);
  assert.deepEqual(scene.runs(), ['lvcreate', 'lvchange']);
  assert.deepEqual(await scene.names('mirror'), ['u1']);
  const { uuid } = scene.lv('u1') ?? {};
  await scene.create('u1', raid);
  assert.equal(scene.lv('u1')?.uuid, uuid, 'the same one when it is asked for again');
});

for (const when of ['during', 'after'] as const) {
  for (const nth of [1, 2, 3]) {
    test(`a RAID cut off ${when} change ${nth} is listed whole or not at all, and made at last`, async () => {
      const scene = await begin();
      let left = nth;
      const isNth = ({ effect }: { readonly effect: string }) => {
        if (effect === 'changes') left -= 1;
        return effect === 'changes' && left === 0;
      };
      scene.stage.world.faults.next(isNth, { kind: 'crash', when });
      const request = { name: 'u1', ...raid, sizeBytes: 100n << 20n };
      void scene.callLv('createLV', request).catch(() => undefined);
      await scene.stage.world.clock.advance(120_000);
      scene.restart();
      await scene.run(scene.stage.engine.recover(['data']));
      await scene.run(scene.stage.engine.observe());
      const before = scene.lv('u1');
      const isMarked = before?.tags.includes(makingTag) ?? false;
      assert.equal(isMarked, nth === 1, 'the first change makes it');
      assert.deepEqual(await scene.names('mirror'), isMarked ? [] : ['u1']);
      const { tags } = await scene.create('u1', raid);
      assert.ok(!tags.includes(makingTag));
      assert.equal(
        scene.lv('u1')?.uuid === before?.uuid,
        !isMarked,
        'only an untold one is remade',
      );
      assert.deepEqual(await scene.names('mirror'), ['u1']);
    });
  }
}

test('a marked volume that is in use is not made anew', async () => {
  const scene = await begin();
  await scene.create('u1', raid);
  const { admin, machine } = scene.stage.world;
  admin.run('lvm', 'lvchange', '--addtag', makingTag, 'data/u1');
  const lv = scene.lv('u1');
  assert.ok(lv !== undefined);
  machine.table.add({
    ...{ mountPoint: '/pod', lv, number: `254:${machine.minorOf(lv)}`, node: undefined },
    ...{ fsType: 'ext4', source: '/dev/topolvm/u1', isReadOnly: false },
    fileSystem: { isReadOnly: false },
  });
  await scene.run(scene.stage.engine.observe());
  assert.match(await refusal(scene.create('u1', raid)), /VolumeInUse: data\/u1 is shown at \/pod/);
  assert.equal(scene.lv('u1')?.uuid, lv.uuid);
});
