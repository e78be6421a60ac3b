import assert from 'node:assert/strict';
import test from 'node:test';
import { MiB } from '../../src/base/bytes.ts';
import { desiredGrowth } from '../../src/core/publication/growth.ts';
import { isBlocked } from '../../src/core/usable-vg.ts';
import { virtualBytes } from '../world/model.ts';
import { AgentScene } from './agent-scene.ts';
import { mounted, stepsOf, target } from './publishing.ts';

/** A volume that TopoLVM made, and its object says so. */
async function adopted(deviceClass: 'thick' | 'thin'): Promise<{ scene: AgentScene; uid: string }> {
  const scene = await AgentScene.begin();
  const { uid } = scene.put('pvc-old', { deviceClass }).metadata;
  const size = deviceClass === 'thin' ? ['--virtualsize', '104857600b'] : ['--size', '104857600b'];
  const where =
    deviceClass === 'thin' ? ['--type', 'thin', '--thinpool', 'pool', 'data'] : ['data'];
  scene.lvcreate(...size, '--name', uid, ...where);
  scene.put('pvc-old', { deviceClass, status: { volumeID: uid, currentSize: '100Mi' } });
  await scene.stage.run(scene.stage.engine.observe());
  return { scene, uid };
}

const isMade = (scene: AgentScene, name: string) => () =>
  (scene.object(name).status?.volumeID ?? '') !== '';

/** TopoLVM's own `lvcreate -s -k n`, after which it was killed. */
function halfMade(
  scene: AgentScene,
  name: string,
  source: string,
  accessType: 'ro' | 'rw',
): string {
  const { uid } = scene.put(name, {
    ...{ deviceClass: 'thin', source: 'pvc-old', accessType },
    size: accessType === 'rw' ? '200Mi' : '100Mi',
  }).metadata;
  scene.lvcreate('--snapshot', '--setactivationskip', 'n', '--name', uid, `data/${source}`);
  return uid;
}

test('TopoLVM was killed before its snapshot was read-only: it becomes so before anybody is told', async () => {
  const { scene, uid } = await adopted('thin');
  halfMade(scene, 'snap', uid, 'ro');
  await scene.stage.run(scene.stage.engine.observe());
  const before = scene.lv('snap')?.uuid;
  assert.equal(scene.lv('snap')?.isReadOnly, false);
  scene.start();
  await scene.until('told', isMade(scene, 'snap'));
  assert.equal(scene.lv('snap')?.isReadOnly, true);
  assert.equal(scene.lv('snap')?.uuid, before, 'it is the one that was taken');
  assert.equal(scene.object('snap').status?.currentSize, '100Mi');
});

test('TopoLVM was killed before its clone was as large as asked for: it grows, and is told then', async () => {
  const { scene, uid } = await adopted('thin');
  halfMade(scene, 'clone', uid, 'rw');
  await scene.stage.run(scene.stage.engine.observe());
  scene.start();
  await scene.until('told', isMade(scene, 'clone'));
  assert.equal(scene.object('clone').status?.currentSize, '200Mi');
  assert.equal(scene.lv('clone')?.isReadOnly, false);
});

test('a snapshot and a clone of a volume that TopoLVM made', async () => {
  const { scene } = await adopted('thin');
  scene.start();
  const from = { deviceClass: 'thin', source: 'pvc-old' };
  scene.put('snap', { ...from, accessType: 'ro' });
  scene.put('clone', { ...from, accessType: 'rw', size: '200Mi' });
  await scene.until('told', () => isMade(scene, 'snap')() && isMade(scene, 'clone')());
  assert.equal(virtualBytes(scene.lv('clone') ?? assert.fail()), 209715200);
  for (const name of ['snap', 'clone', 'pvc-old']) scene.delete(name);
  await scene.until('gone', () =>
    ['snap', 'clone', 'pvc-old'].every((name) => scene.lv(name) === undefined),
  );
});

test('trap 14: a volume of TopoLVM without a file system is not formatted: nothing says that it is empty', async () => {
  const { scene, uid } = await adopted('thick');
  scene.start();
  const { volume } = await scene.volumes.locate(uid);
  const lv = scene.lv('pvc-old') ?? assert.fail();
  assert.equal(scene.stage.world.write(lv, 0, 4096), undefined);
  const outcome = await scene.stage.publish(volume, { access: mounted('ext4') });
  assert.equal(outcome.kind === 'blocked' && outcome.code, 'VolumeHoldsData');
  assert.deepEqual(stepsOf(scene.stage).includes('format-lv'), false);
});

test('a mount through /dev/topolvm is as good as ours, and its file system grows', async () => {
  const { scene, uid } = await adopted('thick');
  scene.start();
  const { world } = scene.stage;
  world.admin.run('mkfs.ext4', '-F', `/dev/mapper/data-${uid.replaceAll('-', '--')}`);
  const { volume } = await scene.volumes.locate(uid);
  const shown = await scene.stage.publish(volume, { access: mounted('ext4') });
  assert.equal(shown.kind, 'settled');
  const [mount] = world.machine.table.mounts;
  assert.ok(mount !== undefined);
  (mount as { source: string }).source = `/dev/topolvm/${uid}`;
  scene.stage.ran.length = 0;
  const again = await scene.stage.publish(volume, { access: mounted('ext4') });
  assert.equal(again.kind, 'settled');
  assert.equal(scene.stage.mountsAt(target), 1, 'nothing is mounted over it');
  scene.change('pvc-old', { spec: { size: '200Mi' } });
  await scene.until('grown', () => scene.object('pvc-old').status?.currentSize === '200Mi');
  const growth = desiredGrowth({ volume, targetPath: target });
  assert.ok(!isBlocked(growth));
  const grown = await scene.stage.run(scene.stage.publisher.grow(growth));
  assert.equal(grown.kind, 'settled');
  assert.ok(stepsOf(scene.stage).includes('grow-file-system'), stepsOf(scene.stage).join());
  assert.equal((await scene.volumes.locate(uid)).lv.sizeBytes, 200n * MiB);
});

test('a default class that is another one by now strands no volume of the old one', async () => {
  const { scene, uid } = await adopted('thick');
  scene.put('pvc-old', { deviceClass: '', status: { volumeID: uid, currentSize: '100Mi' } });
  scene.start();
  scene.change('pvc-old', { spec: { size: '200Mi' } });
  await scene.until('grown', () => scene.object('pvc-old').status?.currentSize === '200Mi');
  scene.delete('pvc-old');
  await scene.until('gone', () => scene.lv('pvc-old') === undefined);
});
