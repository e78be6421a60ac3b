import assert from 'node:assert/strict';
import test from 'node:test';
import { pendingTag } from '../../src/core/tags.ts';
import { mounted, PublishingStage, raw, stepsOf, target } from './publishing.ts';

async function ready(): Promise<PublishingStage> {
  const stage = new PublishingStage();
  await stage.setUp();
  return stage;
}

test('a new volume that somebody filled is not zeroed for its first pod', async () => {
  const stage = await ready();
  const volume = await stage.make('vm');
  stage.world.admin.mkfs('/dev/mapper/data-vm', 'xfs');
  const before = stage.lv('vm').content;
  stage.ran.length = 0;
  const shown = await stage.publish(volume, { access: { ...raw, zeroFirst: true } });
  assert.ok(shown.kind === 'blocked' && shown.code === 'VolumeHoldsData', JSON.stringify(shown));
  assert.match(shown.message, /xfs/);
  assert.deepEqual(stepsOf(stage), []);
  assert.equal(stage.lv('vm').content, before);
  assert.ok(stage.lv('vm').tags.includes(pendingTag));
});

for (const fsType of ['ext4', 'xfs', 'btrfs']) {
  test(`old metadata brings the mark of a used ${fsType} back: it is mounted as it is`, async () => {
    const stage = await ready();
    const access = mounted(fsType);
    const volume = await stage.make('db');
    await stage.publish(volume, { access });
    stage.world.write(stage.lv('db'), 10 * 1024 ** 2, 4096);
    await stage.unpublish(volume);
    const before = stage.lv('db').content;
    await bringMarkBack(stage);
    stage.ran.length = 0;
    const shown = await stage.publish(volume, { access });
    assert.equal(shown.kind, 'settled', JSON.stringify(shown));
    assert.deepEqual(stepsOf(stage), ['make-directory', 'mount', 'change-tags']);
    assert.equal(stage.lv('db').content, before);
    assert.equal(stage.lv('db').tags.includes(pendingTag), false);
  });
}

test('an XFS whose mkfs was cut off is made again', async () => {
  const stage = await ready();
  const access = mounted('xfs');
  const volume = await stage.make('db');
  const cutOff = { kind: 'killed', when: 'after', mishap: 'half-formatted' } as const;
  stage.world.faults.next('mkfs.xfs', cutOff);
  await assert.rejects(stage.publish(volume, { access }));
  assert.equal(stage.lv('db').content.signatures[0]?.isUnfinished, true);
  const shown = await stage.publish(volume, { access });
  assert.equal(shown.kind, 'settled', JSON.stringify(shown));
  assert.equal(stage.lv('db').content.signatures[0]?.isUnfinished, undefined);
});

test('a file system of ours that does not mount is left, and the way out is told', async () => {
  const stage = await ready();
  const volume = await stage.make('db');
  await stage.publish(volume);
  await stage.unpublish(volume);
  await bringMarkBack(stage);
  const before = stage.lv('db').content;
  const stderr = `mount: ${target}: wrong fs type, bad option, bad superblock on /dev/x.\n`;
  stage.world.faults.always('mount', { kind: 'fail', exitCode: 32, stderr });
  await assert.rejects(stage.publish(volume), {
    code: 'MountFailed',
    message: /holds ext4.*fsck.*wipefs --all \/dev\/mapper\/data-db/,
  });
  assert.equal(stage.lv('db').content, before);
  stage.world.faults.stop();
  stage.world.admin.run('wipefs', '--all', '/dev/mapper/data-db');
  stage.ran.length = 0;
  assert.equal((await stage.publish(volume)).kind, 'settled');
  assert.ok(stepsOf(stage).includes('format-lv'));
});

/** As vgcfgrestore does with metadata from before the first publish. */
async function bringMarkBack(stage: PublishingStage): Promise<void> {
  stage.world.admin.run('lvm', 'lvchange', '--addtag', pendingTag, 'data/db');
  await stage.run(stage.engine.observe());
}
