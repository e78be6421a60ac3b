import assert from 'node:assert/strict';
import test from 'node:test';
import { bytes, MiB } from '../../src/base/bytes.ts';
import { readTag } from '../../src/core/tags.ts';
import { LvmdVolumes } from '../../src/csi/lvmd-volumes.ts';
import { path, TenantsScene } from './tenants-scene.ts';

const sizeOf = (mib: number) => bytes(BigInt(mib) * MiB);

/** A raw volume that CSI made and showed, and lvmd's socket beside it. */
async function rawVolume(policy?: 'full') {
  const scene = await TenantsScene.begin(policy);
  const { engine, publisher, node } = scene.stage;
  const wipe = policy === undefined ? {} : { wipePolicy: policy };
  const classes = () => node.deviceClasses.map((each) => ({ ...each, ...wipe }));
  const lvmd = new LvmdVolumes({ engine, publisher, classes });
  const resize = (mib: number) =>
    lvmd.resize({ name: 'id-1', className: 'thick', sizeBytes: sizeOf(mib) });
  await scene.run(scene.create('a', 100));
  await scene.run(scene.publish('id-1', 'raw'));
  return { scene, lvmd, resize };
}

test("a resize on lvmd's socket that fails leaves no note of growth", async () => {
  const { scene, resize } = await rawVolume();
  scene.stage.world.faults.next('lvextend', { kind: 'fail' }, 2);
  await assert.rejects(scene.run(resize(700)));
  assert.equal(readTag(scene.lv('id-1').tags, 'grownFrom'), undefined);
  scene.stage.world.admin.run('lvm', 'lvextend', '--size', '700m', 'data/id-1');
  scene.stage.world.write(scene.lv('id-1'), 300 * Number(MiB), 4096);
  const before = scene.lv('id-1').content;
  assert.equal(await scene.run(resize(700)), sizeOf(700));
  assert.deepEqual(scene.lv('id-1').content, before, 'what the administrator wrote is there');
});

test('whoever was told of the new size on one socket is not zeroed by the other', async () => {
  for (const first of ['csi', 'lvmd'] as const) {
    const { scene, resize } = await rawVolume();
    scene.stage.world.faults.next('dd', { kind: 'slow', ms: 60_000 });
    const asked = {
      csi: (): Promise<unknown> => scene.expand('id-1', 700),
      lvmd: (): Promise<unknown> => resize(700),
    };
    const slow = asked[first]();
    await scene.stage.world.clock.advance(10_000);
    await scene.run(asked[first === 'csi' ? 'lvmd' : 'csi']());
    assert.deepEqual(scene.leftIn('id-1'), [], first);
    scene.stage.world.write(scene.lv('id-1'), 150 * Number(MiB), 4096);
    const before = scene.lv('id-1').content;
    await scene.run(slow);
    await scene.stage.world.clock.advance(120_000);
    assert.deepEqual(scene.lv('id-1').content, before, first);
  }
});

test('a create that was overtaken by a delete makes no second volume under the old id', async () => {
  for (let turns = 0; turns < 40; turns += 1) {
    const scene = await TenantsScene.begin();
    await scene.run(scene.create('a', 100));
    const { uuid } = scene.lv('id-1');
    const removed = scene.volumes.remove('volume', 'id-1');
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    const again = scene.create('a', 100);
    await scene.run(Promise.all([removed, again]));
    const left = scene.stage.world.lv('data', 'id-1');
    assert.ok(left === undefined || left.uuid === uuid, `after ${turns} turns`);
  }
});

test('a create that nobody waits for any more makes nothing after the delete', async () => {
  for (let turns = 0; turns < 40; turns += 1) {
    const scene = await TenantsScene.begin();
    await scene.run(scene.create('a', 100));
    const leave = new AbortController();
    const again = scene.create('a', 100, {}, leave.signal).catch(() => undefined);
    const removed = scene.volumes.remove('volume', 'id-1');
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    leave.abort();
    await scene.run(Promise.all([removed, again]));
    await scene.stage.world.clock.advance(10_000);
    assert.deepEqual(
      (await scene.run(scene.volumes.records())).map(({ id }) => id),
      [],
      `after ${turns} turns`,
    );
  }
});

test('creates that were left before their turn came make nothing after the delete', async () => {
  const scene = await TenantsScene.begin();
  await scene.run(scene.create('a', 100));
  const leave = new AbortController();
  const again = [1, 2, 3].map(() =>
    scene.create('a', 100, {}, leave.signal).catch((error: unknown) => error),
  );
  leave.abort();
  await scene.run(scene.volumes.remove('volume', 'id-1'));
  await scene.run(Promise.all(again));
  await scene.stage.world.clock.advance(10_000);
  assert.deepEqual(await scene.run(scene.volumes.records()), []);
});

test('a volume is removed on one socket when the other has ended what it does with it', async () => {
  const { scene, lvmd } = await rawVolume();
  await scene.stage.unpublish({ vg: 'data', name: 'id-1', uuid: scene.lv('id-1').uuid }, path);
  scene.stage.world.faults.next('dd', { kind: 'slow', ms: 30_000 });
  const ended: string[] = [];
  const grown = scene.expand('id-1', 200).then(() => ended.push('grown'));
  await scene.stage.world.clock.advance(5_000);
  const removed = lvmd.remove({ name: 'id-1', className: 'thick' });
  await scene.run(Promise.all([grown, removed.then(() => ended.push('removed'))]));
  assert.deepEqual(ended, ['grown', 'removed']);
});

test("under the wipe policy full lvmd's socket does not show what a raw volume grows by either", async () => {
  const { scene, resize } = await rawVolume('full');
  await assert.rejects(scene.run(resize(700)), { code: 'VolumeInUse', message: /stop its pod/ });
  assert.equal(scene.lv('id-1').extents, 25);
});
