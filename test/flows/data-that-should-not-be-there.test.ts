import assert from 'node:assert/strict';
import test from 'node:test';
import { pendingTag } from '../../src/core/tags.ts';
import { PublishingStage, raw, stepsOf } from './publishing.ts';

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
