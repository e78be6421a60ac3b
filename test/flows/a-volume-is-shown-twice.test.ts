import assert from 'node:assert/strict';
import test from 'node:test';
import { dmName } from '../../src/api/lv-name.ts';
import { MiB } from '../../src/base/bytes.ts';
import { volumeTask } from '../../src/engine/tasks.ts';
import { absence, mounted, PublishingStage, raw, stepsOf, target, wish } from './publishing.ts';

const second = '/pods/p2/mount';

async function ready(fsType = 'ext4') {
  const stage = new PublishingStage();
  await stage.setUp();
  const volume = await stage.make('db', 'thin');
  const access = mounted(fsType);
  assert.equal((await stage.publish(volume, { access })).kind, 'settled');
  stage.ran.length = 0;
  return { stage, volume, access };
}

test('a second path shows a volume read-only beside the first, and each goes alone', async () => {
  const { stage, volume } = await ready();
  const shown = await stage.publish(volume, { targetPath: second, isReadOnly: true });
  assert.ok(shown.kind === 'settled' && shown.status.isReadOnly);
  assert.deepEqual(stepsOf(stage), ['make-directory', 'bind']);
  assert.equal((await stage.unpublish(volume)).kind, 'settled');
  assert.equal(stage.mountsAt(second), 1);
  assert.equal((await stage.unpublish(volume, second)).kind, 'settled');
  assert.equal(stage.mountsAt(second), 0);
});

test('a volume that is read-only somewhere is not made writable elsewhere', async () => {
  const { stage, volume } = await ready();
  await stage.unpublish(volume);
  await stage.publish(volume, { isReadOnly: true });
  const refused = await stage.publish(volume, { targetPath: second });
  assert.ok(refused.kind === 'blocked' && refused.code === 'VolumeInUse');
  const again = await stage.publish(volume, { targetPath: second, isReadOnly: true });
  assert.equal(again.kind, 'settled');
});

test('two volumes that are wanted at one path at once are not stacked', async () => {
  const stage = new PublishingStage();
  await stage.setUp();
  const [one, two] = [await stage.make('one'), await stage.make('two')];
  const both = Promise.all([
    stage.publisher.publish(wish(one)),
    stage.publisher.publish(wish(two)),
  ]);
  const [first, other] = await stage.run(both);
  assert.equal(first.kind, 'settled');
  assert.ok(other.kind === 'blocked' && other.code === 'TargetTaken');
  assert.equal(stage.mountsAt(), 1);
});

test('mounts that others made through any path of the device are known as ours', async () => {
  const { stage, volume } = await ready();
  const minor = stage.world.machine.minorOf(stage.lv('db'));
  stage.world.machine.table.nodes.set('/dev/topolvm/db', `254:${minor}`);
  for (const source of [`/dev/dm-${minor}`, '/dev/data/db', '/dev/topolvm/db']) {
    stage.world.admin.run('mount', '--types', 'ext4', source, target);
  }
  assert.equal(stage.mountsAt(), 4);
  const same = await stage.publish(volume);
  assert.equal(same.kind, 'settled');
  assert.deepEqual(stepsOf(stage), []);
  assert.equal((await stage.unpublish(volume)).kind, 'settled');
  assert.equal(stage.mountsAt(), 0, 'all of them are gone');
  assert.equal(stage.world.machine.table.nodes.has('/dev/topolvm/db'), false);
});

test('raw mounts that old TopoLVM stacked are recognised and all taken away', async () => {
  const stage = new PublishingStage();
  await stage.setUp();
  const volume = await stage.make('db');
  assert.equal((await stage.publish(volume, { access: raw })).kind, 'settled');
  const device = `/dev/mapper/${dmName('data', 'db')}`;
  stage.world.admin.run('mount', '--options', 'bind', device, target);
  stage.world.admin.run('mount', '--options', 'bind', device, target);
  assert.equal((await stage.publish(volume, { access: raw })).kind, 'settled');
  assert.equal(stage.mountsAt(), 3);
  assert.equal((await stage.unpublish(volume)).kind, 'settled');
  assert.equal(stage.mountsAt(), 0);
});

test('a raw device is known by what is at the path, though the node it was bound from is gone', async () => {
  const stage = new PublishingStage();
  await stage.setUp();
  const volume = await stage.make('db');
  await stage.publish(volume, { access: raw });
  await stage.unpublish(volume);
  const { table } = stage.world.machine;
  const minor = stage.world.machine.minorOf(stage.lv('db'));
  table.nodes.set('/dev/topolvm/db', `254:${minor}`);
  table.paths.set(target, 'file');
  stage.world.admin.run('mount', '--options', 'bind', '/dev/topolvm/db', target);
  table.nodes.delete('/dev/topolvm/db');
  assert.equal((await stage.publish(volume, { access: raw })).kind, 'settled');
  assert.equal(stage.mountsAt(), 1);
});

test('a volume is unpublished when nobody knows it any more', async () => {
  const stage = new PublishingStage();
  await stage.setUp();
  const volume = await stage.make('db');
  await stage.publish(volume, { access: raw });
  // Binding a node keeps no device open: an administrator can remove the volume under it.
  stage.world.admin.run('lvm', 'lvremove', '--yes', 'data/db');
  const gone = await stage.run(
    stage.publisher.unpublish({ ...absence(volume), volume: { name: 'db' } }),
  );
  assert.equal(gone.kind, 'settled', JSON.stringify(gone));
  assert.equal(stage.mountsAt(), 0);
});

test('what is not ours at the path stays, and says what it is', async () => {
  const { stage, volume } = await ready();
  const other = await stage.make('other', 'thick');
  const publish = await stage.publish(other);
  assert.ok(publish.kind === 'blocked' && publish.code === 'TargetTaken');
  assert.match(publish.message, /data-db/);
  const unpublish = await stage.unpublish(other);
  assert.ok(unpublish.kind === 'blocked' && unpublish.code === 'TargetTaken');
  assert.equal(stage.mountsAt(), 1);
  assert.equal((await stage.unpublish(volume)).kind, 'settled');
});

test('a path in use stays until it is let go', async () => {
  const { stage, volume } = await ready();
  stage.world.machine.table.busy.add(target);
  await assert.rejects(stage.unpublish(volume), { code: 'PublicationInUse' });
  stage.world.machine.table.busy.delete(target);
  assert.equal((await stage.unpublish(volume)).kind, 'settled');
});

test('a directory with something in it is not taken away', async () => {
  const { stage, volume } = await ready();
  stage.world.machine.table.full.add(target);
  const refused = await stage.unpublish(volume);
  assert.ok(refused.kind === 'blocked' && refused.code === 'TargetTaken');
  assert.equal(stage.world.machine.table.paths.get(target), 'directory');
});

test('a kubelet directory that is a link elsewhere is followed', async () => {
  const stage = new PublishingStage();
  await stage.setUp();
  stage.world.machine.table.links.set('/var/lib/kubelet', '/data/kubelet');
  const volume = await stage.make('db');
  const shown = await stage.publish(volume);
  assert.ok(shown.kind === 'settled');
  assert.match(shown.status.path, /^\/data\/kubelet\//);
  assert.equal((await stage.publish(volume)).kind, 'settled');
  assert.equal(stage.mountsAt(shown.status.path), 1);
  assert.equal((await stage.unpublish(volume)).kind, 'settled');
  assert.equal(stage.mountsAt(shown.status.path), 0);
});

for (const fsType of ['ext4', 'xfs', 'btrfs']) {
  test(`${fsType}: a file system follows its volume, when it is asked and when it is mounted`, async () => {
    const { stage, volume, access } = await ready(fsType);
    const size = () => stage.lv('db').content.signatures[0]?.fsBytes;
    await stage.run(stage.engine.submit(volumeTask(stage.volume('db', 'thin', 500))));
    const growth = { volume, targetPath: target };
    assert.equal((await stage.run(stage.publisher.grow(growth))).kind, 'settled');
    assert.equal(size(), Number(500n * MiB));
    stage.ran.length = 0;
    assert.equal((await stage.run(stage.publisher.grow(growth))).kind, 'settled');
    assert.deepEqual(stepsOf(stage), []);
    await stage.unpublish(volume);
    await stage.run(stage.engine.submit(volumeTask(stage.volume('db', 'thin', 600))));
    assert.equal((await stage.publish(volume, { access })).kind, 'settled');
    assert.equal(size(), Number(600n * MiB));
  });

  test(`${fsType}: a clone is mounted beside its source`, async () => {
    const { stage, volume, access } = await ready(fsType);
    const copy = await stage.clone('copy', 'db');
    const shown = await stage.publish(copy, { access, targetPath: second });
    assert.equal(shown.kind, 'settled', JSON.stringify(shown));
    const uuidOf = (name: string) => stage.lv(name).content.signatures[0]?.uuid;
    assert.equal(uuidOf('copy') !== uuidOf('db'), fsType === 'btrfs');
    assert.equal(stepsOf(stage).includes('format-lv'), false);
    stage.ran.length = 0;
    await stage.unpublish(copy, second);
    await stage.publish(copy, { access, targetPath: second });
    assert.equal(stepsOf(stage).includes('renew-uuid'), false);
    assert.equal((await stage.publish(volume, { access })).kind, 'settled');
  });
}

for (const fsType of ['ext4', 'xfs', 'btrfs']) {
  test(`${fsType}: a copy taken right after mkfs can be used when its sources are gone`, async () => {
    const stage = new PublishingStage();
    await stage.setUp();
    const access = mounted(fsType);
    const first = await stage.make('db', 'thin');
    const heal = stage.world.faults.always('mount', { kind: 'fail' });
    assert.equal((await stage.publish(first, { access })).kind, 'blocked');
    heal();
    await stage.clone('between', 'db');
    const copy = await stage.clone('copy', 'between', 500);
    for (const source of ['db', 'between']) {
      stage.world.admin.run('lvm', 'lvremove', '--yes', `data/${source}`);
    }
    await stage.run(stage.engine.observe());
    stage.ran.length = 0;
    const shown = await stage.publish(copy, { access });
    assert.equal(shown.kind, 'settled', JSON.stringify(shown));
    assert.equal(stepsOf(stage).includes('format-lv'), false);
    const { tags, content } = stage.lv('copy');
    assert.equal(content.signatures[0]?.fsBytes, Number(500n * MiB));
    assert.deepEqual(
      [...tags].filter((tag) => /pending|made-for/.test(tag)),
      [],
    );
  });
}

test('a copy whose file system does not grow is not shown as if it had, and grows later', async () => {
  const { stage } = await ready();
  const copy = await stage.clone('copy', 'db', 500);
  const size = () => stage.lv('copy').content.signatures[0]?.fsBytes;
  const heal = stage.world.faults.always('resize2fs', { kind: 'fail', stderr: 'Bad luck' });
  await assert.rejects(stage.publish(copy, { targetPath: second }), /Bad luck/);
  heal();
  const shown = await stage.publish(copy, { targetPath: second });
  assert.equal(shown.kind, 'settled');
  assert.equal(size(), Number(500n * MiB));
  assert.equal(stage.mountsAt(second), 1);
});

test('a copy that grew later is shown as it is, though its file system does not follow', async () => {
  const { stage } = await ready();
  const copy = await stage.clone('copy', 'db', 500);
  await stage.publish(copy, { targetPath: second });
  await stage.unpublish(copy, second);
  await stage.run(stage.engine.submit(volumeTask(stage.volume('copy', 'thin', 700))));
  stage.world.faults.always('resize2fs', { kind: 'fail', stderr: 'Bad luck' });
  assert.equal((await stage.publish(copy, { targetPath: second })).kind, 'settled');
});

test('a file system that does not grow is shown all the same, with a note', async () => {
  const { stage, volume } = await ready();
  await stage.unpublish(volume);
  await stage.run(stage.engine.submit(volumeTask(stage.volume('db', 'thin', 500))));
  stage.world.faults.always('resize2fs', { kind: 'fail', stderr: 'resize2fs: Bad luck' });
  const shown = await stage.publish(volume);
  assert.ok(shown.kind === 'settled');
  assert.match(shown.status.notes.join(), /Bad luck/);
  const growth = { volume, targetPath: target };
  await assert.rejects(stage.run(stage.publisher.grow(growth)), /Bad luck/);
});

test('how full a volume is and how it is costs no program', async () => {
  const { stage, volume } = await ready();
  const before = stage.world.processes.history.length;
  const stats = await stage.run(stage.publisher.stats(volume, target));
  assert.ok('usage' in stats && stats.usage.kind === 'mount');
  assert.equal(stats.usage.totalBytes, 400n * MiB);
  assert.equal(stats.condition.isAbnormal, false);
  const mounts = await stage.run(stage.publisher.nodeMounts());
  assert.deepEqual(
    mounts.map((mount) => mount.mountPoint),
    [target],
  );
  assert.equal(stage.world.processes.history.length, before);
  const elsewhere = await stage.run(stage.publisher.stats(volume, second));
  assert.ok('code' in elsewhere && elsewhere.code === 'NotPublished');
  const unknown = await stage.run(stage.publisher.stats({ ...volume, uuid: 'gone' }, target));
  assert.ok('code' in unknown && unknown.code === 'VolumeNotFound');
  const relative = await stage.run(stage.publisher.stats(volume, 'a'));
  assert.ok('code' in relative && relative.code === 'InvalidTargetPath');
  const notShown = { volume, targetPath: second };
  const growth = await stage.run(stage.publisher.grow(notShown));
  assert.ok(growth.kind === 'blocked' && growth.code === 'NotPublished');
});

test('an inactive volume is woken, a suspended one is told', async () => {
  const { stage, volume } = await ready();
  await stage.unpublish(volume);
  stage.world.admin.run('lvm', 'lvchange', '--activate', 'n', 'data/db');
  await stage.run(stage.engine.observe());
  assert.equal((await stage.publish(volume)).kind, 'settled');
  await stage.unpublish(volume);
  stage.lv('db').isSuspended = true;
  const refused = await stage.publish(volume);
  assert.ok(refused.kind === 'blocked' && refused.code === 'DeviceSuspended');
});

test('a refusal stands on a report that is newer than the request', async () => {
  const { stage, volume } = await ready();
  await stage.unpublish(volume);
  const theirs = stage.world.admin.replaceLv('data', 'db');
  const refused = await stage.publish(volume);
  assert.ok(
    refused.kind === 'blocked' && refused.code === 'VolumeNotFound',
    JSON.stringify(refused),
  );
  const found = await stage.publish({ ...volume, uuid: theirs.uuid });
  assert.ok(found.kind === 'blocked' && found.code === 'VolumeHoldsData', 'it was seen at once');
});
