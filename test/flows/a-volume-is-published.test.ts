import assert from 'node:assert/strict';
import test from 'node:test';
import { pendingTag } from '../../src/core/tags.ts';
import { mounted, PublishingStage, raw, stepsOf, target } from './publishing.ts';

async function ready(): Promise<PublishingStage> {
  const stage = new PublishingStage();
  await stage.setUp();
  return stage;
}

for (const fsType of ['ext4', 'xfs', 'btrfs']) {
  test(`a new volume gets its ${fsType}, is mounted, and goes again`, async () => {
    const stage = await ready();
    const volume = await stage.make('db');
    stage.ran.length = 0;
    const shown = await stage.publish(volume, { access: mounted(fsType) });
    assert.ok(shown.kind === 'settled', JSON.stringify(shown));
    const { state, path, access, isReadOnly, notes } = shown.status;
    assert.deepEqual(
      { state, path, access, isReadOnly, notes, fsType: shown.status.fsType },
      {
        ...{ state: 'Published', path: target, access: 'mount', isReadOnly: false, notes: [] },
        fsType,
      },
    );
    assert.deepEqual(stepsOf(stage), [
      ...['format-lv', 'make-directory', 'mount', 'change-mode', 'change-tags'],
    ]);
    assert.equal(stage.lv('db').tags.includes(pendingTag), false);
    stage.ran.length = 0;
    assert.equal((await stage.publish(volume, { access: mounted(fsType) })).kind, 'settled');
    assert.deepEqual(stepsOf(stage), []);
    const gone = await stage.unpublish(volume);
    assert.ok(gone.kind === 'settled' && gone.status.state === 'Absent');
    assert.deepEqual(stepsOf(stage), ['unmount', 'remove-directory']);
    stage.ran.length = 0;
    assert.equal((await stage.unpublish(volume)).kind, 'settled');
    assert.equal((await stage.publish(volume, { access: mounted(fsType) })).kind, 'settled');
    assert.deepEqual(stepsOf(stage), ['make-directory', 'mount']);
    assert.deepEqual(stage.world.unknown, []);
  });
}

test('a first publish costs one lvm run, a later one none', async () => {
  const stage = await ready();
  const volume = await stage.make('db');
  const lvm = () =>
    [...stage.world.spawns]
      .filter(([name]) => name.startsWith('lvm'))
      .map(([, n]) => n)
      .reduce((a, b) => a + b, 0);
  const before = lvm();
  await stage.publish(volume);
  assert.equal(lvm() - before, 1, 'lvchange');
  await stage.unpublish(volume);
  await stage.publish(volume);
  assert.equal(lvm() - before, 1);
  const stats = await stage.run(stage.publisher.stats(volume, target));
  assert.ok('usage' in stats && stats.usage.kind === 'mount');
  assert.equal(lvm() - before, 1);
});

test('a raw volume is shown as it is', async () => {
  const stage = await ready();
  const volume = await stage.make('db');
  stage.ran.length = 0;
  const shown = await stage.publish(volume, { access: raw });
  assert.ok(shown.kind === 'settled' && shown.status.access === 'block', JSON.stringify(shown));
  assert.deepEqual(stepsOf(stage), ['change-tags', 'make-file', 'bind']);
  assert.equal((await stage.publish(volume, { access: raw })).kind, 'settled');
  assert.equal(stage.mountsAt(), 1);
  assert.equal((await stage.unpublish(volume)).kind, 'settled');
  assert.equal(stage.mountsAt(), 0);
  assert.equal(stage.world.machine.table.paths.has(target), false);
});

test('a file system is on the disk for good before the mark goes', async () => {
  const stage = await ready();
  const volume = await stage.make('db');
  const flush = stage.host.flush.bind(stage.host);
  const marks: boolean[] = [];
  stage.host.flush = async (devices) => {
    await flush(devices);
    const isFileSystem = devices.some((path) => path.startsWith('/dev/mapper/'));
    if (isFileSystem) marks.push(stage.lv('db').tags.includes(pendingTag));
  };
  assert.equal((await stage.publish(volume)).kind, 'settled');
  assert.deepEqual(marks, [true]);
});

test('nobody asks a suspended volume how full it is', async () => {
  const stage = await ready();
  const volume = await stage.make('db');
  await stage.publish(volume);
  stage.lv('db').isSuspended = true;
  stage.host.statFs = () => assert.fail('this would hang');
  const stats = await stage.run(stage.publisher.stats(volume, target));
  assert.ok('code' in stats && stats.code === 'DeviceSuspended', JSON.stringify(stats));
});
